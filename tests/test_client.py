"""The Python clients: over a real socket, in process, and against services that misbehave."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE, Served, free_port, run, served

import tensorcast
from tensorcast import AsyncClient, Client, errors
from tensorcast.ops import ngraph, poputil, torch
from tensorcast.schema.problems import STATUS

ROW = np.array([1, 2, 3], np.float32)
BROADCAST = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})


class Sync:
    """AsyncClient, method by method, as if it were Client: so that both pass the same tests."""

    def __init__(self, make: Callable[[], AsyncClient]) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = self._run(self._enter(make))

    async def _enter(self, make: Callable[[], AsyncClient]) -> AsyncClient:
        return await make().__aenter__()

    def _run(self, awaitable: Any) -> Any:
        return self._loop.run_until_complete(awaitable)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: self._run(getattr(self._client, name)(*arguments, **named))

    def close(self) -> None:
        self._run(self._client.aclose())
        self._loop.close()


@pytest.fixture(params=["sync", "async", "in process", "async in process"])
def anyone(request: pytest.FixtureRequest, service: Served) -> Iterator[Any]:
    """Each kind of client of a good service."""
    makers: dict[str, Callable[[], Any]] = {
        "sync": lambda: Client(service.url),
        "async": lambda: Sync(lambda: AsyncClient(service.url)),
        "in process": Client.in_process,
        "async in process": lambda: Sync(AsyncClient.in_process),
    }
    client = makers[request.param]()
    yield client
    client.close()


def test_check_answers_and_never_raises_on_incompatible_shapes(anyone: Any) -> None:
    (output,) = anyone.check(BROADCAST, (3,), dtype="float32").outputs
    assert (output.shape, output.axes, output.broadcast_axes, output.nbytes) == ([2, 3], [1], [0], 24)
    answer = anyone.check("numpy.broadcast_arrays", (3,), (4,), explain=True)
    assert (answer.compatible, answer.conflict.sizes) == (False, [3, 4])
    assert "^ conflict" in answer.diagram


def test_the_same_op_object_goes_to_check_broadcast_and_backprop(anyone: Any) -> None:
    (output,) = anyone.broadcast(BROADCAST, ROW)
    np.testing.assert_array_equal(output, [[1, 2, 3], [1, 2, 3]], strict=False)
    (gradient,) = anyone.backprop(BROADCAST, [(3,)], np.array([[1, 2, 3], [10, 20, 30]], np.float16))
    assert (gradient.dtype, gradient.tolist()) == (np.float16, [11, 22, 33])


def test_dense_answers_are_writable_and_strided_ones_read_only_views(anyone: Any) -> None:
    dense = anyone.broadcast_to(ROW, (2, 3))
    dense[0, 0] = 9
    assert (dense.dtype, dense.tolist()) == (np.float32, [[9, 2, 3], [1, 2, 3]])
    strided = anyone.broadcast_to(ROW, (10**12, 3), layout="strided")
    expected = np.broadcast_to(ROW, (10**12, 3))
    assert (strided.shape, strided.strides, strided.flags.writeable) == (expected.shape, expected.strides, False)
    assert strided[10**12 - 1].tolist() == [1, 2, 3]


def test_the_numpy_named_shortcuts_do_what_numpy_does(anyone: Any) -> None:
    column = np.arange(2).reshape(2, 1)
    for ours, theirs in zip(anyone.broadcast_arrays(column, ROW), np.broadcast_arrays(column, ROW), strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    np.testing.assert_array_equal(anyone.broadcast_to(ROW, (2, 3)), np.broadcast_to(ROW, (2, 3)), strict=True)
    assert (
        anyone.broadcast_shapes((8, 1, 6, 1), (7, 1, 5)) == (8, 7, 6, 5) == np.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))
    )
    assert anyone.broadcast_shapes() == ()
    assert anyone.broadcast_arrays() == ()
    assert (anyone.can_broadcast((3,), (2, 1)), anyone.can_broadcast((3,), (4,))) == (True, False)


def test_incompatible_shapes_are_a_value_error_that_bears_the_conflict(anyone: Any) -> None:
    for call in (lambda: anyone.broadcast_to(ROW, (3, 4)), lambda: anyone.broadcast_shapes((3, 4), (3,))):
        with pytest.raises(ValueError, match=r"axis 1.*Hint: reshape input \d to \(3, 1\)") as caught:
            call()
        assert isinstance(caught.value, tensorcast.IncompatibleShapes)
        assert caught.value.conflict.axis == 1
        hint = caught.value.conflict.hints[0]
        assert anyone.check(hint.op, *hint.inputs).compatible is True


def test_out_is_filled_and_returned(anyone: Any) -> None:
    out = np.empty((50_000, 3), np.float32)
    (same,) = anyone.broadcast("numpy.broadcast_arrays", np.broadcast_to(ROW, out.shape), out=out)
    assert same is out
    np.testing.assert_array_equal(out, np.broadcast_to(ROW, out.shape))
    a, b = np.empty((2, 3)), np.empty((2, 3), np.float32)
    anyone.broadcast("numpy.broadcast_arrays", np.ones((2, 1)), ROW, out=[a, b])
    assert (a.tolist(), b.tolist()) == ([[1, 1, 1]] * 2, [[1, 2, 3]] * 2)


class BreakingOnce(httpx.BaseTransport):
    """A service in process, whose first answer breaks off after its half."""

    def __init__(self) -> None:
        self.service, self.bodies = Client.in_process()._transport, []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(b"".join(request.stream))
        again = httpx.Request("POST", request.url, headers=request.headers, content=self.bodies[-1])
        response = self.service.handle_request(again)
        content = response.read()
        broken = len(self.bodies) == 1

        def pieces() -> Iterator[bytes]:
            yield content[: len(content) // 2] if broken else content
            if broken:
                raise httpx.ReadError("broken off")

        return httpx.Response(response.status_code, headers=response.headers, content=pieces())


def test_out_may_share_memory_with_an_input_and_not_with_itself() -> None:
    count = 300_000  # more than is sent in one piece, so that the array's own memory is read
    memory = np.arange(2 * count, dtype=np.float32)
    array, out = memory[count // 2 :][:count], memory.reshape(2, count)
    transport = BreakingOnce()
    with Client(transport=transport) as client:
        client.broadcast_to(array, out.shape, out=out)
        assert transport.bodies[0] == transport.bodies[1]
        assert (out == np.arange(count // 2, count // 2 + count)).all()
        with pytest.raises(ValueError, match="two arrays of out share memory"):
            client.broadcast_arrays(ROW, ROW, out=[memory[:3], memory[2:5]])


def test_broadcast_arrays_has_the_options_of_broadcast(anyone: Any) -> None:
    column, outs, seen = np.arange(2.0).reshape(2, 1), [np.empty((1, 3)), np.empty((1, 3), np.float32)], []
    options = {"window": np.s_[1:], "out": outs, "progress": seen.append, "timeout": PATIENCE}
    assert anyone.broadcast_arrays(column, ROW, **options) == (outs[0], outs[1])
    assert (outs[0].tolist(), outs[1].tolist(), bool(seen)) == ([[1, 1, 1]], [[1, 2, 3]], True)


@pytest.mark.parametrize(
    "out",
    [np.empty((2, 4), np.float32), np.empty((2, 3)), np.empty((3, 2), np.float32).T, np.broadcast_to(ROW, (2, 3)), []],
    ids=["shape", "dtype", "not C-contiguous", "read-only", "count"],
)
def test_an_out_that_does_not_fit_is_the_callers_value_error(client: Client, out: Any) -> None:
    with pytest.raises(ValueError, match="out") as caught:
        client.broadcast(BROADCAST, ROW, out=out)
    assert not isinstance(caught.value, tensorcast.TensorcastError)
    assert client.can_broadcast((3,), (3,))  # and the connection is as good as ever


def test_out_needs_a_dense_answer(client: Client) -> None:
    with pytest.raises(ValueError, match="dense"):
        client.broadcast(BROADCAST, ROW, out=np.empty((2, 3), np.float32), layout="strided")


def test_a_window_is_a_box_of_the_output(anyone: Any) -> None:
    (box,) = anyone.broadcast(BROADCAST, ROW, window=[(1, 2), (0, 2)])
    assert box.tolist() == [[1, 2]]


def test_progress_reaches_the_total_both_ways(anyone: Any) -> None:
    seen: list[tensorcast.Transfer] = []
    large = np.zeros((3, 1024, 1024), np.uint8)
    anyone.broadcast("numpy.broadcast_arrays", large, progress=seen.append)
    for direction in ("upload", "download"):
        done = [(transfer.done, transfer.total) for transfer in seen if transfer.direction == direction]
        assert done[-1][0] == done[-1][1] > large.nbytes
        assert done == sorted(done)


def test_arrays_are_sent_as_they_are(anyone: Any) -> None:
    big_endian = np.array([1, 256], ">i4")
    assert anyone.broadcast_to(big_endian, (2, 2)).tolist() == [[1, 256], [1, 256]]
    replicated = np.broadcast_to(ROW, (10**9, 3))  # goes out strided: 12 bytes
    (output,) = anyone.broadcast("numpy.broadcast_arrays", replicated, window=[(5, 6), (0, 3)])
    assert output.tolist() == [[1, 2, 3]]
    assert anyone.broadcast_to(np.arange(6).reshape(2, 3)[:, ::-1], (2, 3)).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert anyone.broadcast_to(np.array("ab"), (2,)).tolist() == ["ab", "ab"]
    with pytest.raises(TypeError, match="object"):
        anyone.broadcast_to(np.array([object()]), (2,))


def test_translate_answers_with_op_objects_and_code(anyone: Any) -> None:
    answer = anyone.translate(BROADCAST, (3,), to="torch.expand")
    assert (answer.exact, [step.op for step in answer.steps]) == (True, [torch.expand(size=(2, 3))])
    assert (answer.code.language, answer.code.text.splitlines()[-1]) == ("python", "y = x.expand((2, 3))")
    with pytest.raises(tensorcast.UnknownOp, match=r"did you mean torch\.expand"):
        anyone.translate(BROADCAST, (3,), to="torch.expnd")


def test_the_catalogue_lists_the_ops(anyone: Any) -> None:
    assert "openvino.Broadcast-3" in [entry.name for entry in anyone.ops()]


def test_what_is_no_op_is_a_type_error_that_shows_one(client: Client) -> None:
    with pytest.raises(TypeError, match=r"tensorcast.numpy.broadcast_to\(shape=\(4, 3\)\)"):
        client.check((3,), (3,))  # type: ignore[arg-type]


HALF = {
    "op": lambda client: client.broadcast("\ud800", ROW),
    "size": lambda client: client.check("numpy.broadcast_arrays", ("\ud800",)),  # replaced by ? it would be another one
    "target": lambda client: client.translate("numpy.broadcast_arrays", (3,), to="\ud800"),
}


@pytest.mark.parametrize("call", HALF.values(), ids=HALF)
def test_half_a_surrogate_pair_is_refused_before_it_is_sent(client: Client, call: Any) -> None:
    with pytest.raises(tensorcast.InvalidRequest, match=r"'\\ud800' holds half a surrogate pair"):
        call(client)


PROBLEMS: dict[str, tuple[type[errors.ServiceProblem], Callable[[Any], Any]]] = {
    "unknown-op": (tensorcast.UnknownOp, lambda client: client.check("numpy.nothing", (3,))),
    "invalid-request": (tensorcast.InvalidRequest, lambda client: client.check(poputil.expandToMatchRanks(), (3,))),
    "output-too-large": (tensorcast.OutputTooLarge, lambda client: client.broadcast_to(ROW, (10**15, 3))),
    "untranslatable": (
        tensorcast.Untranslatable,
        lambda client: client.translate(BROADCAST, (3,), to="torch.broadcast_tensors"),
    ),
    "invalid-tensor": (tensorcast.InvalidTensor, lambda client: client.backprop(BROADCAST, [(3,)], ROW)),
}


@pytest.mark.parametrize(("kind", "call"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_raises_its_own_exception(anyone: Any, kind: type[errors.ServiceProblem], call: Any) -> None:
    with pytest.raises(kind) as caught:
        call(anyone)
    assert (caught.value.status, caught.value.code) == (STATUS[kind.code][0], kind.code)
    assert str(caught.value).startswith(caught.value.detail)


def test_every_exception_of_a_code_is_public_and_its_code_one_of_the_services() -> None:
    assert set(errors.BY_CODE) < set(STATUS)
    assert {kind.__name__ for kind in errors.BY_CODE.values()} < set(errors.__all__)


def test_a_code_without_a_class_is_a_service_problem_that_says_it() -> None:
    document = {"code": "not-acceptable", "detail": "neither JSON nor MessagePack", "supported": ["application/json"]}
    transport, _ = answers(httpx.Response(406, json=document))
    with Client(transport=transport, retries=0) as client, pytest.raises(tensorcast.ServiceProblem) as caught:
        client.ops()
    problem = caught.value
    assert (type(problem), problem.code, problem.status) == (tensorcast.ServiceProblem, "not-acceptable", 406)
    assert (str(problem), problem.facts) == ("neither JSON nor MessagePack", {"supported": ["application/json"]})


OLD = {
    "version": "0.0.9",
    "code": "unknown-op",
    "said": "no such op (the service is tensorcast 0.0.9, older than this client)",
}
VERSIONS = [
    OLD,
    {**OLD, "version": "0.1.0", "said": "no such op"},
    {**OLD, "version": "12.3", "said": "no such op"},
    {**OLD, "version": "a proxy's own", "said": "no such op"},
    {**OLD, "code": "work-too-large", "said": "no such op"},  # an older service would not do more
]


@pytest.mark.parametrize("case", VERSIONS, ids=str)
def test_the_error_of_what_an_older_service_does_not_know_says_so(case: dict[str, str]) -> None:
    headers = {"Tensorcast-Version": case["version"]}
    transport, _ = answers(httpx.Response(422, json={"code": case["code"], "detail": "no such op"}, headers=headers))
    with Client(transport=transport) as client, pytest.raises(tensorcast.ServiceProblem) as caught:
        client.ops()
    assert (str(caught.value), caught.value.detail) == (case["said"], "no such op")


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        public = [name for name in vars(kind) if not name.startswith("_") and not name.endswith("close")]
        return {name: list(inspect.signature(getattr(kind, name)).parameters) for name in public}

    assert methods(Client) == methods(AsyncClient)


def test_every_example_of_the_client_prints_what_it_says(client: Client) -> None:
    given = {"client": client, "np": np, "Client": Client}
    examples = {test.name: test for test in doctest.DocTestFinder().find(Client, "Client", globs=given)}
    public = {f"Client.{name}" for name in vars(Client) if not name.startswith("_")} - {"Client.close"}
    assert {name for name, test in examples.items() if test.examples} == public
    for test in examples.values():
        assert doctest.DocTestRunner().run(test).failed == 0


def test_one_client_serves_many_threads(client: Client) -> None:
    right: list[bool] = []

    def work(number: int) -> None:
        for _ in range(20):
            right.append(client.broadcast_to(np.array([number]), (100,)).tolist() == [number] * 100)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 160


def test_a_service_in_process_has_settings_and_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a socket was opened"))
    with Client.in_process(max_output_bytes=100) as client, pytest.raises(tensorcast.OutputTooLarge) as caught:
        client.broadcast_to(ROW, (100, 3))
    assert caught.value.facts["limit"] == 100


def test_without_the_service_in_process_says_what_to_install() -> None:
    script = "import sys; sys.modules['fastapi'] = None\nfrom tensorcast import Client\nClient.in_process()"
    failed = run([sys.executable, "-c", script])
    assert failed.returncode == 1
    assert "pip install '.[service]' in a checkout of tensorcast, 'tensorcast[service]' where" in failed.stderr


def test_leaving_a_large_answer_in_process_stops_the_service() -> None:
    def stop(transfer: tensorcast.Transfer) -> None:
        if transfer.direction == "download" and transfer.done > 2**22:
            raise KeyboardInterrupt

    with Client.in_process() as client:
        with pytest.raises(KeyboardInterrupt):
            client.broadcast(tensorcast.numpy.broadcast_to(shape=(2**30, 3)), ROW, progress=stop)
        assert client.can_broadcast((3,), (3,))


# --- services that misbehave ----------------------------------------------------------------------


def answers(*responses: httpx.Response | Exception) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """A transport that gives these answers in turn, the last one again and again."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        response = responses[min(len(seen), len(responses)) - 1]
        if isinstance(response, Exception):
            raise response
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)

    return httpx.MockTransport(handle), seen


