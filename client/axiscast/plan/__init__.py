"""Plans, and their derivation from shapes: alignment, relations and resolution. Nothing here knows a framework."""
