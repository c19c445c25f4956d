"""What is known about an error: the op, the shapes, the expression with the names of its operands, and the check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..checks.check import check_to_dict
from ..messages import CheckRequest
from ..messages.validation import validate
from ..ops import Op, op_class, read_op
from ..wire.problems import Problem
from ..words.error_topics import UNREAD
from ..words.errors import unknown_text
from .failing_expression import Expression, expressions_in
from .static_shapes import MATRIX_PRODUCTS, operation
from .topic_search import topic_of
from .wordings import Reading, Sizes, printed_shapes, readings, shape_pairs_in, single_blanks

_SIZES = re.compile(
    r"(?:Error|Exception): (?!.{0,99}(?:attribute|argument)).{0,300}?\b(?:same|equal|match|mismatch|different|expected|"
    r"inconsistent)\b.{0,99}?\b(?:shapes?|n?dims?|dimensions?|axes|axis|columns|rows|sizes?|lengths?|\d-?[dD])\b"
)
_ANY_SHAPES = {"name": "torch.broadcast_tensors"}
"""The op whose rule PyTorch's message about two sizes on an axis has."""
_LAYER_FILE = re.compile(r"(?:nn|layers?|keras)[/\\](?:[a-z_]+[/\\])*(?:linear|dense|common)\.py$")
"""The files in which frameworks define their linear layers, or call the function of these layers."""
_FILE = re.compile(r'File "([^"\n]{1,300})", line')
_BESIDE = 500
"""The number of characters before and after a message in which shapes are searched."""
_MAX_TEXT = 2**15
"""The number of characters that are searched at the start and at the end of a text."""


class Diagnosis(NamedTuple):
    """What is known about an error: a complete check, parts of a check, or only the topic of the error."""

    op: Op | None = None
    inputs: list[Sizes] | None = None
    sizes: Sizes | None = None
    """The conflicting sizes in the message."""
    are_ordered: bool = False
    """Whether the message states which operand has each of the sizes, so that they are in the operands' order."""
    about: str = ""
    topic: str = ""
    """The code of the topic, if the error is not about broadcasting."""
    node: str = ""
    """The operation's name in its framework, if the message contains it."""
    axis: int | None = None
    """The output axis on which the sizes conflict."""
    is_layer: bool = False
    """Whether a linear layer raised the error, so that input 1 is the layer's weight."""
    is_known: bool = True
    """Whether the text contains a known error message."""
    expression: Expression | None = None
    """The expression that failed, if it is known."""
    names: tuple[str, ...] = ()
    """The source code of each input, or an empty string if it is unknown."""
    target: str = ""
    """The source code of the shape or of the array to which the inputs are broadcast."""

    @property
    def is_about_shapes(self) -> bool:
        """Whether the error message reports that shapes do not broadcast."""
        return self.op is not None or self.inputs is not None or self.sizes is not None

    @property
    def has_array_as_target(self) -> bool:
        """Whether the inputs are written into an array, whose shape can't be changed, instead of to a given shape."""
        is_written = bool(self.about) or (self.expression is not None and self.expression.has_target)
        return is_written and target_of(self.op) is not None

    @property
    def is_explained(self) -> bool:
        """Whether the error is known, and about shapes if no operand is known to be an array."""
        has_arrays = self.expression is not None and bool(self.expression.known)
        return self.is_known and (self.topic not in (UNREAD.code, "data-types") or has_arrays)

    @property
    def request(self) -> CheckRequest | None:
        """The check request, or None if the message is incomplete. Raises Problem if the request is invalid."""
        if self.op is None or self.inputs is None:
            return None
        return validate(CheckRequest, {"op": self.op, "inputs": self.inputs, "explain": True})


def diagnose(text: str) -> Diagnosis:
    """Return what a string says about its last shape error, and about the expression in its traceback.

    In a traceback of chained exceptions, the last exception is the one that reached the user.
    """
    text = shortened(text)
    traceback = text[max(text.rfind("Traceback (most recent call last)"), 0) :]
    diagnosis = diagnose_message(traceback)
    if not diagnosis.is_about_shapes and traceback != text:
        diagnosis, traceback = diagnose_message(text), ""
    is_layer = is_in_layer(_FILE.findall(traceback))
    return completed(diagnosis._replace(is_layer=is_layer), expressions_in(traceback))


def is_in_layer(files: Sequence[str]) -> bool:
    """Return whether the last of the files in a traceback defines linear layers."""
    return bool(files) and _LAYER_FILE.search(files[-1]) is not None


def shortened(text: str) -> str:
    """Return the start and the end of a long text."""
    return text if len(text) <= 2 * _MAX_TEXT else f"{text[:_MAX_TEXT]}\n{text[-_MAX_TEXT:]}"


