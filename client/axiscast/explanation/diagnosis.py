"""The code of the `why` function: it finds the check that an error message describes, and explains the error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..checks.check import check_to_dict, plan_or_conflict
from ..checks.hints.hints import framework_of
from ..checks.limits import validate_request
from ..messages import CheckRequest
from ..messages.validation import validate
from ..messages.why import WhyAnswer
from ..ops import Op, op_class, read_op
from ..ops.einsum import Einsum
from ..plan.alignment import Conflict
from ..wire.problems import Problem
from ..wire.shapes import format_shape
from ..words.conflicts import conflict_text
from ..words.hints import change_text
from ..words.names import Names, as_primary, capitalized
from .failed_call import failed_calls, is_assignment
from .operands import MarkedOperands, Sizes, einsum_in, operands_in, printed_shapes, shape_pairs_in
from .topic_search import topic_of, with_names
from .wordings import Reading, readings, single_blanks

_UNKNOWN = (
    "axiscast does not know this error. Paste the end of the traceback, starting with the name of the exception, or "
    "check the shapes directly."
)
_ANY_SHAPES = {"name": "torch.broadcast_tensors"}
"""The op whose rule PyTorch's message about two sizes on an axis has."""
LAYER_FILE = re.compile(r"(?:nn|layers?|keras)[/\\](?:[a-z_]+[/\\])*(?:linear|dense|common)\.py$")
"""The files in which frameworks define their linear layers, or call the function of these layers."""
_FILE = re.compile(r'File "([^"\n]{1,300})", line')
_BESIDE = 500
"""The number of characters before and after a message in which shapes are searched."""


class Diagnosis(NamedTuple):
    """The data that an error message contains: a complete check, parts of a check, or only the topic of the error."""

    op: Op | None = None
    inputs: list[Sizes] | None = None
    sizes: Sizes | None = None
    about: str = ""
    operands: tuple[str, ...] | None = None
    """The source code of the operands, if the traceback shows it."""
    owners: tuple[str, ...] = ()
    """The source code of the operand that has each of the sizes, or an empty tuple if this is unknown."""
    node: str = ""
    """The operation's name in its framework, if the message contains it."""
    axis: int | None = None
    """The output axis on which the sizes conflict."""
    names: tuple[str, ...] = ()
    """The source code of each input, or an empty tuple if this is unknown."""
    is_layer: bool = False
    """Whether a linear layer raised the error, so that input 1 is the layer's weight."""
    is_known: bool = True
    """Whether the text contains a known error message."""

    @property
    def is_about_shapes(self) -> bool:
        """Whether the error message reports that shapes do not broadcast."""
        return self.op is not None or self.inputs is not None or self.sizes is not None

    @property
    def request(self) -> CheckRequest | None:
        """The check request, or None if the message is incomplete. Raises Problem if the request is invalid."""
        if self.op is None or self.inputs is None:
            return None
        return validate(CheckRequest, {"op": self.op, "inputs": self.inputs, "explain": True})


def answer_why(text: str) -> WhyAnswer:
    """Return the explanation of an error message."""
    return WhyAnswer.model_validate(why_to_dict(diagnose(text)))


def diagnose(text: str) -> Diagnosis:
    """Return the data that the last shape error in a string contains.

    In a traceback of chained exceptions, the last exception is the one that reached the user.
    """
    blanks = single_blanks(text)
    if found := readings(blanks):
        last = found[-1]
        diagnosis = _diagnosis(last, operands_in(text), einsum_in(text))
        before, after = blanks[: last.start][-_BESIDE:], blanks[last.end :][:_BESIDE]
        files = _FILE.findall(text)
        diagnosis = diagnosis._replace(is_layer=bool(files) and LAYER_FILE.search(files[-1]) is not None)
        return _with_source(_with_printed_shapes(diagnosis, f"{before} {after}"), text)
    topic = topic_of(blanks)
    return Diagnosis(about=topic or _unknown(blanks), is_known=topic is not None)


def _unknown(text: str) -> str:
    """Return the explanation of an unknown error, with the shapes at the end of the text."""
    shapes = [*dict.fromkeys(map(tuple, printed_shapes(text[text.rfind("Error") :][-_BESIDE:])))]
    read = f" The end of the text has the shapes {_joined([*map(format_shape, shapes)])}." if shapes else ""
    return f"{_UNKNOWN}{read}"


