"""xarray: broadcast, by the names of dimensions."""

from __future__ import annotations

from tensorcast.schema.ops import Op, xarray
from tensorcast.schema.shapes import format_shape

from ..alignment import Alignment, Axis, Incompatible, Output, Relation, Term, is_known, settle
from ..plan import Plan, Shape
from .rule import Rule


def broadcast(op: xarray.broadcast, shapes: tuple[Shape, ...]) -> Alignment:
    """Every output has the names of all inputs, in order of appearance, and then its own excluded ones."""
    for number, (names, shape) in enumerate(zip(op.dims, shapes, strict=True)):
        if len(names) != len(shape):
            raise Incompatible(
                "axes-count",
                f"dims gives input {number} of shape {format_shape(shape)} {len(names)} names for {len(shape)} axes: "
                "name each axis.",
            )
    if _repeats(op):
        return _repeated(op, shapes)
    shared = _shared(op)
    terms: list[list[Term]] = [[] for _ in shared]
    outputs: list[Output] = []
    for number, (names, shape) in enumerate(zip(op.dims, shapes, strict=True)):
        order = list(range(len(shared)))
        place = {name: axis for axis, name in enumerate(shared)}
        for name in dict.fromkeys(name for name in op.exclude if name in names):
            place[name] = len(order)
            order.append(len(terms))
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


def _repeated(op: xarray.broadcast, shapes: tuple[Shape, ...]) -> Alignment:
    """A name that stands twice in an input passes only where there is nothing to insert, to move or to compare."""
    known = {shape for shape in shapes if is_known(*shape)}
    if op.exclude or len(set(op.dims)) > 1 or len(known) > 1:
        number, names = next((number, names) for number, names in enumerate(op.dims) if len(set(names)) < len(names))
        raise Incompatible(
            "axis-repeated",
            f"dims names an axis of input {number} twice, {list(names)}: rename one: names say which axes meet.",
        )
    every = tuple(range(len(shapes[0])))
    axes = tuple(
        Axis(Relation.EQUAL, tuple(Term(number, axis, shape[axis]) for number, shape in enumerate(shapes)))
        for axis in every
    )
    return Alignment(shapes, None, axes, tuple(Output(number, every, every) for number in range(len(shapes))))


def output_dims(op: xarray.broadcast) -> list[list[str]]:
    """The names of each output's dimensions."""
    if _repeats(op):
        return [list(names) for names in op.dims]
    shared = _shared(op)
    return [[*shared, *(name for name in op.exclude if name in names)] for names in op.dims]


def _repeats(op: xarray.broadcast) -> bool:
    """Whether a name stands twice in an input."""
    return any(len(set(names)) < len(names) for names in op.dims)


def _shared(op: xarray.broadcast) -> list[str]:
    excluded = set(op.exclude)
    return [name for name in dict.fromkeys(name for names in op.dims for name in names) if name not in excluded]


RULES: dict[type[Op], Rule] = {
    xarray.broadcast: Rule(
        broadcast,
        link="https://docs.xarray.dev/en/stable/generated/xarray.broadcast.html",
        reference=("xarray", "2026.9.0"),
        example=(xarray.broadcast(dims=(("x",), ("y",))), ((2,), (3,))),
        raise_=raise_broadcast,
        weighs_sizes=_repeats,
        output_dims=output_dims,
    ),
}