def diagnose_message(text: str) -> Diagnosis:
    """Return what the last error message in a string says."""
    blanks = single_blanks(text)
    if found := readings(blanks):
        last = found[-1]
        before, after = blanks[: last.start][-_BESIDE:], blanks[last.end :][:_BESIDE]
        return _with_printed_shapes(_diagnosis(last), f"{before} {after}")
    topic = topic_of(blanks) or (UNREAD if _SIZES.search(blanks[-_BESIDE:]) else None)
    if topic is None:
        end = blanks[blanks.rfind("Error") :][-_BESIDE:]
        shapes = [*dict.fromkeys(map(tuple, printed_shapes(end)))]
        return Diagnosis(about=unknown_text(shapes), is_known=False)
    return Diagnosis(about=topic.text, topic=topic.code)


def _with_printed_shapes(diagnosis: Diagnosis, text: str) -> Diagnosis:
    """Return the diagnosis with two shapes from the text beside the message, if they have the conflict of the message.

    Only PyTorch's message about two sizes on an axis is completed.
    """
    if diagnosis.inputs or diagnosis.op or diagnosis.axis is None:
        return diagnosis
    for inputs in shape_pairs_in(text):
        complete = diagnosis._replace(op=read_op(_ANY_SHAPES), inputs=[*inputs])
        if diagnosis.sizes == _conflicting_sizes(complete):
            return complete
    return diagnosis


def _conflicting_sizes(diagnosis: Diagnosis) -> list[int | str] | None:
    """Return the sizes of these inputs on the axis of the message, or in their conflict. Without one, return None."""
    try:
        request = diagnosis.request
        conflict = None if request is None else check_to_dict(request).get("conflict")
    except Problem:
        return None
    axis, inputs = diagnosis.axis, diagnosis.inputs or []
    if conflict is None or axis is None:
        return conflict and [*conflict["sizes"]]
    rank = max(map(len, inputs))
    return [shape[axis - rank] for shape in inputs if 0 < rank - axis <= len(shape)]


def _diagnosis(reading: Reading) -> Diagnosis:
    inputs = [_unknown_if_negative(sizes) for _, sizes in sorted(reading.shapes.items())] or None
    sizes = [size for _, size in sorted(reading.sizes, key=lambda size: size[0] or 0)] or None
    are_ordered = {number for number, _ in reading.sizes} == {0, 1}
    op = _op_of(reading, inputs)
    node = reading.node or ("" if op else next(iter(reading.message.ops), ""))
    return Diagnosis(op, inputs, sizes, are_ordered, reading.message.about, "", node, reading.axis)


def is_einsum(name: object) -> bool:
    """Return whether this is the name of an op that needs an equation."""
    return isinstance(name, str) and (kind := op_class(name)) is not None and "equation" in kind.model_fields


def _unknown_if_negative(sizes: Sizes) -> Sizes:
    return ["?" if isinstance(size, int) and size < 0 else size for size in sizes]


def _op_of(reading: Reading, inputs: list[Sizes] | None) -> Op | None:
    """Return the op that a message is about, or None if the message does not state the op or a required attribute."""
    message = reading.message
    of_node = message.nodes.get(reading.node)
    for name in (of_node,) if of_node else message.ops:
        kind = op_class(name := name.replace("{node}", reading.node))
        if kind is None or (inputs is not None and not kind.takes(len(inputs))):
            continue
        if message.ranks is not None and max(map(len, inputs or []), default=0) > message.ranks:
            continue
        try:
            return read_op({"name": name, **message.attributes, **reading.attributes})
        except ValidationError:
            continue
    return None


