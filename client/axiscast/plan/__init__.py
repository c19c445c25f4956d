"""The plan, and what leads to one: which sizes meet, and whether they agree. Nothing here knows a framework."""
