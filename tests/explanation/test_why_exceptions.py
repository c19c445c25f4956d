"""why(exception): the operands of the expression that failed, from its frames, without running code of theirs."""

from __future__ import annotations

import ast
import asyncio
import linecache
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast.explanation.diagnosis import diagnose
from axiscast.explanation.exceptions import add_why
from axiscast.explanation.failing_expression import failing_expressions


class Layer:
    def __init__(self) -> None:
        self.bias = np.zeros(64)
        self._parameters = {"weight": np.zeros((3, 4), np.float32)}

    def __call__(self, x: Any) -> Any:
        return x @ self._parameters["weight"]


def raised(function: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as found:  # noqa: PT011
        function()
    return found.value


def answer_of(function: Callable[[], object]) -> str:
    return axiscast.why(raised(function)).message


x, y, layer = np.zeros((2, 64, 7, 7), np.float32), np.zeros((2, 3)), Layer()
stack, vector = np.zeros((64, 7, 3)), np.zeros(7)
four, pair = np.zeros(4, np.int8), {"a": [np.zeros(5), np.zeros(6)]}


class Own(np.ndarray[Any, Any]):
    def __array_ufunc__(self, ufunc: Any, method: str, *arrays: Any, **options: Any) -> Any:
        plain = [np.asarray(array) for array in arrays]
        return getattr(ufunc, method)(plain[0], plain[1], **options)


own = np.zeros(4).view(Own)


def in_place() -> Any:
    total = np.zeros((3, 1))
    total += np.zeros((3, 4))
    return total


def in_a_comprehension() -> Any:
    return [row + four for row in [y]]


def over_lines() -> Any:
    return np.maximum(y, four)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "an attribute": (lambda: x + layer.bias, "x + layer.bias: x (2, 64, 7, 7) float32, layer.bias (64,) float64. "),
    "an array of a class": (lambda: y + own, "y + own: y (2, 3) float64, own (4,) float64. "),
    "a comparison": (lambda: y > four, "y > four: y (2, 3) float64, four (4,) int8. "),
    "a call": (lambda: np.hypot(y, four), "np.hypot(y, four): y (2, 3) float64, four (4,) int8. "),
    "entries": (lambda: pair["a"][0] * pair["a"][1], 'pair["a"][0] * pair["a"][1]: pair["a"][0] (5,) float64, pair'),
    "an index": (lambda: y + four[None, :3].T, "y + four[None, :3].T: y (2, 3) float64, four[None, :3].T (3, 1). "),
    "a product": (lambda: y @ four, "y @ four: y (2, 3) float64, four (4,) int8. "),
    "a product of stacks": (lambda: (x @ stack) + y, "x @ stack + y: x @ stack (2, 64, 7, 3), y (2, 3) float64. "),
    "a product with a vector": (lambda: (x @ vector) + stack, "x @ vector + stack: x @ vector (2, 64, 7), stack (64,"),
    "a vector times a stack": (lambda: (vector @ stack) + four, "vector @ stack + four: vector @ stack (64, 3), four "),
    "literals as written": (
        lambda: y / (pair["a"][0] * 1_000 + 1e-8 - 0x10),
        'y / (pair["a"][0] * 1_000 + 1e-8 - 0x10): y (2, 3) float64, pair["a"][0] * 1_000 + 1e-8 - 0x10 (5,). ',
    ),
    "a literal over lines and a formatted string": (
        lambda: y + pair["a"[:1] + f"{''}"][0] + pair["""a"""][0],
        """y + pair["a"[:1] + f""",
    ),
    "a part of an expression": (lambda: 2 * (y + four) - 1, "y + four: y (2, 3) float64, four (4,) int8. "),
    "a number beside": (
        lambda: np.where(y > 0, four, 1.0),
        "np.where(y > 0, four, 1.0): y > 0 (2, 3), four (4,) int8. ",
    ),
    "a call that is not run": (
        lambda: y + np.outer(four, four)[0],
        "y + np.outer(four, four)[0]: y (2, 3) float64, np.",
    ),
    "in place": (in_place, "total += np.zeros((3, 4)): total (3, 1) float64, np.zeros((3, 4)) (3, 4). "),
    "a comprehension": (in_a_comprehension, "row + four: row (2, 3) float64, four (4,) int8. "),
    "several lines": (over_lines, "np.maximum(y, four): y (2, 3) float64, four (4,) int8. "),
    "a caller's frame": (lambda: layer(y.T[:2]), 'x @ self._parameters["weight"]: x (2, 2) float64, self._parameters['),
}


