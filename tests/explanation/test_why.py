"""why: the real messages of tests/error_messages, texts that are none, and texts made to be slow."""

from __future__ import annotations

import json
import re
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from conftest import unhurried
from hypothesis import given
from hypothesis import strategies as st

import axiscast
from axiscast.explanation.diagnosis import diagnose
from axiscast.explanation.wordings import readings, single_blanks
from axiscast.ops import list_error_messages, op_class

MESSAGES = Path(__file__).parents[1] / "error_messages"
LARGE = ("numpy", "torch", "jax", "tensorflow", "onnxruntime", "openvino", "paddle", "mindspore")
SMALL = (
    "onnx",
    "mxnet",
    "mlx",
    "einops",
    "xarray",
    "dask",
    "tinygrad",
    "keras",
    "tfjs",
    "array_api",
    "octave",
    "litert",
)
SAME_RULE = {
    "numpy.where": "numpy.add",
    "numpy.broadcast_arrays": "numpy.add",
    "numpy.broadcast_shapes": "numpy.add",
    "torch.broadcast_tensors": "torch.add",
    "torch.masked_fill": "torch.add",
    "jax.numpy.broadcast_arrays": "jax.numpy.add",
    "jax.numpy.broadcast_shapes": "jax.numpy.add",
    "tensorflow.broadcast_static_shape": "tensorflow.add",
    "paddle.broadcast_tensors": "paddle.add",
}
"""Ops whose rule is the same, and whose frameworks print the same message for them."""
SUBJECTS = {
    r"\.(concatenate|concat|cat|stack|vstack)\(": "join",
    r"reshape\(|\.view\(": "reshape",
    r"Conv2|conv2d|\.conv\(|convolution\(": "layer",
    r"\.sum\(.*5\)|reduce_sum\(": "axis",
    r"\)\[5\]|\[:, 7\]|gather\(z\(3\), (7|paddle)": "index",
    r"einsum": "einsum contract",
    r"(inv)\(": "square-matrix",
    r"\.split\(": "split axis",
    r"squeeze\(": "squeeze axis",
    r"vmap\(jnp|vmap\(torch.add\)\(z\(3, 4\), z\(5": "vmap",
    r"bool\(z|if z\(|int\(z": "one-value",
}
"""What a call is about, and the topics that its message may have."""


@cache
def corpus() -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(MESSAGES.glob("*.jsonl")) for line in path.read_text().splitlines()]


def names(line: dict[str, Any]) -> str:
    return f"{line['framework']}: {line['call']}"


def rule(op: Any) -> str | None:
    return None if op is None else SAME_RULE.get(op, op)


def shapes(inputs: Any) -> Any:
    return None if inputs is None else [[str(size) for size in shape] for shape in inputs]


def test_the_corpus_has_enough_messages_of_each_framework() -> None:
    counts = {
        framework: sum(line["framework"] == framework and line["about"] == "broadcast" for line in corpus())
        for framework in (*LARGE, *SMALL)
    }
    assert all(counts[framework] >= 20 for framework in LARGE), counts
    assert all(counts[framework] >= 5 for framework in SMALL), counts
    assert sum(line["about"] == "other" for line in corpus()) >= 40
    assert sum(line.get("holds_shapes", False) for line in corpus()) >= 200


@cases("line", [line for line in corpus() if line.get("holds_shapes")], ids=names)
def test_a_message_with_shapes_gives_the_op_and_the_inputs_of_its_call(line: dict[str, Any]) -> None:
    answer = axiscast.why(line["text"])
    assert rule(answer.op and answer.op.name) == rule(line["op"])
    assert shapes(answer.inputs) == shapes(line["inputs"])
    attributes = answer.op.model_dump(mode="json")  # type: ignore[union-attr]
    assert {name: attributes[name] for name in line.get("attributes", {})} == line.get("attributes", {})
    assert answer.check is not None
    assert answer.check.diagram or line["framework"] == "einops"


@cases("line", [line for line in corpus() if line.get("holds_shapes") is False], ids=names)
def test_nothing_is_invented_for_a_message_without_the_shapes(line: dict[str, Any]) -> None:
    answer = axiscast.why(line["text"])
    assert answer.op is None or rule(answer.op.name) == rule(line["op"])
    assert (answer.inputs, answer.check) == (None, None)
    assert diagnose(line["text"]).is_known


