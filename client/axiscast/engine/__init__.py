"""The engine, which computes views, dense bytes and gradients of arrays quickly, with NumPy alone."""
