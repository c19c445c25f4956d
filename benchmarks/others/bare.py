"""A bare ASGI application that reads nothing and answers a constant: what uvicorn itself costs."""

from __future__ import annotations

from typing import Any

BODY = (  # the response of axiscast to a check of three shapes of rank 4
    b'{"compatible":true,"op":{"name":"numpy.broadcast_shapes"},"shape":[8,7,6,5],'
    b'"outputs":[{"shape":[8,7,6,5],"elements":1680}],"broadcast_inputs":['
    b'{"input":0,"shape":[8,7,6,5],"axes":[0,1,2,3],"broadcast_axes":[1,3]},'
    b'{"input":1,"shape":[8,7,6,5],"axes":[0,1,2,3],"broadcast_axes":[0,2]},'
    b'{"input":2,"shape":[8,7,6,5],"axes":[0,1,2,3],"broadcast_axes":[]}],"warnings":[]}'
)
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": BODY})
