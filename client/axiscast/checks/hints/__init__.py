"""Changed requests that broadcast, for shapes that conflict or broadcast by accident."""
