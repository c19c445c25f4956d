"""The HTTP API. There is one file for each resource, and files with code that several resources use."""
