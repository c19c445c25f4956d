"""The torch functions that broadcast, add an axis of size 1 or keep such an axis, for `watch` and `check_torch`."""

from __future__ import annotations

import re

_OPERATOR_KEYWORDS = {
    "input other": """add sub subtract rsub mul multiply div divide true_divide truediv floor_divide floordiv remainder
        mod fmod maximum minimum max min fmax fmin atan2 arctan2 hypot copysign ldexp xlogy xlog1py zeta logaddexp
        logaddexp2 nextafter gcd lcm igamma igammac gammainc gammaincc eq ne not_equal lt less le less_equal gt greater
        ge greater_equal logical_and logical_or logical_xor and or xor bitwise_and bitwise_or bitwise_xor lshift rshift
        bitwise_left_shift bitwise_right_shift isclose allclose dist""",
    "input exponent": "pow float_power",
    "input tensor1 tensor2": "addcmul addcdiv",
    "input min max": "clamp clip clamp_min clamp_max",
    "input end weight": "lerp",
    "input values": "heaviside",
    "input mask": "masked_fill masked_select masked_scatter",
    "condition input other": "where",
    "real imag": "complex",
    "abs angle": "polar",
    "mean std": "normal",
    "count prob": "binomial",
    "input element": "contains",
    "x y": "vecdot",
    "x1 x2": "cosine_similarity pairwise_distance",
    "input n": """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
        hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w""",
    "": "broadcast_tensors",
}
_LOSSES = {
    "input target": """mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss soft_margin_loss
        hinge_embedding_loss""",
    "input target weight": "binary_cross_entropy multilabel_soft_margin_loss",
    "input target weight pos_weight": "binary_cross_entropy_with_logits",
    "input target var": "gaussian_nll_loss",
    "input1 input2 target": "margin_ranking_loss",
}
_ADD_AXIS = "unsqueeze reshape reshape_as view view_as unsafe_view unflatten atleast_2d"
_KEEP_AXIS = """sum nansum mean nanmean amax amin max min norm vector_norm logsumexp prod std var all any argmax
    argmin median nanmedian quantile nanquantile count_nonzero"""
_SELECT = "slice select narrow unbind split chunk"
_KEEP_ORIGIN = """to to_copy type type_as float double half bfloat16 int long bool cpu cuda detach clone alias
    contiguous t transpose swapaxes swapdims permute movedim moveaxis numpy_T squeeze flatten ravel neg negative pos
    positive exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square reciprocal abs absolute sign sgn sin cos tan asin
    acos atan sinh cosh asinh acosh atanh erf erfc erfinv lgamma digamma round floor ceil trunc frac logit nan_to_num
    sigmoid logsigmoid tanh relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign hardtanh hardsigmoid
    hardswish dropout logical_not bitwise_not invert"""
_COMPARISONS = "eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose"
_SPELLINGS = re.compile(r"aten\.(?:linalg_|special_|__i(?=(?:and|or|xor|lshift|rshift)_))?_*([a-z].*?)_*\.")


def _by_name(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words.split()) for words, names in table.items() for name in names.split()}


ADD_AXIS = frozenset(_ADD_AXIS.split())
"""The functions that can add an axis of size 1 to their result."""
KEEP_AXIS = frozenset(_KEEP_AXIS.split())
"""The reductions that keep the reduced axis if an argument, such as `keepdim`, is true."""
SELECT = frozenset(_SELECT.split())
"""The functions whose results are parts of a tensor."""
KEEP_ORIGIN = SELECT | frozenset(_KEEP_ORIGIN.split())
"""The functions of one tensor that work element by element, or that select or reorder elements."""
COMPARISONS = frozenset(_COMPARISONS.split())
OPERATOR_KEYWORDS = _by_name(_OPERATOR_KEYWORDS)
"""The keywords of each function's operands, in order. If all arguments are operands, no keywords are listed."""
OPERAND_COUNTS = {"masked_scatter": 2}
"""The number of operands of each function that has one further tensor argument, which does not broadcast."""
LOSSES = _by_name(_LOSSES)
"""The keywords of the operands of each loss. A loss is not meant to broadcast its operands."""
LISTS = "_foreach_"
"""The prefix of functions that take lists of operands. The first items of all lists broadcast, then the second items,
and so on."""


def function_name(overload: str) -> str:
    """Return the name of an aten overload as it is written in these tables. In-place overloads have the same name.

    >>> [*map(function_name, ("aten.linalg_vecdot.default", "aten.__iand__.Tensor", "aten.mul_.Tensor"))]
    ['vecdot', 'and', 'mul']
    """
    found = _SPELLINGS.match(overload)
    return found[1] if found else ""
