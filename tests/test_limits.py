"""The list in docs/limits.md, and each limit on both of its sides."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx
import numpy as np
import pytest

from tensorcast.answers import batch, diagram, limits
from tensorcast.answers.batch import check_rows
from tensorcast.answers.check import plain_answer, plan_of
from tensorcast.answers.columns import check_columns
from tensorcast.answers.limits import Limit
from tensorcast.answers.translate import translate
from tensorcast.messages import CheckRequest, TranslateRequest
from tensorcast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest
from tensorcast.messages.validation import validated
from tensorcast.ops import numpy
from tensorcast.schema import codec, dtypes, shapes, survey
from tensorcast.schema.codec import Media, decode, encode
from tensorcast.schema.problems import STATUS, Problem
from tensorcast.schema.tensors import Tensor
from tensorcast_service.settings import Settings, variable_of
from tensorcast_service.web import threads
from tensorcast_service.web.admission import Admission
from tensorcast_service.web.app import create_app
from tensorcast_service.web.backprop import _gradients, judge_dense
from tensorcast_service.web.broadcast import outputs
from tensorcast_service.web.budget import FREE_BYTES, Budget, Holding

MiB = 2**20


TO: dict[str, Any] = {"name": "numpy.broadcast_to"}


# --- the list of limits --------------------------------------------------------------------------

MODULES: dict[str, ModuleType] = {
    module.__name__.split(".")[-1]: module for module in (limits, codec, survey, dtypes, shapes, threads, diagram)
}
ROWS = re.findall(
    r"^\| .+ \| `([^`]+)` \| `([^`]+)` \| (?:([0-9]{3}) `([a-z-]+)`|none) \|$",
    (Path(__file__).parents[1] / "docs" / "limits.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("value", "name", "status", "code"), ROWS, ids=[row[1] for row in ROWS])
def test_the_list_of_limits_says_what_holds(value: str, name: str, status: str, code: str) -> None:
    if name.startswith("TENSORCAST_"):
        actual = Settings.__dataclass_fields__[name.removeprefix("TENSORCAST_").lower()].default
    else:
        module, constant = name.split(".")
        actual = getattr(MODULES[module], constant)
    assert int(value) == actual
    if code:
        assert STATUS[code][0] == int(status)


def test_every_limit_is_on_the_list() -> None:
    named = {name.split(".")[-1] for _, name, _, _ in ROWS}
    wanted = {name for module in MODULES.values() for name in vars(module) if name.startswith("MAX_")}
    assert wanted <= named
    assert {f"TENSORCAST_{name.upper()}" for name in Settings.__dataclass_fields__ if name.startswith("max_")} <= named


# --- both sides of each limit --------------------------------------------------------------------
#
# A question that measures so much passes where the limit is as high, and is refused where it is lower by one. So no
# number here need follow a limit that changes, and nothing large is made.

Ask = Callable[[int], object]
"""Does what measures so much under the limit that it is given (a setting), or that stands in its module (a constant).
Returns, or raises in a Problem, the code of the refusal."""


def posted(path: str, value: Any, **settings: int) -> str | None:
    """The code of what the whole application answers to JSON; None where it is no problem."""

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(Settings(metrics=False, **settings)))
        async with httpx.AsyncClient(transport=transport, base_url="http://tensorcast") as http:
            if not isinstance(value, dict):
                return await http.post(path, content=value, headers={"Content-Type": "application/json"})
            return await http.post(path, json=value)

    code: str | None = asyncio.run(post()).json().get("code")
    return code


def got(query: dict[str, str]) -> str | None:
    """The same of GET /v1/check."""

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(Settings(metrics=False)))
        async with httpx.AsyncClient(transport=transport, base_url="http://tensorcast") as http:
            return await http.get("/v1/check", params=query)

    code: str | None = asyncio.run(get()).json().get("code")
    return code


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for byte in body:
        yield bytes([byte])


def checked(op: str | dict[str, Any], *inputs: list[Any], **fields: Any) -> dict[str, Any]:
    return plain_answer(validated(CheckRequest, {"op": op, "inputs": list(inputs), **fields}))


def answered(max_output_bytes: int = 2**34, **request: Any) -> None:
    outputs(validated(BroadcastRequest, request), max_output_bytes)


def summed(op: str | dict[str, Any], inputs: list[Any], *gradients: Any) -> None:
    message = validated(BackpropRequest, {"op": op, "inputs": inputs, "gradients": list(gradients)})
    _gradients(message)


def columns(op: Any, *inputs: Any) -> None:
    tensors = [{"shape": [len(rows), len(rows[0])], "data": rows} for rows in inputs]
    check_columns(validated(CheckBatchRequest, {"op": op, "inputs": tensors}))


def code_of_the_last(results: list[dict[str, Any]]) -> str | None:
    error = results[-1].get("error")
    return None if error is None else error["code"]


def row_after_seconds(seconds: int) -> str | None:
    """What is said of a row when the one before it took so long."""
    clock = iter([0, seconds, seconds, seconds])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "monotonic", lambda: next(clock))
        return code_of_the_last(list(check_rows([{"inputs": [[1]]}] * 2)))


def at_once(count: int, limit: int) -> str | None:
    """What is said to the last of so many requests that are in work at once."""

    async def last() -> str | None:
        done = asyncio.Event()
        codes: list[str | None] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await done.wait()

        async def send(message: Any) -> None:
            if body := message.get("body"):
                codes.append(json.loads(body)["code"])

        admission = Admission(app, limit, Budget(MiB), Counter())
        scope = {"type": "http", "method": "GET", "path": "/v1/check", "headers": []}
        async with asyncio.TaskGroup() as tasks:
            for _ in range(count):
                tasks.create_task(admission(dict(scope), None, send))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            done.set()
        return codes[-1] if codes else None

    return asyncio.run(last())


def threads_at_once(count: int) -> str | None:
    async def begin() -> str | None:
        limiter = threads.Threads()._numpy
        try:
            for number in range(count):
                limiter.acquire_on_behalf_of_nowait(number)
        except anyio.WouldBlock:
            return "none"
        return None

    return asyncio.run(begin())


def drawn(count: int) -> str | None:
    return (
        "none" if "more inputs" in checked("torch.broadcast_tensors", *[[2]] * count, explain=True)["diagram"] else None
    )


def packed(value: Any) -> bytes:
    return encode(value, Media.MSGPACK)


def said(code: str, work: Callable[[], object]) -> str | None:
    """A refusal that is no Problem yet."""
    try:
        work()
    except ValueError:
        return code
    return None


QUESTION = b'{"inputs": [[3]]}'
TORCH = "torch.broadcast_tensors"
SPLIT = {"name": "einops.repeat", "pattern": "(a b) -> a b c", "axes_lengths": {"a": 2, "c": 2}}
REPEATED = {"name": "einops.repeat", "pattern": "a -> (a r)", "axes_lengths": {"r": 2}}
BYTES = {"dtype": "int8", "shape": [3], "data": b"abc"}
FLOATS = {"dtype": "float32", "shape": [2, 3], "data": bytes(24)}
LISTED = {"dtype": "int8", "shape": [3], "data": [1, 2, 3]}
ROWS_OF_3 = {"op": {"name": "numpy.broadcast_to", "shape": [2, 3]}, "inputs": [LISTED]}
GRADIENT = {"inputs": [[2, 3]], "gradients": [{"dtype": "int8", "shape": [2, 3], "data": [1] * 6}]}
REPLICATED = {"dtype": "int8", "shape": [2, 3, 2], "strides": [0, 0, 1], "data": b"ab"}

CONSTANTS: dict[str, list[tuple[int, Callable[[], object]]]] = {
    "threads.NUMPY_THREADS": [(3, lambda: threads_at_once(3))],
    "survey.MAX_VALUES": [
        (4, lambda: decode(packed([1, 2, 3]), Media.MSGPACK)),  # a list and its three
        (5, lambda: decode(packed({"a": 1, "b": 2}), Media.MSGPACK)),  # a map, its keys and their values
        (4, lambda: decode(b"[1, 2, 3, 4]", Media.JSON)),  # three commas and a list
        (4, lambda: decode(b'{"a": 1, "b": 2}', Media.JSON)),  # a comma, two colons and a map
    ],
    "survey.MAX_TEXT_BYTES": [
        (6, lambda: decode(packed({"a": "xyz"}), Media.MSGPACK)),  # each string with its first byte
        (3, lambda: decode(b"[1]", Media.JSON)),
        (len(QUESTION), lambda: posted("/v1/check", QUESTION)),
        (len(QUESTION), lambda: posted("/v1/check", in_pieces(QUESTION))),
    ],
    "codec.MAX_DIGITS": [(3, lambda: decode(b"[123" + b" " * codec.SHORT_BYTES + b"]", Media.JSON))],
    "codec.MAX_FIELDS": [
        (3, lambda media=media: decode(encode({"a": 1, "b": 2, "c": 3}, media), media)) for media in Media
    ],
    "codec.MAX_KEY": [(3, lambda media=media: decode(encode({"abc": 1}, media), media)) for media in Media],
    "shapes.MAX_NAMES": [
        (2, lambda: checked(TORCH, ["N", "M"], assume={"N": 2, "M": 3})),
        (2, lambda: checked(SPLIT, [4])),
    ],
    "shapes.MAX_TEXT": [(5, lambda: got({"input": "1,2,3"}))],
    "dtypes.MAX_ITEM_BYTES": [
        (12, lambda: answered(inputs=[{"dtype": "str<3>", "shape": [1], "data": bytes(12)}])),
        (3, lambda: answered(inputs=[{"dtype": "bytes<3>", "shape": [1], "data": b"abc"}])),
    ],
    "limits.MAX_RANK": [(5, lambda: checked(TORCH, [1, 1, 1, 1, 1], [1]))],
    "limits.MAX_AXES": [(15, lambda: checked(TORCH, [1] * 5, [1], [])), (12, lambda: checked(TORCH, [1], [1], []))],
    "limits.MAX_SYMBOLIC_AXES": [(5, lambda: checked(TORCH, ["N", 2, 3], [2, 3]))],
    "limits.MAX_CONDITIONS": [
        (3, lambda: checked(TORCH, ["A"], ["B"], ["C"])),  # each two of them
        (2, lambda: checked(TORCH, ["A", "B"], ["C", "D"])),
    ],
    "diagram.MAX_INPUTS": [(3, lambda: drawn(3))],
    "limits.MAX_TRANSLATED_INPUTS": [
        (3, lambda: translate(validated(TranslateRequest, {"op": TORCH, "inputs": [[1]] * 3, "to": "onnx.Expand"}))),
    ],
    "limits.MAX_BATCH_ROWS": [(3, lambda: check_rows([{"inputs": [[1]]}] * 3))],
    "limits.MAX_BATCH_SECONDS": [(2, lambda: row_after_seconds(2))],
    "limits.MAX_COLUMN_SIZES": [(2 * (2 + 1 + 2 * 2 + 1), lambda: columns(TORCH, [[1, 2], [3, 4]], [[2], [4]]))],
    "limits.MAX_ROWS_ALONE": [(2, lambda: columns("poputil.canBroadcastToMatch", [[2], [3], [4]], [[3], [3], [3]]))],
    "limits.MAX_WORK_ELEMENTS": [
        (6, lambda: summed(TO | {"shape": [2, 3]}, [[3]], FLOATS)),
        (2, lambda: summed(SPLIT | {"axes_lengths": {"a": 2, "c": 2}}, [[6]], REPLICATED)),  # replicated axes once
    ],
    "limits.MAX_RESULT_ELEMENTS": [
        (3, lambda: summed(TO | {"shape": [2, 3]}, [[3]], FLOATS)),
        (6, lambda: summed(SPLIT, [[6]], REPLICATED)),  # put together again
        (12, lambda: summed("numpy.broadcast_arrays", [[2, 3], [2, 3]], FLOATS, FLOATS)),
    ],
    "limits.MAX_LOOKUPS": [(6, lambda: answered(op=REPEATED, inputs=[BYTES], window=[[1, 4]]))],
    "limits.MAX_JSON_ELEMENTS": [
        (8, lambda: posted("/v1/broadcast", ROWS_OF_3)),  # and the lists of each row
        (6, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"json_data": "base64"})),
        (3, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"layout": "strided"})),
        (8, lambda: posted("/v1/backprop", GRADIENT)),
        (6, lambda: posted("/v1/backprop", GRADIENT | {"json_data": "base64"})),
    ],
    "limits.MAX_JSON_BYTES": [
        (6, lambda: posted("/v1/broadcast", ROWS_OF_3)),
        (3, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"layout": "strided"})),
        (6, lambda: posted("/v1/backprop", GRADIENT)),
    ],
    "limits.MAX_ADDRESS": [
        (6, lambda: answered(op=TO | {"shape": [2, 3]}, inputs=[BYTES], layout="strided")),
        (6, lambda: answered(op=TO | {"shape": [2, 3]}, inputs=[BYTES])),
        (4, lambda: answered(op=REPEATED, inputs=[BYTES], window=[[1, 5]])),
        (24, lambda: summed("numpy.broadcast_arrays", [[2, 3]], FLOATS)),
    ],
}
"""Constants: for each way in to one, what is measured by it, and how much it measures."""

SETTINGS: dict[str, list[tuple[int, Ask]]] = {
    "TENSORCAST_MAX_BODY_BYTES": [
        (len(QUESTION), lambda limit: posted("/v1/check", QUESTION, max_body_bytes=limit)),
        (len(QUESTION), lambda limit: posted("/v1/check", in_pieces(QUESTION), max_body_bytes=limit)),
    ],
    "TENSORCAST_MEMORY_BUDGET_BYTES": [
        (4000, lambda limit: holding(limit, other=1000).grow(FREE_BYTES + 2000)),  # of three quarters
    ],
    "TENSORCAST_MAX_OUTPUT_BYTES": [
        (6, lambda limit: answered(limit, op=TO | {"shape": [2, 3]}, inputs=[BYTES])),
        (48, lambda limit: answered(limit, inputs=[FLOATS, FLOATS])),
        (2, lambda limit: answered(limit, op=TO | {"shape": [2, 3]}, inputs=[BYTES], window=[[0, 1], [1, 3]])),
        (24, lambda limit: judge_dense(plan_of(numpy.broadcast_to(shape=(2, 3)), ((2, 3),)), [np.zeros((2, 3), "f4")],
                                       [True], Media.MSGPACK, "list", limit)),
    ],
    "TENSORCAST_MAX_CONCURRENT_REQUESTS": [(3, lambda limit: at_once(3, limit))],
}  # fmt: skip
"""Settings: the same under a limit that is given."""

FIXED: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "shapes.MAX_SIZE": (
        lambda: checked(TORCH, [shapes.MAX_SIZE]),
        lambda: checked(TORCH, [shapes.MAX_SIZE + 1]),
    ),
}
"""What is part of a format: at the limit and one above."""


def holding(budget: int, other: int = 0) -> Holding:
    """A request's of a budget of which others hold so much."""
    shared = Budget(budget)
    assert shared.draw(other)
    return Holding(shared)


