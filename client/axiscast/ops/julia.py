"""Julia: broadcast, which aligns shapes on their first axes.

If arrays differ in rank, the array with fewer axes gets axes of size 1 at its end. Size 1 expands. Therefore, Julia
combines a vector with each column of a matrix, and NumPy combines the vector with each row. Here, axes are counted from
0, as for all frameworks. Julia itself counts from 1.
"""

from ..plan.alignment import Alignment, align_left
from ..plan.plan import Shape
from .families import Multidirectional
from .framework import Framework, Language

FRAMEWORK = Framework(
    order=150,
    reference=("julia", "1.12"),
    language=Language("julia", "#", repr),
    transpose="{y} = permutedims({x}, {permutation} .+ 1)",
    # Julia's reshape reads elements column by column, but a translation step must read them row by row.
    reshape="{y} = permutedims(reshape(permutedims({x}, ndims({x}):-1:1), reverse({shape})), length({shape}):-1:1)",
    size="size({x}, {axis1})",
)


class broadcast(Multidirectional, name="julia.broadcast"):
    """Broadcast any number of arrays against each other. Shapes are left-aligned, and size 1 expands."""

    outputs = "1"
    link = "https://docs.julialang.org/en/v1/manual/arrays/#Broadcasting"
    snippets = ("({ys},) = map(x -> broadcast((own, _...) -> own, x, {xs}), ({xs},))",)
    example_shapes = ((2, 3), (2,))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_left(shapes)


# This message is from base/broadcast.jl. No test raises this error.
MESSAGES = "| arrays could not be broadcast to a common size; got a dimension with lengths <#> and <#>"
