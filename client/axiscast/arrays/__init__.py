"""Conversion of arrays from all libraries, and broadcasts and gradients of these arrays, without IO."""
