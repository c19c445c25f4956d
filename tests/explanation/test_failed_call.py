"""why: the operands are named as in the source lines of a traceback, and their shapes are read from these lines."""

from __future__ import annotations

from cases import cases

import axiscast

NUMPY = "ValueError: operands could not be broadcast together with shapes (17,7) (17,)"
TORCH = "RuntimeError: The size of tensor a (7) must match the size of tensor b (16) at non-singleton dimension 1"


def traceback(*lines: str, error: str) -> str:
    source = "\n".join(f"    {line}" for line in lines)
    return f'Traceback (most recent call last):\n  File "/home/me/train.py", line 3, in <module>\n{source}\n{error}\n'


@cases(
    ("lines", "error", "values"),
    [
        (("X = (X - X.mean(axis=1)) / X.std(axis=1)", "     ~~^~~~~~~~~~~~~~~~"), NUMPY,
         ("`X.mean(axis=1)[:, None]`", "(17, 1)")),
        (("y = np.hypot(a, b)", "    ^^^^^^^^^^^^^^"), NUMPY, ("`b[:, None]`", "(17, 1)")),
        (("total = np.ones((17, 7)) + b",), NUMPY, ("`b[:, None]`", "(17, 1)")),
        (("d = Normal(torch.zeros(16, 7), torch.ones(16))",), TORCH, ("`torch.ones(16)[:, None]`", "(16, 1)")),
        (("y = x + b", "    ~~^~~"), TORCH.replace("dimension 1", "dimension 3"),
         ("x", "b", "1", "3")),
        (("np.einsum('ij,jk->ik', np.ones((4, 5)), np.ones((3, 5)))",),
         "ValueError: operands could not be broadcast together with remapped shapes [original->remapped]: "
         "(4,5)->(4,newaxis,5) (3,5)->(5,3)", ("np.ones((3, 5)) (3, 5). ", "equation='ij,kj->ik'")),
        (("y = torch.ones(1, 16, 7, 7) + torch.ones(1, 8, 16, 16)",), TORCH.replace("dimension 1", "dimension 3"),
         ("torch.ones(1, 16, 7, 7)", "(1, 16, 7, 7)", "16", "torch.ones(1, 8, 16, 16)", "8")),
        (("infer_shapes(make_model(g), strict_mode=True)",),
         "InferenceError: Inference error(s): (op_type:Add, node name: a1): [ShapeInferenceError] Incompatible "
         "dimensions", ("onnx.Add",)),
    ],
)  # fmt: skip
def test_the_fix_is_in_the_words_of_the_failed_line(
    lines: tuple[str, ...], error: str, values: tuple[str, ...]
) -> None:
    message = axiscast.why(traceback(*lines, error=error)).message
    assert [value for value in values if value not in message] == []


def test_a_product_without_shapes_may_need_its_second_operand_transposed() -> None:
    error = (
        "ValueError: matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
        "(n?,k),(k,m?)->(n?,m?) (size 3 is different from 7)"
    )
    message = axiscast.why(traceback("scores = q @ k", "         ~~^~~", error=error)).message
    assert [value for value in ("7", "3", "k") if value not in message] == []


def test_an_assignment_is_not_read_as_an_addition() -> None:
    """MLX prints the same message for both."""
    error = "ValueError: [broadcast_shapes] Shapes (7) and (5,1) cannot be broadcast."
    for lines, op in [
        (("a = zeros(); a[0] = b", "             ~^^^"), "mlx.core.broadcast_to"),
        (("y = a[0] + b", "    ~~~~~^~~"), "mlx.core.add"),
        (("y = a[0] == b", "    ~~~~~^^~~"), "mlx.core.add"),
    ]:
        answer = axiscast.why(traceback(*lines, error=error))
        assert answer.op is not None
        assert answer.op.name == op


@cases(
    "lines",
    [
        ("y = np.ones((3, 4)) + b",),  # other shapes than those of the message
        ("y = f(a)",),
        ("for row in (",),
        ("y = a + b + c",),
    ],
)
def test_operands_that_contradict_the_message_are_not_named(lines: tuple[str, ...]) -> None:
    message = axiscast.why(traceback(*lines, error=NUMPY)).message
    assert message == axiscast.why(NUMPY).message


def test_sizes_that_the_message_contradicts_are_not_read() -> None:
    answer = axiscast.why(traceback("d = Normal(torch.zeros(5, 7), torch.ones(4))", error=TORCH))
    assert answer.check is None


@cases(
    ("line", "words"), [("h = x @ w", "`tf.linalg.matrix_transpose(w)`"), ("h = tf.matmul(x, w)", "transpose_b=True")]
)
def test_only_a_call_has_an_option_that_transposes(line: str, words: str) -> None:
    error = "InvalidArgumentError: Matrix size-incompatible: In[0]: [5,7], In[1]: [3,7] [Op:MatMul] name:"
    assert words in axiscast.why(traceback(line, error=error)).message
