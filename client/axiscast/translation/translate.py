"""Functions that translate an operation to an op of another framework, with the necessary reshapes and transposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import gcd, prod

from ..checks.check import plan_or_problem
from ..checks.limits import MAX_TRANSLATED_INPUTS, validate_request
from ..messages import Step, TranslateAnswer, TranslateRequest
from ..messages.facts import Warned
from ..messages.notation import JsonNotation
from ..messages.validation import unknown_op_problem
from ..ops import OPS, Op, op_class
from ..plan.plan import Placement, Plan
from ..wire.cancellation import checkpoint
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE, format_shape
from .arrangements import nonunit_axes
from .open_sizes import with_open_sizes
from .shape_sources import is_rearranged, reshape_empty_inputs, steps_broadcasting_all, steps_with_sources
from .snippets import release_differences, write_code
from .translation_steps import steps_with_one_op, with_fewest_axes


def answer_translate(request: TranslateRequest, notation: JsonNotation | None = None) -> TranslateAnswer:
    """Return the steps of a translation and their source code.

    Raises Problem with one of these codes: unknown-op, incompatible-shapes, untranslatable. `notation` determines how
    the message writes an unknown op.
    """
    kinds, shapes = target_ops(request.to, notation), tuple(request.inputs)
    MAX_TRANSLATED_INPUTS.check(len(shapes))
    plan = plan_or_problem(validate_request(request.op, shapes))
    found = _shortest_translation(plan, kinds)
    if found is None:
        others = f"no op of {request.to} can express this: " if len(kinds) > 1 else ""
        raise Problem("untranslatable", others + _reason(request.op, plan, kinds[0]), pointer="/to")
    kind, steps = found
    steps = with_open_sizes(request.op, plan, steps)
    return TranslateAnswer(
        exact=all(isinstance(step.op, Op) for step in steps),
        steps=steps,
        code=write_code(kind.model_fields["name"].default, plan, steps),
        warnings=[Warned(code="release-differs", message=text) for text in release_differences(plan, steps)],
    )


def target_ops(to: str, notation: JsonNotation | None = None) -> list[type[Op]]:
    """Return the op with this name, or the ops of the framework with this name. Ops with a target shape come first.

    Raises Problem (unknown-op), written in the given notation.
    """
    if (kind := op_class(to)) is not None:
        return [OPS[kind.model_fields["name"].default]]
    kinds = [kind for name, kind in OPS.items() if name.startswith(f"{to}.")]
    if not kinds:
        raise unknown_op_problem(to, "/to", notation)
    return sorted((kind for kind in kinds if kind.snippets), key=lambda kind: kind.target is None) or kinds


def _shortest_translation(plan: Plan, kinds: Sequence[type[Op]]) -> tuple[type[Op], list[Step]] | None:
    """Return the op whose translation has the fewest steps, and these steps, or None if no op can express the plan."""
    best: tuple[type[Op], list[Step]] | None = None
    for kind in kinds:
        steps = find_steps(plan, kind)
        if steps is not None and (best is None or len(steps) < len(best[1])):
            best = kind, steps
        if best is not None and len(best[1]) == 1:
            break
    return best


def find_steps(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps that perform a plan with ops of this kind, or None if no such steps are found.

    At the start, the tensors are the inputs. A step with `input` k reads tensor k, and its result replaces this tensor.
    A step with `inputs` reads the listed tensors, and its result replaces the first of them. Any other step reads all
    tensors, and its outputs are the tensors of the next step. At the end, each output is the tensor with the index of
    its input.
    """
    if not plan.outputs or not kind.snippets:  # one of the two ops returns no tensors
        return None
    steps = _find_steps(plan, kind)
    if steps is None:
        before, reshaped = reshape_empty_inputs(plan)
        after = _find_steps(reshaped, kind) if before else None
        steps = None if after is None else [*before, *after]
    return steps


def _find_steps(plan: Plan, kind: type[Op]) -> list[Step] | None:
    steps = steps_with_one_op(plan, kind)
    if steps is None and len(plan.input_shapes) > 1:
        steps = _steps_with_an_op_for_each(plan, kind)
    return steps or steps_broadcasting_all(plan, kind) or steps_with_sources(plan, kind)