@cases("line", [line for line in corpus() if line["op"] is None], ids=names)
def test_a_message_without_an_op_names_no_op(line: dict[str, Any]) -> None:
    answer = axiscast.why(line["text"])
    assert (answer.op, answer.check) == (None, None)
    if line["about"] == "other":
        assert answer.inputs is None
        found = diagnose(line["text"])
        for call, topics in SUBJECTS.items():
            if re.search(call, line["call"]) and found.is_known:
                assert (found.topic or found.node.rpartition(".")[2]) in topics.split(), line["text"]


def test_most_messages_about_something_else_are_recognised() -> None:
    others = [line for line in corpus() if line["about"] == "other"]
    unknown = [names(line) for line in others if not diagnose(line["text"]).is_known]
    assert len(unknown) * 10 < len(others), unknown


def test_every_conflict_of_the_corpus_is_found_by_the_check() -> None:
    """All of these calls failed, but those of a loss of PyTorch, which only warns."""
    fits = [
        line["call"]
        for line in corpus()
        if line.get("holds_shapes") and (check := axiscast.why(line["text"]).check) and check.compatible
    ]
    assert [call for call in fits if "oss" not in call] == []


def test_each_wording_matches_a_recorded_message() -> None:
    """The wordings of Julia, of earlier releases and of GPUs were not recorded: they are from sources and reports."""
    found = {reading.message.text for line in corpus() for reading in readings(single_blanks(line["text"]))}
    unseen = {message.text for message in list_error_messages()} - found
    assert unseen == {
        "Attempting to broadcast an axis by a dimension other than 1. <#> by <#>",
        "Dot product shape mismatch, <0> vs <1>",
        "[addmm] Last dimension of first input with shape <0> must match second to last dimension of second input with "
        "shape <1>",
        "arrays could not be broadcast to a common size; got a dimension with lengths <#> and <#>",
        "Operands could not be broadcast together with shapes <*>",
        "Incompatible shapes for broadcasting: <0> and requested shape <=shape>",
        "In[0] mismatch In[1] shape: <...>: <0> <1> 0 0",
        "required broadcastable shapes",
    }


def test_each_op_of_a_wording_is_in_the_catalogue() -> None:
    for message in list_error_messages():
        for name in message.ops:
            assert "{node}" in name or op_class(name), name
        assert all(map(op_class, message.nodes.values()))


def test_a_message_is_found_in_a_log_with_other_text() -> None:
    log = "\n".join(["step 1 loss 0.5 shape (3, 4)"] * 100)
    error = "ValueError: operands could not be broadcast together\n   with shapes (3,4) (5,)"
    answer = axiscast.why(f"{log}\n{error}\n{log}")
    assert answer.op is not None
    assert (answer.op.name, answer.inputs) == ("numpy.add", [(3, 4), (5,)])


def test_a_message_of_several_lines_is_found_in_the_output_of_pytest() -> None:
    lines = next(line["text"] for line in corpus() if line["framework"] == "openvino").splitlines()
    answer = axiscast.why("\n".join(f"E       {line}" for line in lines))
    assert answer.op is not None
    assert (answer.op.name, answer.inputs) == ("openvino.Add-1", [(3, 4), (5,)])


def test_terminal_colors_are_not_part_of_a_message() -> None:
    text = "\x1b[31mValueError\x1b[0m: operands could not be broadcast together with \x1b[1mshapes (3,4) (5,)\x1b[0m"
    assert axiscast.why(text).inputs == [(3, 4), (5,)]


def test_the_last_of_several_exceptions_is_read() -> None:
    first = "operands could not be broadcast together with shapes (1,) (2,) (3,)"
    last = "could not broadcast input array from shape (4,) into shape (2,3)"
    middle = "\n\nDuring handling of the above exception, another exception occurred:\n\n"
    answer = axiscast.why(f"ValueError: {first}{middle}ValueError: {last}")
    assert answer.inputs == [(4,)]


