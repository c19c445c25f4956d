"""why: the answers for messages about other topics state the sizes, shapes or values of the message."""

from __future__ import annotations

import re
from random import Random

from cases import cases
from test_why import corpus

import axiscast
from axiscast.explanation.diagnosis import diagnose
from axiscast.explanation.topic_search import topic_of, topic_wordings, with_names

FOUND: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {
        "Expected size for first two dimensions of batch2 tensor to be: [6, 3] but got: [6, 4].": ("product", "3", "4"),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].": ("product", "2", "3"),
        "Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))": ("loss", "(8,)", "(8, 1)"),
        "Expected input batch_size (8) to match target batch_size (7).": ("loss", "8", "7"),
        "index 5 is out of bounds for dimension 0 with size 3": ("index", "5", "0", "3"),
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)": ("axis", "5", "-2", "1"),
        "expected input[2, 4, 5, 5] to have 3 channels, but got 4 channels instead": (
            "layer", "(2, 4, 5, 5)", "3", "4"
        ),
        "running_mean should contain 4 elements not 3": ("layer", "4"),
        "input.size(-1) must be equal to input_size. Expected 8, got 7": ("layer", "7"),
        "copying a param with shape torch.Size([3, 8]) from checkpoint": ("checkpoint", "(3, 8)", "(2, 8)"),
        "must match except in dimension 0. Expected size 3 but got size 4": ("join", "4", "3"),
        "Given normalized_shape=[16], expected input with shape [*, 16], but got input of size[4, 32]": (
            "layer", "(16,)", "(4, 32)"
        ),
        "The shape of the 2D attn_mask is torch.Size([4, 4]), but should be (5, 5)": (
            "attention-mask", "(4, 4)", "(5, 5)"
        ),
        "Expected target size [8, 5], got [8]": ("loss", "(8, 5)", "(8,)"),
        "shape '[4, 2]' is invalid for input of size 6": ("reshape", "6", "(4, 2)"),
        "mat2 must be a matrix": ("rank",),
        "batch2 must be a 3D tensor": ("rank",),
        "1D tensors expected, but got 2D and 2D tensors": ("rank",),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [32, 100]": (
            "layer", "(32, 100)"
        ),
        "Index tensor must have the same number of dimensions as input tensor": ("gather",),
    },
    "numpy": {
        "along dimension 1, the array at index 0 has size 3 and the array at index 1 has size 4": (
            "join", "1", "0", "3", "4"
        ),
        "the array at index 0 has 2 dimension(s) and the array at index 1 has 1 dimension(s)": ("join", "0", "2", "1"),
        "cannot reshape array of size 6 into shape (4,2)": ("reshape", "6", "(4, 2)"),
        "cannot assign 3 input values to the 2 output values where the mask is true": ("mask-values", "3", "2"),
        "matmul: Input operand 1 does not have enough dimensions": ("rank", "1", "0"),
        "operand has more dimensions than subscripts given in einstein sum": ("einsum",),
        "index 7 is out of bounds for axis 1 with size 3": ("index", "7", "1", "3"),
        "axis 4 is out of bounds for array of dimension 2": ("axis", "4", "2"),
        "too many indices for array: array is 2-dimensional, but 3 were indexed": ("index", "2", "3"),
    },
    "pandas": {
        "Unable to coerce to Series, length must be 4: given 5": ("pandas", "4", "5"),
        "Unable to coerce to DataFrame, shape must be (3, 4): given (2, 4)": ("pandas", "(3, 4)", "(2, 4)"),
        "Length of values (2) does not match length of index (3)": ("pandas", "3", "2"),
        "Shape of passed values is (2, 3), indices imply (2, 2)": ("pandas", "(2, 3)", "(2, 2)"),
        "Columns must be same length as key": ("pandas",),
        "('Lengths must match to compare', (2,), (3,))": ("pandas",),
        "cannot set a row with mismatched columns": ("pandas",),
        "Length mismatch: Expected axis has 2 elements, new values have 1 elements": ("pandas", "2", "1"),
        "Data must be 1-dimensional, got ndarray of shape (3, 1) instead": ("rank", "(3, 1)"),
        "matrices are not aligned": ("product",),
    },
    "xarray": {
        "conflicting sizes for dimension 'x': length 2 on 'b' and length 3 on {'x': 'a'}": ("xarray", "2", "3"),
        "different number of dimensions on data and dims: 2 vs 1": ("rank",),
    },
    "keras": {
        "must have the same shape. Received: target.shape=(8, 1), output.shape=(8, 10)": ("loss", "(8, 1)", "(8, 10)"),
        "Data cardinality is ambiguous.": ("pairs",),
        "expected axis -1 of input shape to have value 4, but received input with shape (2, 5)": (
            "layer", "-1", "4", "(2, 5)"
        ),
        "expected min_ndim=4, found ndim=3": ("layer", "4", "3"),
    },
    "tensorflow": {
        "`logits` and `labels` must have the same shape, received ((32, 10) vs (32, 1)).": (
            "loss", "(32, 10)", "(32, 1)"
        ),
        "logits and labels must have the same first dimension, got logits shape [32,10] and labels shape [320]": (
            "loss", "(32, 10)", "(320,)"
        ),
        "shape[0] = [2,3] vs. shape[1] = [2,4]": ("join", "(2, 3)", "(2, 4)"),
        "Input to reshape is a tensor with 6 values, but the requested shape has 8": ("reshape", "6", "8"),
    },
    "jax": {
        "concatenating along dimension 0 for shapes (2, 3), (2, 4)": ("join", "0", "(2, 3)", "(2, 4)"),
        "cannot reshape array of shape (6,) (size 6) into shape (4, 2) (size 8)": ("reshape", "6", "8"),
        "Too many indices: array is 2-dimensional, but 3 were indexed": ("index", "2", "3"),
    },
    "onnxruntime": {
        "Got invalid dimensions for input: x": ("model-input", "0", "2", "1"),
        "Invalid rank for input: x": ("model-input", "3", "2"),
    },
}  # fmt: skip
"""For each framework, a part of a recorded message, and its topic with the values that the answer must have."""


