"""Einsum: equations, conflicts, hints, symbolic sizes, drawings and limits.

tests/vectors/einsum.jsonl has the results of the frameworks.
"""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from click.testing import CliRunner
from facts import formulas
from hypothesis import given
from hypothesis import strategies as st
from test_batch import columns_of

import axiscast
from axiscast import CheckAnswer, Client, InvalidRequest, Untranslatable, WorkTooLarge
from axiscast.cli import main
from axiscast.ops import OPS, einops, jax, numpy, opt_einsum, paddle, tensorflow, torch

Shape = tuple[int | str, ...]
EINSUMS = [
    "numpy.einsum", "torch.einsum", "tensorflow.einsum", "jax.numpy.einsum", "paddle.einsum", "opt_einsum.contract",
    "mlx.core.einsum",
]  # fmt: skip


def ask(equation: str, *shapes: Shape, name: str = "numpy.einsum", **options: Any) -> CheckAnswer:
    return axiscast.check(name, *shapes, equation=equation, **options)


def refused(equation: str, *shapes: Shape, name: str = "numpy.einsum") -> Any:
    conflict = ask(equation, *shapes, name=name).conflict
    assert conflict is not None
    return conflict


# --- conflicts


@pytest.mark.parametrize("name", EINSUMS)
def test_a_conflict_has_both_operands_their_axes_and_both_sizes(name: str) -> None:
    conflict = refused("ij,jk->ik", (2, 3), (4, 5), name=name)
    assert (conflict.code, conflict.axis, conflict.axes) == ("size-mismatch", None, (1, 0))
    assert (conflict.inputs, conflict.sizes) == ((0, 1), (3, 4))


def test_a_conflict_on_a_diagonal_names_both_axes_of_the_operand() -> None:
    conflict = refused("iji->j", (2, 3, 4))
    assert (conflict.inputs, conflict.sizes, conflict.axes) == ((0, 0), (2, 4), (0, 2))


def test_the_axes_of_an_ellipsis_can_conflict() -> None:
    conflict = refused("...ij,...jk->...ik", (5, 2, 3), (6, 3, 4))
    assert (conflict.inputs, conflict.sizes, conflict.axes) == ((0, 1), (5, 6), (0, 0))


def test_a_conflict_lists_up_to_20_operands() -> None:
    conflict = refused(",".join("i" * 20), *[(size,) for size in range(2, 22)])
    assert len(conflict.sizes) == 20


@pytest.mark.parametrize(
    ("equation", "shapes", "code"),
    [
        ("ij,jk->ik", [(2, 3, 4), (3, 4)], "rank-mismatch"),
        ("...ij->ij", [(2,)], "rank-mismatch"),
        ("ij->ik", [(2, 3)], "invalid-attribute"),
        ("ij->ii", [(2, 3)], "invalid-attribute"),
        ("i->i->i", [(2,)], "invalid-attribute"),
        ("...i...", [(2, 3)], "invalid-attribute"),
        ("...i->...i...", [(2, 3)], "invalid-attribute"),
        ("i1->i", [(2, 3)], "invalid-attribute"),
        ("i\n->i", [(2,)], "invalid-attribute"),
        ("...i->i", [(2, 3)], "invalid-attribute"),
    ],
)
def test_an_invalid_equation_is_refused(equation: str, shapes: list[Shape], code: str) -> None:
    assert refused(equation, *shapes).code == code


def test_a_wrong_number_of_inputs_is_an_invalid_request() -> None:
    with pytest.raises(InvalidRequest, match="the equation 'ij,jk->ik' has 2 operands, but the request has 1 input"):
        ask("ij,jk->ik", (2, 3))


# --- rules that differ between frameworks


def test_only_tensorflow_does_not_expand_size_1_of_a_letter() -> None:
    fits = {name: ask("ij,jk->ik", (2, 1), (3, 4), name=name).compatible for name in EINSUMS}
    assert fits == dict.fromkeys(EINSUMS, True) | {"tensorflow.einsum": False}


def test_only_paddle_has_one_letter_for_both_cases_and_repeats_letters_in_the_output() -> None:
    assert axiscast.check(paddle.einsum(equation="aA->Aa"), (3, 3)).shape == (3, 3)
    assert refused("aA->aa", (3, 3)).code == "invalid-attribute"


def test_jax_and_opt_einsum_take_an_ellipsis_of_no_axes_twice_in_the_output() -> None:
    for name in ("jax.numpy.einsum", "opt_einsum.contract"):
        assert ask("...i->...i...", (3,), name=name).shape == (3,)
        assert refused("...i->...i...", (2, 3), name=name).code == "invalid-attribute"


