"""Octave and MATLAB: implicit expansion, which aligns shapes on their first axes.

An array has at least two axes. A shape with fewer axes gets axes of size 1 at its end, so that (3,) means a column of
shape (3, 1). An array has no axes of size 1 at its end after the second axis, so that (2, 3, 1) means (2, 3).

The rules were tested with Octave. MATLAB documents the same rules since R2016b, but the rules were not tested with
MATLAB. A name may begin with `matlab` instead of `octave`.
"""

import json

from pydantic import Field

from ..plan.alignment import Alignment, align_left, replace_fields
from ..plan.plan import Shape
from ..plan.tiling import align_copies
from ..wire.dimensions import Dimensions
from .aliases import aliases
from .families import Elementwise, Tile
from .framework import Framework, Language

FRAMEWORK = Framework(
    order=155,
    reference=("octave", "7.3.0"),
    language=Language("octave", "%", json.dumps),
    transpose="{y} = permute({x}, {permutation} + 1);",
    # Octave's reshape reads elements column by column, but a translation step must read them row by row.
    reshape=(
        "{y} = permute(reshape(permute({x}, ndims({x}):-1:1), fliplr([{shape}, 1, 1])), numel({shape}) + 2:-1:1);"
    ),
    calls={"octave": "{y} = {function}({arguments});"},
    size="size({x}, {axis1})",
    executed="Octave 7.3.0",
)
_LINK = "https://docs.octave.org/v7.3.0"


class _ExistingAxes:
    """A base class for rules in which axes of size 1 at an array's end do not exist."""

    def needs_integers(self) -> bool:
        """Return True, because the sizes determine which axes at the end of an array exist."""
        return True


def _size(shape: Shape) -> Shape:
    """Return the shape without the axes of size 1 that do not exist."""
    rank = len(shape)
    while rank > 2 and shape[rank - 1] == 1:
        rank -= 1
    return shape[:rank]


def _of_existing_axes(alignment: Alignment, shapes: tuple[Shape, ...]) -> Alignment:
    """Convert an alignment of the arrays' existing axes to an alignment of the shapes in the request."""
    outputs = tuple(
        output if own == shape else output._replace(split_shape=own)
        for output, own, shape in zip(alignment.outputs, alignment.input_shapes, shapes, strict=True)
    )
    return replace_fields(alignment, input_shapes=shapes, outputs=outputs)


class plus(_ExistingAxes, Elementwise, name="octave.plus"):
    """Broadcast two arrays against each other, as every elementwise operator does. Shapes are left-aligned."""

    link = f"{_LINK}/Broadcasting.html"
    example_shapes = ((2, 3), (2,))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return _of_existing_axes(align_left(tuple(map(_size, shapes)), min_rank=2), shapes)


class repmat(_ExistingAxes, Tile, name="octave.repmat"):
    """Repeat an array along its axes, like tiles. `reps` and the array's shape get entries of 1 at their end.

    A single number is used for the first two axes. A negative number means 0. An axis of size 1 is broadcast.
    """

    link = f"{_LINK}/Special-Utility-Matrices.html#index-repmat"
    snippets = ("{y} = repmat({x}, {reps});",)
    reps: Dimensions = Field(description="The number of copies along each axis.", examples=[[2, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        reps = tuple(max(count, 0) for count in self.reps)
        reps = _size((reps * 2 if len(reps) == 1 else reps) + (1, 1))
        aligned = align_copies(_size(shapes[0]), reps, "reps", is_left_aligned=True)
        return _of_existing_axes(aligned, shapes)


ALIASES = aliases(
    plus,
    """minus times rdivide ldivide power realpow eq ne lt le gt ge and or xor max min atan2 hypot rem mod gcd bsxfun""",
    "octave",
)

MESSAGES = r"""
    octave.plus | nonconformant arguments (op1 is <0x>, op2 is <1x>)
    octave.plus | bsxfun: nonconformant dimensions: <0x> and <1x>
    | operator *: nonconformant arguments (op1 is <0x>, op2 is <1x>)
        # A product or a division of matrices failed: the axes that are summed have different sizes.
    | operator \: nonconformant arguments (op1 is <0x>, op2 is <1x>)
        # A product or a division of matrices failed: the axes that are summed have different sizes.
    | operator /: nonconformant arguments (op1 is <0x>, op2 is <1x>)
        # A product or a division of matrices failed: the axes that are summed have different sizes.
    | =: nonconformant arguments (op1 is <0x>, op2 is <1x>)
        # An assignment such as `x += y` failed: the array on its left does not expand.
"""
