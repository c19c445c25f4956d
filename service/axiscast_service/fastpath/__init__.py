"""Short requests answered from bytes to bytes, past ASGI."""
