"""why: the answers for messages about other topics state the sizes, shapes or values of the message."""

from __future__ import annotations

import re
from random import Random

from cases import cases
from test_why import corpus

import axiscast
from axiscast.explanation.topic_search import topic_of, with_names
from axiscast.words.error_topics import topic_wordings

SAID = {
    "torch": {
        "Expected size for first two dimensions of batch2 tensor to be: [6, 3] but got: [6, 4].": (
            "3 columns", "4 rows",
        ),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].": (
            "2 matrices", "3 matrices",
        ),
        "Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))": (
            "target has shape (8,)", "input has shape (8, 1)", "target.view_as(input)",
        ),
        "Expected input batch_size (8) to match target batch_size (7).": ("8 rows", "target has 7"),
        "index 5 is out of bounds for dimension 0 with size 3": ("index is 5", "axis 0 has size 3", "last index is 2"),
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)": ("axis 5", "from -2 to 1"),
        "expected input[2, 4, 5, 5] to have 3 channels, but got 4 channels instead": (
            "(2, 4, 5, 5)", "3 channels", "in_channels=4",
        ),
        "running_mean should contain 4 elements not 3": ("4 channels", "write num_features=4"),
        "input.size(-1) must be equal to input_size. Expected 8, got 7": ("size 7", "write input_size=7"),
        "copying a param with shape torch.Size([3, 8]) from checkpoint": ("checkpoint", "(3, 8)", "(2, 8)"),
        "must match except in dimension 0. Expected size 3 but got size 4": ("join", "size 4", "size 3"),
        "Given normalized_shape=[16], expected input with shape [*, 16], but got input of size[4, 32]": (
            "(16,)", "(4, 32)", "normalized_shape=32",
        ),
        "The shape of the 2D attn_mask is torch.Size([4, 4]), but should be (5, 5)": ("(4, 4)", "(5, 5)"),
        "Expected target size [8, 5], got [8]": ("loss", "must have shape (8, 5)", "(8,)"),
        "shape '[4, 2]' is invalid for input of size 6": ("6 elements", "(4, 2)", "write (-1, 2), which gives (3, 2)"),
        "mat2 must be a matrix": ("axes",),
        "batch2 must be a 3D tensor": ("axes",),
        "1D tensors expected, but got 2D and 2D tensors": ("axes",),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [32, 100]": (
            "layer", "(32, 100)",
        ),
        "Index tensor must have the same number of dimensions as input tensor": ("gather",),
    },
    "numpy": {
        "along dimension 1, the array at index 0 has size 3 and the array at index 1 has size 4": (
            "join", "axis 1", "input 0 has size 3", "input 1 has size 4",
        ),
        "the array at index 0 has 2 dimension(s) and the array at index 1 has 1 dimension(s)": (
            "join", "input 0 has 2 axes", "input 1 has 1",
        ),
        "cannot reshape array of size 6 into shape (4,2)": ("6 elements", "(4, 2)"),
        "cannot assign 3 input values to the 2 output values where the mask is true": (
            "3 values", "selects 2 elements",
        ),
        "matmul: Input operand 1 does not have enough dimensions": ("axes", "Operand 1", "0 axes"),
        "operand has more dimensions than subscripts given in einstein sum": ("einsum",),
        "index 7 is out of bounds for axis 1 with size 3": ("index is 7", "axis 1 has size 3"),
        "axis 4 is out of bounds for array of dimension 2": ("axis 4", "array has 2 axes"),
        "too many indices for array: array is 2-dimensional, but 3 were indexed": ("2 axes", "3 indices"),
    },
    "pandas": {
        "Unable to coerce to Series, length must be 4: given 5": ("pandas", "4 values, not 5", "axis=0"),
        "Unable to coerce to DataFrame, shape must be (3, 4): given (2, 4)": ("pandas", "(3, 4), not (2, 4)"),
        "Length of values (2) does not match length of index (3)": ("pandas", "3 rows", "2 values"),
        "Shape of passed values is (2, 3), indices imply (2, 2)": ("pandas", "(2, 3)", "(2, 2)"),
        "Columns must be same length as key": ("pandas",),
        "('Lengths must match to compare', (2,), (3,))": ("pandas",),
        "cannot set a row with mismatched columns": ("pandas",),
        "Length mismatch: Expected axis has 2 elements, new values have 1 elements": ("pandas", "2 labels, not 1"),
        "Data must be 1-dimensional, got ndarray of shape (3, 1) instead": ("axes", "(3, 1)"),
        "matrices are not aligned": ("product",),
    },
    "xarray": {
        "conflicting sizes for dimension 'x': length 2 on 'b' and length 3 on {'x': 'a'}": (
            "same name", "2", "3",
        ),
        "different number of dimensions on data and dims: 2 vs 1": ("axes",),
    },
    "keras": {
        "must have the same shape. Received: target.shape=(8, 1), output.shape=(8, 10)": (
            "loss", "target has shape (8, 1)", "output has shape (8, 10)",
        ),
        "Data cardinality is ambiguous.": ("paired arrays",),
        "expected axis -1 of input shape to have value 4, but received input with shape (2, 5)": (
            "axis -1 must have size 4", "(2, 5)",
        ),
        "expected min_ndim=4, found ndim=3": ("at least 4 axes", "has 3"),
    },
    "tensorflow": {
        "`logits` and `labels` must have the same shape, received ((32, 10) vs (32, 1)).": (
            "loss", "(32, 10)", "(32, 1)",
        ),
        "logits and labels must have the same first dimension, got logits shape [32,10] and labels shape [320]": (
            "loss", "(32, 10)", "(320,)",
        ),
        "shape[0] = [2,3] vs. shape[1] = [2,4]": ("join", "(2, 3)", "(2, 4)"),
        "Input to reshape is a tensor with 6 values, but the requested shape has 8": ("6 elements", "8"),
    },
    "jax": {
        "concatenating along dimension 0 for shapes (2, 3), (2, 4)": ("joined axis is 0", "(2, 3)", "(2, 4)"),
        "cannot reshape array of shape (6,) (size 6) into shape (4, 2) (size 8)": ("6 elements", "8"),
        "Too many indices: array is 2-dimensional, but 3 were indexed": ("2 axes", "3 indices"),
    },
    "onnxruntime": {
        "Got invalid dimensions for input: x": ("model", "axis 0", "size 2", "declares size 1"),
        "Invalid rank for input: x": ("model", "3 axes", "declares 2"),
    },
}  # fmt: skip
"""For each framework, a part of a recorded message, and the words that the answer must have."""


