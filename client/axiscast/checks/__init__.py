"""Checks of shapes: a request becomes a plan or a conflict, with warnings and hints."""