@cases("name", CASES)
def test_the_operands_are_named(name: str) -> None:
    function, start = CASES[name]
    message = axiscast.why(raised(function)).message
    assert message.startswith(start), message


wide, mean, std, batch = np.zeros((4, 3)), np.ones(4), np.ones(4), np.ones((4, 1))
SIBLINGS: dict[str, tuple[Callable[[], object], list[str]]] = {
    "right": (lambda: (wide - mean) / (std + 1e-8), ["(std + 1e-8)[:, None]"]),
    "left": (lambda: std * (wide - mean), ["std[:, None]"]),
    "two": (lambda: (wide - mean) / std + mean * 2, ["std[:, None]", "(mean * 2)[:, None]"]),
    "over lines": (
        lambda: (
            (wide - mean)
            / std
        ),
        ["std[:, None]"],
    ),
    "one that fits": (lambda: (wide - mean) / batch, []),
    "a number": (lambda: (wide - mean) / 2, []),
    "the same name": (lambda: (wide - mean) / mean, []),
    "a call between": (lambda: np.sum(wide - mean, axis=1) / std, []),
    "a matrix product": (lambda: (wide - mean) @ std, []),
    "another line": (lambda: [wide - mean, std], []),
}  # fmt: skip


@cases("name", SIBLINGS)
def test_other_operands_that_need_the_same_reshape_are_named(name: str) -> None:
    function, fixes = SIBLINGS[name]
    answer = answer_of(function)
    assert answer.startswith("wide - mean: wide (4, 3) float64, mean (4,) float64. ")
    assert re.findall("`([^`]*None[^`]*)`", answer) == ["mean[:, None]", *fixes]


def test_an_exception_gives_the_same_op_inputs_and_check_as_its_text() -> None:
    error = raised(lambda: x + layer.bias)
    answer, text = axiscast.why(error), axiscast.why(str(error))
    assert (answer.op, answer.inputs, answer.sizes, answer.check) == (text.op, text.inputs, text.sizes, text.check)


class Counted:
    """Whose code is counted."""

    calls = 0

    def __init__(self) -> None:
        self.__dict__["bias"] = np.zeros(64)

    def __getattr__(self, name: str) -> Any:
        type(self).calls += 1
        raise AttributeError(name)

    @property
    def scale(self) -> Any:
        type(self).calls += 1
        return np.zeros(64)

    def __eq__(self, other: object) -> bool:
        type(self).calls += 1
        return False

    def __hash__(self) -> int:
        type(self).calls += 1
        return 3

    def __repr__(self) -> str:
        type(self).calls += 1
        return ""


class Array(np.ndarray):
    """An array whose shape is a property."""

    calls = 0

    @property  # type: ignore[misc]
    def shape(self) -> tuple[int, ...]:
        type(self).calls += 1
        return (1, 2, 3)

    def __array_finalize__(self, other: Any) -> None:
        type(self).calls += 1


class OwnError(ValueError):
    calls = 0

    def __str__(self) -> str:
        type(self).calls += 1
        return "operands could not be broadcast together with shapes (3,) (4,)"


