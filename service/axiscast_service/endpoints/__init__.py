"""The resources of the API, one file each, and what they share."""
