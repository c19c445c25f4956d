"""Functions that translate an operation to an op of another framework, with the necessary reshapes and transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..checks.check import plan_or_problem
from ..checks.limits import MAX_TRANSLATED_INPUTS, validate_request
from ..messages import Step, TranslateAnswer, TranslateRequest
from ..messages.facts import Warned
from ..messages.notation import JsonNotation
from ..messages.validation import unknown_op_problem
from ..ops import OPS, Op, op_class
from ..plan.alignment import Input, Reason
from ..plan.plan import Plan
from ..wire.cancellation import checkpoint
from ..wire.problems import Problem
from ..words.refusals import refusal_text
from .arrangements import nonunit_axes
from .functions import call_template, same_function, same_functions, steps_with_function
from .named_sizes import translate_by_name
from .snippets import release_differences, write_code
from .translation_steps import steps_with_one_op, with_fewest_axes


def answer_translate(request: TranslateRequest, notation: JsonNotation | None = None) -> TranslateAnswer:
    """Return the steps of a translation and their source code.

    A function that computes, such as numpy.add, is translated to the function that computes the same result. If the
    request names an op that only broadcasts, the steps broadcast the inputs, and the code says so.

    Raises Problem with one of these codes: unknown-op, incompatible-shapes, untranslatable. `notation` determines how
    the message writes an unknown op.
    """
    kinds = target_ops(request.to, notation)
    MAX_TRANSLATED_INPUTS.check(len(request.inputs))
    return translate_by_name(request, lambda numbered: _answer(numbered, kinds))


def _answer(request: TranslateRequest, kinds: Sequence[type[Op]]) -> TranslateAnswer:
    """Return the translation of a request whose sizes are integers, to one of these ops."""
    op, shapes = request.op, tuple(request.inputs)
    plan = plan_or_problem(validate_request(op, shapes))
    function = _function(op, request.to, kinds)
    if function is not None:
        found = _shortest_translation(function, lambda kind: steps_with_function(op, plan, kind))
    else:
        found = _shortest_translation(kinds, lambda kind: find_steps(plan, kind))
    if found is None:
        others = f"no op of {request.to} can express this: " if len(kinds) > 1 else ""
        raise Problem("untranslatable", others + refusal_text(_reason(op, plan, (function or kinds)[0])), pointer="/to")
    kind, steps = found
    return TranslateAnswer(
        exact=all(isinstance(step.op, Op) for step in steps),
        steps=steps,
        code=write_code(op, kind.model_fields["name"].default, plan, steps),
        warnings=[Warned(code="release-differs", message=text) for text in release_differences(plan, steps)],
    )


def _function(op: Op, to: str, kinds: Sequence[type[Op]]) -> list[type[Op]] | None:
    """Return the functions that compute the same as `op`, or None if the translation only broadcasts inputs.

    Raises Problem (untranslatable) if `op` computes, and no such function is known.
    """
    is_one = op_class(to) is not None
    if not op.computes() or (is_one and not kinds[0].computes()):
        return None
    known = [*same_functions(op, to.partition(".")[0])]
    if is_one:
        if call_template(kinds[0]) is not None and same_function(op, kinds[0]):
            return [*kinds]
    elif known:
        return known
    detail = f"{to} is not known to compute the same as {op.function_name()}"
    if known:
        raise Problem("untranslatable", f"{detail}: translate to {known[0].function_name()}", pointer="/to")
    broadcasts = [kind.function_name() for kind in kinds if kind.snippets and not kind.computes()]
    advice = f": {broadcasts[0]} returns what its inputs become" if broadcasts else ""
    raise Problem("untranslatable", detail + advice, pointer="/to")


def target_ops(to: str, notation: JsonNotation | None = None) -> list[type[Op]]:
    """Return the op with this name, or the ops of the framework with this name. Ops with a target shape come first.

    Raises Problem (unknown-op), written in the given notation.
    """
    if (kind := op_class(to)) is not None:
        return [kind if kind.computes() else OPS[kind.model_fields["name"].default]]
    kinds = [kind for name, kind in OPS.items() if name.startswith(f"{to}.")]
    if not kinds:
        raise unknown_op_problem(to, "/to", notation)
    return sorted((kind for kind in kinds if kind.snippets), key=lambda kind: kind.target is None) or kinds


def _shortest_translation(
    kinds: Sequence[type[Op]], find: Callable[[type[Op]], list[Step] | None]
) -> tuple[type[Op], list[Step]] | None:
    """Return the op whose translation has the fewest steps, and these steps, or None if no op can express the plan."""
    best: tuple[type[Op], list[Step]] | None = None
    for kind in kinds:
        steps = find(kind)
        if steps is not None and (best is None or len(steps) < len(best[1])):
            best = kind, steps
        if best is not None and len(best[1]) == 1:
            break
    return best


def find_steps(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps that perform a plan with ops of this kind, or None if no such steps are found.

    At the start, the tensors are the inputs. A step with `input` k reads tensor k, and its result replaces this tensor.
    Any other step reads all tensors, and its outputs are the tensors of the next step. At the end, each output is the
    tensor with the index of its input.
    """
    if not plan.outputs or not kind.snippets:  # one of the two ops returns no tensors
        return None
    steps = steps_with_one_op(plan, kind)
    if steps is None and len(plan.input_shapes) > 1:
        steps = _steps_with_an_op_for_each(plan, kind)
    return steps


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


def _reason(op: Op, plan: Plan, kind: type[Op]) -> Reason:
    """Return the reason why no steps with ops of this kind exist."""
    to = kind.function_name()
    if kind.computes() and op.computes():
        return "no-function", to
    plan = with_fewest_axes(plan)
    if not plan.outputs or kind.outputs == "none":
        return "no-outputs", op.name if not plan.outputs else to
    if not kind.snippets:
        framework = to.split(".")[0]
        others = [name for name, op in OPS.items() if op.snippets and name.startswith(f"{framework}.")]
        return ("no-inputs-but", to, " or ".join(others)) if others else ("no-inputs", to, framework)
    for output in plan.outputs:
        rank = len(nonunit_axes(output))
        if kind.max_rank is not None and rank > kind.max_rank:
            return "output-rank", to, kind.max_rank, output.output_shape, rank
    return _reason_of_sizes(plan, kind, to)


def _reason_of_sizes(plan: Plan, kind: type[Op], to: str) -> Reason:
    """Return the reason why ops of this kind cannot determine the sizes to which an input is replicated."""
    count = len(plan.input_shapes)
    if not kind.takes(count) and (kind.max_inputs is None or kind.min_inputs > 1):
        return "input-count", to, kind.input_counts(), count
    for output in plan.outputs:
        axes = [axis for axis in output.broadcast_axes if output.output_shape[axis] != 1]
        if not axes:
            continue
        replicated = Input(output.input, plan.input_shapes[output.input])
        place = axes[0], output.output_shape, None if output.merges is None else output.shape
        if not kind.replicates:
            return "no-replication", to, replicated, place
        return "no-size", to, replicated, place, output.output_shape[axes[0]]
    return "no-equivalent", to