def test_no_user_code_is_run() -> None:
    counted, array = Counted(), np.zeros((2, 64)).view(Array)

    def fail() -> Any:
        return [counted.scale + array, counted.bias]

    def fail_on_an_array() -> Any:
        return array + np.zeros(5)

    for function in (lambda: x + counted.scale, lambda: x * counted.bias, fail_on_an_array, lambda: counted.nothing):
        error = raised(function)
        before = Counted.calls, Array.calls
        axiscast.why(error)
        assert (Counted.calls, Array.calls) == before
    axiscast.why(raised(lambda: (_ for _ in ()).throw(OwnError())))
    assert OwnError.calls == 0
    assert fail is not None


def test_an_array_subclass_is_read_like_its_base_class() -> None:
    array = np.zeros((2, 64)).view(Array)
    message = axiscast.why(raised(lambda: array + np.zeros(5))).message  # not in an assert, which pytest 8.0 moves
    assert message.startswith("array + np.zeros(5): array (2, 64) float64")


def test_values_are_never_printed() -> None:
    secret = np.full((2, 3), 41.5)
    note = SimpleNamespace(text="41.5")
    message = axiscast.why(raised(lambda: secret + four)).message
    assert "41.5" not in message
    assert note.text not in message


def test_an_exception_about_another_topic_is_explained() -> None:
    error = raised(lambda: four.reshape(5, 5))
    answer = axiscast.why(error)
    assert (answer.op, answer.inputs, answer.check) == (None, None, None)
    assert diagnose(str(error)).topic == "reshape"


def test_class_indices_beside_scores_get_the_advice_of_one_hot() -> None:
    scores, labels = np.zeros((64, 10)), np.zeros(64, np.int64)
    assert "numpy" in answer_of(lambda: scores - labels)
    assert "numpy" in answer_of(lambda: labels - scores)
    for other in (labels.astype(float), np.zeros(32, np.int64), np.zeros(9, np.int64)):
        assert "numpy" not in answer_of(lambda other=other: scores - other)  # type: ignore[misc]


def test_an_exception_without_a_traceback_is_read_as_its_text() -> None:
    answer = axiscast.why(ValueError("operands could not be broadcast together with shapes (3,) (4,)"))
    assert answer.inputs == [(3,), (4,)]


def test_a_wording_that_begins_with_the_class_of_its_exception_is_known() -> None:
    """SciPy's sparse arrays raise ValueError("inconsistent shapes")."""
    error = ValueError("inconsistent shapes")
    assert diagnose(f"ValueError: {error}").topic == "same-shape"
    add_why(error)
    assert error.__notes__


def test_a_list_that_is_assigned_is_not_called_by_the_name_of_its_target() -> None:
    rows = np.zeros((4, 3))

    def fail() -> None:
        rows[0] = [1, 2]

    message = answer_of(fail)
    assert "rows[0]" not in message
    assert "(2,)" in message


def test_the_cause_of_an_exception_is_read() -> None:
    def fail() -> None:
        try:
            y + four
        except ValueError as error:
            raise RuntimeError("step 3 failed") from error

    assert axiscast.why(raised(fail)).message.startswith("y + four: y (2, 3) float64")


def test_the_note_is_added_once_and_only_about_arrays() -> None:
    error, other = raised(lambda: y + four), raised(lambda: int("three"))
    for _ in range(2):
        add_why(error)
        add_why(other)
    (note,) = error.__notes__
    assert note.startswith("axiscast: y + four: y (2, 3) float64, four (4,) int8. ")
    assert not hasattr(other, "__notes__")


def assigned() -> None:
    rows = np.zeros((4, 3))
    rows[rows[:, 0] == 0] = four
    raise AssertionError


def assigned_over_lines() -> None:
    rows = np.zeros((4, 3))
    rows[
        :, 0
    ] = four[:3]  # fmt: skip