def packed(value: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=msgpack.packb(value), headers={"content-type": "application/vnd.msgpack"})


GOOD = packed(
    {"compatible": True, "outputs": [{"shape": [3], "input": 0, "axes": [0], "broadcast_axes": [], "elements": 3}]}
)
BUSY = httpx.Response(503, json={"code": "overloaded", "detail": "busy"}, headers={"retry-after": "0"})


@pytest.mark.parametrize("first", [BUSY, httpx.ConnectError("refused"), httpx.ReadError("reset"), httpx.Response(502)])
def test_what_may_pass_is_tried_again(first: Any) -> None:
    transport, seen = answers(first, GOOD)
    with Client(transport=transport) as client:
        assert client.can_broadcast((3,))
    assert len(seen) == 2


def test_retry_after_is_honoured() -> None:
    transport, _ = answers(httpx.Response(503, headers={"retry-after": "1"}), GOOD)
    start = time.monotonic()
    with Client(transport=transport) as client:
        assert client.can_broadcast((3,))
    assert time.monotonic() - start >= 1


def test_a_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    busy = httpx.Response(503, json={"code": "overloaded"}, headers={"retry-after": "3600"})
    transport, seen = answers(busy)
    with Client(transport=transport) as client, pytest.raises(tensorcast.Overloaded):
        client.can_broadcast((3,))
    assert len(seen) == 1


