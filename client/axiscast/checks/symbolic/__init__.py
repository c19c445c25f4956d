"""Checks of symbolic sizes: the output shapes, and the conditions under which the shapes broadcast."""