FIXED: dict[str, tuple[Callable[[], object], str]] = {
    "no operand is a name": (
        lambda: np.ones((3, 4)) + np.ones(3),
        "np.ones((3, 4)) + np.ones(3): np.ones((3, 4)) (3, 4), np.ones(3) (3,). ",
    ),
    "an index": (lambda: four[9], "four[9]: four (4,) int8. "),
    "a list": (
        lambda: np.concatenate([y, four[:3]]),
        "np.concatenate([y, four[:3]]): y (2, 3) float64, four[:3] (3,). ",
    ),
    "an assignment": (assigned, "rows[rows[:, 0] == 0] = four: four (4,) int8. "),
    "an assignment over lines": (assigned_over_lines, "rows[:, 0] = four[:3]: rows[:, 0] (4,), four[:3] (3,). "),
    "in place": (in_place, "total += np.zeros((3, 4)): total (3, 1) float64, np.zeros((3, 4)) (3, 4). "),
}


@cases("name", FIXED)
def test_an_error_in_an_expression_is_explained_in_its_names(name: str) -> None:
    function, start = FIXED[name]
    error = raised(function)
    add_why(error)
    (note,) = error.__notes__
    assert note.startswith(f"axiscast: {start}"), note


def module(kind: str, **attributes: Any) -> Any:
    """Return an object that axiscast reads as a layer of PyTorch."""
    layer = type(kind, (), {"__module__": "torch.nn.modules.layers", "__call__": lambda *_: np.zeros(0)})()
    layer.__dict__.update(attributes)
    return layer


conv = module("Conv2d", _parameters={"weight": np.zeros((64, 3, 3, 3))}, stride=(2, 2), padding=(1, 1), dilation=(1, 1))
network = module("Sequential", _modules={"0": conv, "1": module("ReLU")})
embedding = module("Embedding", _parameters={"weight": np.zeros((100, 16))})
image, ids = np.zeros((2, 3, 14, 15)), np.zeros((2, 12), np.int64)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda: conv(image) + layer.bias, (2, 64, 7, 8)),
        (lambda: network(image) + layer.bias, (2, 64, 7, 8)),
        (lambda: embedding(ids) + layer.bias, (2, 12, 16)),
    ],
)
def test_the_output_of_a_layer_has_the_shape_that_pytorch_computes(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[], object], shape: tuple[int, ...]
) -> None:
    """The shapes were read from PyTorch 2.13."""
    torch = SimpleNamespace(Tensor=type("Tensor", (), {}), _C=SimpleNamespace(DisableTorchFunction=nullcontext))
    monkeypatch.setitem(sys.modules, "torch", torch)
    output, bias = failing_expressions(raised(function).__traceback__)[0].operands
    assert (output.array and output.array.shape, bias.array and bias.array.shape) == (shape, (64,))


def test_names_inside_installed_code_are_not_shown() -> None:
    """The frame of NumPy's isclose calls its operands x and y."""
    message = axiscast.why(raised(lambda: np.isclose(y, four))).message
    assert message.startswith("np.isclose(y, four): y (2, 3) float64, four (4,) int8. "), message


def test_the_expression_in_a_cell_of_a_notebook_that_awaits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "import asyncio\nawait asyncio.sleep(0)\ny + four\n"
    monkeypatch.setitem(linecache.cache, "<cell>", (len(cell), None, cell.splitlines(keepends=True), "<cell>"))
    code = compile(cell, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert answer_of(lambda: asyncio.run(eval(code, {"y": y, "four": four}))).startswith("y + four: y (2, 3) float64")


@pytest.mark.parametrize("left", [f"{'-' * 1500}y", f"y{' * 1' * 450}", f"{'(' * 150}y{')' * 150}", f"{'y + ' * 600}y"])
def test_a_deeply_nested_expression_causes_no_error(left: str, tmp_path: Path) -> None:
    file = tmp_path / "deep.py"
    file.write_text(f"def deep(y, four):\n    return ({left}) + four\n")
    module: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), module)
    assert axiscast.why(raised(lambda: module["deep"](y, four))).inputs == [(2, 3), (4,)]
