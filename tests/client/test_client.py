"""The Python clients, over a real socket and in process."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, Served, run
from raw_http import at_most

import axiscast
from axiscast import AsyncClient, Client, errors
from axiscast.ops import ngraph, poputil, torch
from axiscast.wire.problems import PROBLEM_KINDS

ROW = np.array([1, 2, 3], np.float32)


BROADCAST = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})


class Sync:
    """An AsyncClient with the synchronous methods of Client, so that both pass the same tests."""

    def __init__(self, make: Callable[[], AsyncClient]) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = self._run(self._enter(make))

    async def _enter(self, make: Callable[[], AsyncClient]) -> AsyncClient:
        return await make().__aenter__()

    def _run(self, awaitable: Any) -> Any:
        return self._loop.run_until_complete(awaitable)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: self._run(getattr(self._client, name)(*arguments, **named))

    def with_options(self, **options: Any) -> Sync:
        changed = Sync.__new__(Sync)
        changed._loop, changed._client = self._loop, self._client.with_options(**options)
        return changed

    def close(self) -> None:
        self._run(self._client.aclose())
        self._loop.close()


@pytest.fixture(params=["sync", "async", "in process", "async in process"])
def anyone(request: pytest.FixtureRequest, service: Served) -> Iterator[Any]:
    """Yield a client of each kind, connected to a working service."""
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
    answer = anyone.check(BROADCAST, (3,), dtype="float32")
    (output,), (reached,) = answer.outputs, answer.broadcast_inputs
    assert (answer.shape, output.shape, output.elements, output.nbytes) == ((2, 3), (2, 3), 6, 24)
    assert (reached.input, reached.shape, reached.axes, reached.broadcast_axes) == (0, (2, 3), (1,), (0,))
    answer = anyone.check("numpy.broadcast_arrays", (3,), (4,), explain=True)
    assert (answer.compatible, answer.conflict.sizes) == (False, (3, 4))
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


def test_incompatible_shapes_is_a_value_error_with_the_conflict(anyone: Any) -> None:
    for call in (lambda: anyone.broadcast_to(ROW, (3, 4)), lambda: anyone.broadcast_shapes((3, 4), (3,))):
        with pytest.raises(ValueError, match=r"1.*Hint: .*\(3, 1\)") as caught:
            call()
        assert isinstance(caught.value, axiscast.IncompatibleShapes)
        assert caught.value.conflict.axis == 1
        hint = caught.value.conflict.hints[0]
        assert anyone.check(hint.request).compatible is True


def test_out_is_filled_and_returned(anyone: Any) -> None:
    out = np.empty((50_000, 3), np.float32)
    (same,) = anyone.broadcast("numpy.broadcast_arrays", np.broadcast_to(ROW, out.shape), out=out)
    assert same is out
    np.testing.assert_array_equal(out, np.broadcast_to(ROW, out.shape))
    a, b = np.empty((2, 3)), np.empty((2, 3), np.float32)
    anyone.broadcast("numpy.broadcast_arrays", np.ones((2, 1)), ROW, out=[a, b])
    assert (a.tolist(), b.tolist()) == ([[1, 1, 1]] * 2, [[1, 2, 3]] * 2)


class BreakingOnce(httpx.BaseTransport):
    """A transport that truncates the first response of the service in the middle."""

    def __init__(self) -> None:
        self.service, self.bodies = httpx.HTTPTransport(), []

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

    def close(self) -> None:
        self.service.close()


def test_out_may_share_memory_with_an_input_but_not_with_another_out(service: Served) -> None:
    count = 300_000  # more than one chunk, so that the memory of the array is sent without a copy
    memory = np.arange(2 * count, dtype=np.float32)
    array, out = memory[count // 2 :][:count], memory.reshape(2, count)
    transport = BreakingOnce()
    with Client(service.url, transport=transport) as client:
        client.broadcast_to(array, out.shape, out=out)
        assert transport.bodies[0] == transport.bodies[1]
        assert (out == np.arange(count // 2, count // 2 + count)).all()
        with pytest.raises(ValueError, match="two arrays of out share memory"):
            client.broadcast_arrays(ROW, ROW, out=[memory[:3], memory[2:5]])


def test_broadcast_arrays_has_the_options_of_broadcast(anyone: Any) -> None:
    column, outs, seen = np.arange(2.0).reshape(2, 1), [np.empty((1, 3)), np.empty((1, 3), np.float32)], []
    patient = anyone.with_options(progress=seen.append, timeout=PATIENCE)
    assert patient.broadcast_arrays(column, ROW, window=np.s_[1:], out=outs) == (outs[0], outs[1])
    assert (outs[0].tolist(), outs[1].tolist(), bool(seen)) == ([[1, 1, 1]], [[1, 2, 3]], True)


@cases(
    "out",
    [np.empty((2, 4), np.float32), np.empty((2, 3)), np.empty((3, 2), np.float32).T, np.broadcast_to(ROW, (2, 3)), []],
    ids=["shape", "dtype", "not C-contiguous", "read-only", "count"],
)
def test_an_out_of_the_wrong_shape_raises_value_error(client: Client, out: Any) -> None:
    with pytest.raises(ValueError, match="out") as caught:
        client.broadcast(BROADCAST, ROW, out=out)
    assert not isinstance(caught.value, axiscast.AxiscastError)
    assert client.can_broadcast((3,), (3,))  # the connection still works


def test_out_requires_the_dense_layout(client: Client) -> None:
    with pytest.raises(ValueError, match="dense"):
        client.broadcast(BROADCAST, ROW, out=np.empty((2, 3), np.float32), layout="strided")


def test_a_window_selects_a_slice_of_the_output(anyone: Any) -> None:
    (box,) = anyone.broadcast(BROADCAST, ROW, window=[(1, 2), (0, 2)])
    assert box.tolist() == [[1, 2]]


def test_progress_reaches_the_total_of_upload_and_download(anyone: Any) -> None:
    seen: list[axiscast.Transfer] = []
    large = np.zeros((3, 1024, 1024), np.uint8)
    anyone.with_options(progress=seen.append).broadcast("numpy.broadcast_arrays", large)
    for direction in ("upload", "download"):
        done = [(transfer.done, transfer.total) for transfer in seen if transfer.direction == direction]
        assert done[-1][0] == done[-1][1] > large.nbytes
        assert done == sorted(done)


def test_arrays_are_sent_unchanged(anyone: Any) -> None:
    big_endian = np.array([1, 256], ">i4")
    assert anyone.broadcast_to(big_endian, (2, 2)).tolist() == [[1, 256], [1, 256]]
    replicated = np.broadcast_to(ROW, (10**9, 3))  # is sent as a strided tensor of 12 bytes
    (output,) = anyone.broadcast("numpy.broadcast_arrays", replicated, window=[(5, 6), (0, 3)])
    assert output.tolist() == [[1, 2, 3]]
    assert anyone.broadcast_to(np.arange(6).reshape(2, 3)[:, ::-1], (2, 3)).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert anyone.broadcast_to(np.array("ab"), (2,)).tolist() == ["ab", "ab"]
    with pytest.raises(TypeError, match="object"):
        anyone.broadcast_to(np.array([object()]), (2,))


def test_translate_returns_op_objects_and_code(anyone: Any) -> None:
    answer = anyone.translate(BROADCAST, (3,), to="torch.expand")
    assert (answer.exact, [step.op for step in answer.steps]) == (True, [torch.expand(size=(2, 3))])
    assert (answer.code.language, answer.code.text.splitlines()[-1]) == ("python", "y = x.expand((2, 3))")
    with pytest.raises(axiscast.UnknownOp, match=r"did you mean torch\.expand"):
        anyone.translate(BROADCAST, (3,), to="torch.expnd")


def test_ops_lists_all_ops(anyone: Any) -> None:
    assert "openvino.Broadcast-3" in [entry.name for entry in anyone.ops()]


def test_an_invalid_op_raises_type_error_with_an_example(client: Client) -> None:
    with pytest.raises(TypeError, match=r"axiscast.numpy.broadcast_to\(shape=\(4, 3\)\)"):
        client.check(None, (3,))  # type: ignore[arg-type]


HALF = {
    "op": lambda client: client.broadcast("\ud800", ROW),
    "size": lambda client: client.check(
        "numpy.broadcast_arrays", ("\ud800",)
    ),  # a replacement character would change the size
    "target": lambda client: client.translate("numpy.broadcast_arrays", (3,), to="\ud800"),
}


@cases("call", HALF.values(), ids=HALF)
def test_half_a_surrogate_pair_is_rejected_before_it_is_sent(client: Client, call: Any) -> None:
    with pytest.raises(axiscast.InvalidRequest, match=r"'\\ud800' contains half a surrogate pair"):
        call(client)


PROBLEMS: dict[str, tuple[type[errors.ServiceProblem], Callable[[Any], Any]]] = {
    "unknown-op": (axiscast.UnknownOp, lambda client: client.check("numpy.nothing", (3,))),
    "invalid-request": (axiscast.InvalidRequest, lambda client: client.check(poputil.expandToMatchRanks(), (3,))),
    "output-too-large": (axiscast.OutputTooLarge, lambda client: client.broadcast_to(ROW, (10**15, 3))),
    "untranslatable": (
        axiscast.Untranslatable,
        lambda client: client.translate(BROADCAST, (3,), to="torch.broadcast_tensors"),
    ),
    "invalid-tensor": (axiscast.InvalidTensor, lambda client: client.backprop(BROADCAST, [(3,)], ROW)),
}


@cases(("kind", "call"), PROBLEMS.values(), ids=PROBLEMS)
def test_each_problem_code_raises_its_exception(anyone: Any, kind: type[errors.ServiceProblem], call: Any) -> None:
    with pytest.raises(kind) as caught:
        call(anyone)
    assert (caught.value.status, caught.value.code) == (PROBLEM_KINDS[kind.code][0], kind.code)
    assert str(caught.value).startswith(caught.value.detail)


def test_every_exception_is_public_and_has_a_code_of_the_service() -> None:
    assert set(errors.BY_CODE) < set(PROBLEM_KINDS)
    assert {kind.__name__ for kind in errors.BY_CODE.values()} < set(errors.__all__)


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        public = [name for name in vars(kind) if not name.startswith("_") and not name.endswith("close")]
        return {name: list(inspect.signature(getattr(kind, name)).parameters) for name in public}

    assert methods(Client) == methods(AsyncClient)


def test_every_docstring_example_of_the_client_prints_its_result(client: Client) -> None:
    given = {"client": client, "np": np, "Client": Client}
    examples = {test.name: test for test in doctest.DocTestFinder().find(Client, "Client", globs=given)}
    public = {f"Client.{name}" for name in vars(Client) if not name.startswith("_")} - {"Client.close"}
    assert {name for name, test in examples.items() if test.examples} == public
    for test in examples.values():
        assert doctest.DocTestRunner().run(test).failed == 0


def test_many_threads_share_one_client(client: Client) -> None:
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


def test_a_service_in_process_uses_its_settings_and_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a socket was opened"))
    with Client.in_process(max_output_bytes=100) as client, pytest.raises(axiscast.OutputTooLarge) as caught:
        client.broadcast_to(ROW, (100, 3))
    assert caught.value.facts["limit"] == 100


def test_in_process_without_the_service_says_what_to_install() -> None:
    script = "import sys; sys.modules['fastapi'] = None\nfrom axiscast import Client\nClient.in_process()"
    failed = run([sys.executable, "-c", script])
    assert failed.returncode == 1
    assert "run pip install '.[service]' in a checkout of axiscast, or pip install" in failed.stderr


def test_a_dense_response_of_a_gigabyte_streams_in_little_memory(service: Served) -> None:
    class Sink:
        """Counts the bytes that a file would store."""

        done = 0

    column = {"dtype": "uint8", "shape": [2**17, 1], "data": bytes(2**17)}
    body = msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [2**17, 2**13]}, "inputs": [column]})
    headers = {"content-type": "application/msgpack"}
    with (
        at_most(128 * 2**20, service),
        httpx.stream("POST", f"{service.url}/v1/broadcast", content=body, headers=headers) as response,
    ):
        for chunk in response.iter_raw():
            Sink.done += len(chunk)
    assert Sink.done == int(response.headers["content-length"]) > 2**30


def test_an_unclosed_client_in_process_does_not_keep_the_process_alive() -> None:
    script = "from axiscast import Client; client = Client.in_process(); print(client.broadcast_shapes((3,), 3))"
    done = run([sys.executable, "-c", script])
    assert (done.returncode, done.stdout) == (0, "(3,)\n")