def refusal(work: Callable[[], object]) -> object:
    """The code of the Problem that it raises, or that it returns."""
    try:
        outcome = work()
    except Problem as problem:
        return problem.code
    return outcome if isinstance(outcome, str) else None


def with_constant(name: str, value: int, work: Callable[[], object]) -> object:
    """The refusal while a constant is so high, wherever its name was imported."""
    module, constant = name.split(".")
    old = getattr(MODULES[module], constant)
    new = Limit(value, **{name[1:]: part for name, part in vars(old).items()}) if type(old) is Limit else value
    with pytest.MonkeyPatch.context() as patch:
        for loaded in [loaded for name, loaded in sys.modules.items() if name.startswith("tensorcast")]:
            if vars(loaded).get(constant) == old:
                patch.setattr(loaded, constant, new)
        for cached in dtypes.dtype_named, dtypes.name_of:
            cached.cache_clear()
        try:
            return refusal(work)
        finally:
            dtypes.dtype_named.cache_clear()


DOCUMENTS: dict[str, dict[str, object]] = {
    "MAX_RANK": {"detail": "a shape has 5 axes; this service takes up to 4", "limit": 4},
    "MAX_AXES": {
        "detail": "3 inputs of up to 5 axes make 15 axes; this service takes up to 14: send fewer inputs at once",
        "limit": 14,
    },
    "MAX_SYMBOLIC_AXES": {
        "detail": "the inputs have 5 axes; where sizes are not known this service takes up to 4: send inputs of equal "
        "shape once",
        "limit": 4,
    },
    "MAX_CONDITIONS": {
        "detail": "the sizes that are not known and meet put 3 conditions or more on each other; this service weighs "
        "up to 2: give one name to sizes that are equal",
        "limit": 2,
    },
    "MAX_TRANSLATED_INPUTS": {
        "detail": "a translation has steps for each of its 3 inputs; this service writes them for up to 2: send fewer",
        "pointer": "/inputs",
        "limit": 2,
    },
    "MAX_BATCH_ROWS": {
        "detail": "requests: there are 3; one batch takes up to 2: send several, or columns, where all have one op and "
        "inputs of the same rank",
        "pointer": "/requests",
        "limit": 2,
    },
    "MAX_COLUMN_SIZES": {
        "detail": "the rows have 16 sizes, those of the answer counted; one batch takes up to 15: send fewer rows at "
        "once",
        "pointer": "/inputs",
        "limit": 15,
    },
    "MAX_ROWS_ALONE": {
        "detail": "2 rows do not broadcast, and which axis is to blame must be found row by row for this op: one batch "
        "takes up to 1 such rows",
        "pointer": "/inputs",
        "limit": 1,
    },
    "MAX_WORK_ELEMENTS": {
        "detail": "the gradients have 6 elements to sum, replicated axes counted once; this service sums up to 5: send "
        "the gradient in slices and add the results",
        "elements": 6,
        "limit": 5,
    },
    "MAX_RESULT_ELEMENTS": {
        "detail": "the gradients of the inputs have 3 elements; this service makes up to 2 at once: send the gradient "
        "in slices and join the results",
        "elements": 3,
        "limit": 2,
    },
    "MAX_LOOKUPS": {
        "detail": "no strides read this window of merged axes, and its elements take 6 lookups; this service does up "
        "to 5: ask for smaller windows, or for the whole output",
        "pointer": "/window",
        "limit": 5,
    },
    "MAX_ADDRESS": {
        "detail": "the output (2, 3) spans 6 bytes, more than the 2^63-1 that an array can: its shape can be checked "
        "with /v1/check, not sent",
        "elements": 6,
        "nbytes": 6,
        "limit": 5,
    },
}
"""What the first way in to a constant is told, one above it."""
PAIRS: list[tuple[Callable[[], object], dict[str, object]]] = [
    (
        lambda: limits.judge_json(131_073, 2**63),
        {
            "detail": "a JSON answer holds up to 131072 elements of 4194304 bytes in all, and this one would hold "
            "131073 of 9223372036854775808: ask for MessagePack (Accept: application/vnd.msgpack), which streams, or "
            'for "layout": "strided"',
            "elements": 131_073,
            "nbytes": "9223372036854775808",
            "limit": 131_072,
        },
    ),
    (
        lambda: answered(10, inputs=[FLOATS, BYTES | {"shape": [1, 3]}]),
        {
            "detail": "the outputs, the largest (2, 3), take 30 bytes; this service sends up to 10: ask for "
            '"layout": "strided", which costs only the bytes of the inputs, or for a "window" of the output',
            "elements": 12,
            "nbytes": 30,
            "limit": 10,
        },
    ),
]
"""What is told of two figures at once."""