def assert_topic(text: str, code: str, *values: str) -> None:
    """Check the topic of a message, and the values in its explanation. tests/words has the sentences."""
    topic, answer = topic_of(" ".join(text.split())), axiscast.why(text)
    assert topic is not None
    assert topic.code == code
    assert [value for value in values if value not in answer.message] == [], answer.message
    assert (answer.op, answer.check) == (None, None)


@cases(
    ("framework", "part", "facts"),
    [(framework, part, facts) for framework, parts in FOUND.items() for part, facts in parts.items()],
)
def test_the_answer_states_the_values_of_the_recorded_message(
    framework: str, part: str, facts: tuple[str, ...]
) -> None:
    texts = [line["text"] for line in corpus() if line["framework"] == framework]
    assert_topic(next(text for text in texts if part in " ".join(text.split())), *facts)


@cases(
    ("text", "facts"),
    [
        ("ValueError: x and y must have same first dimension, but have shapes (3,) and (4,)",
         ("pairs", "(3,)", "(4,)")),
        ("ValueError: x and y must be the same size", ("pairs",)),
        ("ValueError: Found input variables with inconsistent numbers of samples: [100, 99]", ("pairs", "100", "99")),
        ("ValueError: Expected 2D array, got 1D array instead:\narray=[1. 2. 3.].", ("rank",)),
        ("RuntimeError: batch1 and batch2 must have same number of batches, got 2 and 3", ("product",)),
        ("ValueError: Shapes (None, 1) and (None, 10) are incompatible", ("same-shape", "(None, 1)", "(None, 10)")),
        ("RuntimeError: size mismatch, m1: [32 x 10], m2: [20 x 5] at /TH/generic/THTensorMath.cpp:41",
         ("product", "10", "20")),
        ("Function AddBackward0 returned an invalid gradient at index 1 - got [3, 4] but expected shape compatible "
         "with [4]", ("gradient", "(3, 4)", "(4,)")),
        ("X has 3 features, but LinearRegression is expecting 4 features as input.", ("layer", "4")),
        ("RuntimeError: mat1 dim 1 must match mat2 dim 0", ("product",)),
        ("ValueError: zero-size array to reduction operation maximum which has no identity", ("empty",)),
        ("ValueError: need at least one array to concatenate", ("empty",)),
        ("RuntimeError: stack expects a non-empty TensorList", ("empty",)),
        ("ValueError: negative dimensions are not allowed", ("negative-size",)),
        ("RuntimeError: Trying to create tensor with negative dimension -1: [-1]", ("negative-size",)),
        ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
         "cpu!", ("devices",)),
        ("ValueError: dimension mismatch", ("product",)),
        ("ValueError: inconsistent shapes", ("same-shape",)),
        ("Can't merge shape info. Both inferred and declared dimension have different values. Inferred=3 Declared=4",
         ("same-shape",)),
        ("RuntimeError: number of dims don't match in permute", ("axis",)),
        ("TypeError: Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument 'x'.",
         ("data-types",)),
        ("TypeError: mul got arrays of different rank: (3,), (2, 3).", ("rank",)),
        ("The number of sizes provided (3) must be greater or equal to the number of dimensions in the tensor (4)",
         ("rank",)),
    ],
)  # fmt: skip
def test_a_common_message_of_another_library_is_explained(text: str, facts: tuple[str, ...]) -> None:
    assert_topic(text, *facts)