@cases(
    ("framework", "part", "words"),
    [(framework, part, words) for framework, parts in SAID.items() for part, words in parts.items()],
)
def test_the_answer_states_the_values_of_the_recorded_message(framework: str, part: str, words: tuple[str]) -> None:
    texts = [line["text"] for line in corpus() if line["framework"] == framework]
    text = next(text for text in texts if part in " ".join(text.split()))
    answer = axiscast.why(text)
    assert [word for word in words if word.lower() not in answer.message.lower()] == [], answer.message
    assert answer.check is None


@cases(
    ("text", "words"),
    [
        ("ValueError: x and y must have same first dimension, but have shapes (3,) and (4,)", ("(3,)", "(4,)")),
        ("ValueError: x and y must be the same size", ("paired arrays",)),
        ("ValueError: Found input variables with inconsistent numbers of samples: [100, 99]", ("100 rows", "99")),
        ("ValueError: Expected 2D array, got 1D array instead:\narray=[1. 2. 3.].", ("axes",)),
        ("RuntimeError: batch1 and batch2 must have same number of batches, got 2 and 3", ("product",)),
        ("ValueError: Shapes (None, 1) and (None, 10) are incompatible", ("(None, 1)", "(None, 10)")),
        ("RuntimeError: size mismatch, m1: [32 x 10], m2: [20 x 5] at /TH/generic/THTensorMath.cpp:41", ("10", "20")),
        ("Function AddBackward0 returned an invalid gradient at index 1 - got [3, 4] but expected shape compatible "
         "with [4]", ("gradient", "(3, 4)", "(4,)")),
        ("X has 3 features, but LinearRegression is expecting 4 features as input.", ("fitted with 4 columns",)),
        ("RuntimeError: mat1 dim 1 must match mat2 dim 0", ("product",)),
        ("ValueError: zero-size array to reduction operation maximum which has no identity", ("empty",)),
        ("ValueError: need at least one array to concatenate", ("empty",)),
        ("RuntimeError: stack expects a non-empty TensorList", ("empty",)),
        ("ValueError: negative dimensions are not allowed", ("negative size",)),
        ("RuntimeError: Trying to create tensor with negative dimension -1: [-1]", ("negative size",)),
        ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
         "cpu!", ("devices, not shapes",)),
        ("ValueError: dimension mismatch", ("product",)),
        ("ValueError: inconsistent shapes", ("same shape",)),
        ("Can't merge shape info. Both inferred and declared dimension have different values. Inferred=3 Declared=4",
         ("same shape",)),
        ("RuntimeError: number of dims don't match in permute", ("list of axes",)),
        ("TypeError: Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument 'x'.",
         ("data types",)),
        ("TypeError: mul got arrays of different rank: (3,), (2, 3).", ("axes",)),
        ("The number of sizes provided (3) must be greater or equal to the number of dimensions in the tensor (4)",
         ("axes",)),
        ("InvalidArgumentError: required broadcastable shapes [Op:AddV2]", ("TensorFlow",)),
        ("INVALID_ARGUMENT: required broadcastable shapes", ("TensorFlow",)),
    ],
)  # fmt: skip
def test_a_common_message_of_another_library_is_explained(text: str, words: tuple[str]) -> None:
    answer = axiscast.why(text)
    assert [word for word in words if word.lower() not in answer.message.lower()] == [], answer.message
    assert "does not know this wording" not in answer.message


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
    assert axiscast.why(text).message == (
        "Joined arrays (concatenate, stack) must have equal sizes, except on the joined axis of concatenate."
    )


