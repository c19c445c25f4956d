"""ASGI middleware for request ids, telemetry, admission, authentication, host names, caching and negotiation."""
