"""ASGI middleware: request ids, telemetry, admission, authentication, host check, caching, negotiation."""
