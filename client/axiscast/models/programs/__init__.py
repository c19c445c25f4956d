"""Checks of programs in memory, which are torch's exported programs and jax's jaxprs."""