def test_a_refusal_says_how_much_there_is_and_may_be_and_what_to_do() -> None:
    found, wanted = [], []

    def note(work: Callable[[], object], members: dict[str, object]) -> None:
        with pytest.raises(Problem) as refused:
            work()
        document = refused.value.document()
        title = STATUS[document["code"]][1]
        head = {"type": f"/problems/{document['code']}", "title": title, "status": 422}
        found.append(json.dumps(document))
        wanted.append(json.dumps({**head, "detail": members["detail"], "code": document["code"]} | members))

    for name, members in DOCUMENTS.items():
        measure, work = CONSTANTS[f"limits.{name}"][0]
        with_constant(f"limits.{name}", measure - 1, partial(note, work, members))
    for work, members in PAIRS:
        note(work, members)
    assert found == wanted
    assert set(DOCUMENTS) | {"MAX_JSON_ELEMENTS"} == {n for n, v in vars(limits).items() if isinstance(v, Limit)}


CODES = {name: code or "none" for _, name, _, code in ROWS}


@pytest.mark.parametrize("name", CODES)
def test_each_limit_holds_on_both_sides(name: str) -> None:
    if name in FIXED:
        within, beyond = FIXED[name]
        assert (refusal(within), refusal(beyond)) == (None, CODES[name])
        return
    assert name in CONSTANTS or name in SETTINGS, "write down what measures as much as this limit"
    for measure, work in CONSTANTS.get(name, ()):
        assert with_constant(name, measure, work) is None
        assert with_constant(name, measure - 1, work) == CODES[name]
    for measure, ask in SETTINGS.get(name, ()):
        assert refusal(partial(ask, measure)) is None
        assert refusal(partial(ask, measure - 1)) == CODES[name]


