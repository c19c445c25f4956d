"""The responses in the OpenAPI document. Run `python tests/openapi_examples.py` to write them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

import axiscast_service

FILE = Path(axiscast_service.__file__).with_name("openapi_examples.json")


def example_responses(http: httpx.Client) -> dict[str, Any]:
    """Return the response of the service to the first example of each operation, keyed by method and path."""
    responses = {}
    for path, operations in http.get("/openapi.json").json()["paths"].items():
        for method, operation in operations.items():
            query = {parameter["name"]: parameter.get("example") for parameter in operation.get("parameters", ())}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in list(body.get("examples", {}).values())[:1]:
                answer = http.post(path, json=example["value"])
            if not body:
                answer = http.get(path.format(name="numpy.broadcast_to"), params={"input": query.get("input") or []})
            assert answer.status_code == 200
            responses[f"{method} {path}"] = answer.json()
    responses["get /v1/ops"]["ops"] = [responses["get /v1/ops/{name}"]]  # all ops take 300 kB
    return responses


if __name__ == "__main__":
    from conftest import served

    with served() as service, httpx.Client(base_url=service.url) as client:
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in example_responses(client).items()]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
