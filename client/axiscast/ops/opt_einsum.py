"""opt_einsum: contract, which computes an einsum with arrays of any library. The rule is for NumPy arrays."""

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from .einsum import Einsum, skipped_zeros, without_leading_zeros
from .equation import Dialect
from .framework import Framework

FRAMEWORK = Framework(
    order=145,
    reference=("opt_einsum", "3.4.0"),
    preamble="import opt_einsum\n",
    calls={"opt_einsum": "{y} = opt_einsum.{function}({arguments})"},
)


class contract(Einsum, name="opt_einsum.contract"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that opt_einsum calls `subscripts`.
    """

    max_rank = 64
    dialect = Dialect(letters_only=False, repeats_empty_ellipsis=True)
    link = "https://optimized-einsum.readthedocs.io/en/stable/api_reference/#opt_einsumcontract"

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if len(shapes) > 2 and any({0, 1} <= sizes for sizes, _ in self.sizes_by_label(shapes)):
            return "opt_einsum 3.4 may fail here: it can plan a size 1 for a letter of sizes 0 and 1."
        return None

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        return skipped_zeros(self, shapes, _without_zeros_before_ones)


def _without_zeros_before_ones(sizes: Shape) -> Shape:
    """Return sizes that are all 0 or 1 without the zeros before the first 1. Other sizes are returned unchanged."""
    return without_leading_zeros(sizes) if {*sizes} <= {0, 1} else sizes


MESSAGES = """
    opt_einsum.contract | Size of label '<...>' for operand <...> (<#>) does not match previous terms (<#>).
        # An einsum failed: the same letter has different sizes.
"""
