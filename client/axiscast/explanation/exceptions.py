"""The diagnosis of an exception object: its message, and the operands of the expression that raised it."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from ..checks.check import check_to_dict
from ..messages.why import WhyAnswer
from ..ops import op_class
from ..wire.problems import Problem
from ..wire.shapes import format_shape
from ..words.hints import change_text
from ..words.names import Names, capitalized
from .diagnosis import LAYER_FILE, Diagnosis, as_assignment, diagnose, fix_or_conflict, is_einsum, why_to_dict
from .failing_expression import Expression, ExpressionOperand, failing_expressions
from .frame_values import FRAMEWORK_PACKAGES, module_name
from .static_shapes import MATRIX_PRODUCTS, operation
from .topic_search import with_names

_MAX_CAUSES = 10
_MAX_LISTED = 4
"""The maximum number of operands that an explanation lists."""
_MAX_TEXT = 2**15
"""The number of characters that are searched at the start and at the end of a message."""
_ONE_HOT = {
    "torch": "use torch.nn.functional.one_hot({labels}, {classes}), or torch.nn.functional.cross_entropy",
    "jax": "use jax.nn.one_hot({labels}, {classes})",
    "jaxlib": "use jax.nn.one_hot({labels}, {classes})",
    "numpy": "use numpy.eye({classes})[{labels}]",
    "tensorflow": "use tf.one_hot({labels}, {classes})",
}
"""For each framework, the advice for an operand `labels` that contains class indices."""


def answer_exception(error: BaseException) -> WhyAnswer:
    """Return the explanation of an exception. It contains the operand names from the source code."""
    cause, diagnosis = _diagnosed(error)
    return WhyAnswer.model_validate(_named(cause, diagnosis) or why_to_dict(diagnosis))


def _named(cause: BaseException, diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the answer with the operands of the failing expression, or None if no operand is known."""
    expressions = failing_expressions(cause.__traceback__) if diagnosis.is_known else []
    if expressions and expressions[0].function == "setitem":
        diagnosis = as_assignment(diagnosis)
    answer = why_to_dict(diagnosis)
    for expression in expressions:
        is_checked = diagnosis.is_about_shapes or expression.function in MATRIX_PRODUCTS
        if is_checked and (named := _explained(answer, diagnosis, expression)) is not None:
            return named
    for expression in expressions:
        if diagnosis.inputs is None and any(operand.array for operand in expression.operands):
            unknown = tuple(operand.name for operand in expression.operands if operand.array is None)
            about = with_names(diagnosis.about, _names_in_advice(expression))
            message = why_to_dict(diagnosis._replace(operands=unknown, about=about))["message"]
            return {**answer, "message": f"{_listed(expression, {})} {message}"}
    return None


def _names_in_advice(expression: Expression) -> dict[str, str]:
    """Return the name of each operand, keyed by its shape and by its rank, as in `(2, 3)` and `rank 2`."""
    arrays = [(operand.name, operand.array.shape) for operand in expression.operands if operand.array]
    ranks = {f"rank {len(shape)}": name for name, shape in arrays}
    return {**ranks, **{str(shape): name for name, shape in arrays}}


def add_why(error: BaseException) -> None:
    """If an exception is about shapes, add axiscast's explanation to the exception as a note.

    An error that is not about broadcasting is explained if arrays of the failing expression are known.

    If the explanation itself fails, the note describes this failure, so that the original exception is still raised.
    """
    try:
        cause, diagnosis = _diagnosed(error)
        answer = _named(cause, diagnosis) or (why_to_dict(diagnosis) if diagnosis.is_about_shapes else None)
    except Exception as failure:
        error.add_note(f"axiscast could not explain this: {failure!r}")
        return
    if answer is not None and (note := f"axiscast: {answer['message']}") not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _diagnosed(error: BaseException) -> tuple[BaseException, Diagnosis]:
    """Return the first exception about shapes in a chain of exceptions, with its diagnosis.

    If no exception in the chain is about shapes, return the first exception that is known, or the first exception.
    """
    found = []
    for cause in _chain(error):
        found.append((cause, diagnose(_text(cause))._replace(is_layer=_is_in_layer(cause.__traceback__))))
        if found[-1][1].is_about_shapes:
            return found[-1]
    return next((each for each in found if each[1].is_known), found[0])


