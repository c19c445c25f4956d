"""The fast path of short requests, past ASGI."""
