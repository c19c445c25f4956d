"""The engine, which uses only NumPy to compute views, dense bytes and gradients as quickly as possible."""
