"""Programs of torch and jax, and recordings of them for tests without the frameworks."""
