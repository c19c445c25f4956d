"""The diagrams and messages of check. Hints are tested in test_hints.py, and warnings in test_warnings.py."""

from __future__ import annotations

from itertools import product

import pytest
from cases import cases

from axiscast.catalogue import list_ops
from axiscast.checks.check import answer_check, check_to_dict
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import OPS, Op, einops, lower, mindspore, mxnet, numpy, openvino, paddle, poputil, torch
from axiscast.plan.plan import PlanLawError
from axiscast.wire.problems import Problem


def ask(op: Op, *shapes: tuple[int, ...], **options: object) -> CheckAnswer:
    return answer_check(CheckRequest(op=op, inputs=shapes, **options))


def drawing(op: Op, *shapes: tuple[int, ...]) -> str:
    return "\n" + str(ask(op, *shapes, explain=True).diagram) + "\n"


def test_a_diagram_aligns_the_axes_and_marks_expanded_and_new_axes() -> None:
    assert (
        drawing(numpy.broadcast_arrays(), (8, 1, 6, 1), (7, 1, 5))
        == """
axis     0   1   2   3
input 0  8   1*  6   1*
input 1  +   7   1*  5
         --------------
outputs  8   7   6   5
* stretched   + new axis
"""
    )


def test_a_diagram_shows_a_merged_axis_below_its_last_factor() -> None:
    assert (
        drawing(einops.repeat(pattern="h w -> (h 2) (w 2)"), (2, 3))
        == """
axis     0   0   1   1
input 0  2   +   3   +
         --------------
output       4       6
+ new axis
"""
    )


def test_a_diagram_marks_the_conflict() -> None:
    assert (
        drawing(openvino.Broadcast1(mode="explicit", target_shape=(2, 16, 50), axes_mapping=(2,)), (16,))
        == """
axis     0    1    2
input 0  +    +   16
target   2   16   50
                   ^
+ new axis   ^ conflict
"""
    )


def test_a_diagram_shows_the_target_of_the_request() -> None:
    assert (
        drawing(mindspore.broadcast_to(shape=(4, -1)), (1, 3))
        == """
axis     0    1
input 0  1*   3
target   4   -1
         -------
output   4    3
* stretched
"""
    )


def test_a_diagram_shows_outputs_with_different_shapes_and_scalars() -> None:
    assert (
        drawing(poputil.expandToMatchRanks(), (3,), (2, 1))
        == """
axis      0   1
input 0   +   3
input 1   2   1
          ------
output 0  1   3
output 1  2   1
+ new axis
"""
    )
    assert (
        drawing(numpy.broadcast_arrays(), ())
        == """
axis
input 0  ()
         ---
output   ()
"""
    )


def test_a_diagram_shows_how_many_inputs_it_omits() -> None:
    assert "and 92 more inputs" in drawing(numpy.broadcast_arrays(), *[(3,)] * 100)


def test_a_conflict_has_the_axis_the_sizes_the_inputs_and_the_rule() -> None:
    conflict = ask(numpy.broadcast_arrays(), (2, 3), (1,), (4,)).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis, conflict.inputs, conflict.sizes) == ("size-mismatch", 1, (0, 2), (3, 4))


def test_a_target_is_null_among_the_inputs_of_a_conflict() -> None:
    conflict = ask(numpy.broadcast_to(shape=(2, 4)), (3,)).conflict
    assert conflict is not None
    assert (conflict.axis, conflict.inputs, conflict.sizes) == (1, (0, None), (3, 4))


def codes(answer: CheckAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]


def test_the_operands_of_a_product_have_their_own_axes() -> None:
    answer = ask(numpy.matmul(), (5, 1, 2, 3), (6, 3, 4))
    assert [each.shape for each in answer.broadcast_inputs] == [(5, 6, 2, 3), (5, 6, 3, 4)]
    assert codes(answer) == []


def test_sizes_beyond_int64_are_decimal_strings() -> None:
    (output,) = ask(numpy.broadcast_to(shape=(2**62, 4)), (1,), dtype="float64").outputs
    assert (output.elements, output.nbytes) == (str(2**64), str(2**67))
    (output,) = ask(numpy.broadcast_to(shape=(2**60, 4)), (1,), dtype="float64").outputs
    assert (output.elements, output.nbytes) == (2**62, str(2**65))


def test_a_rank_above_the_limit_is_a_problem_unless_the_rule_refuses_it() -> None:
    with pytest.raises(Problem, match="the limit is 64") as caught:
        ask(mindspore.broadcast_to(shape=(1,) * 65), (1,))
    assert caught.value.code == "work-too-large"
    conflict = ask(numpy.broadcast_to(shape=(1,) * 65), (1,)).conflict
    assert conflict is not None
    assert conflict.code == "rank-too-large"


