"""Functions that generate the source code of a translation from the code templates of the ops.

In a template, `x` is the input of a step and `y` is its output. A step on several tensors has the inputs `x0`, `x1` and
so on, and the lists `xs` and `ys` of all inputs and outputs. `x_shape`, `x_rank`, `y_shape` and `y_rank` describe the
first input and the first output. The op's attributes keep their names. A call of a function that computes also has the
fields `function` and `snake`, which are its name and its name in lower case, `names`, which lists the inputs in quotes,
and `arguments`, which lists the equation, if there is one, and the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from string import Formatter
from typing import NamedTuple

from ..messages import Code, Reshape, Step, Transpose
from ..ops import FRAMEWORKS, Framework, Op, lower
from ..ops.einsum import LabeledProduct
from ..plan.plan import Plan, Shape
from ..wire.shapes import format_shape
from .functions import call_template


def write_code(op: Op, to: str, plan: Plan, steps: Sequence[Step]) -> Code:
    """Return the source code of the steps that translate `op`.

    The inputs are named x, or x0, x1 and so on. The outputs are named y, or y0, y1 and so on.
    """
    framework = to.split(".")[0]
    words = FRAMEWORKS[framework]
    comment = words.language.comment
    inputs = zip(_numbered("x", len(plan.input_shapes)), plan.input_shapes, strict=True)
    head = [f"{comment} {', '.join(f'{name} has shape {format_shape(shape)}' for name, shape in inputs)}"]
    if words.executed is None:
        head.append(f"{comment} unverified: this code follows the documentation of {framework}, and was not executed")
    outputs: dict[int, str] = {0: "y"}
    if not any(isinstance(step.op, Op) and step.op.computes() for step in steps):
        names = _numbered("y", len(plan.outputs))
        outputs = {output.input: name for output, name in zip(plan.outputs, names, strict=True)}
        if op.computes():
            head.append(f"{comment} this code only broadcasts the inputs of {op.function_name()}, and does not compute")
    reshaped = [step.op.shape for step in steps if isinstance(step.op, Reshape)]
    shapes = [*plan.input_shapes, *reshaped, *(output.shape for output in plan.outputs)]
    opening = words.preamble + (words.empty_preamble if any(map(_is_empty, shapes)) else "")
    return Code(language=words.language.name, text="\n".join([*head, opening, *_lines(words, plan, steps, outputs)]))


def _is_empty(shape: Shape) -> bool:
    """Return whether older frameworks treat this shape as unknown, because the shape is () or contains a 0."""
    return not shape or 0 in shape


class _Move(NamedTuple):
    """A step of a translation, with the tensors that it reads and their shapes, and the shapes of its results."""

    step: Step
    taken: Sequence[int]
    before: list[Shape]
    after: list[Shape]


def _performed(plan: Plan, steps: Sequence[Step]) -> Iterator[_Move]:
    shapes = list(plan.input_shapes)
    for step in steps:
        taken = range(len(shapes)) if step.input is None else [step.input]
        before = [shapes[tensor] for tensor in taken]
        after = _shapes_after(step.op, before)
        yield _Move(step, taken, before, after)
        if step.input is None:
            shapes = after
        else:
            shapes[step.input] = after[0]


def _lines(words: Framework, plan: Plan, steps: Sequence[Step], outputs: dict[int, str]) -> Iterator[str]:
    """Yield the code of each step. Intermediate tensors are named t1, t2 and so on."""
    names, moves = _numbered("x", len(plan.input_shapes)), [*_performed(plan, steps)]
    last = {tensor: number for number, move in enumerate(moves) for tensor in move.taken}
    temporaries = count(1)
    for number, (step, taken, before, after) in enumerate(moves):
        results = [
            outputs[tensor] if last[tensor] == number and tensor in outputs else f"t{next(temporaries)}"
            for tensor in taken[: len(after)]
        ]
        yield _filled_in(words, step.op, [names[tensor] for tensor in taken], before, results, after)
        if step.input is None:
            names = results
        else:
            names[step.input] = results[0]


def release_differences(plan: Plan, steps: Sequence[Step]) -> list[str]:
    """Return a sentence for each known deviation of a framework's release that affects these steps."""
    found = {}
    for step, _, before, _ in _performed(plan, steps):
        if isinstance(step.op, Op) and (differs := step.op.accepted_deviation(tuple(before))):
            found[differs] = True
    return [*found]


def _shapes_after(op: Op | Transpose | Reshape, shapes: Sequence[Shape]) -> list[Shape]:
    if isinstance(op, Reshape):
        return [op.shape]
    if isinstance(op, Transpose):
        return [tuple(shapes[0][axis] for axis in op.permutation)]
    plan = lower(op, tuple(shapes))
    return op.output_shapes(plan) if op.computes() else [output.shape for output in plan.outputs]


def _filled_in(
    words: Framework,
    op: Op | Transpose | Reshape,
    taken: Sequence[str],
    before: Sequence[Shape],
    results: Sequence[str],
    after: Sequence[Shape],
) -> str:
    """Return the code of an op, generated from its first template whose fields are all known."""
    fields = {name: words.language.value(value) for name, value in op.model_dump(exclude_none=True).items()}
    shaped = words.language.shape or words.language.value
    for letter, names, shapes in (("x", taken, before), ("y", results, after)):
        fields[f"{letter}s"] = ", ".join(names)
        fields |= {f"{letter}{number}" if len(names) > 1 else letter: name for number, name in enumerate(names)}
        fields[f"{letter}_shape"] = shaped(shapes[0])
        fields[f"{letter}_rank"] = str(len(shapes[0]))
    empty = _is_empty(before[0]) or _is_empty(after[0])
    reshape = words.empty_reshape if empty and words.empty_reshape else words.reshape
    templates: Sequence[str] = (words.transpose if isinstance(op, Transpose) else reshape,)
    if isinstance(op, Op):
        call = call_template(type(op))
        templates = op.snippets if call is None else (call,)
        fields |= _call_fields(op, taken)
    return next(template for template in templates if _fields(template) <= set(fields)).format(**fields)


def _call_fields(op: Op, taken: Sequence[str]) -> dict[str, str]:
    """Return the fields of a call of a function that computes with the tensors of these names."""
    function = op.function_name().rpartition(".")[2]
    equation = [repr(op.text)] if isinstance(op, LabeledProduct) else []
    return {
        "function": function,
        "snake": re.sub(r"(?<=[a-z])(?=[A-Z])", "_", function.partition("-")[0]).lower(),
        "names": ", ".join(f'"{name}"' for name in taken),
        "arguments": ", ".join([*equation, *taken]),
    }


@cache
def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def _numbered(letter: str, total: int) -> list[str]:
    return [letter] if total == 1 else [f"{letter}{number}" for number in range(total)]