def test_what_could_never_be_held_is_told_so_from_one_byte_on() -> None:
    most = 3000 + FREE_BYTES
    for code, grow in (("body-too-large", Holding.grow), ("output-too-large", Holding.reserve_answer)):
        assert refusal(partial(grow, holding(4000), most)) is None
        assert refusal(partial(grow, holding(4000), most + 1)) == code
        assert refusal(partial(grow, holding(4000, other=1), most)) == "overloaded"


def test_each_request_holds_so_much_beside_the_budget() -> None:
    assert refusal(partial(holding(4000, other=3000).grow, FREE_BYTES)) is None
    assert refusal(partial(holding(4000, other=3000).grow, FREE_BYTES + 1)) == "overloaded"


VIEW: dict[str, Any] = {"dtype": "int8", "strides": [0], "data": b"a"}
EINOPS: dict[str, Any] = {"name": "einops.repeat", "pattern": "a -> a"}
XARRAY: dict[str, Any] = {"name": "xarray.broadcast"}
OTHERS: dict[str, tuple[str, Callable[[int], object], int]] = {
    "a size in an attribute": (
        "invalid-request",
        lambda size: checked(TO | {"shape": [size]}, [1]),
        shapes.MAX_SIZE,
    ),
    "bytes of a view": (
        "invalid-tensor",
        lambda count: answered(
            inputs=[VIEW | {"dtype": "bytes<7>", "shape": [count], "data": b"1234567"}], layout="strided"
        ),
        (2**63 - 1) // 7,  # which it divides
    ),
    "axes of a tensor": (
        "invalid-tensor",
        lambda rank: Tensor(dtype="int8", shape=(1,) * rank, data=b"a").to_array("/inputs/0"),
        64,
    ),
    "characters of a pattern": (
        "invalid-request",
        lambda count: checked(EINOPS | {"pattern": "a -> a".ljust(count)}, [1]),
        1000,
    ),
    "characters of a name": (
        "invalid-request",
        lambda count: checked(XARRAY | {"dims": [["x" * count]]}, [1]),
        100,
    ),
    "names that are excluded": (
        "invalid-request",
        lambda count: checked(XARRAY | {"dims": [["x"]], "exclude": [f"a{number}" for number in range(count)]}, [1]),
        1000,
    ),
    "characters of a symbol": ("invalid-request", lambda count: checked(TORCH, ["N" * count]), 100),
    "axes of numpy.broadcast_to": ("rank-too-large", lambda rank: conflicting(TO | {"shape": [1] * rank}), 64),
    "axes of numpy.broadcast_arrays": (
        "rank-too-large",
        lambda rank: conflicting("numpy.broadcast_arrays", [1] * rank),
        32,
    ),
    "axes of paddle.expand": (
        "rank-too-large",
        lambda rank: conflicting({"name": "paddle.expand", "shape": [1] * rank}),
        8,
    ),
}
"""What else has an end: its code, what asks for so much, and the most."""


def conflicting(op: Any, *shapes: list[int]) -> str | None:
    conflict = checked(op, *(shapes or [[1]])).get("conflict")
    return None if conflict is None else conflict["code"]


@pytest.mark.parametrize(("code", "ask", "most"), OTHERS.values(), ids=OTHERS)
def test_what_else_has_an_end_has_it_there(code: str, ask: Callable[[int], object], most: int) -> None:
    assert (refusal(partial(ask, most)), refusal(partial(ask, most + 1))) == (None, code)


@pytest.mark.parametrize("name", [name for name, field in Settings.__dataclass_fields__.items() if field.type == "int"])
def test_each_setting_has_its_least_value(name: str) -> None:
    variable, least = variable_of(name), Settings.__dataclass_fields__[name].metadata["least"]
    assert getattr(Settings.from_environment({variable: str(least)}), name) == least
    with pytest.raises(ValueError, match=f"{variable} must be"):
        Settings.from_environment({variable: str(least - 1)})


def test_a_port_has_16_bits() -> None:
    assert Settings.from_environment({"TENSORCAST_PORT": "65535"}).port == 65535
    with pytest.raises(ValueError, match="at most 65535"):
        Settings.from_environment({"TENSORCAST_PORT": "65536"})
