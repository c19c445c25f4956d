"""Sentences: what there is to say of a finding, as an expression of its operands by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ...answers.check import join_conditions
from ...answers.hints import is_small
from ...answers.outer_products import (
    InputReshape,
    elementwise_fixes,
    explicit_all_pairs,
    outer_product_of,
    two_sided_of,
)
from ...answers.symbolic import lower
from ...answers.two_sided import TwoSidedBroadcast
from ...answers.warnings import all_pairs_text
from ...messages import CheckRequest, Condition, DimensionPlace, Hint, Side
from ...messages.validation import validate
from ...plan.alignment import Alignment, ShapeMismatch
from ...plan.relations import Relation
from ...wire.shapes import format_shape
from ..display import printable
from ..finding import Finding, Kind, Size, is_made_up
from .operation_code import expression, is_call, is_own_name, name, named, op_name, reshaping, shapes_of, shown
from .trial_text import failing, pinned, pins_of, sizes_of, tried

_EXAMPLES = (13, 17, 19, 23)
"""Sizes to try, which nothing else is likely to have."""


def sentence(finding: Finding, kind: Kind | None = None) -> str:
    """Return what there is to say of a finding in one line: all, or what makes it one of this kind."""
    kinds = finding.kinds if kind is None else (kind,)
    said = [_SENTENCES[each](finding) for each in kinds] or [f"{_outcome(finding)}."]
    advice = _advice(finding) if {*kinds} & {"depends"} and finding.tried is None else ()
    return " ".join([*said, *_stated(finding), *advice])


def as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values, with its sentence; the texts of its answer have the names of operands too."""
    plain = finding.as_json()
    answer, named_answer = finding.answer, plain.get("answer", {})
    for warning in named_answer.get("warnings", ()):
        if warning["code"] == "square":
            warning["message"] = sentence(finding, "square")
            if (square := _square_of(finding)) and square.fix:
                warning["hint"] |= {"text": f"Write {_changed(finding, square.fix)}.", "inputs": _plain(square.fix)}
    for condition, words in zip(named_answer.get("conditions", ()), _conditions(finding), strict=True):
        condition["text"] = words.text
    if answer is not None and answer.conflict is not None:
        conflict = named_answer["conflict"]
        conflict["message"] = sentence(finding, "incompatible")
        for sent, hint in zip(conflict.get("hints", ()), answer.conflict.hints, strict=True):
            sent["text"] = _hinted(finding, hint)
    return {**plain, "message": sentence(finding)}


def _stated(finding: Finding) -> Iterator[str]:
    """Yield a sentence if only the file says which shapes some operands have."""
    names = [name(finding, number) for number, operand in enumerate(finding.operands) if operand.by_file]
    if names and finding.answer is not None:
        shapes = "shape of" if len(names) == 1 else "shapes of"
        end = "is" if len(names) == 1 else "are"
        yield f"The {shapes} {' and '.join(dict.fromkeys(names))} {end} as the file says."


def _mutual_stretch(finding: Finding) -> str:
    _, alignment = _aligned(finding)
    found = alignment and two_sided_of(alignment)
    if not found:
        return _warned(finding, "mutual-stretch")
    meet = all_pairs_text(found.axes, max(map(len, shapes_of(finding))))
    return f"{_outcome(finding)}: {meet}. If only one of them was meant to expand, the other one lacks an axis."


def needed(finding: Finding) -> str:
    """Return what several findings need alike, after the words "3 nodes"."""
    if finding.conditions:
        return f"need {needs(finding)}"
    if finding.pins:
        return f"need {pins_of(finding)}"
    needs_of_sizes = finding.tried.needs if finding.tried else ""
    return f"need {needs_of_sizes}" if needs_of_sizes else "fit at some of the sizes that were tried"


def _rank_promotion(finding: Finding) -> str:
    warnings = finding.answer.warnings if finding.answer else ()
    return " ".join(_renamed(finding, warning.message) for warning in warnings if warning.code == "rank-promotion")


