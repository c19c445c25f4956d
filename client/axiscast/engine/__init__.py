"""The engine, which computes views, dense bytes and gradients of arrays in pure NumPy and optimizes their speed."""
