"""Aliases of ops in every kind of request. The response names the rule that was applied."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from cases import cases
from click.testing import CliRunner

import axiscast
from axiscast.cli import main
from axiscast.client.client import Client
from axiscast.messages.unsupported_functions import ADVICE
from axiscast.ops import ALIASES, OPS, op_class
from axiscast.ops.aliases import IMPORT_NAMES

ALIAS, RULE = "torch.mul", {"name": "torch.add"}
SHAPES: list[list[Any]] = [[2, 1], [3]]
AS_TENSORS = {"op": ALIAS, "inputs": [{"shape": [2, 1], "data": [[1], [2]]}, {"shape": [3], "data": [1, 2, 3]}]}


@pytest.fixture
def client(http: httpx.Client) -> Iterator[Client]:
    with Client(str(http.base_url)) as client:
        yield client


def command(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, [*words, "--json"], prog_name="axiscast")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def by_client(url: str) -> dict[str, Any]:
    with Client(url) as client:
        return client.check(ALIAS, (2, 1), (3,)).model_dump(exclude_unset=True)


WAYS: dict[str, Callable[[httpx.Client], Any]] = {
    "POST": lambda http: http.post("/v1/check", json={"op": ALIAS, "inputs": SHAPES}).json(),
    "POST, past the fast path": lambda http: http.post(
        "/v1/check", json={"op": ALIAS, "inputs": SHAPES, "explain": True}
    ).json(),
    "POST, a map": lambda http: http.post("/v1/check", json={"op": {"name": ALIAS}, "inputs": SHAPES}).json(),
    "GET": lambda http: http.get("/v1/check?op=torch.mul&input=2,1&input=3").json(),
    "a row": lambda http: http.post(
        "/v1/check/batch", json={"requests": [{"op": ALIAS, "inputs": SHAPES}]}
    ).json()["results"][0],
    "library": lambda http: axiscast.check(ALIAS, (2, 1), (3,)).model_dump(exclude_unset=True),
    "library, symbols": lambda http: axiscast.check(ALIAS, ("N", 1), (3,)).model_dump(exclude_unset=True),
    "library, a row": lambda http: axiscast.check_batch(  # type: ignore[union-attr]
        [{"op": ALIAS, "inputs": SHAPES}]
    )[0].model_dump(exclude_unset=True),
    "client": lambda http: by_client(str(http.base_url)),
    "command line": lambda http: command("check", "2,1", "3", "--op", ALIAS),
}  # fmt: skip


@cases("way", WAYS.values(), ids=WAYS)
def test_the_response_to_an_alias_names_the_rule(way: Callable[[httpx.Client], Any], http: httpx.Client) -> None:
    answer = way(http)
    assert (answer["compatible"], answer["op"]) == (True, RULE)
    assert [output["shape"][1] for output in answer["outputs"]] == [3]


@cases(
    ("request_", "op"),
    [
        ({"inputs": [[3]]}, {"name": "numpy.broadcast_shapes"}),
        ({"inputs": [["N"]]}, {"name": "numpy.broadcast_shapes"}),
        ({"op": "numpy.broadcast_arrays", "inputs": [[3]]}, {"name": "numpy.broadcast_arrays"}),
        ({"op": {"name": "np.broadcast_to", "shape": [2, 3]}, "inputs": [[3]]},
         {"name": "numpy.broadcast_to", "shape": [2, 3]}),
        ({"op": {"name": "tf.math.multiply"}, "inputs": [[3], [2, 1]]}, {"name": "tensorflow.add"}),
        ({"op": "jnp.where", "inputs": [[3], [2, 1], []]}, {"name": "jax.numpy.broadcast_arrays"}),
        ({"op": "np.clip", "inputs": [[3], [2, 1], []]}, {"name": "numpy.where"}),
        ({"op": {"name": "openvino.Multiply-1", "auto_broadcast": "none"}, "inputs": [[3], [3]]},
         {"name": "openvino.Add-1", "auto_broadcast": "none"}),
    ],
)  # fmt: skip
def test_a_response_always_names_the_op(request_: dict[str, Any], op: dict[str, Any], http: httpx.Client) -> None:
    assert http.post("/v1/check", json=request_).json()["op"] == op
    row = http.post("/v1/check/batch", json={"requests": [request_]}).json()["results"][0]
    assert row["op"] == op


@cases(
    ("query", "op"),
    [
        ("input=3", {"name": "numpy.broadcast_shapes"}),
        ("input=N", {"name": "numpy.broadcast_shapes"}),
        ("input=3&shape=2,3", {"name": "numpy.broadcast_to", "shape": [2, 3]}),
        ("input=3&op=numpy.broadcast_to&shape=2,3", {"name": "numpy.broadcast_to", "shape": [2, 3]}),
        ("input=3&op=np.broadcast_to&shape=2,3", {"name": "numpy.broadcast_to", "shape": [2, 3]}),
    ],
)
def test_the_response_to_a_get_names_the_op_too(query: str, op: dict[str, Any], http: httpx.Client) -> None:
    assert http.get(f"/v1/check?{query}").json()["op"] == op


def test_requests_with_tensors_and_columns_accept_an_alias(http: httpx.Client, client: Client) -> None:
    outputs = http.post("/v1/broadcast", json=AS_TENSORS).json()["broadcast_inputs"]
    assert [output["data"] for output in outputs] == [[[1, 1, 1], [2, 2, 2]], [[1, 2, 3], [1, 2, 3]]]
    ones = {"shape": [2, 3], "data": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]}
    backprop = {"op": ALIAS, "inputs": SHAPES, "gradients": [ones, ones]}
    gradients = http.post("/v1/backprop", json=backprop).json()["gradients"]
    assert [gradient["data"] for gradient in gradients] == [[[3.0], [3.0]], [2.0, 2.0, 2.0]]
    columns = [[[2, 1], [2, 2]], [[3], [3]]]
    for checked in (axiscast.check_columns(ALIAS, *columns), client.check_columns(ALIAS, *columns)):
        assert checked.compatible.tolist() == [True, False]


def test_translate_accepts_an_alias_as_source_and_as_target(client: Client) -> None:
    for way in (axiscast, client):
        steps = way.translate("jnp.where", (2, 1), (3,), (), to="np.broadcast_arrays").steps  # type: ignore[attr-defined]
        assert [step.op.name for step in steps] == ["numpy.broadcast_arrays"]
    shown = CliRunner().invoke(
        main, ["translate", "3", "--op", "np.broadcast_to", "--shape", "2,3", "--to", "torch.Tensor.expand"]
    )
    assert "x.expand((2, 3))" in shown.stdout  # fmt: skip


def test_the_catalogue_lists_aliases_and_finds_an_op_by_one(http: httpx.Client) -> None:
    entry = http.get("/v1/ops/np.multiply").json()
    assert entry["name"] == "numpy.add"
    assert {"numpy.multiply", "numpy.subtract"} <= {*entry["aliases"]}
    assert http.get("/v1/ops/torch.equal").status_code == 404
    shown = CliRunner().invoke(main, ["ops", "torch.mul"]).stdout
    assert shown.startswith("torch.add ")


def test_an_error_message_names_the_alias() -> None:
    with pytest.raises(axiscast.InvalidRequest, match=r"torch\.where takes 3 inputs, not 2"):
        axiscast.check("torch.where", (3,), (3,))
    conflict = axiscast.check("paddle.lerp", (1,) * 7, (1,), (1,)).conflict
    assert conflict is not None
    assert (conflict.code, "6" in conflict.message, "7" in conflict.message) == ("rank-too-large", True, True)


def test_hints_for_an_alias_are_requests_that_broadcast() -> None:
    for alias, shapes in {
        "torch.where": [(2, 3), (2,), ()],
        "np.multiply": [(2, 3), (2,)],
        "tf.where": [(3,), (3, 2), ()],
    }.items():
        conflict = axiscast.check(alias, *shapes).conflict
        assert conflict is not None
        requests = [hint.request for hint in conflict.hints if hint.request is not None]
        assert requests
        assert all(map(axiscast.check, requests))


def test_no_alias_hides_an_op_and_each_has_the_rule_of_its_framework() -> None:
    assert not {*ALIASES} & {*OPS}
    for name, alias in ALIASES.items():
        rule = alias.rule.model_fields["name"].default
        assert OPS[rule] is alias.rule
        assert rule.partition(".")[0] == name.partition(".")[0]
    assert IMPORT_NAMES == {
        "np": "numpy",
        "jnp": "jax.numpy",
        "tf": "tensorflow",
        "xp": "array_api",
        "array_api_strict": "array_api",
        "matlab": "octave",
    }
    assert all(op_class(f"{nickname}.{'plus' if nickname == 'matlab' else 'add'}") for nickname in IMPORT_NAMES)
    for name in ("da.add", "mx.add", "F.relu", "np", "np.", "tf", "numpy", "np.np.add", "tf.tensorflow.add", ""):
        assert op_class(name) is None


@cases(
    ("name", "shapes", "compatible"),
    [  # what each framework does, executed by tests/aliases.py
        ("torch.addcmul", [(2, 1), (3,), (1,)], True),
        ("torch.masked_fill", [(3,), (2, 3)], True),
        ("torch.masked_fill", [(3,), (2, 3), ()], True),
        ("torch.masked_fill", [(3,), (2, 3), (3,)], False),
        ("jax.lax.mul", [(3,), (2, 3)], False),
        ("jax.lax.mul", [(), (2, 3)], True),
        ("jax.numpy.multiply", [(3,), (2, 3)], True),
        ("numpy.where", [(1,) * 64, (3,), ()], True),
        ("paddle.atan2", [(1,) * 9, (3,)], False),
        ("mxnet.nd.multiply", [(3,), (2, 3)], True),
        ("onnx.Mul", [(3,), (2,)], False),
        ("keras.ops.matmul", [(2, 3), (3, 4)], True),
        ("mlx.core.matmul", [(2, 3), (4, 5)], False),
        ("paddle.mm", [(5, 2, 3), (3, 4)], True),
        ("dask.array.matmul", [(1,) * 63, (1, 1)], True),
        ("dask.array.matmul", [(1,) * 64, (1, 1)], False),
    ],
)
def test_an_alias_accepts_the_same_shapes_as_its_function(
    name: str, shapes: list[tuple[int, ...]], compatible: bool
) -> None:
    assert axiscast.check(name, *shapes).compatible is compatible


@cases(
    ("name", "said", "instead"),
    [
        ("torch.equal", "returns one bool", "torch.eq"),
        ("torch.bmm", "does not broadcast", "torch.matmul"),
        ("torch.mm", "does not broadcast", "torch.matmul"),
        ("numpy.dot", "does not broadcast", "numpy.matmul"),
        ("mlx.core.tile", "repeats whole copies", "numpy.tile"),
        ("tinygrad.repeat", "repeats whole copies", "numpy.tile"),
        ("numpy.repeat", "repeats each element", "numpy.broadcast_to"),
        ("torch.cat", "joins arrays", "torch.broadcast_to"),
        ("numpy.concatenate", "joins arrays", "numpy.broadcast_to"),
        ("torch.stack", "joins arrays", "torch.broadcast_to"),
        ("torch.reshape", "changes the shape of one array", "the new shape"),
        ("onnx.Einsum", "sums products", "numpy.einsum"),
        ("onnx.Gather", "by index", "the result's shape"),
        ("einops.reduce", "removes axes", "the reduced shape"),
        ("torch.nn.functional.mse_loss", "returns one number", "torch.broadcast_tensors"),
        ("tf.clip_by_value", "keeps the shape of input 0", "tensorflow.broadcast_to"),
        ("jax.lax.select", "equal shapes", "jax.numpy.where"),
        ("torch.addmm", "adds a matrix product to input 0, and broadcasts only input 0", "torch.matmul"),
        ("torch.Tensor.baddbmm", "adds a matrix product to input 0, and broadcasts only input 0", "torch.matmul"),
        ("torch.addmv", "adds a matrix product to input 0, and broadcasts only input 0", "torch.matmul"),
        ("torch.Tensor.add_", "changes input 0 in place, which does not expand", "torch.broadcast_to"),
        ("torch.Tensor.mul_", "changes input 0 in place, which does not expand", "torch.broadcast_to"),
    ],
)
def test_the_error_for_a_function_that_does_not_broadcast_explains_what_it_does(
    name: str, said: str, instead: str
) -> None:
    with pytest.raises(axiscast.UnknownOp) as refusal:
        axiscast.check(name, (3,), (3,))
    assert said in str(refusal.value)
    assert re.search(f"(check|with|use) {re.escape(instead)}", str(refusal.value))
    assert "did you mean" not in str(refusal.value)


@cases("name", [name for name in ADVICE if "." in name] + [f"torch.{tail}" for tail in ADVICE if "." not in tail])
def test_the_advice_for_unsupported_functions_names_existing_ops(name: str) -> None:
    if op_class(name) is not None:
        return
    with pytest.raises(axiscast.UnknownOp) as refusal:
        axiscast.check(name, (3,))
    words = re.findall(r"(?:check|with) ([a-z]+(?:\.\w+)+)", str(refusal.value))
    assert all(op_class(word) is not None for word in words)


@cases("name", ["numpy.convolve", "torch.cdist", "jax.numpy.cov"])
def test_no_op_is_suggested_for_a_function_without_a_similar_op(name: str) -> None:
    with pytest.raises(axiscast.UnknownOp) as caught:
        axiscast.check(name, (2, 3), (2, 3))
    assert "did you mean" not in str(caught.value)
    framework = name.partition(".")[0]
    assert f"{framework} has {framework}." in str(caught.value)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("numpy.vecdot", "numpy.broadcast_arrays"),
        ("numpy.matvec", "numpy.matmul"),
        ("jax.numpy.vecmat", "jax.numpy.matmul"),
        ("numpy.kron", "does not broadcast"),
    ],
)
def test_a_product_that_is_not_an_op_is_explained(name: str, word: str) -> None:
    with pytest.raises(axiscast.UnknownOp, match=word):
        axiscast.check(name, (2, 3), (2, 3))