def test_paddle_limits_the_rank_of_the_target_and_none_keeps_the_input() -> None:
    nine = (2,) * 9
    assert ask(paddle.expand(shape=()), nine).shape == nine
    assert ask(paddle.expand(shape=()), (1,) * 64).compatible
    for shape, code in (((-1,) * 9, "rank-too-large"), ((2,), "rank-mismatch")):
        conflict = ask(paddle.expand(shape=shape), nine).conflict
        assert conflict is not None
        assert conflict.code == code
    with pytest.raises(Problem, match="the limit is 64"):
        ask(paddle.expand(shape=()), (1,) * 65)


def test_mxnet_expands_only_named_axes() -> None:
    assert ask(mxnet.broadcast_axis(), (2, 1)).outputs[0].shape == (2, 1)
    assert ask(mxnet.broadcast_axis(axis=1, size=3), (2, 1)).outputs[0].shape == (2, 3)
    for op in (mxnet.broadcast_axis(axis=1), mxnet.broadcast_axis(size=3)):
        conflict = ask(op, (2, 1)).conflict
        assert conflict is not None
        assert conflict.code == "axes-count"


def test_equal_ops_have_equal_hashes() -> None:
    examples = [op.example()[0] for op in OPS.values()]
    again = [type(op).model_validate(op.model_dump()) for op in examples]
    assert len({*examples, *again}) == len(examples)


def test_the_fast_path_has_the_same_outputs_as_the_plan() -> None:
    shapes = [shape for rank in range(4) for shape in product((0, 1, 3), repeat=rank)]
    seen = 0
    for one, other in product(shapes, repeat=2):
        for op, inputs in ((numpy.broadcast_arrays(), (one, other)), (torch.expand(size=other), (one,))):
            answer = check_to_dict(CheckRequest(op=op, inputs=inputs, dtype="int16"))
            if answer["compatible"]:
                seen += 1
                placements = lower(op, inputs).outputs
                assert [[*each.values()] for each in answer["broadcast_inputs"]] == [
                    [number, [*placed.shape], placed.output_axes, placed.broadcast_axes]
                    for number, placed in enumerate(placements)
                ]
                assert [[*output.values()] for output in answer["outputs"]] == [
                    [[*placed.shape], placed.elements, 2 * placed.elements] for placed in placements
                ]
    assert seen > 500


def test_a_size_that_breaks_a_law_is_refused_by_all_functions() -> None:
    for negative in (-1, -2):
        with pytest.raises(PlanLawError):
            check_to_dict(CheckRequest.model_construct(op=numpy.broadcast_arrays(), inputs=[(negative,), (1,)]))


def test_every_op_has_a_link_and_an_example_that_broadcasts() -> None:
    for kind in OPS.values():
        op, shapes = kind.example()
        assert ask(op, *shapes).compatible
        assert op.link.startswith("https://")


@cases(
    ("body", "said"),
    [
        ({"op": {"name": "openvino.Broadcast-3", "mode": "pdpd", "target_shape": [3]}, "inputs": [[3]]},
         "openvino.Broadcast-1 takes pdpd"),
        ({"op": {"name": "torch.expand", "shape": [3]}, "inputs": [[3]]},
         'op/shape: is an unknown field: write "op": {"name": "torch.expand", "size": [3]}'),
        ({"inputs": [[3]], "dtype": "double"}, "did you mean float64?"),
        ({"inputs": [[3]], "dtype": "FLOAT32"}, "did you mean float32"),
    ],
)  # fmt: skip
def test_a_problem_has_suggestions(body: dict[str, object], said: str) -> None:
    with pytest.raises(Problem) as caught:
        answer_check(validate(CheckRequest, body))
    assert said in caught.value.detail


def test_a_problem_lists_all_faults() -> None:
    with pytest.raises(Problem) as caught:
        answer_check(validate(CheckRequest, {"inputs": [[-1], [-2], [-3]], **dict.fromkeys("ab")}))
    pointers = [error["pointer"] for error in caught.value.document()["errors"]]
    assert pointers == ["/inputs/0/0", "/inputs/1/0", "/inputs/2/0", "/a", "/b"]


def test_the_catalogue_has_the_target_and_the_attributes_of_each_mode() -> None:
    entries = {entry.name: entry for entry in list_ops().ops}
    targets = {
        "numpy.broadcast_to": "shape",
        "openvino.Broadcast-1": "target_shape",
        "torch.expand": "size",
        "mxnet.broadcast_axis": None,  # its size belongs to the axes that are named
        "numpy.broadcast_arrays": None,
    }
    assert {name: entries[name].target for name in targets} == targets
    attributes = entries["openvino.Broadcast-1"].attributes["properties"]
    assert {name: schema.get("modes") for name, schema in attributes.items()} == {
        "mode": None, "target_shape": None, "axes_mapping": ["explicit"], "axis": ["pdpd"],
    }  # fmt: skip