def _with_printed_shapes(diagnosis: Diagnosis, text: str) -> Diagnosis:
    """Return the diagnosis with two shapes from the text beside the message, if they have the conflict of the message.

    Only PyTorch's message about two sizes on an axis is completed.
    """
    if diagnosis.inputs or diagnosis.op or diagnosis.axis is None:
        return diagnosis
    for inputs in shape_pairs_in(text):
        complete = diagnosis._replace(op=read_op(_ANY_SHAPES), inputs=[*inputs], operands=None, owners=())
        if diagnosis.sizes == _conflicting_sizes(complete):
            return complete
    return diagnosis


def _conflicting_sizes(diagnosis: Diagnosis) -> list[int | str] | None:
    """Return the sizes in the conflict of these inputs, or None if they have no conflict on the axis of the message."""
    try:
        request = diagnosis.request
        conflict = None if request is None else check_to_dict(request).get("conflict")
    except Problem:
        return None
    if conflict is None or diagnosis.axis not in (None, conflict.get("axis")):
        return None
    return [*conflict["sizes"]]


def _with_source(diagnosis: Diagnosis, text: str) -> Diagnosis:
    """Return the diagnosis with the operands in the traceback's source code, as far as they do not contradict it."""
    if is_assignment(text):
        diagnosis = as_assignment(diagnosis)
    for names, shapes in failed_calls(text):
        op = diagnosis.op or (read_op(_ANY_SHAPES) if diagnosis.axis is not None else None)
        if diagnosis.inputs is None and op is not None and None not in shapes and type(op).takes(len(shapes)):
            inputs: list[Sizes] = [[*shape] for shape in shapes if shape is not None]
            complete = diagnosis._replace(op=op, inputs=inputs, names=names)
            sizes = _conflicting_sizes(complete)
            if sizes is not None and set(diagnosis.sizes or ()) <= set(sizes):
                return complete
        if len(names) == len(diagnosis.inputs or ()):
            pairs = zip(shapes, diagnosis.inputs or (), strict=True)
            if all(shape is None or [*shape] == sizes for shape, sizes in pairs):
                return diagnosis._replace(names=names)
    return diagnosis


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


def _diagnosis(reading: Reading, operands: MarkedOperands | None, einsum: tuple[str, str] | None) -> Diagnosis:
    inputs = [_unknown_if_negative(sizes) for _, sizes in sorted(reading.shapes.items())] or None
    sizes = [size for _, size in sorted(reading.sizes, key=lambda size: size[0] or 0)] or None
    op = _op_of(reading, inputs, einsum)
    node = reading.node or ("" if op else next(iter(reading.message.ops), ""))
    names = None if inputs or operands is None else (operands.left, operands.right)
    is_ordered = operands is not None and operands.are_ordered and {number for number, _ in reading.sizes} == {0, 1}
    owners = names if names and is_ordered else ()
    return Diagnosis(op, inputs, sizes, reading.message.about, names, owners, node, reading.axis)


def is_einsum(name: object) -> bool:
    """Return whether this is the name of an op that needs an equation."""
    return isinstance(name, str) and (kind := op_class(name)) is not None and "equation" in kind.model_fields


def _unknown_if_negative(sizes: Sizes) -> Sizes:
    return ["?" if isinstance(size, int) and size < 0 else size for size in sizes]


def _op_of(reading: Reading, inputs: list[Sizes] | None, einsum: tuple[str, str] | None) -> Op | None:
    """Return the op that a message is about, or None if the message does not state the op or a required attribute."""
    message = reading.message
    of_node = message.nodes.get(reading.node)
    for name in (of_node,) if of_node else message.ops:
        name = name.replace("{node}", reading.node)
        kind = op_class(name)
        if kind is None or (inputs is not None and not kind.takes(len(inputs))):
            continue
        if message.ranks is not None and max(map(len, inputs or []), default=0) > message.ranks:
            continue
        found = {}
        if einsum is not None and is_einsum(name):
            function, found["equation"] = einsum
            name = function if is_einsum(function) else name
        try:
            return read_op({"name": name, **message.attributes, **reading.attributes, **found})
        except ValidationError:
            continue
    return None