def needs(finding: Finding) -> str:
    """Return what must hold of the sizes, where it depends on them."""
    axes: set[int] = set()
    others: list[Condition] = []
    for condition, in_words in zip(_conditions_of(finding), _conditions(finding), strict=True):
        shared = _shared_axes(finding, condition)
        axes |= shared
        others += [] if shared else [in_words]
    said = []
    if axes:
        *first, last = map(str, sorted(axes))
        listed = f"axes {', '.join(first)} and {last}" if first else f"axis {last}"
        said.append(f"the sizes on {listed} are equal, or 1")
    if others:
        text = join_conditions(others)
        said.append(f"({text})" if axes and len(others) == 1 and " or " in text else text)
    return ", and ".join(said)


def _conditions_of(finding: Finding) -> list[Condition]:
    return finding.answer.conditions if finding.answer else []


def _shared_axes(finding: Finding, condition: Condition) -> set[int]:
    """Return the axes, counted from the last, of two operands whose sizes there must be equal, or 1 in one of them; if
    a condition says anything else, or of no size that is unknown, none."""
    pairs = [equation.equal for equation in condition.any if equation.equal is not None]
    if len(condition.any) != 3 or len(pairs) != 3:
        return set()
    one, other = pairs[0]
    if [*pairs[1:]] != [(one, 1), (other, 1)]:
        return set()
    ranks = [len(operand.shape or ()) for operand in finding.operands]
    of_sides = [{axis - ranks[number] for number, axis in _places(finding, side)} for side in (one, other)]
    known = [axes for axes in of_sides if axes]
    if len(known) == 1:
        return known[0] if len(known[0]) == 1 else set()
    return of_sides[0] & of_sides[1]


def _outcome(finding: Finding) -> str:
    """Return the operation and the shape that its operands reach."""
    output = format_shape(shown(finding.output)) if finding.output is not None else "a shape that is not known"
    verb = "broadcasts to" if is_call(finding) and {"square"} & {*finding.kinds} else "gives"
    return f"{expression(finding)} {verb} {output}"


class _Square(NamedTuple):
    """A square, the change that combines its operands element by element, and the one that writes out all pairs."""

    found: TwoSidedBroadcast
    fix: InputReshape | None
    meant: InputReshape | None


def _square_of(finding: Finding) -> _Square | None:
    """Return the square of a finding; None if what was assumed of sizes makes it one."""
    shapes, alignment = _aligned(finding)
    found = alignment and outer_product_of(alignment)
    if not alignment or not found:
        return None
    op = CheckRequest.model_fields["op"].default
    if not is_small(op, shapes):
        return _Square(found, None, None)
    lower_here = partial(lower, assume={})
    # One axis less is written more shortly than one more, and leaves no axis of size 1 behind.
    fix = next(iter([*elementwise_fixes(op, shapes, alignment, found, lower_here)][::-1]), None)
    return _Square(found, fix, explicit_all_pairs(op, shapes, alignment, found, lower_here))


def _square(finding: Finding) -> str:
    square = _square_of(finding)
    if square is None:
        return _warned(finding, "square")
    lacking = square.found.inputs[0]
    rank = max(map(len, shapes_of(finding)))
    if is_own_name(finding, lacking) and len(finding.operands) == 2 and rank == 2:
        meet = f"every row meets every {name(finding, lacking)}"
    else:
        meet = all_pairs_text(square.found.axes, rank)
    said = [f"{_outcome(finding)}: {meet}."]
    said.append(f"Write {_changed(finding, square.fix)}." if square.fix else "Give all operands the same axes.")
    if square.meant:
        said.append(f"If you want all pairs: {_changed(finding, square.meant)}.")
    return " ".join(said)


def _plain(change: InputReshape) -> list[list[Size]]:
    """Return the shapes of a request as plain values."""
    return [[size if isinstance(size, int) else str(size) for size in shape] for shape in change.inputs]


