"""The engine: views, dense bytes and gradients of arrays, in pure NumPy. All speed optimizations of arrays are here."""