@cases(
    ("text", "op", "shapes"),
    [
        ("RuntimeError: linear(): input and weight.T shapes cannot be multiplied (2x3 and 4x5)", "torch.matmul",
         [(2, 3), (4, 5)]),
        ("Operands could not be broadcast together with shapes (28, 28, 64) (14, 14, 64)", "keras.ops.add",
         [(28, 28, 64), (14, 14, 64)]),
        ("Incompatible shapes for broadcasting: (1, 32, 10) and requested shape (32, 5)", "jax.numpy.broadcast_to",
         [(1, 32, 10)]),
        ("In[0] mismatch In[1] shape: 3 vs. 4: [2,3] [4,5] 0 0 [Op:BatchMatMulV2]", "tensorflow.matmul",
         [(2, 3), (4, 5)]),
    ],
)  # fmt: skip
def test_the_wording_of_an_earlier_release_gives_a_check(text: str, op: str, shapes: list[tuple[int]]) -> None:
    """These wordings are from the sources of earlier releases, or from builds for other devices."""
    answer = axiscast.why(text)
    assert answer.op is not None
    assert (answer.op.alias or answer.op.name, answer.inputs) == (op, shapes)
    assert answer.check is not None
    assert answer.check.compatible is False


def test_a_value_from_another_part_of_a_log_is_not_stated() -> None:
    text = "cannot reshape array of size 6 into shape (4,2)\n...\nstack expects each tensor to be equal size"
    assert_topic(text, "join")
    assert [value for value in ("6", "(4, 2)") if value in axiscast.why(text).message] == []


@cases(
    ("text", "facts"),
    [
        ("polars.exceptions.InvalidOperationError: cannot do arithmetic operation on series of different lengths: "
         "got 16 and 7", ("pairs", "16", "7")),
        ("ValueError: incompatible dimensions for cross product\n(dimension must be 2 or 3)", ("linear-algebra",)),
        ("AssertionError: was expecting embedding dimension of 12, but got 14", ("layer", "14")),
        ("ValueError: sample_weight.shape == (19,), expected (17,)!", ("pairs", "(17,)")),
        ("ValueError: matmul: dimension mismatch with signature (n,k=7),(k=19,1?)->(n,1?)", ("product", "7")),
        ("ValueError: Item wrong length 19 instead of 17.", ("pandas", "17")),
        ("IndexError: Boolean index has wrong length: 23 instead of 26", ("pandas", "23", "26")),
        ("RuntimeError: Expected weight to be a vector of size equal to the number of channels in input, but got "
         "weight of shape [40] and input of shape [2, 62, 4]", ("layer", "(40,)", "(2, 62, 4)")),
        ("Non concat axis dimensions must match: Axis 1 has mismatched dimensions of 2 and 3", ("join", "1")),
        ("ValueError: A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. "
         "Received: input_shape=[(None, 4, 3), (None, 5, 2)]", ("join", "(None, 4, 3)", "(None, 5, 2)")),
        ("RuntimeError: X1 and X2 must have the same number of columns. X1: 3 X2: 5", ("product", "3")),
        ("ValueError: conflicting sizes for dimension 'x': length 7 on the data but length 19 on coordinate 'x'",
         ("xarray", "7")),
        ("The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [5, 3] at index 0",
         ("mask",)),
        ("Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 28, 28, 3] to have 3 channels, but got 28 "
         "channels instead", ("layer",)),
        ("ValueError: shape &#39;[4, 16]&#39; is invalid for input of size 60", ("reshape",)),
    ],
)  # fmt: skip
def test_an_error_of_a_layer_or_a_library_is_explained(text: str, facts: tuple[str, ...]) -> None:
    assert_topic(text, *facts)


