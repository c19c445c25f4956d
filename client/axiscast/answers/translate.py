"""translate: the same operation in another framework's words, with the reshapes and transpositions that it needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from math import gcd, prod

from ..messages import Step, TranslateAnswer, TranslateRequest, Warned
from ..messages.notation import JsonNotation
from ..messages.validation import unknown_op_problem
from ..ops import OPS, Op, op_class
from ..plan.plan import Placement, Plan
from ..wire.cancellation import checkpoint
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE, format_shape
from .arrangements import nonunit_axes
from .check import plan_or_problem
from .limits import MAX_TRANSLATED_INPUTS, validate_request
from .shape_sources import is_rearranged, reshape_empty_inputs, steps_broadcasting_all, steps_with_sources
from .snippets import release_differences, write_code
from .translation_steps import steps_with_one_op, with_fewest_axes


def answer_translate(request: TranslateRequest, notation: JsonNotation | None = None) -> TranslateAnswer:
    """The steps, and their source text. Raises Problem (unknown-op, in these words; incompatible-shapes,
    untranslatable)."""
    kind, shapes = op_class(request.to), tuple(request.inputs)
    if kind is None:
        raise unknown_op_problem(request.to, "/to", notation)
    kind = OPS[kind.model_fields["name"].default]
    MAX_TRANSLATED_INPUTS.check(len(shapes))
    plan = plan_or_problem(validate_request(request.op, shapes))
    steps = steps_of(plan, kind)
    if steps is None:
        raise Problem("untranslatable", _why_not(request.op, plan, kind), pointer="/to")
    return TranslateAnswer(
        exact=all(isinstance(step.op, Op) for step in steps),
        steps=steps,
        code=write_code(kind.model_fields["name"].default, plan, steps),
        warnings=[Warned(code="release-differs", message=text) for text in release_differences(plan, steps)],
    )


def steps_of(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps that do what `plan` does by one op of this kind, else by one for each output; None if none do.

    Tensors are the inputs at first. A step with `input` k takes tensor k and puts its result there; one with `inputs`
    takes those tensors, and its result replaces the first; one without either takes all of them, and its outputs are
    the tensors from then on. At the end, an output is the tensor of its input.
    """
    if not plan.outputs or not kind.snippets:  # the request or the op gives no tensors
        return None
    steps = _steps(plan, kind)
    if steps is None:
        before, other = reshape_empty_inputs(plan)
        own = _steps(other, kind) if before else None
        steps = None if own is None else [*before, *own]
    return steps


def _steps(plan: Plan, kind: type[Op]) -> list[Step] | None:
    steps = steps_with_one_op(plan, kind)
    if steps is None and len(plan.input_shapes) > 1:
        steps = _one_by_one(plan, kind)
    return steps or steps_broadcasting_all(plan, kind) or steps_with_sources(plan, kind)


def _one_by_one(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps with an op for each output, on its input alone."""
    steps: list[Step] = []
    for placement in plan.outputs:
        checkpoint()
        own = steps_with_one_op(Plan((plan.input_shapes[placement.input],), (replace(placement, input=0),)), kind)
        if own is None:
            return None
        steps += [Step(op=step.op, input=placement.input) for step in own]
    return steps


def _why_not(op: Op, plan: Plan, kind: type[Op]) -> str:
    """Return the reason why no op of this kind does it, as a sentence."""
    to = kind.model_fields["name"].default
    plan = with_fewest_axes(plan)
    if not plan.outputs or kind.outputs == "none":
        without = op.name if not plan.outputs else to
        return f"{without} has no outputs: there is nothing to translate"
    if not kind.snippets:
        framework = to.split(".")[0]
        others = [name for name, op in OPS.items() if op.snippets and name.startswith(f"{framework}.")]
        advice = f"translate to {' or '.join(others)}" if others else "nothing is translated to it"
        return f"{to} does not give its inputs as they are broadcast: {advice}"
    longest = max(chain.from_iterable(output.shape for output in plan.outputs), default=0)
    if longest > MAX_SIZE:
        return f"an output has a merged axis of size {longest}, and the longest that a tensor's can be is 2^63-1"
    max_rank = kind.max_rank
    for output in plan.outputs:
        if max_rank is not None and len(nonunit_axes(output)) > max_rank:
            return (
                f"{to} takes at most {max_rank} axes, and the output {format_shape(output.output_shape)} has "
                f"{len(nonunit_axes(output))} of another size than 1"
            )
    return _why_no_size(plan, kind, to)


def _why_no_size(plan: Plan, kind: type[Op], to: str) -> str:
    """Return the reason why no op of this kind brings the sizes along which inputs are replicated."""
    count = len(plan.input_shapes)
    if kind.min_inputs > count:
        return f"{to} takes {kind.min_inputs} inputs, and this request has {count}: no other input is there to match"
    for output in plan.outputs:
        axes = [axis for axis in output.broadcast_axes if output.output_shape[axis] != 1]
        if not axes or is_rearranged(output):
            continue
        what = f"input {output.input} of shape {format_shape(plan.input_shapes[output.input])}"
        reached = format_shape(output.output_shape)
        if output.merges is not None:
            reached += f" (then merged to {format_shape(output.shape)})"
        if not kind.replicates:
            return f"{to} replicates nothing, and {what} is replicated along output axis {axes[0]} of {reached}"
        size = f"the size {output.output_shape[axes[0]]} of output axis {axes[0]} of {reached}"
        lacks = f"{to} has no attribute that says {size}, along which {what} is replicated"
        if kind.max_inputs == 1:
            return lacks
        if not _has_lender(plan, output, kind):
            return f"{lacks}, and no other input brings it there" + (", however it is reshaped" if count > 1 else "")
    if kind.max_inputs is not None and count > kind.max_inputs:
        return f"{to} takes {kind.max_inputs} inputs, and this request has {count}"
    return f"no {to} was found that does it, with the inputs reshaped and transposed before it and the outputs after it"


def _has_lender(plan: Plan, output: Placement, kind: type[Op]) -> bool:
    """Return whether other inputs may bring the sizes that an output's input lacks.

    Reshapes and transpositions keep the number of elements, so what is said of elements holds for all shapes. An op
    that gives only shapes of its inputs, as expand_as does, needs an input with all elements of the output; if it takes
    single axes, one that has every prime factor that is lacking. An op that broadcasts all its inputs needs those that
    fit into the output, and together these must bring what is lacking.
    """
    whole, own = prod(output.output_shape), prod(plan.input_shapes[output.input])
    others = [prod(shape) for number, shape in enumerate(plan.input_shapes) if number != output.input]
    if kind.selects_shape_axes:
        together = others if kind.output_count(2) == 1 else [prod(others)]
        return any(elements == 0 or (whole and _has_factors(elements, whole // own)) for elements in together)
    if kind.output_count(2) == 1:
        return whole in others
    if whole == 0:
        return 0 in others
    fitting = [elements for elements in others if elements and whole % elements == 0]
    return prod(fitting) % (whole // own) == 0


def _has_factors(elements: int, lacking: int) -> bool:
    """Return whether each prime factor of `lacking` divides `elements`."""
    while (common := gcd(elements, lacking)) > 1:
        lacking //= common
    return lacking == 1
