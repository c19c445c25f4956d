"""opt_einsum: contract, which computes an einsum with arrays of any library. The rule is for NumPy arrays."""

from typing import Literal

from .einsum import Einsum
from .equation import Dialect
from .error_messages import ErrorMessage
from .framework import Framework

FRAMEWORK = Framework(order=145, reference=("opt_einsum", "3.4.0"), preamble="", transpose="", reshape="")


class contract(Einsum):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that opt_einsum calls `subscripts`.
    """

    name: Literal["opt_einsum.contract"] = "opt_einsum.contract"
    max_rank = 64
    dialect = Dialect(letters_only=False)
    link = "https://optimized-einsum.readthedocs.io/en/stable/api_reference/#opt_einsumcontract"


MESSAGES = (
    ErrorMessage(
        "Size of label '<...>' for operand <...> (<#>) does not match previous terms (<#>).",
        "opt_einsum.contract",
        about="An einsum failed: the same letter has different sizes.",
    ),
)
