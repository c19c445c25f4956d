"""The seeds of fuzzing: valid requests, and responses of a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

import msgpack
import numpy as np

from axiscast.wire.tensors import msgpack_parts
from axiscast_service.openapi import EXAMPLES

CORPUS = Path(__file__).parent / "corpus"
"""The inputs of earlier failures in a folder for each target, and in an archive those that reach much code."""
VECTORS = Path(__file__).parents[1] / "vectors"
_ENDPOINTS = ["CheckRequest", "CheckBatchRequest", "CheckColumnsRequest", "BroadcastRequest", "BackpropRequest",
              "CompareRequest", "TranslateRequest", "WhyRequest"]  # fmt: skip


def seeds(target: str) -> list[bytes]:
    """Return the inputs for a target of targets.py."""
    return [*made(target), *kept(target)]


def kept(target: str) -> list[bytes]:
    """Return the inputs of the corpus."""
    failures = [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]
    if not archive_of(target).exists():
        return failures
    with ZipFile(archive_of(target)) as archive:
        return [*failures, *map(archive.read, archive.namelist())]


def archive_of(target: str) -> Path:
    return CORPUS / f"{target}.zip"


def made(target: str) -> list[bytes]:
    match target:
        case "json":
            return [bytes([endpoint]) + json.dumps(value).encode() for endpoint, value in _requests()]
        case "msgpack":
            return [bytes([endpoint]) + msgpack.packb(_packed(value)) for endpoint, value in _requests()]
        case "query":
            bodies = [value for endpoint, value in _requests() if endpoint == 0]
            return [urlencode(_pairs(value)).encode() for value in bodies] + [b"input=8x1&input=7,N&explain"]
        case "shape":
            return [b"8,1,6,1", b"8x1x6x1", b"()", b"[ 8 , N , ?, 2..4 , 3..,]", b"-1,_a"]
        case "connection":
            get, post = b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"POST /v1/check HTTP/1.1\r\nHost: x\r\n"
            requests = [
                get + b"\r\n",
                post + b"Content-Length: 2\r\n\r\n{}",
                post + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX: 1\r\n\r\n",
                post + b"Content-Length: 300000\r\nExpect: 100-continue\r\n\r\n{",
                post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                get + b"Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
            ]
            return [b"\x80" + first + second for first in requests for second in (b"", *requests)]
        case "answer":
            arrays = [np.zeros((2, 3), np.int8), np.zeros((2, 3), np.int8).T, np.broadcast_to(np.float32(1), (3, 0, 2))]
            return [
                bytes([turn]) + b"\x81\xb0broadcast_inputs\x91" + b"".join(msgpack_parts(array, strided))
                for turn in (3, 200)
                for array in arrays
                for strided in (False, True)
            ]
    raise ValueError(target)


def _requests() -> list[tuple[int, Any]]:
    """Yield the endpoint and the request of each documented example, and of a vector for each op and outcome."""
    found = [(_ENDPOINTS.index(model), value) for model, values in EXAMPLES.items() for value in values.values()]
    seen = set()
    for path in sorted(VECTORS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            vector = json.loads(line)
            kind = (vector["op"]["name"], str(vector.get("compatible")), len(vector["inputs"]))
            if kind not in seen:
                seen.add(kind)
                body = {"op": vector["op"], "inputs": vector["inputs"]}
                found.append((0, body | ({"assume": vector["assume"]} if vector.get("assume") else {})))
    return found


def _packed(value: Any) -> Any:
    """Return the same request with bytes as the data of tensors."""
    if isinstance(value, list):
        return list(map(_packed, value))
    if not isinstance(value, dict):
        return value
    if "data" in value:
        array = np.array(value["data"], value.get("dtype"))
        return value | {"dtype": value.get("dtype", str(array.dtype)), "data": array.tobytes()}
    return {key: _packed(part) for key, part in value.items()}


def _pairs(body: dict[str, Any]) -> list[tuple[str, str]]:
    op = body.get("op", {})
    op = {"name": op} if isinstance(op, str) else op
    pairs = [("input", ",".join(map(str, shape))) for shape in body["inputs"]]
    pairs += [("op", op["name"])] if "name" in op else []
    for name, value in op.items():
        if name != "name":
            pairs.append((name, value if isinstance(value, str) else json.dumps(value)))
    return pairs
