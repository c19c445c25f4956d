"""Programs in memory: the exported programs of torch and the jaxprs of jax."""
