"""The explanation of an error message or of an exception, and its fix."""