def _aligned(finding: Finding) -> tuple[tuple[Any, ...], Alignment | None]:
    """Return the shapes of operands that meet on their last axes, with symbols for names; and how they are aligned,
    None if they do not broadcast."""
    request = validate(CheckRequest, {"inputs": [[*shape] for shape in shapes_of(finding)]})
    shapes = tuple(request.inputs)
    try:
        return shapes, lower(request.op, shapes, {}).apart
    except ShapeMismatch:
        return shapes, None


def _warned(finding: Finding, code: str) -> str:
    """Return the message of a warning, as the answer has it."""
    warnings = finding.answer.warnings if finding.answer else []
    return next(warning.message for warning in warnings if warning.code == code)


def _changed(finding: Finding, change: InputReshape) -> str:
    return expression(finding, {change.input: change.code}, ())


def _incompatible(finding: Finding) -> str:
    conflict = finding.answer.conflict if finding.answer else None
    if conflict is None:
        return ""
    said = _renamed(finding, conflict.message)
    if Relation.BROADCAST.requirement in conflict.message and conflict.axis is not None and None not in conflict.inputs:
        sides = [
            f"{size} in {name(finding, number or 0)}"
            for size, number in zip(conflict.sizes, conflict.inputs, strict=True)
        ]
        listed = sides[:3] + ([f"{len(sides) - 3} other sizes"] if len(sides) > 3 else [])
        axis = conflict.axis - max(map(len, shapes_of(finding)))  # the same of each operand
        met = f"{', '.join(listed[:-1])} and {listed[-1]}"
        sizes = f" at {sizes_of(finding)}" if finding.tried else ""
        said = f"{expression(finding)} does not broadcast{sizes}: axis {axis} is {met}."
    elif finding.tried:
        said = f"At {sizes_of(finding)}: {said}"
    if finding.tried is not None:  # a hint would speak of the numbers that were tried
        return " ".join([said, *tried(finding), *([f"It {pinned(finding)}."] if finding.pins else [])])
    return " ".join([said, *(_hinted(finding, hint) for hint in conflict.hints[:1])])


def _hinted(finding: Finding, hint: Hint) -> str:
    """Return what a hint of a conflict changes: as code, if one operand is changed."""
    inputs = [number for number, operand in enumerate(finding.operands) if operand.role != "target"]
    old = {number: [*map(str, finding.operands[number].shape or ())] for number in inputs}
    new = {number: [*map(str, shape)] for number, shape in zip(inputs, hint.inputs, strict=False)}
    changed = [number for number in new if old[number] != new[number]]
    if len(changed) == 1 and (code := reshaping(old[changed[0]], new[changed[0]])):
        return f"Write {expression(finding, {changed[0]: code}, ())}."
    text = _renamed(finding, hint.text)
    return f"{text[:1].upper()}{text[1:]}."


def _renamed(finding: Finding, message: str) -> str:
    """Return a message about inputs by their numbers with their names."""
    numbers = {operand.role: number for number, operand in enumerate(finding.operands)}

    def own(match: re.Match[str]) -> str:
        number = numbers.get(f"input {match[1]}")
        if number is None:
            return match[0]
        return named(finding, number) if match[2] else name(finding, number)

    return re.sub(r"[Ii]nput ([0-9]+)( of shape \([^)]*\))?", own, message)


def _depends(finding: Finding) -> str:
    if finding.tried is None:
        return _fits_only(finding)
    if finding.conditions:
        return f"{_fits_only(finding)} It {failing(finding)}."
    return f"{_written(finding)} {failing(finding)}."


def _pinned(finding: Finding) -> str:
    return f"{_written(finding)} {pinned(finding)}."


def _written(finding: Finding) -> str:
    """Return the operation as code, or its name if nothing is known of its operands."""
    return expression(finding) if finding.operands else op_name(finding)


def _contradicted(finding: Finding) -> str:
    return f"{printable(finding.stated[:1].upper() + finding.stated[1:])}."