def why_to_dict(diagnosis: Diagnosis, request: CheckRequest | None = None) -> dict[str, Any]:
    """Return the fields of a WhyAnswer as plain values. Unknown fields are absent.

    If the request is already validated, pass it as `request`.
    """
    answer: dict[str, Any] = {"op": None, "inputs": diagnosis.inputs, "sizes": diagnosis.sizes}
    if diagnosis.op is not None:
        answer["op"] = diagnosis.op.model_dump(mode="json", exclude_none=True)
    answer = {name: value for name, value in answer.items() if value is not None}
    try:
        request = request or diagnosis.request
        check = None if request is None else check_to_dict(request)
    except Problem as problem:
        return {**answer, "message": f"The shapes in this message can't be checked. {_sentence(problem.detail)}"}
    if check is None:
        return {**answer, "message": _of_parts(diagnosis)}
    if check["compatible"] and is_einsum(answer["op"]["name"]):  # another equation has failed
        return why_to_dict(diagnosis._replace(op=None, node=answer["op"]["name"]))
    if "conflict" in check:
        if diagnosis.is_layer or (diagnosis.about and diagnosis.op and diagnosis.op.target):
            # The weight of a layer, and the target of an operation in place, can't be changed.
            check["conflict"]["hints"] = []
        answer |= {"sizes": sizes} if (sizes := [*check["conflict"]["sizes"]]) else {}
    return {**answer, "check": check, "message": _of_check(diagnosis, answer["op"], check)}