def _steps_with_an_op_for_each(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return steps that compute each output by a single op, from its own input only."""
    steps: list[Step] = []
    for placement in plan.outputs:
        checkpoint()
        own = steps_with_one_op(Plan((plan.input_shapes[placement.input],), (replace(placement, input=0),)), kind)
        if own is None:
            return None
        steps += [Step(op=step.op, input=placement.input) for step in own]
    return steps


def _reason(op: Op, plan: Plan, kind: type[Op]) -> str:
    """Return the reason why no steps with ops of this kind exist."""
    to = kind.model_fields["name"].default
    plan = with_fewest_axes(plan)
    if not plan.outputs or kind.outputs == "none":
        without = op.name if not plan.outputs else to
        return f"{without} has no outputs: there is nothing to translate"
    if not kind.snippets:
        framework = to.split(".")[0]
        others = [name for name, op in OPS.items() if op.snippets and name.startswith(f"{framework}.")]
        advice = f"translate to {' or '.join(others)}" if others else f"no other op of {framework} returns them either"
        return f"{to} does not return its broadcast inputs: {advice}"
    longest = max(chain.from_iterable(output.shape for output in plan.outputs), default=0)
    if longest > MAX_SIZE:
        return f"an output has a merged axis of size {longest}, but the size of a tensor's axis is at most 2^63-1"
    for output in plan.outputs:
        rank = len(nonunit_axes(output))
        if kind.max_rank is not None and rank > kind.max_rank:
            return (
                f"{to} takes at most {kind.max_rank} axes, but the output {format_shape(output.output_shape)} has "
                f"{rank} axes whose size is not 1"
            )
    return _reason_of_sizes(plan, kind, to)


def _reason_of_sizes(plan: Plan, kind: type[Op], to: str) -> str:
    """Return the reason why ops of this kind cannot determine the sizes to which an input is replicated."""
    count = len(plan.input_shapes)
    if kind.min_inputs > count:
        return f"{to} takes {kind.min_inputs} inputs, but this request has {count}"
    for output in plan.outputs:
        axes = [axis for axis in output.broadcast_axes if output.output_shape[axis] != 1]
        if not axes or is_rearranged(output):
            continue
        replicated = f"input {output.input} of shape {format_shape(plan.input_shapes[output.input])}"
        axis = f"output axis {axes[0]} of {format_shape(output.output_shape)}"
        if output.merges is not None:
            axis += f" (then merged to {format_shape(output.shape)})"
        if not kind.replicates:
            return f"{to} can't replicate elements, but {replicated} is replicated along {axis}"
        size = f"the size {output.output_shape[axes[0]]} of {axis}"
        missing = f"{to} has no attribute for {size}, along which {replicated} is replicated"
        if kind.max_inputs == 1:
            return missing
        if not _may_have_source(plan, output, kind):
            return f"{missing}, and no other input has this size" + (", even after a reshape" if count > 1 else "")
    if kind.max_inputs is not None and count > kind.max_inputs:
        return f"{to} takes {kind.max_inputs} inputs, but this request has {count}"
    return f"no equivalent {to} was found, even with reshapes and transpositions before and after it"


def _may_have_source(plan: Plan, output: Placement, kind: type[Op]) -> bool:
    """Return whether other inputs may supply the sizes that are missing from the input of an output.

    Reshapes and transposes do not change the number of elements, so it is enough to compare the numbers of elements.
    Some ops, such as expand_as, use only the whole shape of an input. They need an input with as many elements as the
    output.

    An op that selects single axes needs an input whose number of elements is divisible by every prime factor of the
    missing sizes. An op that broadcasts all inputs needs inputs that fit into the output and together have the missing
    sizes.
    """
    elements, own = prod(output.output_shape), prod(plan.input_shapes[output.input])
    others = [prod(shape) for number, shape in enumerate(plan.input_shapes) if number != output.input]
    if kind.selects_shape_axes:
        counts = others if kind.broadcast_input_count(2) == 1 else [prod(others)]
        return any(count == 0 or (elements and _has_prime_factors(count, elements // own)) for count in counts)
    if kind.broadcast_input_count(2) == 1:
        return elements in others
    if elements == 0:
        return 0 in others
    fitting = [count for count in others if count and elements % count == 0]
    return prod(fitting) % (elements // own) == 0


def _has_prime_factors(number: int, other: int) -> bool:
    """Return whether each prime factor of `other` divides `number`."""
    while (common := gcd(number, other)) > 1:
        other //= common
    return other == 1