def _is_in_layer(trace: TracebackType | None) -> bool:
    """Return whether the last frame of a traceback is in the file of a linear layer."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and LAYER_FILE.search(trace.tb_frame.f_code.co_filename) is not None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _text(error: BaseException) -> str:
    """Return the message of an exception. Only code of known frameworks may run to compute the message."""
    package = module_name(type(error)).partition(".")[0]
    if package in FRAMEWORK_PACKAGES:
        text = str(error)
    else:
        arguments = BaseException.args.__get__(error)  # type: ignore[attr-defined]
        text = "\n".join(argument for argument in arguments if type(argument) is str)
    return text if len(text) <= 2 * _MAX_TEXT else f"{text[:_MAX_TEXT]}\n{text[-_MAX_TEXT:]}"


def _explained(answer: dict[str, Any], diagnosis: Diagnosis, expression: Expression) -> dict[str, Any] | None:
    """Return the answer with the operand names of an expression, or None if the message is about other operands."""
    if diagnosis.inputs is None or is_einsum(diagnosis.node):
        answer = _checked(answer, diagnosis, expression) or {}
    if answer.get("check") is None:
        return None
    names = _names_of(answer["inputs"], expression.operands)
    target = _name_of(_target(answer["op"]), expression.operands)
    if not any(names) and not target:
        return None
    return {**answer, "message": _message(expression, names, target, answer, diagnosis)}


def _checked(answer: dict[str, Any], diagnosis: Diagnosis, expression: Expression) -> dict[str, Any] | None:
    """Return an answer whose inputs are the operands, if checking the operands finds the sizes in the message."""
    known = [operand for operand in expression.operands if operand.array is not None]
    inputs = [list(operand.array.shape) for operand in known if operand.array]
    op = diagnosis.op or _op_of(expression, known)
    if len(known) < 2 or len(known) < len(expression.operands) or op is None or not type(op).takes(len(inputs)):
        return None
    try:
        request = Diagnosis(op, inputs).request  # type: ignore[arg-type]
        check = None if request is None else check_to_dict(request)
    except Problem:
        return None
    if check is None or "conflict" not in check:
        return None
    sizes = [*check["conflict"]["sizes"]]
    if diagnosis.sizes is not None and not set(diagnosis.sizes) <= set(sizes):
        return None
    plain = op.model_dump(mode="json", exclude_none=True)
    return {**answer, "op": plain, "inputs": inputs, "sizes": sizes or diagnosis.sizes, "check": check}


def _op_of(expression: Expression, known: list[ExpressionOperand]) -> Any:
    """Return the op for a function or an operator on these arrays, or None if the catalogue does not contain the op."""
    framework = next((operand.array.framework for operand in known if operand.array), "")
    kind: Any = operation(framework, expression.function)
    fields = {} if kind is None else kind.model_fields
    if "equation" in fields and expression.equation is not None:
        return kind(equation=expression.equation)
    is_complete = fields and not any(field.is_required() for key, field in fields.items() if key != "name")
    return kind() if is_complete else None


def _target(op: dict[str, Any]) -> Any:
    """Return the shape that an op broadcasts to, or None if the op has no attribute for this shape."""
    kind = op_class(op["name"])
    return op.get(kind.target) if kind is not None and kind.target else None


def _names_of(inputs: list[Any], operands: list[ExpressionOperand]) -> list[str]:
    """Return the operand name of each input, or an empty string if the name is unknown.

    If there are as many operands as inputs, and no shape contradicts this, both are assumed to be in the same order.
    """
    if len(operands) == len(inputs) and all(
        operand.array is None or operand.array.shape == tuple(shape)
        for operand, shape in zip(operands, inputs, strict=True)
    ):
        return [operand.name for operand in operands]
    return [_name_of(shape, operands) for shape in inputs]


def _name_of(shape: Any, operands: list[ExpressionOperand]) -> str:
    """Return the name of the operand with this shape. Return an empty string if not exactly one operand has it."""
    own = tuple(shape or ())
    arrays = [(operand.name, operand.array.shape) for operand in operands if operand.array is not None and own]
    names = {name for name, array in arrays if array == own}
    if len(own) == 2 and not names:
        names = {f"{name}.T" for name, array in arrays if array == own[::-1]}
    return names.pop() if len(names) == 1 else ""


def _message(
    expression: Expression, inputs: list[str], target: str, answer: dict[str, Any], diagnosis: Diagnosis
) -> str:
    """Return an explanation that contains the expression, its operands, and the fix or the conflict."""
    conflict = answer["check"].get("conflict")
    start = _listed(expression, dict(zip(inputs, answer["inputs"], strict=False)))
    if conflict is None or diagnosis.is_layer:
        return f"{start} {answer['message']}"
    names = Names(inputs, target)
    own = [hint for hint in conflict["hints"] if hint["request"]["op"]["name"] == answer["op"]["name"]]
    if not own:
        text = fix_or_conflict(answer["op"], answer["inputs"], conflict, names)
        about = diagnosis.about if diagnosis.op is not None and diagnosis.op.target else ""
        return " ".join(filter(None, (start, text, about, _class_labels(expression))))
    changes = [change_text(own[0], each) for each in _same_change(expression, names, answer, own[0])]
    fixes = [f"{capitalized(changes[0])}.", *(f"Also {change}." for change in changes[1:])]
    return f"{start} {' '.join(fixes)} {_class_labels(expression)}".rstrip()


def _same_change(expression: Expression, names: Names, answer: dict[str, Any], hint: dict[str, Any]) -> Iterator[Names]:
    """Yield the names, and the names for each sibling that conflicts because it has the shape of the changed input."""
    yield names
    if expression.function != "add" or hint["code"] != "reshape":
        return
    number, inputs = hint["input"], names.inputs
    for name, array in expression.siblings:
        if array is not None and array.shape == tuple(answer["inputs"][number]) and name != inputs[number]:
            yield names._replace(inputs=[*inputs[:number], name, *inputs[number + 1 :]])


def _class_labels(expression: Expression) -> str:
    """Return the advice for integers that have the shape of the other operand without its last axis, else ""."""
    known = [operand for operand in expression.operands if operand.array is not None]
    for labels, scores in (known, known[::-1]) if len(known) == 2 else ():
        own, other = labels.array, scores.array
        assert own is not None
        assert other is not None
        if (
            own.dtype.startswith(("int", "uint"))
            and other.dtype.startswith(("float", "bfloat"))
            and other.shape[:-1] == own.shape != ()
        ):
            advice = _ONE_HOT.get(own.framework, "convert it to one-hot vectors of length {classes}")
            advice = advice.format(labels=labels.name, classes=other.shape[-1])
            return f"If {labels.name} contains class indices, {advice}."
    return ""


def _listed(expression: Expression, shapes: dict[str, Any]) -> str:
    """Return a string with the expression, and with the shape and dtype of each operand if they are known."""
    listed = []
    for name, array in [*dict.fromkeys(expression.operands)][:_MAX_LISTED]:
        if array is not None:
            listed.append(f"{name} {format_shape(array.shape)} {array.dtype}".rstrip())
        elif name in shapes:
            listed.append(f"{name} {format_shape(shapes[name])}")
    return f"{expression.text}: {', '.join(listed)}."
