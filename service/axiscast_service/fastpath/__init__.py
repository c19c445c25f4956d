"""The fast path, which handles short requests without ASGI."""