def test_sizes_alone_name_the_operands_of_the_traceback() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 8, in forward\n'
        "    return self.lin(x) + self.bias\n"
        "           ~~~~~~~~~~~~^~~~~~~~~~~\n"
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (64) at non-singleton dimension 1\n"
    )
    answer = axiscast.why(text)
    assert (answer.op, answer.inputs, answer.check, answer.sizes) == (None, None, None, (2, 64))
    assert [value for value in ("self.lin(x)", "self.bias", "1") if value not in answer.message] == []
    assert "self" not in axiscast.why(text.replace("train.py", "/lib/site-packages/torch/x.py")).message


def test_the_operand_of_each_size_is_named_if_the_operator_received_both() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 8, in <module>\n'
        "    loss = (scores - labels) ** 2\n"
        "            ~~~~~~~^~~~~~~~\n"
        "{}RuntimeError: The size of tensor a (10) must match the size of tensor b (64) at non-singleton dimension 1\n"
    )
    message = axiscast.why(text.format("")).message
    assert [value for value in ("scores", "10", "labels", "64") if value not in message] == []
    # The framework's own function may have exchanged the operands.
    inner = '  File "/lib/site-packages/torch/_tensor.py", line 37, in __rsub__\n    return _C._rsub(self, other)\n'
    unordered = axiscast.why(text.format(inner)).message
    assert 0 < unordered.count("scores") < message.count("scores")


@cases(
    "beside",
    [
        "scores is (64, 10) and labels (64,)",
        "labels: torch.Size([64]), scores: torch.Size([64, 10])",
        "batch (32,), scores.shape = [64, 10], labels.shape = [64]",
    ],
)
@cases("sizes", [(10, 64), (64, 10)])
def test_shapes_beside_the_message_are_checked(beside: str, sizes: tuple[int, int]) -> None:
    text = "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension 1".format(*sizes)
    for whole in (f"{beside}\n{text}", f"{text}\n{beside}"):
        answer = axiscast.why(whole)
        wanted = [["64", "10"], ["64"]] if sizes == (10, 64) else [["64"], ["64", "10"]]
        assert shapes(answer.inputs) == wanted
        assert answer.sizes == (*sizes,)


@cases("beside", ["scores is (64, 10)", "(64, 11) and (64,)", "(64, 10) and (10,)", "(64,) (10,)"])
def test_shapes_without_the_conflict_of_the_message_are_ignored(beside: str) -> None:
    text = "The size of tensor a (10) must match the size of tensor b (64) at non-singleton dimension 1"
    assert axiscast.why(f"{text}\n{beside}").inputs is None


@cases(
    "text",
    [
        "operands could not be broadcast together with shapes (99999999999999999999,) (5,)",
        f"operands could not be broadcast together with shapes ({','.join(['2'] * 200)}) (5,)",
        "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target "
        "sizes: [-9, 4].  Tensor sizes: [3]",
        f"operands could not be broadcast together with shapes {'(5,) ' * 40}",
        'Error while processing repeat-reduction pattern "a -> -> b". Input tensor shape: (2,). Additional info: {}.',
    ],
)
def test_values_that_no_check_accepts_cause_no_error(text: str) -> None:
    assert axiscast.why(text).message


def test_a_dynamic_size_is_unknown() -> None:
    answer = axiscast.why("InvalidArgumentError: Incompatible shapes: [-1,4] vs. [5]")
    assert shapes(answer.inputs) == [["?", "4"], ["5"]]


def test_a_number_with_too_many_digits_is_not_cut() -> None:
    digits = "9" * 25
    for text in (
        f"The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension {digits}",
        f"The size of tensor a ({digits}) must match the size of tensor b (64) at non-singleton dimension 3",
        f"mat1 and mat2 shapes cannot be multiplied (2x3 and {digits}x5)",
    ):
        answer = axiscast.why(text)
        assert "99999" not in answer.message
        assert (answer.inputs, answer.sizes) == (None, None)


def test_symbolic_sizes_are_named() -> None:
    text = "The size of tensor a (s0) must match the size of tensor b (s77) at non-singleton dimension 1"
    answer = axiscast.why(text)
    assert answer.sizes == ("s0", "s77")
    assert [value for value in ("s0", "s77", "1") if value not in answer.message] == []