def _fits_only(finding: Finding) -> str:
    unknown = _unknown_operand(finding)
    if unknown is None:
        ending = "; onnx could not infer these sizes" if finding.names_places else ""
        return f"{expression(finding)} fits only if {needs(finding)}{ending}."
    number, sizes = unknown
    others = [other for other in range(len(finding.operands)) if other != number]
    return (
        f"{expression(finding, shaped=others)} fits only if {named(finding, number)} is {format_shape(sizes)}; "
        f"onnx could not infer it."
    )


def _unknown_operand(finding: Finding) -> tuple[int, list[Size]] | None:
    """Return the one operand whose unknown sizes all conditions are about, and what its sizes must be; else None."""
    wanted: dict[tuple[int, int], list[str]] = {}
    for condition in _conditions_of(finding):
        for equation in condition.any:
            places = [_place(finding, side) for side in equation.equal or ()]
            known = [str(side) for side, place in zip(equation.equal or (), places, strict=True) if place is None]
            found = [place for place in places if place is not None]
            if not found and known[1:] == ["1"]:  # if the other operand has size 1, any size fits
                continue
            if len(found) != 1:
                return None
            wanted.setdefault(found[0], []).extend(known)
    numbers = {number for number, _ in wanted}
    if len(numbers) != 1 or len(wanted) != len(finding.conditions):
        return None
    (number,) = numbers
    shape = shown(finding.operands[number].shape or ())
    return number, [" or ".join(wanted.get((number, axis), [str(size)])) for axis, size in enumerate(shape)]


def _place(finding: Finding, side: Side) -> tuple[int, int] | None:
    """Return the operand and the axis where an unknown size is first; None of any other side of an equation."""
    return next(iter(_places(finding, side)), None)


def _places(finding: Finding, side: Side) -> list[tuple[int, int]]:
    """Return each operand and axis of a size that is not known; none of any other side of an equation."""
    if isinstance(side, DimensionPlace):
        role = "target" if side.input is None else f"input {side.input}"
        return [(number, side.axis) for number, operand in enumerate(finding.operands) if operand.role == role]
    if isinstance(side, int) or not is_made_up(side):
        return []
    return [
        (number, axis)
        for number, shape in enumerate(shapes_of(finding))
        for axis, size in enumerate(shape)
        if size == side
    ]


def _conditions(finding: Finding) -> list[Condition]:
    """Return the conditions in words, with the names of operands."""

    def words(side: Side) -> str:
        place = _place(finding, side)
        if place is None:
            return str(side)
        number, axis = place
        attribute = "" if finding.operands[number].role == "target" else ".shape"
        return f"{name(finding, number)}{attribute}[{axis}]"

    found = []
    for condition in _conditions_of(finding):
        texts = [
            f"{equation.divides[0]} divides {words(equation.divides[1])}"
            if equation.divides
            else " == ".join(map(words, equation.equal or ()))
            for equation in condition.any
        ]
        found.append(condition.model_copy(update={"text": " or ".join(texts)}))
    return found


def _advice(finding: Finding) -> Iterator[str]:
    """Yield which sizes to give, so that onnx may infer what it could not."""
    if not finding.names_places or not finding.assumable:
        return
    equations = [equation for condition in _conditions_of(finding) for equation in condition.any]
    needed = {str(side) for equation in equations for side in (*(equation.equal or ()), *(equation.divides or ()))}
    names = [each for each in finding.assumable if each in needed] or finding.assumable
    options = [f"--assume {each}={size}" for each, size in zip(names, _EXAMPLES, strict=False)]
    yield f"Try {' '.join(options)}"


def _not_judged(finding: Finding) -> str:
    sizes = f" at {sizes_of(finding)}" if finding.tried else ""
    said = f"{_written(finding)} is not judged{sizes}: {printable(finding.reason)}"
    return " ".join([said if finding.tried is None else f"{said.rstrip('.')}.", *tried(finding)])


_SENTENCES: dict[Kind, Callable[[Finding], str]] = {
    "incompatible": _incompatible,
    "not_judged": _not_judged,
    "square": _square,
    "mutual-stretch": _mutual_stretch,
    "rank-promotion": _rank_promotion,
    "stated": _contradicted,
    "pinned": _pinned,
    "depends": _depends,
}
