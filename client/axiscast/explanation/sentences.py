"""The sentences that explain an error, from its diagnosis and its check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..checks.check import plan_or_conflict
from ..checks.limits import validate_request
from ..messages import CheckRequest
from ..messages.validation import validate
from ..ops import Op
from ..ops.einsum import Einsum
from ..plan.alignment import Conflict
from ..wire.shapes import format_shape
from ..words import errors
from ..words.conflicts import conflict_text
from ..words.error_advice import mask_axis, mask_text
from ..words.names import Names, as_primary, capitalized
from .diagnosis import Diagnosis, is_einsum, target_of
from .failing_expression import Expression
from .static_shapes import MATRIX_PRODUCTS
from .topic_search import with_names

Fields = Mapping[str, Any]
_MAX_LISTED = 4
"""The maximum number of operands that an explanation lists."""
_METHODS = {"Sub": "sub", "Mult": "mul", "Div": "div"}
"""The methods of pandas for operators. They have the argument `axis`."""
_OPERATORS = ("add", "matmul", "dot", *MATRIX_PRODUCTS)
_IN_PLACE = re.compile(r"(.+?) (\W{1,2})= (.+)")


def sentence_of(diagnosis: Diagnosis, check: Fields | None) -> str:
    """Return the explanation of an error. It begins with the expression, if the shape of an operand is known."""
    sentences = _of_parts(diagnosis) if check is None else _of_check(diagnosis, check)
    return " ".join(filter(None, [_listed(diagnosis), *sentences]))


def _listed(diagnosis: Diagnosis) -> str:
    """Return the expression, with the shape and dtype of each operand that is known, or "" if no shape is known."""
    expression = diagnosis.expression
    if expression is None:
        return ""
    shapes = dict(zip(diagnosis.names, diagnosis.inputs or [], strict=False))
    listed: list[tuple[str, Sequence[Any], str]] = []
    for name, array in [*dict.fromkeys(expression.operands)][:_MAX_LISTED]:
        if array is not None:
            listed.append((name, array.shape, array.dtype))
        elif name in shapes:
            listed.append((name, shapes[name], ""))
    return errors.operand_list(expression.text, listed)


def _of_check(diagnosis: Diagnosis, check: Fields) -> list[str]:
    """Return the sentences about an error message that describes a complete check."""
    assert diagnosis.op is not None
    about, name, expression = diagnosis.about, diagnosis.op.name, diagnosis.expression
    inputs: list[Any] = diagnosis.inputs or []
    shapes = errors.shapes_text(inputs, target_of(diagnosis.op))
    if diagnosis.is_layer and (layer := _of_layer(*inputs)):
        return [layer]
    if check["compatible"] is False:
        fixes = _fixes(diagnosis, check["conflict"])
        if expression is None:
            return [about, errors.refused_text(name, shapes), *fixes]
        return [*fixes, "" if isinstance(diagnosis.op, Einsum) else _of_call(diagnosis, expression)]
    if check["compatible"] is None:
        conditions = [condition["message"] for condition in check["conditions"]]
        return [about, errors.conditional_text(name, shapes, conditions)]
    return (
        [about, *(warning["message"] for warning in check["warnings"])]
        if about
        else [errors.fitting_text(name, shapes)]
    )


def _of_call(diagnosis: Diagnosis, expression: Expression) -> str:
    """Return the subject of an error with the code of its call, or the general subject if there is no such code."""
    about, inputs = diagnosis.about, diagnosis.inputs or []
    if expression.operator == "MatMult":
        return ""
    if in_place := _IN_PLACE.fullmatch(expression.text):
        if not diagnosis.has_array_as_target:
            return ""  # the operands do not fit out of place either
        framework = next((array.framework for _, array in expression.known), "")
        target, operator, value = in_place.groups()
        return errors.in_place_text(target, operator, value, target_of(diagnosis.op), inputs[0], framework)
    if expression.function == "getitem" and len(expression.operands) == 3 and [*map(len, inputs)] == [1, 1]:
        return f"{about} {errors.index_pairs_text(*[operand.name for operand in expression.operands])}"
    return about


def _fixes(diagnosis: Diagnosis, conflict: Fields) -> list[str]:
    """Return the first hint for the op of a conflict, and what it means. If there is no hint, return the conflict."""
    assert diagnosis.op is not None
    op, inputs, expression = diagnosis.op, diagnosis.inputs, diagnosis.expression
    names = Names(diagnosis.names, diagnosis.target)
    own = [hint for hint in conflict["hints"] if hint["request"]["op"]["name"] == (op.alias or op.name)]
    if not own or not (expression or diagnosis.names):
        request = validate(CheckRequest, {"op": op, "inputs": inputs})
        found = plan_or_conflict(validate_request(request.op, tuple(request.inputs)))
        text = conflict_text(found, names) if isinstance(found, Conflict) else str(conflict["message"])
        return [text, _class_labels(expression)]
    hint = own[0] if expression is None or expression.operator != "MatMult" else _for_operator(op, own[0])
    changes = [
        errors.change_with_code(hint, each) for each in _same_change(expression, names, diagnosis.inputs or [], hint)
    ]
    fixes = [f"{capitalized(changes[0])}.", *(f"Also {change}." for change in changes[1:])]
    return [*fixes, _other_reading(diagnosis, hint, names), _outer_product(expression, hint), _class_labels(expression)]


def _for_operator(op: Op, hint: Fields) -> Fields:
    """Return a hint to transpose an input, instead of a hint to set an option, because an operator has no options."""
    numbers = [number for number, name in enumerate(op.transposes) if name in hint.get("attributes", ())]
    if len(numbers) != 1:
        return hint
    inputs = [*hint["request"]["inputs"]]
    *stack, rows, columns = inputs[numbers[0]]
    inputs[numbers[0]] = [*stack, columns, rows]
    return {**hint, "code": "transpose", "input": numbers[0], "request": {**hint["request"], "inputs": inputs}}


def _other_reading(diagnosis: Diagnosis, hint: Fields, names: Names) -> str:
    """Return what a vector needs if it does not belong to the rows of a matrix, as a bias, or an empty string."""
    inputs, number = diagnosis.inputs or [], hint.get("input", 0)
    if hint["code"] != "reshape" or [*map(len, inputs)] not in ([1, 2], [2, 1]) or len(inputs[number]) != 1:
        return ""
    return errors.other_reading_text(names.input(number), names.input(1 - number), inputs[1 - number][1])


def _outer_product(expression: Expression | None, hint: Fields) -> str:
    """Return the warning that the result of a fixed matrix product and the next operand make a matrix, or ""."""
    name, array = expression.siblings[0] if expression and expression.siblings else ("", None)
    result = hint["output"]
    if array is None or len(result) != 2 or result[1] != 1 or array.shape != (result[0],):
        return ""
    return errors.next_operand_text(result, name, array.shape)


def _same_change(expression: Expression | None, names: Names, inputs: list[Any], hint: Fields) -> Iterator[Names]:
    """Yield the names, and the names for each sibling that conflicts because it has the shape of the changed input."""
    yield names
    if expression is None or expression.function != "add" or hint["code"] != "reshape":
        return
    number = hint["input"]
    for name, array in expression.siblings:
        if array is not None and array.shape == tuple(inputs[number]) and name != names.inputs[number]:
            yield names._replace(inputs=[*names.inputs[:number], name, *names.inputs[number + 1 :]])


def _class_labels(expression: Expression | None) -> str:
    """Return the advice for integers that have the shape of the other operand without its last axis, else ""."""
    known = expression.known if expression else []
    for (labels, own), (_, other) in (known, known[::-1]) if len(known) == 2 else ():
        is_labels = own.dtype.startswith(("int", "uint")) and other.dtype.startswith(("float", "bfloat"))
        if is_labels and other.shape[:-1] == own.shape != ():
            return errors.class_labels_text(labels, other.shape[-1], own.framework)
    return ""


def _of_layer(shape: Any, weight: Any = ()) -> str:
    """Return the explanation of a linear layer whose input has this shape, or an empty string if it fits."""
    if len(weight) != 2 or shape[-1:] == weight[:1]:
        return ""
    return errors.features_text(weight[0], shape[-1], f"input {format_shape(shape)}", weight[1])


def _of_parts(diagnosis: Diagnosis) -> list[str]:
    """Return the sentences about an error message that describes only a part of a check.

    They list the data that the message contains, and tell the user which shapes to print and check.
    """
    op, inputs, expression = diagnosis.op, diagnosis.inputs, diagnosis.expression
    name = (op.alias or op.name) if op is not None else diagnosis.node
    if diagnosis.is_layer and not inputs and diagnosis.sizes is not None and len(diagnosis.sizes) == 2:
        return [errors.features_text(diagnosis.sizes[1], diagnosis.sizes[0], "input")]
    operands = expression.operands if expression else []
    method = _METHODS.get(expression.operator if expression else "", "add")
    about = with_names(diagnosis.about, [(name, array and array.shape) for name, array in operands], method)
    is_fixed = about != diagnosis.about  # the explanation has code with a name
    fix = "" if is_fixed else _of_operands(expression)
    sentences = [about or (name and errors.failed_text(name)), _of_sizes(diagnosis), fix]
    if inputs:
        sentences.append(errors.given_shapes_text(errors.shapes_text(inputs)))
    if op is None and is_einsum(name):
        sentences.append(errors.missing_equation_text())
    elif not inputs and (op is not None or diagnosis.axis is not None):
        is_operation = op is None or type(op).takes(len(operands))  # else the call has other arguments
        unknown = [operand.name for operand in operands if operand.array is None and is_operation]
        sentences.append(errors.missing_shapes_text(unknown, name if op is not None else ""))
    return sentences


def _of_operands(expression: Expression | None) -> str:
    """Return the fix that follows from the shapes of joined arrays, or of an array and its mask, or an empty string."""
    known = expression.known if expression else []
    shapes = [array.shape for _, array in known]
    if expression is None or len(known) != len(expression.operands) or len(known) < 2:
        return ""
    if expression.function in ("concatenate", "cat") and len({*map(len, shapes)}) == 1:
        axes = [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if len({*sizes}) > 1]
        change = f"{'dim' if expression.function == 'cat' else 'axis'}={axes[0]}" if len(axes) == 1 else ""
        return change and errors.joined_axis_text(axes[0], change)
    (array, _), *_, (mask, index) = known
    if expression.function == "getitem" and index.dtype == "bool":
        axis = mask_axis(shapes[-1], shapes[0])
        return mask_text(as_primary(array), mask, axis) if axis else ""
    return ""


def _of_sizes(diagnosis: Diagnosis) -> str:
    """Return the sentences about the conflicting sizes, or an empty string if the message does not contain them."""
    sizes, axis, expression = diagnosis.sizes or [], diagnosis.axis, diagnosis.expression
    if len(sizes) < 2:
        return ""
    is_operator = expression is not None and expression.is_last and expression.function in _OPERATORS
    owners = expression.operands if expression and is_operator and diagnosis.are_ordered else []
    left, right = (owner.name for owner in owners) if len(owners) == 2 else ("", "")
    if diagnosis.about or (diagnosis.op is not None and not diagnosis.op.has_common_output_axes):
        is_known = any(owner.array is not None for owner in owners)
        return errors.summed_sizes_text(sizes[0], sizes[1], "" if is_known else right)
    text = errors.axis_sizes_text(sizes, axis, (left, right) if right else ())
    if right and axis:
        own = int(axis > 1)
        # A parameter of a module has no axis for the rows of a batch.
        return (
            text if not own and right.startswith("self.") else f"{text} {errors.one_axis_text(left, right, own, axis)}"
        )
    if expression and expression.function == "masked_fill" and axis and expression.operands:
        return f"{text} {errors.first_axis_text(expression.operands[-1].name, axis)}"
    return text
