"""Spans, read by an OTLP receiver, and their trace ids in the log."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from conftest import Served, free_port, served

from axiscast import Client, OutputTooLarge, ServiceProblem
from axiscast_service.logs import Formatter

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Collector(ThreadingHTTPServer):
    """An OTLP/HTTP receiver on loopback that stores the received data."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.paths: list[str] = []
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def spans(self) -> list[Any]:
        resources = [resource for request in self.requests for resource in request.resource_spans]
        return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "axiscast-test")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server
        server.shutdown()


def ask_three_times(running: Served) -> list[dict[str, Any]]:
    """Return the log lines of three checks: with a sampled trace, with an unsampled trace, and without a trace."""
    for headers in ({"traceparent": f"00-{TRACE}-{PARENT}-01"}, {"traceparent": f"00-{TRACE}-{PARENT}-00"}, {}):
        assert httpx.get(f"{running.url}/v1/ops/torch.expand", headers=headers).status_code == 200
    log = [json.loads(line) for line in running.end().splitlines()]
    return [line for line in log if line["message"] == "answered"]


def test_a_request_is_a_span_of_the_clients_trace(collector: Collector) -> None:
    with served(access_log="true", log_format="json") as running:
        lines = ask_three_times(running)
    joined, alone = sorted(collector.spans, key=lambda span: len(span.parent_span_id), reverse=True)
    assert set(collector.paths) == {"/v1/traces"}
    assert (joined.trace_id.hex(), joined.parent_span_id.hex()) == (TRACE, PARENT)
    assert (alone.parent_span_id, len(alone.trace_id)) == (b"", 16)
    for span in (joined, alone):
        assert span.name == "GET /v1/ops/{name}"
        assert span.end_time_unix_nano > span.start_time_unix_nano
        attributes = {attribute.key: attribute.value for attribute in span.attributes}
        assert attributes["http.route"].string_value == "/v1/ops/{name}"
        assert attributes["http.response.status_code"].int_value == 200
    assert [line["trace_id"] for line in lines] == [TRACE, TRACE, alone.trace_id.hex()]
    assert [line["span_id"] for line in lines[::2]] == [joined.span_id.hex(), alone.span_id.hex()]
    assert re.fullmatch(r"(?!0{16})[0-9a-f]{16}", lines[1]["span_id"]), "an unsampled request has a span id as well"
    resource = collector.requests[0].resource_spans[0].resource.attributes
    assert {item.key: item.value.string_value for item in resource}["service.name"] == "axiscast-test"


def test_responses_exceptions_logs_and_spans_have_the_same_request_id(collector: Collector) -> None:
    callers = trace.SpanContext(int(TRACE, 16), int(PARENT, 16), True, trace.TraceFlags(1))
    with served(access_log="true", log_format="json") as running:
        with httpx.Client(base_url=running.url) as http:
            paths = http.get("/openapi.json").json()["paths"]
            asked = {(method.upper(), path) for path, methods in paths.items() for method in methods}
            assert ("GET", "/v1/check") in asked
            ids = {http.request(method, path).headers["x-request-id"]: f"{method} {path}" for method, path in asked}
        client, span_of_caller = Client(running.url), trace.use_span(trace.NonRecordingSpan(callers))
        with client, span_of_caller, pytest.raises(OutputTooLarge) as caught:
            client.broadcast_to(np.ones(3), (2**40, 3))
        log = [json.loads(line) for line in running.end().splitlines()]
    followed = str(caught.value.request_id)
    ids[followed] = "POST /v1/broadcast"
    spans = {}
    for span in collector.spans:
        attributes = {attribute.key: attribute.value for attribute in span.attributes}
        (request_id,) = attributes["http.response.header.x-request-id"].array_value.values
        assert span.name == f"{span.name.split()[0]} {attributes['http.route'].string_value}"
        spans[request_id.string_value] = span
    assert {request_id: span.name for request_id, span in spans.items() if span.name != "GET /openapi.json"} == ids
    (line,) = (line for line in log if line.get("request_id") == followed)
    assert (line["route"], line["code"], line["trace_id"]) == ("/v1/broadcast", "output-too-large", TRACE)
    assert (spans[followed].trace_id.hex(), spans[followed].parent_span_id.hex()) == (TRACE, PARENT)
    assert {line["request_id"]: line["span_id"] for line in log if line["message"] == "answered"} == {
        request_id: span.span_id.hex() for request_id, span in spans.items()
    }


@cases("log_format", ["json", "text"])
def test_every_log_line_within_a_span_has_its_ids(log_format: str) -> None:
    record = logging.LogRecord("axiscast", logging.WARNING, "", 0, "low on memory", None, None)
    span = trace.SpanContext(int(TRACE, 16), int(PARENT, 16), False, trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(span)):
        within = Formatter(log_format).format(record)
    outside = Formatter(log_format).format(record)
    if log_format == "json":
        ids = {"trace_id": TRACE, "span_id": PARENT}
        assert json.loads(within) == json.loads(outside) | ids
        assert not ids.keys() & json.loads(outside).keys()
    else:
        assert within == f"WARNING:  low on memory trace_id={TRACE} span_id={PARENT}"
        assert outside == "WARNING:  low on memory"


@cases("own", [{}, {"Traceparent": "mine"}])
def test_the_client_sends_its_current_span_and_nothing_else(own: dict[str, str]) -> None:
    callers = trace.SpanContext(1, 2, True, trace.TraceFlags(0), trace.TraceState([("a", "b")]))
    requests: list[httpx.Request] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(404, json={"code": "not-found"}, headers={"X-Request-ID": "mine"})

    with Client("http://x", headers=own, transport=httpx.MockTransport(refuse)) as client:
        for context in (callers, trace.INVALID_SPAN_CONTEXT):
            with pytest.raises(ServiceProblem) as caught, trace.use_span(trace.NonRecordingSpan(context)):
                client.ops()
            assert caught.value.request_id == "mine"
    said = [request.headers.get_list("traceparent") for request in requests]
    assert said == ([["mine"], ["mine"]] if own else [[f"00-{1:032x}-{2:016x}-00"], []])
    assert [request.headers.get("tracestate") for request in requests] == ["a=b", None]


def test_a_disabled_sdk_exports_no_span(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with served(access_log="true", log_format="json") as running:
        lines = ask_three_times(running)
    assert collector.requests == []
    assert [line.get("trace_id") for line in lines] == [TRACE, TRACE, None]
    assert not any("span_id" in line for line in lines)


def test_a_missing_collector_does_not_fail_a_request(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # it is tried again until then
    with served(access_log="true", log_format="json") as running:
        assert len(ask_three_times(running)) == 3  # and it ends, with every line of its log in JSON