@cases(
    ("text", "op", "sizes"),
    [
        ("InvalidArgumentError: required broadcastable shapes [Op:AddV2]", "tensorflow.add", None),
        ("INVALID_ARGUMENT: required broadcastable shapes", "tensorflow.add", None),
        ("ValueError: operands could not be broadcast together with shapes (1014,)(2,)", "numpy.add", (1014, 2)),
        ("ValueError: Dot product shape mismatch, (16, 7) vs (19,)", "numpy.matmul", (7, 19)),
        ("[addmm] Last dimension of first input with shape (16,19) must match second to last dimension of second "
         "input with shape (7,19).", "mlx.core.matmul", (19, 7)),
        ("Fail: axis == 1 || axis == largest was false. Attempting to broadcast an axis by a dimension other than 1. "
         "17 by 18", None, (17, 18)),
    ],
)  # fmt: skip
def test_a_message_of_a_broadcast_or_a_product_has_its_op_and_sizes(
    text: str, op: str | None, sizes: tuple[int, int] | None
) -> None:
    answer = axiscast.why(text)
    assert (answer.op and answer.op.name, answer.sizes) == (op, sizes)


def test_an_unknown_error_is_called_unknown_with_the_shapes_in_its_message() -> None:
    text = "NewError: a of (3, 4) does not go with b of (5,)"
    assert not diagnose(text).is_known
    assert [shape for shape in ("(3, 4)", "(5,)") if shape not in axiscast.why(text).message] == []


SHAPES = (
    "()", "[]", "(3,)", "[3]", "[3, 4]", "[4, 3]", "(2, 3, 28, 28)", "(2, 28, 28, 3)", "[0, 5]", "[1, 1]",
    "(None, 10)", "[?, 10]", "[36 2]", "[4, -]", "(-1, 4)", "[-1, -1]", "(-7, 2)", "[9223372036854775807, 2]",
    "(99999999999999999999,)", "[N, 4]", "{4, 2}", "torch.Size([3, 4])", "(2 3)", "[2, 3", "(1.5, 2)",
)  # fmt: skip
NUMBERS = ("0", "1", "3", "6", "-1", "9223372036854775807", "99999999999999999999", "x")


def filled(wording: str, random: Random) -> str:
    """Return a message with this wording, and with random values, of which some are invalid."""
    values = {"n": NUMBERS, "s": SHAPES, "p": SHAPES, "w": ("conv2d", "-"), "...": ("", "(*, 3)", "x" * 500)}
    return re.sub(r"<(n|s|p|w|\.\.\.)>", lambda slot: random.choice(values[slot[1]]), wording)


@cases("wording", [text for text, _, _ in topic_wordings() if "<" in text])
def test_no_value_in_a_known_wording_is_an_error(wording: str) -> None:
    random = Random(wording)
    texts = {filled(wording, random) for _ in range(60)}
    for text in texts:
        topic = topic_of(text)
        assert topic is None or with_names(topic.text)
    for text in [*texts][:3]:
        assert axiscast.why(f"RuntimeError: {text}").message


@cases("shape", ["[4, -]", "[?, 10]", "[N, 4]", "[-7, 4]"])
def test_a_shape_that_cannot_be_read_is_not_explained(shape: str) -> None:
    text = f"shape '{shape}' is invalid for input of size 6"
    assert_topic(text, "reshape")
    assert "6" not in axiscast.why(text).message
