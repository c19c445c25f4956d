"""Checks of programs in memory: exported programs of torch and jaxprs of jax."""