@cases(
    ("text", "words"),
    [
        ("polars.exceptions.InvalidOperationError: cannot do arithmetic operation on series of different lengths: "
         "got 16 and 7", "16 and 7"),
        ("ValueError: incompatible dimensions for cross product\n(dimension must be 2 or 3)", "2 or 3 elements"),
        ("AssertionError: was expecting embedding dimension of 12, but got 14", "write embed_dim=14"),
        ("ValueError: sample_weight.shape == (19,), expected (17,)!", "needs shape (17,)"),
        ("ValueError: matmul: dimension mismatch with signature (n,k=7),(k=19,1?)->(n,1?)", "7 columns"),
        ("ValueError: Item wrong length 19 instead of 17.", "17 rows"),
        ("IndexError: Boolean index has wrong length: 23 instead of 26", "23 values, but the frame has 26 rows"),
        ("RuntimeError: Expected weight to be a vector of size equal to the number of channels in input, but got "
         "weight of shape [40] and input of shape [2, 62, 4]", "has shape (40,), but the input has shape (2, 62, 4)"),
        ("Non concat axis dimensions must match: Axis 1 has mismatched dimensions of 2 and 3", "On axis 1, one input"),
        ("ValueError: A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. "
         "Received: input_shape=[(None, 4, 3), (None, 5, 2)]", "(None, 4, 3) and (None, 5, 2)"),
        ("RuntimeError: X1 and X2 must have the same number of columns. X1: 3 X2: 5", "has 3 columns"),
        ("ValueError: conflicting sizes for dimension 'x': length 7 on the data but length 19 on coordinate 'x'",
         "pass 7 values"),
        ("The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [5, 3] at index 0",
         "write `x[:, mask]`"),
        ("Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 28, 28, 3] to have 3 channels, but got 28 "
         "channels instead", "`x.permute(0, 3, 1, 2)`"),
        ("ValueError: operands could not be broadcast together with shapes (1014,)(2,)", "(1014,)"),
        ("ValueError: shape &#39;[4, 16]&#39; is invalid for input of size 60", "write (4, -1), which gives (4, 15)"),
        ("Fail: axis == 1 || axis == largest was false. Attempting to broadcast an axis by a dimension other than 1. "
         "17 by 18", "18"),
        ("ValueError: Dot product shape mismatch, (16, 7) vs (19,)", "7"),
        ("[addmm] Last dimension of first input with shape (16,19) must match second to last dimension of second "
         "input with shape (7,19).", "19"),
    ],
)  # fmt: skip
def test_an_error_of_a_layer_or_a_library_is_explained(text: str, words: str) -> None:
    assert words in axiscast.why(text).message


def test_an_unknown_error_is_called_unknown_with_the_shapes_in_its_message() -> None:
    message = axiscast.why("NewError: a of (3, 4) does not go with b of (5,)").message
    assert message.startswith("axiscast does not know this error.")
    assert message.endswith("The end of the text has the shapes (3, 4) and (5,).")


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
    message = axiscast.why(f"shape '{shape}' is invalid for input of size 6").message
    assert message == "A reshape keeps the number of elements."


@cases(
    "text",
    [
        "expected input[] to have 3 channels, but got 4 channels instead",
        "given normalized_shape=[], expected input with shape [*], but got input of size[4, 32]",
        "given normalized_shape=[3, 4], expected input with shape [*, 3, 4], but got input of size[4]",
    ],
)
def test_a_shape_with_too_few_axes_is_not_explained(text: str) -> None:
    assert axiscast.why(text).message.endswith("built for other channels, features or axes.")