def _of_check(diagnosis: Diagnosis, op: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return the explanation of an error message that describes a complete check."""
    shapes = _joined([format_shape(shape) for shape in diagnosis.inputs or []])
    target = diagnosis.op and diagnosis.op.target and getattr(diagnosis.op, diagnosis.op.target)
    asked = shapes if target is None else f"{shapes} to {format_shape(target)}"
    if diagnosis.is_layer and (layer := _of_layer(diagnosis.inputs)):
        sentences = [layer]
    elif check["compatible"] is False:
        verb = "multiply" if op["name"].endswith("matmul") else "broadcast"
        sentences = [diagnosis.about, f"{op['name']} can't {verb} {asked}.", check["conflict"]["message"]]
        if diagnosis.names and diagnosis.inputs:
            sentences[2] = fix_or_conflict(op, diagnosis.inputs, check["conflict"], Names(diagnosis.names))
    elif check["compatible"] is None:
        conditions = " and ".join(condition["message"] for condition in check["conditions"])
        sentences = [diagnosis.about, f"{op['name']} broadcasts {asked} only if {conditions}."]
    elif diagnosis.about:
        sentences = [diagnosis.about, *(warning["message"] for warning in check["warnings"])]
    else:
        sentences = [
            f"{op['name']} can broadcast {asked}. Either the call has an option that the message does not show, or "
            f"the message shows shapes of other tensors."
        ]
    return " ".join(filter(None, sentences))


def fix_or_conflict(op: Mapping[str, Any], inputs: list[Sizes], conflict: Mapping[str, Any], names: Names) -> str:
    """Return the first hint for the op of a conflict in these names, or the conflict if there is no such hint."""
    own = [hint for hint in conflict["hints"] if hint["request"]["op"]["name"] == op["name"]]
    if own:
        return f"{capitalized(change_text(own[0], names))}."
    request = validate(CheckRequest, {"op": op, "inputs": inputs})
    found = plan_or_conflict(validate_request(request.op, tuple(request.inputs)))
    return conflict_text(found, names) if isinstance(found, Conflict) else str(conflict["message"])


def _of_layer(inputs: Sequence[Sequence[Any]] | None) -> str:
    """Return the explanation of a linear layer whose input has the first shape, or an empty string if it fits."""
    if inputs is None or len(inputs) != 2 or len(inputs[1]) != 2 or inputs[0][-1:] == inputs[1][:1]:
        return ""
    shape, (built, outputs) = inputs
    text = (
        f"The layer was built for in_features={built}, but the last axis of its input {format_shape(shape)} has size "
        f"{shape[-1]}: write in_features={shape[-1]}."
    )
    return (
        f"{text} Its two sizes may also be exchanged: its out_features is {outputs}." if shape[-1] == outputs else text
    )


def _of_parts(diagnosis: Diagnosis) -> str:
    """Return the explanation of an error message that describes only a part of a check.

    The explanation lists the data that the message contains, and tells the user which shapes to print and check.
    """
    op, inputs, about = diagnosis.op, diagnosis.inputs, diagnosis.about
    name = (op.alias or op.name) if op is not None else diagnosis.node
    if diagnosis.is_layer and not inputs and diagnosis.sizes is not None and len(diagnosis.sizes) == 2:
        found, built = diagnosis.sizes
        return (
            f"The layer was built for in_features={built}, but the last axis of its input has size {found}: write "
            f"in_features={found}."
        )
    sentences = [with_names(about) or (name and f"{name} failed."), _of_sizes(diagnosis)]
    if inputs:
        sentences.append(f"The message contains the shapes {_joined([*map(format_shape, inputs)])}.")
    if op is None and is_einsum(name):
        sentences.append(
            f"The message does not contain the equation. Check it, for example with `axiscast check 2,3 3,4 --op "
            f"{name} --equation 'ij,jk->ik'`."
        )
    elif not inputs and (op is not None or diagnosis.axis is not None):
        what = [f"`{operand}`" for operand in diagnosis.operands or ()] or ["the operands"]
        option = f" --op {name}" if op is not None else ""
        shapes = "SHAPE SHAPE"
        if isinstance(op, Einsum):
            shapes, option = " ".join("SHAPE" for _ in op.equation.split(",")), f"{option} --equation '{op.equation}'"
        sentences.append(
            f"The message does not contain the shapes. Print the shapes of {_joined(what)}, and check them with "
            f"`axiscast check {shapes}{option}`, where each SHAPE is written as 2,64,7,7."
        )
    return " ".join(filter(None, sentences))


def _of_sizes(diagnosis: Diagnosis) -> str:
    """Return the sentence about the conflicting sizes, or an empty string if the message does not contain two sizes."""
    sizes, axis = diagnosis.sizes or [], diagnosis.axis
    if len(sizes) < 2:
        return ""
    if diagnosis.about or (diagnosis.op is not None and not diagnosis.op.has_common_output_axes):
        text = f"The conflicting sizes are {sizes[0]} and {sizes[1]}."
        if not diagnosis.owners or diagnosis.about:
            return text
        right = diagnosis.owners[1]
        fix = f"write `{as_primary(right)}.swapaxes(-1, -2)`"
        return f"{text} If the last axis of `{right}` has size {sizes[0]}, {fix}."
    where = "one axis" if axis is None else f"axis {axis} of the result"
    where += f", which has at least {axis + 1} axes" if axis else ""
    if diagnosis.owners:
        one, other = (f"`{name}` has size {size}" for name, size in zip(diagnosis.owners, sizes, strict=True))
        text = f"On {where}, {one}, but {other}: the sizes must be equal, or one of them must be 1."
        return f"{text} {_of_one_axis(diagnosis.owners, axis)}" if axis and axis > 1 else text
    return f"Sizes {sizes[0]} and {sizes[1]} conflict on {where}: they must be equal, or one of them must be 1."


def _of_one_axis(owners: tuple[str, ...], axis: int) -> str:
    """Return the fix if the second operand is a vector for an earlier axis than the last one, as a bias of channels."""
    left, right = owners
    index = ", ".join([":", *["None"] * (axis - 1)])
    return f"If `{right}` has one axis, for axis 1 of `{left}`, write `{as_primary(right)}[{index}]`."


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def why_as_text(answer: WhyAnswer) -> str:
    """Return an answer as text for a terminal: the explanation, the diagram and the hints."""
    lines = [answer.message]
    if answer.check is not None:
        if answer.check.diagram:
            lines += ["", answer.check.diagram]
        hints = answer.check.conflict.hints if answer.check.conflict else answer.check.hints
        name = answer.op.name if answer.op is not None else ""
        own = [hint for hint in hints if hint.request and framework_of(hint.request.op.name) == framework_of(name)]
        lines += ["", *(f"hint: {hint.message}" for hint in own)] if own else []
    return "\n".join(lines)