def test_retries_end() -> None:
    transport, seen = answers(BUSY)
    with Client(transport=transport, retries=3) as client, pytest.raises(tensorcast.Overloaded):
        client.can_broadcast((3,))
    assert len(seen) == 4


def test_what_can_not_pass_is_not_tried_again() -> None:
    transport, seen = answers(httpx.Response(422, json={"code": "invalid-request", "detail": "no"}))
    with Client(transport=transport) as client, pytest.raises(tensorcast.InvalidRequest, match="no"):
        client.can_broadcast((3,))
    assert len(seen) == 1


def test_a_timeout_is_not_tried_again() -> None:
    transport, seen = answers(httpx.ReadTimeout("the transport's own"), GOOD)
    with Client(transport=transport) as client, pytest.raises(tensorcast.DeadlineExceeded, match="ReadTimeout"):
        client.can_broadcast((3,))
    assert len(seen) == 1


def tensor(**fields: Any) -> httpx.Response:
    return packed({"outputs": [{"dtype": "float32", "shape": [2], "data": bytes(8)} | fields]})


LIES = {
    "a page": httpx.Response(200, html="<p>hello"),
    "a redirect": httpx.Response(302, headers={"location": "https://example.org"}),
    "no problem document": httpx.Response(418, text="teapot"),
    "a problem that is a list": httpx.Response(422, json=[1]),
    "too few bytes": tensor(data=bytes(4)),
    "too many bytes": tensor(data=bytes(12)),
    "an impossible bool": tensor(dtype="bool", data=b"\x01\x02"),
    "an unknown dtype": tensor(dtype="float99"),
    "a petabyte": tensor(shape=[2**50]),
    "a negative size": tensor(shape=[-2]),
    "reach beyond the data": tensor(shape=[2, 3], strides=[1, 1], data=bytes(8)),
    "no data": packed({"outputs": [{"dtype": "float32", "shape": [2]}]}),
    "data that is a list of numbers": tensor(data=[1, 2]),
    "another field": packed({"results": []}),
    "truncated": httpx.Response(200, content=b"\x81\xa7outputs\x91", headers={"content-type": "application/msgpack"}),
    "a length of many digits": httpx.Response(
        200, content=b"\x80", headers={"content-type": "application/vnd.msgpack", "content-length": "9" * 5000}
    ),
    "an empty body": httpx.Response(200, headers={"content-type": "application/vnd.msgpack"}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_an_answer_that_is_none_is_an_invalid_answer(lie: httpx.Response) -> None:
    if lie.headers.get("content-type") == "application/msgpack":
        lie.headers["content-type"] = "application/vnd.msgpack"
    transport, _ = answers(lie)
    with Client(transport=transport, retries=0) as client, pytest.raises(tensorcast.InvalidAnswer):
        client.broadcast_to(ROW, (2,))


@contextmanager
def scripted(*answers: bytes, then: Callable[[socket.socket], None] = lambda connection: None) -> Iterator[str]:
    """A server that reads a request on each connection, sends these bytes, and then does `then`, or closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)
                    then(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.msgpack\r\nContent-Length: %d\r\n\r\n"
BODY = bytes(msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [100], "data": bytes(100)}]}))


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", HEAD % len(BODY), HEAD % len(BODY) + BODY[:-50]]
)
@pytest.mark.parametrize("make", [Client, lambda *a, **k: Sync(lambda: AsyncClient(*a, **k))], ids=["sync", "async"])
def test_an_answer_that_breaks_off_is_an_error_of_this_library(make: Any, sent: bytes) -> None:
    with scripted(sent) as url:
        client = make(url, retries=0)
        with pytest.raises((tensorcast.InvalidAnswer, tensorcast.ConnectionFailed)):
            client.broadcast_to(np.zeros(1, np.uint8), (100,))
        client.close()


def test_an_answer_that_breaks_off_is_asked_for_again_and_out_is_filled() -> None:
    full = bytes(msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [100], "data": bytes(range(100))}]}))
    out = np.full(100, 255, np.uint8)
    with scripted(HEAD % len(full) + full[:-50], HEAD % len(full) + full) as url, Client(url) as client:
        client.broadcast(tensorcast.numpy.broadcast_to(shape=(100,)), np.zeros(1, np.uint8), out=out)
    assert out.tolist() == list(range(100))


@pytest.mark.parametrize("make", [Client, lambda *a, **k: Sync(lambda: AsyncClient(*a, **k))], ids=["sync", "async"])
@pytest.mark.parametrize("sent", [b"", HEAD % 1000 + b"\x81"], ids=["no head", "no body"])
def test_a_service_that_stalls_ends_with_the_deadline(make: Any, sent: bytes) -> None:
    released = threading.Event()
    with scripted(sent, then=lambda connection: released.wait(PATIENCE) and None) as url:
        client = make(url, timeout=0.5)
        with pytest.raises(tensorcast.DeadlineExceeded, match=r"0\.5 s"):
            client.broadcast_to(ROW, (3,))
        released.set()
        client.close()


def test_a_service_that_trickles_ends_with_the_deadline() -> None:
    def trickle(connection: socket.socket) -> None:
        with suppress(OSError):  # the client leaves, as it should
            for _ in range(900):
                connection.sendall(b"\0")
                time.sleep(0.05)

    with (
        scripted(HEAD % 1000 + b"\x81\xa7outputs\x91", then=trickle) as url,
        Client(url, timeout=0.5, retries=0) as client,
    ):
        start = time.monotonic()
        with pytest.raises((tensorcast.DeadlineExceeded, tensorcast.InvalidAnswer)):
            client.check(BROADCAST, (3,))
        assert time.monotonic() - start < 30  # of the 45 that the service would go on for


def test_no_service_at_all_is_a_connection_that_failed() -> None:
    with (
        Client(f"http://127.0.0.1:{free_port()}", retries=1) as client,
        pytest.raises(tensorcast.ConnectionFailed, match="up"),
    ):
        client.ops()


def test_a_service_that_dies_in_mid_answer_is_an_error_and_the_next_call_works() -> None:
    with served() as doomed, Client(doomed.url, retries=0) as client:

        def kill(transfer: tensorcast.Transfer) -> None:
            if transfer.direction == "download":
                doomed.process.kill()

        with pytest.raises((tensorcast.InvalidAnswer, tensorcast.ConnectionFailed)):
            client.broadcast(tensorcast.numpy.broadcast_to(shape=(2**28, 3)), ROW, progress=kill)
        with pytest.raises(tensorcast.ConnectionFailed):
            client.ops()


def test_a_dense_answer_of_a_gigabyte_streams_in_little_memory(service: Served) -> None:
    class Sink:
        """Counts what a reader would keep."""

        done = 0

    with httpx.stream(
        "POST",
        f"{service.url}/v1/broadcast",
        content=msgpack.packb(
            {
                "op": {"name": "numpy.broadcast_to", "shape": [2**17, 2**13]},
                "inputs": [{"dtype": "uint8", "shape": [2**17, 1], "data": bytes(2**17)}],
            }
        ),
        headers={"content-type": "application/msgpack"},
    ) as response:
        for chunk in response.iter_raw():
            Sink.done += len(chunk)
    assert Sink.done == int(response.headers["content-length"]) > 2**30
    assert service.memory("VmHWM") < 200 * 2**20


def test_json_answers_are_not_asked_for_but_problems_in_json_are_read() -> None:
    transport, seen = answers(httpx.Response(500, content=json.dumps({"code": "internal", "detail": "x"}).encode(),
                                             headers={"content-type": "application/problem+json"}))  # fmt: skip
    with Client(transport=transport) as client, pytest.raises(tensorcast.InternalError):
        client.ops()
    assert seen[0].headers["accept"] == "application/vnd.msgpack"


def test_a_client_in_process_that_is_never_closed_does_not_keep_the_process() -> None:
    script = "from tensorcast import Client; client = Client.in_process(); print(client.broadcast_shapes((3,), 3))"
    done = run([sys.executable, "-c", script])
    assert (done.returncode, done.stdout) == (0, "(3,)\n")


def test_a_compressed_answer_is_refused_before_it_is_expanded() -> None:
    transport, _ = answers(httpx.Response(200, content=b"", headers={"content-encoding": "gzip"}))
    with Client(transport=transport, retries=0) as client, pytest.raises(tensorcast.InvalidAnswer, match="compressed"):
        client.ops()