def as_assignment(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis of an assignment to an index: the value broadcasts to the target, but not the reverse.

    MLX prints the same message for an assignment and for an addition, with the value first.
    """
    name = "" if diagnosis.op is None else diagnosis.op.name
    target = f"{name.removesuffix('.add')}.broadcast_to"
    if diagnosis.inputs is None or len(diagnosis.inputs) != 2 or not name.endswith(".add") or op_class(target) is None:
        return diagnosis
    value, shape = diagnosis.inputs
    return diagnosis._replace(op=read_op({"name": target, "shape": shape}), inputs=[value])


def completed(diagnosis: Diagnosis, expressions: Sequence[Expression]) -> Diagnosis:
    """Return the diagnosis with the first expression whose operands do not contradict the message, and their names."""
    if not diagnosis.is_known or not expressions:
        return diagnosis
    if expressions[0].function in ("setitem", "broadcast_to"):
        diagnosis = as_assignment(diagnosis)
    for expression in expressions:
        if diagnosis.is_about_shapes or expression.function in (*MATRIX_PRODUCTS, "dot"):
            named = _named(diagnosis, expression)
            if named is not None:
                return named
    if diagnosis.inputs is not None:
        return diagnosis
    known = (each for each in expressions if each.known)
    pair = next((each for each in expressions if len(each.operands) == 2), expressions[0])
    return diagnosis._replace(expression=next(known, pair))


def _named(diagnosis: Diagnosis, expression: Expression) -> Diagnosis | None:
    """Return the diagnosis with the operands of an expression, or None if the message is about other operands."""
    if diagnosis.inputs is None or is_einsum(diagnosis.node):
        found = _with_operands(diagnosis, expression)
        if found is None:
            return None
        diagnosis = found
    operands = expression.operands
    if expression.function == "setitem" and len(operands) == 1:
        return None  # the operand is the target, and the value is a list of numbers
    names = _names_of(diagnosis.inputs or [], expression)
    target = _name_of(target_of(diagnosis.op), expression)
    if target_of(diagnosis.op) and not any(names) and expression.has_target:
        value = operands[1]
        names, target = [value.name], operands[0].name
        if value.array is not None:  # in an operation in place, the message has the broadcast shape instead
            diagnosis = diagnosis._replace(inputs=[[*value.array.shape]])
    if not any(names) and not target:
        return None
    return diagnosis._replace(expression=expression, names=tuple(names), target=target)


def _with_operands(diagnosis: Diagnosis, expression: Expression) -> Diagnosis | None:
    """Return the diagnosis with the shapes of the operands, if checking them finds the sizes in the message."""
    inputs: Any = diagnosis.inputs or [list(array.shape) for _, array in expression.known]
    op = diagnosis.op or _op_of_call(diagnosis, expression)
    needed = 2 if target_of(op) is None else 1
    is_complete = diagnosis.inputs is not None or len(inputs) == len(expression.operands) >= needed
    if not is_complete or op is None or not type(op).takes(len(inputs)):
        return None
    complete = diagnosis._replace(op=op, inputs=inputs)
    sizes = _conflicting_sizes(complete)
    if sizes is None or not set(diagnosis.sizes or ()) <= set(sizes):
        return None
    return complete._replace(node="", about=diagnosis.about if diagnosis.op else "")


def _op_of_call(diagnosis: Diagnosis, expression: Expression) -> Op | None:
    """Return the op for a function or an operator on known arrays, or None if the catalogue does not contain the op."""
    arrays = [array for _, array in expression.known]
    is_matrix_product = expression.function == "dot" and all(len(array.shape) < 3 for array in arrays)
    function = "matmul" if is_matrix_product else expression.function
    kind = operation(arrays[0].framework if arrays else "", function)
    if is_einsum(diagnosis.node):
        is_pattern = function == "einsum" and expression.pattern is not None
        kind = op_class("einops.einsum" if is_pattern else diagnosis.node)
    if function == "bmm" and len({array.shape[:1] for array in arrays}) > 1:
        kind = None
    if kind is not None:
        values = {"pattern": expression.pattern, "equation": expression.equation, kind.target: expression.sizes}
        attributes = {name: value for name, value in values.items() if name in kind.model_fields}
        with suppress(ValidationError):
            return read_op({"name": kind.model_fields["name"].default, **attributes})
    return read_op(_ANY_SHAPES) if diagnosis.axis is not None and len(arrays) == 2 else None


def target_of(op: Op | None) -> Any:
    """Return the shape that an op broadcasts to, or None if the op has no attribute for this shape."""
    return getattr(op, op.target) if op is not None and op.target else None


def _names_of(inputs: list[Sizes], expression: Expression) -> list[str]:
    """Return the operand name of each input, or an empty string if the name is unknown.

    If there are as many operands as inputs, and no shape contradicts this, both are assumed to be in the same order.
    """
    operands = expression.operands[expression.function == "getitem" :]
    arrays = [shape for shape in inputs if shape or len(operands) == len(inputs)]  # an operand can't be a number
    if len(operands) == len(arrays) and all(
        operand.array is None or operand.array.shape == tuple(shape)
        for operand, shape in zip(operands, arrays, strict=True)
    ):
        own = iter(operands)
        return [next(own).name if shape or arrays == inputs else "" for shape in inputs]
    return [_name_of(shape, expression) for shape in inputs]


def _name_of(shape: Any, expression: Expression) -> str:
    """Return the name of the operand with this shape. Return an empty string if not exactly one operand has it."""
    own = tuple(shape or ())
    names = {name for name, array in expression.known if own and array.shape == own}
    if len(own) == 2 and not names:
        names = {f"{name}.T" for name, array in expression.known if array.shape == own[::-1]}
    return names.pop() if len(names) == 1 else ""
