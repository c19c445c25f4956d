"""xarray: broadcast, by the names of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ...plan.alignment import Alignment, Axis, Conflict, Incompatible, Output, Relation, Term, settle
from ...plan.plan import Plan, Shape
from ...schema.shapes import brief, format_shape
from .. import Op, xarray
from .rule import Outcome, Rule


def broadcast(op: xarray.broadcast, shapes: tuple[Shape, ...]) -> Alignment:
    """Every output has the names of all inputs, in order of appearance, and then its own excluded ones."""
    for number, (names, shape) in enumerate(zip(op.dims, shapes, strict=True)):
        if len(names) != len(shape):
            raise Incompatible(
                "axes-count",
                f"dims gives input {number} of shape {format_shape(shape)} {len(names)} names for {len(shape)} axes: "
                "name each axis.",
            )
    _check_names(op)
    shared, apart = _shared(op), _apart(op)
    together = len(apart) if _compares_all(op) else 0
    terms: list[list[Term]] = [[] for _ in range(len(shared) + together)]
    outputs: list[Output] = []
    for number, (names, shape) in enumerate(zip(op.dims, shapes, strict=True)):
        order = list(range(len(shared)))
        place = {name: axis for axis, name in enumerate(shared)}
        for name in _own(names, apart):
            place[name] = len(order)
            order.append(len(shared) + apart[name] if together else len(terms))
            if not together:
                terms.append([])
        for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
            terms[order[place[name]]].append(Term(number, axis, size))
        outputs.append(Output(number, tuple(place[name] for name in names), order))
    return Alignment(shapes, None, tuple(Axis(Relation.EQUAL, tuple(meeting)) for meeting in terms), tuple(outputs))


def raise_broadcast(plan: Plan) -> xarray.broadcast | None:
    """A name for each output axis, d0, d1, ... Where that does not say it, the axes are excluded that follow the last
    one that some input lacks: sizes are not compared there, and their order is free."""
    if [output.input for output in plan.outputs] != list(range(len(plan.input_shapes))):
        return None
    dims = tuple(tuple(f"d{axis}" for axis in output.output_axes) for output in plan.outputs)
    plain = xarray.broadcast(dims=dims)
    if _says(plain, plan):
        return plain
    shared = 1 + max((axis for output in plan.outputs for axis in output.new_axes), default=-1)
    rank = max(len(output.output_shape) for output in plan.outputs)
    return xarray.broadcast(dims=dims, exclude=tuple(f"d{axis}" for axis in range(shared, rank)))


def _says(op: xarray.broadcast, plan: Plan) -> bool:
    try:
        return settle(broadcast(op, plan.input_shapes)) == plan
    except Incompatible:
        return False


def output_dims(op: xarray.broadcast) -> list[list[str]]:
    """The names of each output's dimensions."""
    shared, apart = _shared(op), _apart(op)
    return [[*shared, *_own(names, apart)] for names in op.dims]


def _shared(op: xarray.broadcast) -> list[str]:
    """The names that every output has."""
    held = _held(op)
    return [name for name in dict.fromkeys(name for names in op.dims for name in names) if name not in held]


def _apart(op: xarray.broadcast) -> dict[str, int]:
    """The names of inputs that are not broadcast, numbered in the order of `exclude`: of a string its characters."""
    present = {name for names in op.dims for name in names}
    return {name: number for number, name in enumerate(name for name in dict.fromkeys(op.exclude) if name in present)}


def _own(names: Sequence[str], apart: dict[str, int]) -> list[str]:
    """Which of an input's names are not broadcast, in the order of `exclude`."""
    return sorted({name for name in names if name in apart}, key=apart.__getitem__)


def _held(op: xarray.broadcast) -> str | frozenset[str]:
    """What `in` tells to be excluded: of a string that is every part of it, whatever its length."""
    return op.exclude if isinstance(op.exclude, str) else frozenset(op.exclude)


def _compares_all(op: xarray.broadcast) -> bool:
    """Whether sizes are compared that are not broadcast: of a string of several characters xarray takes none for the
    name that it need not align."""
    return isinstance(op.exclude, str) and len(op.exclude) > 1


def _check_names(op: xarray.broadcast) -> None:
    """Raises Incompatible (axis-repeated, axis-out-of-range) for names that no output can have."""
    held, apart = _held(op), _apart(op)
    for number, names in enumerate(op.dims):
        if len(set(names)) < len(names):
            raise Incompatible(
                "axis-repeated",
                f"dims names an axis of input {number} twice, {brief(names)}: rename one: names say which axes meet.",
            )
    for number, names in enumerate(op.dims):
        for name in names:
            if name in held and name not in apart:
                raise Incompatible(
                    "axis-out-of-range",
                    f"exclude {op.exclude!r} holds {name!r}, an axis of input {number}, but is read character by "
                    "character, so that no output has it: write a list of names.",
                )


def _warned(op: xarray.broadcast) -> tuple[str, str] | None:
    if isinstance(op.exclude, str) and len(op.exclude) > 1:
        return (
            "exclude-string",
            f"exclude {op.exclude!r} is a string, which xarray reads character by character: "
            f"{brief(list(dict.fromkeys(op.exclude)))} are not broadcast, though their sizes must agree. "
            "Write a list of names.",
        )
    return None


def _differs(op: xarray.broadcast, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if isinstance(outcome, Conflict) and outcome.code == "axis-repeated" and _passes(op, shapes):
        return "xarray 2026.9 lets this repeated name pass: it has nothing to insert, to move or to compare here."
    return None


def _passes(op: xarray.broadcast, shapes: tuple[Shape, ...]) -> bool:
    """Whether the release goes on where a name stands twice in an input."""
    held, apart, shared = _held(op), _apart(op), set(_shared(op))
    free = {op.exclude} if isinstance(op.exclude, str) else set(op.exclude)
    sizes: dict[tuple[str, int | None], int] = {}
    for number, (names, shape) in enumerate(zip(op.dims, shapes, strict=True)):
        if any(name in held and name not in apart for name in names):
            return False
        if len(set(names)) < len(names) and len(shared.union(_own(names, apart))) > 1:
            return False  # its axes would have to be moved, or others to be inserted
        for name, size in zip(names, shape, strict=True):
            of = number if name in free else None
            if len(shapes) > 1 and sizes.setdefault((name, of), size) != size:
                return False
    return True


RULES: dict[type[Op], Rule] = {
    xarray.broadcast: Rule(
        broadcast,
        link="https://docs.xarray.dev/en/stable/generated/xarray.broadcast.html",
        reference=("xarray", "2026.9.0"),
        example=(xarray.broadcast(dims=(("x",), ("y",))), ((2,), (3,))),
        raise_=raise_broadcast,
        release_differs=_differs,
        warned=_warned,
        output_dims=output_dims,
    ),
}
