"""Programs of torch and of jax, and what was recorded of them for where neither is installed."""