def test_paddle_takes_any_ellipsis_twice_in_the_output() -> None:
    assert ask("I...,...I->......", (1, 4, 1), (4, 1, 1), name="paddle.einsum").shape == (4, 1, 4, 1)


def test_no_hint_is_an_equation_that_the_release_refuses() -> None:
    conflict = refused("iij,jk->ik", (2, 2, 3), (4, 3), name="paddle.einsum")
    assert all("iij" not in hint.request.op.equation for hint in conflict.hints)  # type: ignore[union-attr]
    assert refused("iij,jk->ik", (2, 2, 3), (4, 3)).hints[0].attributes == {"equation": "iij,kj->ik"}


def test_jax_and_opt_einsum_take_any_character_as_a_label() -> None:
    for op in (
        jax.einsum(equation="\u03b1\u03b2->\u03b2\u03b1"),
        opt_einsum.contract(equation="\u03b1\u03b2->\u03b2\u03b1"),
    ):
        assert axiscast.check(op, (2, 3)).shape == (3, 2)


# --- hints


@cases(
    ("equation", "shapes", "fixed"),
    [
        ("ij,jk->ik", [(2, 3), (4, 3)], "ij,kj->ik"),
        ("bhqd,bhkd->bhqk", [(2, 8, 10, 64), (2, 8, 64, 12)], "bhqd,bhdk->bhqk"),
        ("ij,jk->ik", [(5, 2, 3), (3, 4)], "...ij,jk->...ik"),
        ("...ij,jk->ik", [(5, 2, 3), (3, 4)], "...ij,jk->...ik"),
        ("bij,bjk->bik", [(2, 3), (5, 3, 4)], "ij,bjk->bik"),
        ("ij,jk->il", [(2, 3), (3, 4)], "ij,jk->ik"),
        ("ij->ii", [(2, 3)], "ij->ij"),
    ],
)
def test_the_first_hint_fixes_the_equation(equation: str, shapes: list[Shape], fixed: str) -> None:
    hint = refused(equation, *shapes).hints[0]
    assert hint.attributes == {"equation": fixed}
    assert hint.request is not None
    assert axiscast.check(hint.request).shape == hint.output


def test_a_missing_axis_is_added() -> None:
    hint = refused("bij->bji", (2, 3)).hints[0]
    assert (hint.code, hint.input, hint.shape, hint.output) == ("reshape", 0, (1, 2, 3), (1, 3, 2))


def test_hints_of_symbolic_sizes_fit_for_all_sizes() -> None:
    (hint, *_) = refused("ij,jk->ik", ("N", 3), ("M", 3, 4)).hints
    assert (hint.attributes, hint.output) == ({"equation": "ij,...jk->...ik"}, ("M", "N", 4))


# --- symbolic sizes and columns


def test_letters_of_symbolic_sizes_give_conditions_and_a_result() -> None:
    def of(equation: str, *shapes: Shape, name: str = "numpy.einsum") -> tuple[Any, list[str]]:
        answer = ask(equation, *shapes, name=name)
        return list(answer.shape), formulas(answer.conditions)

    assert of("ij,jk->ik", ("N", "K"), ("K", "M")) == (["N", "M"], [])
    assert of("ij,jk->ik", ("N", "K"), ("L", "M")) == (["N", "M"], ["K == L or K == 1 or L == 1"])
    assert of("ij,jk->ik", ("N", "K"), ("L", "M"), name="tensorflow.einsum") == (["N", "M"], ["K == L"])
    assert of("ii->i", ("N", "M")) == (["N"], ["N == M"])
    assert of("...ij,...jk->...ik", ("B", 2, 3), (3, "M")) == (["B", 2, "M"], [])


def test_columns_agree_with_single_checks() -> None:
    left, right = [[2, 3], [2, 3], [2, 1], [0, 3]], [[3, 4], [4, 4], [5, 4], [3, 1]]
    answer = columns_of({"name": "numpy.einsum", "equation": "ij,jk->ik"}, [left, right])
    assert answer.compatible.tolist() == [True, False, True, True]
    assert answer.shape.tolist() == [[2, 4], [-1, -1], [2, 4], [0, 1]]
    assert answer.broadcast_inputs[0].tolist() == [[2, 3], [-1, -1], [2, 5], [0, 3]]
    assert answer.broadcast_inputs[1].tolist() == [[3, 4], [-1, -1], [5, 4], [3, 1]]


# --- the operands after the broadcast


