"""Functions that compute with the inputs they broadcast, such as add or matmul, and the same functions elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters

from ..messages import Step, Transpose
from ..ops import ALIASES, FRAMEWORKS, OPS, Op, align, op_class
from ..ops.einsum import LabeledProduct
from ..ops.equation import ELLIPSIS, Labels, ParsedEquation
from ..ops.families import MatrixProduct
from ..plan.alignment import ShapeMismatch
from ..plan.plan import Plan, Shape
from ..plan.resolution import try_resolve
from .translation_steps import steps_with_one_op

_SAME = """add plus|subtract sub minus|multiply mul times|divide truedivide truediv realdiv|power pow|maximum max
    |minimum min|equal eq|notequal ne|less lt lesser|lessequal le lesserequal lessorequal|greater gt greaterthan
    |greaterequal ge greaterorequal|logicaland|logicalor|logicalxor|bitwiseand|bitwiseor|bitwisexor|arctan2 atan2|hypot
    |logaddexp|logaddexp2|fmod|fmax|fmin|copysign|nextafter|heaviside|gcd|lcm|xlogy|floordivide
    |where select selectv2"""
"""The functions that compute the same values for every dtype in all frameworks, without case and underscores.

Other functions differ. For example, some frameworks round the quotient of two integers, and `mod` has two definitions.
"""
_KEYS = {name: group.split()[0] for group in _SAME.split("|") for name in group.split()}
_DIFFERENT = {"openvino.Divide-1"}
"""The functions that differ from the functions with the same name: this one rounds the quotient of integers."""


def call_template(kind: type[Op]) -> str | None:
    """Return the template of a call of this function, or None if code can't call it."""
    name = kind.function_name()
    return FRAMEWORKS[name.partition(".")[0]].calls.get(name.rpartition(".")[0]) if kind.computes() else None


def same_function(op: Op, kind: type[Op]) -> bool:
    """Return whether two functions compute the same values."""
    for family in (MatrixProduct, LabeledProduct):
        if isinstance(op, family) or issubclass(kind, family):
            return isinstance(op, family) and issubclass(kind, family)
    names = op.function_name(), kind.function_name()
    keys = [_KEYS.get(_plain(name)) for name in names]
    return keys[0] is not None and keys[0] == keys[1] and not _DIFFERENT.intersection(names)


def _plain(name: str) -> str:
    """Return a function's name without its module, its version, its case and its underscores."""
    last = re.sub(r"-\d+$", "", name.rpartition(".")[2])
    return last.removeprefix("broadcast_").replace("_", "").lower()


def same_functions(op: Op, framework: str) -> Iterator[type[Op]]:
    """Yield the functions of a framework that compute the same as an op, and that code can call."""
    for names in (OPS, ALIASES):
        for name in names:
            kind = op_class(name) if name.startswith(f"{framework}.") else None
            if kind is not None and call_template(kind) is not None and same_function(op, kind):
                yield kind


def steps_with_function(op: Op, plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps that compute the result of `op` with a function, or None if no such steps are found.

    `plan` is the plan of `op`. The function must compute the same values for inputs of the same shapes.
    """
    if not kind.takes(len(plan.input_shapes)):
        return None
    if isinstance(op, LabeledProduct):
        return _product_steps(plan, [], plan.input_shapes, _with_equation(kind, op))
    if isinstance(op, MatrixProduct):
        steps, shapes = [], list(plan.input_shapes)
        for number, attribute in enumerate(op.transposes):
            rank = len(shapes[number])
            if getattr(op, attribute) and rank >= 2:
                axes = (*range(rank - 2), rank - 1, rank - 2)
                steps.append(Step(op=Transpose(permutation=axes), input=number))
                shapes[number] = tuple(shapes[number][axis] for axis in axes)
        return _product_steps(plan, steps, tuple(shapes), kind.model_validate({}))
    return steps_with_one_op(plan, kind)


def _product_steps(plan: Plan, steps: list[Step], shapes: tuple[Shape, ...], product: Op) -> list[Step] | None:
    """Return the steps and the product, or None if the product does not return the plan's result."""
    try:
        lowered = try_resolve(align(product, shapes))
    except ShapeMismatch:
        return None
    if lowered is None or lowered.result != plan.result or (not steps and lowered.outputs != plan.outputs):
        return None
    return [*steps, Step(op=product)]


def _with_equation(kind: type[Op], op: LabeledProduct) -> Op:
    """Return the product of this class with the labels of `op`. One letter replaces each label of several letters."""
    equation, (product, _) = op.parsed(), kind.example()
    assert isinstance(product, LabeledProduct)
    labels = dict.fromkeys(label for term in (*equation.operands, equation.result) for label in term)
    letters = {label: label for label in labels}
    if any(len(label) > 1 for label in labels if label != ELLIPSIS):
        letters |= zip((label for label in labels if label != ELLIPSIS), ascii_letters, strict=False)

    def renamed(term: Labels) -> Labels:
        return tuple(letters[label] for label in term)

    return product.with_labels(ParsedEquation(tuple(map(renamed, equation.operands)), renamed(equation.result)))
