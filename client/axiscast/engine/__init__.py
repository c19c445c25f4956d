"""Plan and arrays: views, dense elements whole or in chunks, gradients. The one place for speed in NumPy."""