def test_the_outputs_multiply_and_sum_to_the_result_of_einsum() -> None:
    draw = np.random.default_rng(3)
    for equation, shapes in [
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (6, 3, 4)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("ii,i->i", [(1, 1), (3,)]),
    ]:
        arrays = [draw.integers(9, size=shape) for shape in shapes]
        outputs = axiscast.broadcast(numpy.einsum(equation=equation), *arrays)
        assert np.array_equal(np.einsum(equation, *outputs), np.einsum(equation, *arrays))


def test_a_gradient_of_an_operand_sums_over_the_expanded_letter() -> None:
    gradients = [np.ones((2, 3)), np.ones((3, 4))]
    got = axiscast.backprop(numpy.einsum(equation="ij,jk->ik"), [(2, 1), (3, 4)], *gradients)
    assert [gradient.tolist() for gradient in got] == [[[3.0], [3.0]], np.ones((3, 4)).tolist()]


def test_the_operands_translate_like_those_of_the_matrix_product() -> None:
    shapes = [(1, 2, 3), (4, 3, 5)]
    einsum = axiscast.translate(torch.einsum(equation="...ij,...jk->...ik"), *shapes, to="numpy.broadcast_to")
    assert einsum.steps == axiscast.translate(torch.matmul(), *shapes, to="numpy.broadcast_to").steps


def test_nothing_translates_to_an_einsum() -> None:
    with pytest.raises(Untranslatable, match=r"numpy\.einsum"):
        axiscast.translate(torch.matmul(), (2, 3), (3, 4), to="numpy.einsum")


# --- the drawing, the command line and HTTP


def test_the_drawing_has_a_column_for_each_letter_and_a_row_for_the_result() -> None:
    assert (
        ask("...ij,...kj->...ik", (5, 1, 2, 3), (6, 4, 3), explain=True).diagram
        == """\
axis     0   1   2 (i)   sum (j)   3 (k)
input 0  5   1*      2         3
input 1  +   6                 3       4
         --------------------------------
result   5   6       2                 4
* stretched   + new axis"""
    )
    assert (
        ask("ii->i", (2, 3), explain=True).diagram
        == """\
axis     0 (i)
input 0      2
             ^
^ conflict"""
    )
    assert (
        ask(",", (), (), explain=True).diagram
        == """\
axis
input 0  ()
input 1  ()
         ---
result   ()"""
    )


def test_the_command_and_the_address_take_an_equation(http: httpx.Client) -> None:
    written = CliRunner().invoke(main, ["check", "2,3", "3,4", "--op", "numpy.einsum", "--equation", "ij,jk->ik"])
    assert written.exit_code == 0
    assert written.output.endswith("\ncompatible: (2, 4)\n")
    asked = {"op": "torch.einsum", "equation": "ij,jk->ik", "input": ["2x3", "3x4"]}
    assert http.get("/v1/check", params=asked).json()["outputs"] == [{"shape": [2, 4], "elements": 8}]
    body = {"op": {"name": "torch.einsum", "equation": "ij,jk->ik"}, "inputs": [[2, 3], [3, 4]]}
    assert http.post("/v1/check", json=body).json()["shape"] == [2, 4]


# --- limits


def test_a_long_equation_is_refused_or_answered_within_the_limits(client: Client) -> None:
    assert ask(",".join(["ij"] * 1000) + "->ij", *[(2, 3)] * 1000, name="jax.numpy.einsum").compatible is True
    with pytest.raises(InvalidRequest, match="at most 8192 characters"):
        client.check(jax.einsum.model_construct(name="jax.numpy.einsum", equation="i" * 8193), (2,))
    labels = "".join(chr(0x4E00 + number) for number in range(100))
    with pytest.raises(WorkTooLarge, match="has 100 axes, but the limit is 64"):
        client.check(jax.einsum(equation=f"{labels[:50]},{labels[50:]}"), (2,) * 50, (2,) * 50)


def test_an_op_with_a_limit_counts_all_letters() -> None:
    assert refused("...i,j->...i", (1,) * 64, (2,)).code == "rank-too-large"
    with pytest.raises(InvalidRequest, match="takes 1 to 63 inputs, not 64"):
        ask(",".join("i" * 64), *[(2,)] * 64)


def test_every_einsum_has_the_field_equation_and_refuses_the_other_name() -> None:
    for name in EINSUMS:
        assert [*OPS[name].model_fields] == ["name", "equation"]
    with pytest.raises(InvalidRequest, match="equation"):
        numpy.einsum(subscripts="ij->ji")  # type: ignore[call-arg]
    assert tensorflow.einsum(equation="ij->ji") == tensorflow.einsum(equation="ij->ji")


