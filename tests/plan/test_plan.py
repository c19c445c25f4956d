"""The laws P1 to P5 of a plan, and the properties of a placement."""

import pytest
from cases import cases

from axiscast.plan.alignment import align_right, align_to_target
from axiscast.plan.plan import Placement, PlanLawError


@pytest.mark.parametrize(
    ("law", "input_shape", "output_shape", "output_axes"),
    [
        pytest.param("P1", (-1,), (3,), (0,), id="negative input size"),
        pytest.param("P1", (1,), (-3,), (0,), id="negative output size"),
        pytest.param("P1", (), (2, -1), (), id="negative size on a new axis"),
        pytest.param("P1", (True,), (3,), (0,), id="a bool is no input size"),
        pytest.param("P1", (1,), (True,), (0,), id="a bool is no output size"),
        pytest.param("P1", (3.0,), (3,), (0,), id="a float is no size"),
        pytest.param("P1", ("3",), (3,), (0,), id="a string is no size"),
        pytest.param("P2", (3,), (3,), (), id="an input axis without an output axis"),
        pytest.param("P2", (), (3,), (0,), id="an output axis for a scalar"),
        pytest.param("P2", (3,), (2, 3), (0, 1), id="two output axes for one input axis"),
        pytest.param("P3", (3,), (2, 3), (2,), id="axis past the last"),
        pytest.param("P3", (3,), (2, 3), (-1,), id="axes do not count from the end"),
        pytest.param("P3", (1,), (), (0,), id="a scalar output has no axes"),
        pytest.param("P3", (3,), (2, 3), (True,), id="a bool is no axis"),
        pytest.param("P3", (3,), (2, 3), (1.0,), id="a float is no axis"),
        pytest.param("P4", (3, 3), (3, 3), (1, 1), id="one output axis named twice"),
        pytest.param("P4", (1, 1), (2, 5), (0, 0), id="named twice at size 1 too"),
        pytest.param("P5", (2,), (3,), (0,), id="size 2 on 3"),
        pytest.param("P5", (3,), (1,), (0,), id="size 3 does not shrink to 1"),
        pytest.param("P5", (0,), (3,), (0,), id="size 0 does not stretch"),
        pytest.param("P5", (0,), (1,), (0,), id="size 0 does not become 1"),
        pytest.param("P5", (2, 3), (2, 3), (1, 0), id="sizes swapped by the axes"),
    ],
)
def test_a_placement_that_breaks_a_law_names_the_law(law, input_shape, output_shape, output_axes):
    with pytest.raises(PlanLawError) as broken:
        Placement(0, input_shape, output_shape, output_axes)
    assert broken.value.law == law
    assert str(broken.value).startswith(f"law {law} does not hold for ")


def test_the_first_broken_law_is_named():
    with pytest.raises(PlanLawError) as broken:
        Placement(0, (2, 2), (3,), (5, 5))  # P3, P4 and P5
    assert broken.value.law == "P3"


@pytest.mark.parametrize(
    ("input_shape", "output_shape", "output_axes", "broadcast_axes"),
    [
        pytest.param((), (), (), (), id="scalar to scalar"),
        pytest.param((), (2, 3), (), (0, 1), id="scalar to a matrix"),
        pytest.param((2, 3), (2, 3), (0, 1), (), id="the same shape"),
        pytest.param((3,), (2, 3), (1,), (0,), id="a new axis in front"),
        pytest.param((2,), (2, 3), (0,), (1,), id="a new axis behind"),
        pytest.param((1, 3), (2, 3), (0, 1), (0,), id="a stretched axis"),
        pytest.param((1,), (1,), (0,), (), id="size 1 on 1 is not replicated"),
        pytest.param((3,), (1, 3), (1,), (0,), id="a lacking axis counts at size 1"),
        pytest.param((3,), (0, 3), (1,), (0,), id="a lacking axis counts at size 0"),
        pytest.param((1,), (0,), (0,), (0,), id="size 1 filled to 0"),
        pytest.param((0,), (0,), (0,), (), id="size 0 on 0 is not replicated"),
        pytest.param((3, 2), (2, 3), (1, 0), (), id="axes swapped"),
        pytest.param((1, 2), (2, 5, 3), (2, 0), (1, 2), id="ascending whatever the order of output_axes"),
    ],
)
def test_broadcast_axes_are_those_that_the_input_lacks_or_expands(
    input_shape, output_shape, output_axes, broadcast_axes
):
    assert Placement(0, input_shape, output_shape, output_axes).broadcast_axes == broadcast_axes


@cases(
    ("output_shape", "elements"),
    [((), 1), ((0,), 0), ((2, 3), 6), ((2**62, 2**62, 4), 2**126), ((2**63, 0), 0)],
    ids=str,
)
def test_elements_are_the_exact_product_of_the_output_shape(output_shape, elements):
    assert Placement(0, (), output_shape, ()).elements == elements


def test_equal_placements_have_equal_hashes():
    assert (
        len({Placement(0, (3,), (2, 3), (1,)), Placement(0, (3,), (2, 3), (1,)), Placement(1, (3,), (2, 3), (1,))}) == 2
    )


def test_the_axes_of_an_alignment_are_computed_once() -> None:
    alignment = align_right(((8, 1, 6, 1), (7, 1, 5)))
    assert alignment.axes is alignment.axes
    assert alignment.outputs is alignment.outputs


@cases(
    ("alignment", "sizes"),
    [
        (align_right(((2, 1), (3,))), (2, 3)),
        (align_right(((2, 1), (3,)), (4, 1, 1)), (4, 2, 3)),
        (align_right(((2,), (3,))), None),
        (align_to_target((2, 1), (2, 3)), (2, 3)),
        (align_to_target((2, 3), (2, 1)), None),
    ],
)
def test_the_broadcast_shape_is_found_without_a_plan(alignment, sizes):
    assert alignment.broadcast_shape() == sizes