@cases(
    "text",
    [
        "ValueError: shape mismatch: objects cannot be broadcast to a single shape",
        "arrays could not be broadcast to a common size: a has axes Base.OneTo(3) and b has axes Base.OneTo(4)",
    ],
)
def test_an_unknown_wording_about_broadcasting_is_reported_as_unknown(text: str) -> None:
    answer = axiscast.why(text)
    assert (answer.op, answer.inputs, answer.check) == (None, None, None)
    assert diagnose(text).topic == "unknown-wording"


def test_a_value_that_is_not_text_is_refused() -> None:
    with pytest.raises(axiscast.errors.InvalidRequest, match="text: must be a string or an exception, not an integer"):
        axiscast.why(3)  # type: ignore[arg-type]


@given(st.text(max_size=400))
def test_any_text_has_an_answer(text: str) -> None:
    assert axiscast.why(text).message


FILLINGS = ["(3, 4) (5,)", "(", "[", "7", "x", "Add", "2x3", " ", "'", "(3,4)", "{1, 2}", ", "]
PIECES = st.sampled_from([piece for message in list_error_messages() for piece in re.split("<[^<>]+>", message.text)])


@given(st.lists(st.one_of(PIECES, st.sampled_from(FILLINGS)), max_size=40))
def test_any_pieces_of_messages_have_an_answer(pieces: list[str]) -> None:
    answer = axiscast.why("".join(pieces))
    assert answer.message
    assert answer.check is None or answer.op is not None


def slow_texts() -> dict[str, str]:
    texts = {"(": "(", "digits": "1", "sizes": "1, ", "open": "((1,", "marks": "~^~\n", "blanks": " \n", "names": "a."}
    for message in list_error_messages():
        words = [piece for piece in re.split("<[^<>]+>", message.text) if piece]
        longest = max(words, key=len)
        texts[f"{words[0]} and {longest}"] = words[0] + longest
        texts[f"{words[0]} and an open bracket"] = f"{words[0]}({'1,' * 30}{longest}"
    return texts


def test_an_adversarial_text_takes_linear_time() -> None:
    axiscast.why("warm")
    for name, text in slow_texts().items():
        long = text * (2**15 // len(text))

        def is_linear(seconds: float, long: str = long, name: str = name) -> None:
            start = time.process_time()
            diagnose(long)
            assert time.process_time() - start < seconds, name

        unhurried(is_linear, 0.15)


def test_a_text_of_1_mib_takes_seconds() -> None:
    """Work that grows with the square of the length would take minutes."""
    text = "operands could not be broadcast together with shapes ((3,4) Incompatible shapes: [3] vs. "

    def is_linear(seconds: float) -> None:
        start = time.process_time()
        diagnose(text * (2**20 // len(text)))
        assert time.process_time() - start < seconds

    unhurried(is_linear, 5)


@cases(
    ("text", "topic"),
    [
        ("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor", "tile"),
        ("[ShapeInferenceError] 'Repeats' input has incorrect number of values.", "tile"),
        ("[ShapeInferenceError] 'Repeats' input must not contain negative values", "negative-copies"),
        ("Expected multiples[1] >= 0, but got -1 [Op:Tile]", "negative-copies"),
        ("All elements of the input 'repeat_times' for tile op must be positive integers, but", "negative-copies"),
        ("For 'Tile', 'dims' cannot contain negative integer numbers, but got -1 in 1th.", "negative-copies"),
        ("ggml.c:2062: GGML_ASSERT(ggml_can_repeat(b, a)) failed", "ggml"),
    ],
)
def test_an_error_of_tile_is_explained(text: str, topic: str) -> None:
    found = diagnose(text)
    assert (found.topic, found.op) == (topic, None)


@cases("shape", ["8..1", "w" * 101, "2..9223372036854775808", "9223372036854775808", "9999999999999999999", "1e5"])
def test_a_text_that_is_no_shape_is_not_read_as_one(shape: str) -> None:
    broadcast = axiscast.why(f"operands could not be broadcast together with shapes ({shape},) (3,)")
    assert (broadcast.op, broadcast.inputs, broadcast.check) == (None, None, None)
    axiscast.why(
        f"RuntimeError: 0D or 1D target tensor expected, multi-target not supported\nlogits ({shape}, 10), y (3,)"
    )