@given(
    st.sampled_from([*EINSUMS, "einops.einsum"]),
    st.text("ijA.,->  1\u00e9\n", max_size=24),
    st.lists(st.lists(st.sampled_from([0, 1, 2, 3, "N", "?"]), max_size=4), min_size=1, max_size=3),
)
def test_any_equation_gives_an_answer_or_an_invalid_request(name: str, equation: str, shapes: list[list[Any]]) -> None:
    attribute = "pattern" if name == "einops.einsum" else "equation"
    try:
        answer = axiscast.check(name, *shapes, explain=True, **{attribute: equation})
    except InvalidRequest as error:
        assert "inputs, not" in str(error) or "but the request has" in str(error)  # noqa: PT017
    else:
        assert answer.compatible is False or len(answer.outputs) == 1


# --- einops


@pytest.mark.parametrize(
    ("pattern", "shapes", "code"),
    [
        ("i j, j k -> i k", [(2, 3), (4, 5)], "size-mismatch"),
        ("i j -> i k", [(2, 3)], "invalid-attribute"),
        ("i j", [(2, 3)], "invalid-attribute"),
        ("(i j) -> i", [(2,)], "invalid-attribute"),
        ("i 1 -> i", [(2, 1)], "invalid-attribute"),
        ("i j -> j", [(2,)], "rank-mismatch"),
    ],
)
def test_an_invalid_pattern_of_einops_einsum_is_refused(pattern: str, shapes: list[Shape], code: str) -> None:
    conflict = axiscast.check(einops.einsum(pattern=pattern), *shapes).conflict
    assert conflict is not None
    assert conflict.code == code


def test_a_hint_for_einops_einsum_has_a_pattern_of_names() -> None:
    conflict = axiscast.check(
        einops.einsum(pattern="rows inner, inner columns -> rows columns"), (2, 3), (4, 3)
    ).conflict
    assert conflict is not None
    assert conflict.hints[0].attributes == {"pattern": "rows inner, columns inner -> rows columns"}


def test_rearrange_refuses_to_add_or_to_remove_an_axis() -> None:
    for pattern, shape in (("h -> h w", (2,)), ("h w -> h", (2, 2))):
        conflict = axiscast.check(einops.rearrange(pattern=pattern, axes_lengths={"w": 2}), shape).conflict
        assert conflict is not None
        assert conflict.code == "invalid-attribute"


# --- why


def fail(call: Any) -> BaseException:
    with pytest.raises(ValueError, match="remapped shapes") as caught:
        call()
    return caught.value


def test_an_exception_names_the_operands_and_the_equation_of_its_source_line() -> None:
    q, k = np.zeros((2, 3)), np.zeros((4, 3))
    answer = axiscast.why(fail(lambda: np.einsum("ij,jk->ik", q, k)))
    assert (answer.op, answer.inputs, answer.sizes) == (numpy.einsum(equation="ij,jk->ik"), [(2, 3), (4, 3)], (3, 4))
    assert "q (2, 3) float64, k (4, 3) float64." in answer.message


def test_an_equation_in_a_variable_is_not_printed() -> None:
    equation, q, k = "zy,yx->zx", np.zeros((2, 3)), np.zeros((4, 5))
    answer = axiscast.why(fail(lambda: np.einsum(equation, q, k)))
    assert (answer.op, answer.check) == (None, None)
    assert "zy" not in answer.message


TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    np.einsum('ij,jk->ik', q, k)
  File "/venv/lib/python3.11/site-packages/{package}/core.py", line 9, in einsum
    return c_einsum(*operands, **kwargs)
ValueError: operands could not be broadcast together with remapped shapes [original->remapped]: \
{left}->(2,newaxis,3) (4,5)->(5,4) """


def test_a_pattern_of_einops_is_read_as_a_pattern() -> None:
    call = "einsum(q, k, 'row inner, inner column -> row column')"
    text = TRACEBACK.replace("np.einsum('ij,jk->ik', q, k)", call).format(package="einops", left="(2,3)")
    answer = axiscast.why(text)
    pattern = "row inner, inner column -> row column"
    assert (answer.op, answer.inputs) == (einops.einsum(pattern=pattern), [(2, 3), (4, 5)])


@cases(
    ("package", "left", "is_known"),
    [("numpy", "(2,3)", True), ("other", "(2,3)", True), ("numpy", "(2,4)", False)],
    ids=["the failing call", "a call inside another library", "an equation that fits"],
)
def test_a_traceback_gives_the_equation_only_if_it_is_the_one_that_failed(
    package: str, left: str, is_known: bool
) -> None:
    answer = axiscast.why(TRACEBACK.format(package=package, left=left))
    assert (answer.op is not None, answer.check is not None) == (is_known, is_known)
