"""The HTTP API: one file for each resource, and the code that several resources use."""
