"""Requests about shapes alone: checks, batches of them, translations, comparisons."""

from __future__ import annotations

from .case import (
    DTYPES,
    HUGE,
    JSON,
    MSGPACK,
    NAMES,
    TARGETS,
    Case,
    Rng,
    Value,
    a_shape,
    a_symbol,
    names,
    of_value,
    repaired,
    upto,
)


def check(name: str, rng: Rng, inputs: Value, op: Value = None, **fields: Value) -> Case:
    value = {"inputs": inputs} | ({"op": op} if op is not None else {}) | fields
    if rng.random() < 0.2:
        value["explain"] = True
    return of_value(name, "/v1/check", value, rng.choice([JSON, JSON, MSGPACK]))


def symbols(rng: Rng, nbytes: int) -> Case:
    """Names, ranges and unknown sizes that meet on a few axes, with integers that lead or not."""
    axes, count = rng.choice([1, 1, 1, 2, 3, 8, 22, 64]), rng.choice([2, 10, 20, 45, 46, 100, 500, 1000])
    named = names(count)
    rows = upto(rng, min(nbytes / (6 * axes + 2), 60_000 / axes))
    if rng.random() < 0.6:
        step = rng.choice([0, 1, 7])
        inputs = [[named[(row + axis * step) % count] for axis in range(axes)] for row in range(min(rows, count * 2))]
    else:
        inputs = [[a_symbol(rng, named) for _ in range(rng.randint(1, axes))] for _ in range(rows)]
    if rng.random() < 0.4:
        inputs.insert(rng.randint(0, len(inputs)), [rng.choice([1, 2, 3, "2.."]) for _ in range(axes)])
    fields: dict[str, Value] = {}
    if rng.random() < 0.3:
        used = {size for shape in inputs for size in shape if isinstance(size, str) and size.isidentifier()}
        fields["assume"] = {
            name: rng.choice(["1..8", "2..", "0..1", 1, 2, "1..2"])
            for name in sorted(used)[: rng.choice([1, 30, 1000])]
        }
    return check("symbols", rng, inputs, rng.choice([None, None, "torch.broadcast_tensors"]), **fields)


def chains(rng: Rng, nbytes: int) -> Case:
    """Names that become equal one after another over many axes and inputs: long trails of what follows."""
    axes, count = rng.choice([2, 8, 32, 64]), rng.choice([20, 64, 200, 400])
    named, rows = names(count), max(min(nbytes // (8 * axes), 1000 // axes + 1), 2)
    inputs = [[named[(row * axes + axis + row) % count] for axis in range(axes)] for row in range(rows)]
    lead = [rng.choice([1, "2..", 2, "1..2", named[axis % count]]) for axis in range(axes)]
    inputs.insert(rng.choice([0, len(inputs)]), lead)
    return check("chains", rng, inputs)


def divides(rng: Rng, nbytes: int) -> Case:
    """Einops patterns that split and merge axes whose sizes are not known."""
    count = upto(rng, min(64, nbytes / 12))
    named = names(3 * count)
    groups = [named[3 * number : 3 * number + rng.randint(1, 3)] for number in range(count)]
    left = " ".join(f"({' '.join(group)})" if len(group) > 1 else group[0] for group in groups)
    flat = [name for group in groups for name in group][:64]
    order = rng.sample(flat, len(flat))
    cut = rng.randint(0, len(order))
    right = " ".join(order) if rng.random() < 0.4 else f"({' '.join(order[:cut])}) {' '.join(order[cut:])}"
    lengths = {name: rng.choice([2, 3, 6, 2**31, HUGE, 1]) for group in groups for name in group[1:]}
    shape = [rng.choice(["N", "M", "?", "0..", "6..", "1..100", 6, 12, f"n{axis}"]) for axis in range(count)]
    return check("divides", rng, [shape], {"name": "einops.repeat", "pattern": f"{left}->{right}"[:1000]} | {
        "axes_lengths": lengths})  # fmt: skip


def targets(rng: Rng, nbytes: int) -> Case:
    """Ops with a target shape, symbols and integers on both sides, of ranks up to 64 and above."""
    name = rng.choice(list(TARGETS))
    named = names(rng.choice([1, 5, 64]))
    rank = rng.choice([8, 8, 32, 64, 65, 1000])
    target = [a_symbol(rng, named) if rng.random() < 0.5 else rng.choice([1, 2, 3, -1]) for _ in range(rank)]
    shape = [a_symbol(rng, named) for _ in range(rng.choice([rank, rank // 2, 4]))]
    return check("targets", rng, [shape], {"name": name, TARGETS[name]: target})


def hinted(rng: Rng, nbytes: int) -> Case:
    """Shapes that do not fit, for which hints are searched: up to eight axes and inputs."""
    pick = rng.choice(["arrays", "to", "like", "ngraph", "openvino", "stablehlo", "match"])
    rank = rng.choice([4, 6, 8, 8])
    sizes = rng.choice(
        [[2, 3, 5, 7, 11, 13, 17, 19], [2, 3], ["N", "M", 2, 3], [1, 2], [f"{a}.." for a in range(2, 9)]]
    )
    shape, target = a_shape(rng, rng.choice([rank, rank // 2]), sizes), a_shape(rng, rank, sizes)
    inputs = [shape]
    op: Value
    if pick == "arrays":
        inputs, op = [a_shape(rng, rng.choice([rank, rank - 1]), sizes) for _ in range(rng.choice([2, 8]))], None
    elif pick == "to":
        name = rng.choice(list(TARGETS))
        op = {"name": name, TARGETS[name]: target}
    elif pick == "like":
        inputs, op = [shape, target], {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0, 2]}
    elif pick == "ngraph":
        op = {"name": "ngraph.Broadcast", "shape": target, "broadcast_axes": rng.sample(range(rank), rank // 2)}
    elif pick == "openvino":
        op = {"name": "openvino.Broadcast-3", "mode": rng.choice(["numpy", "explicit", "bidirectional"])} | {
            "target_shape": target, "axes_mapping": sorted(rng.sample(range(rank), len(shape)))}  # fmt: skip
    elif pick == "match":
        op, inputs = {"name": "poputil.broadcastToMatch"}, [a_shape(rng, rank, sizes) for _ in range(3)]
    else:
        op = {"name": "stablehlo.broadcast_in_dim", "shape": target} | {
            "broadcast_dimensions": rng.sample(range(rank), len(shape))}  # fmt: skip
    return check("hinted", rng, inputs, op)


def integers(rng: Rng, nbytes: int) -> Case:
    """As many axes of integers as are admitted, in many inputs or few, drawn or not."""
    rank = rng.choice([0, 1, 1, 2, 4, 16, 64, 64, 65])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 110_000 / max(rank, 4)))
    sizes = rng.choice([[1], [1, 2], [2], [HUGE, 1], [1, 1, 1, 3, 2], [0, 1]])
    inputs = [a_shape(rng, rank, sizes) for _ in range(rows)]
    fields = {"dtype": rng.choice([*DTYPES, "datetime64[" + "9" * 400 + "s]"])} if rng.random() < 0.3 else {}
    op = rng.choice([None, None, "torch.broadcast_tensors", "poputil.broadcastToMatch"])
    return check("integers", rng, inputs, op, **fields)


def einops(rng: Rng, nbytes: int) -> Case:
    """Long patterns: ones, numbers, groups, dots, names that recur, merges of huge lengths."""
    budget = min(nbytes - 60, 1000)
    token = rng.choice(["1 ", "2 ", "() ", "(1) ", "(1 1 1) ", "(a) ", "... ", "\u2026", "x", "7", "(2 3)", "a.", "0 "])
    right = (token * (budget // len(token.encode())))[: budget - 6]
    shape: list[Value] = rng.choice([[], [2], ["N"], [2] * 8])
    left = rng.choice(["", "a", "a b c d e f g h", "...", "1", "() () ()", right])
    lengths = {name: rng.choice([HUGE, 2, 0, -1]) for name in names(rng.choice([0, 1, 64, 1000]))}
    if rng.random() < 0.4:
        named = names(rng.choice([8, 64, 250]))
        left, right = "", rng.choice([" ".join(named), f"({' '.join(named)})"])
        lengths = dict.fromkeys(named, HUGE)
    op = {"name": "einops.repeat", "pattern": f"{left}->{right}"[:1000], "axes_lengths": lengths}
    return check("einops", rng, [shape], op)


def xarray(rng: Rng, nbytes: int) -> Case:
    """Names of dimensions: many inputs, many names, many excluded, repeated, long."""
    rank, width = rng.choice([0, 1, 2, 8, 64]), rng.choice([1, 1, 1, 100])
    count = rng.choice([1, 8, 64, 64, 65, 1000])
    named = names(count, width)
    rows = upto(rng, min(nbytes / ((width + 5) * max(rank, 1) + 6), 25_000))
    dims = [[named[(row + axis) % count] for axis in range(rank)] for row in range(rows)]
    exclude = rng.choice([[], named[:1000], [named[0]] * min(1000, nbytes // (width + 4))])
    op = {"name": "xarray.broadcast", "dims": dims, "exclude": exclude}
    sizes: list[Value] = rng.choice([[2], [1, 2], ["N", "M"], ["?"], [f"n{number}" for number in range(64)]])
    return check("xarray", rng, [a_shape(rng, rank, sizes) for _ in range(rows)], op)


def attributes(rng: Rng, nbytes: int) -> Case:
    """Other ops' lists of axes: long, repeated, out of range, unordered."""
    count = upto(rng, nbytes / 8)
    axes = [rng.choice([0, 1, -1, 63, HUGE, number % 64, count - number]) for number in range(count)]
    shape, target = a_shape(rng, rng.choice([1, 8, 64]), [1, 2]), a_shape(rng, rng.choice([8, 64, count]), [1, 2])
    op: dict[str, Value] = rng.choice([
        {"name": "ngraph.Broadcast", "shape": target, "broadcast_axes": axes},
        {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": axes},
        {"name": "stablehlo.broadcast_in_dim", "shape": target, "broadcast_dimensions": axes},
        {"name": "openvino.Broadcast-1", "mode": "explicit", "target_shape": target, "axes_mapping": axes},
        {"name": "openvino.Broadcast-1", "mode": "pdpd", "target_shape": target, "axis": rng.choice([-1, 0, 5])},
        {"name": "mxnet.broadcast_axis", "axis": axes, "size": [2] * count},
        {"name": "mxnet.broadcast_axis", "axis": [0] * count, "size": [1] * count},
        {"name": "mxnet.broadcast_like", "lhs_axes": axes, "rhs_axes": axes},
        {"name": "jax.lax.broadcast", "sizes": target},
        {"name": "poputil.broadcastToMatch", "shape": target},
    ])  # fmt: skip
    two = "like" in str(op["name"]).lower()
    return check("attributes", rng, [shape, a_shape(rng, 64, [1, 2])] if two else [shape], op)


def faults(rng: Rng, nbytes: int) -> Case:
    """Requests with as many faults as fit: unknown fields, wrong types, names that are close to others."""
    count = min(upto(rng, nbytes / 8), 2000)
    wrong: Value = rng.choice([-1, True, "", "a b", [], {}, None, 1.5, 2**63, [[]], "9" * 50])
    fields = dict.fromkeys(names(count), wrong)
    lengths = dict(list(fields.items())[:1000])
    value: Value = rng.choice([
        fields,
        {"inputs": [[1]]} | fields,
        {"inputs": [[1]], "assume": lengths},
        {"inputs": [[1]], "op": {"name": "numpy.broadcast_to", "shape": [1]} | fields},
        {"inputs": [[1]], "op": {"name": "einops.repeat", "pattern": "a->a", "axes_lengths": lengths}},
        {"inputs": [wrong] * (nbytes // 4)},
        {"inputs": [[wrong] * (nbytes // 4)]},
        {"inputs": [[1]], "op": rng.choice(NAMES)[:-2] + "x" * rng.randint(0, 90)},
        {"inputs": [[1]], "op": {"name": "numpy." + "broadcast" * 10}},
        {"inputs": [[1]], "dtype": rng.choice(["flaot32", "float8_e4m3fnuzfloat8_e4m3b11fnuz", "q" * 40])},
        {"inputs": [{"shape": [1], "data": [1]} | fields] * max(nbytes // (8 * count + 30), 1)},
    ])  # fmt: skip
    path = rng.choice(
        [
            "/v1/check",
            "/v1/broadcast",
            "/v1/backprop",
            "/v1/compare",
            "/v1/translate",
            "/v1/check/batch",
            "/v1/check/columns",
        ]
    )
    return of_value("faults", path, value, rng.choice([JSON, MSGPACK]))


def rows(rng: Rng, nbytes: int) -> Case:
    """A batch of rows of any of the kinds of check: one of them again and again, or several."""
    inner = max(upto(rng, nbytes / 2, 30), 30)
    makers = [symbols, chains, divides, targets, hinted, integers, einops, xarray, attributes, faults]
    made: list[Value] = []
    used = 0
    several = rng.random() < 0.4
    while used < nbytes * 0.9 and len(made) < 10_000:
        if not made or (several and len(made) < 200):
            case = rng.choice(makers)(rng, min(inner, nbytes - used))
        made.append(case.value)
        used += len(case.body) + 1
    if rng.random() < 0.1:
        made = [rng.choice([{}, 0, {"op": "x"}, {"inputs": [[]]}, None, {"inputs": [[2], [3]]}])] * min(
            nbytes // 13, 10_000
        )
    return of_value("rows", "/v1/check/batch", {"requests": made}, case.media)


def columns(rng: Rng, nbytes: int) -> Case:
    """Columns of sizes: many rows, many axes, many inputs, ops that merge, rows to be blamed one by one."""
    rank, inputs = rng.choice([0, 1, 2, 4, 16, 64]), rng.choice([1, 2, 2, 3, 100, 1000])
    count = upto(rng, nbytes / (8 * max(rank, 1) * inputs), 0)
    op: Value = rng.choice([None, "numpy.broadcast_arrays", "torch.broadcast_tensors"])
    if inputs == 1:
        op = rng.choice([
            {"name": "einops.repeat", "pattern": " ".join(names(rank)) + " -> (" + " ".join(names(rank)) + " z)",
             "axes_lengths": {"z": 3}},
            {"name": "numpy.broadcast_to", "shape": {"dtype": "int64", "shape": [count, rank], "data": b""}},
            {"name": "jax.lax.broadcast", "sizes": [2] * rng.choice([1, 32])},
            {"name": "mxnet.broadcast_axis", "axis": [0] * 8, "size": [2] * 8},
        ])  # fmt: skip
    elif inputs == 2:
        op = rng.choice(["poputil.expandToMatchRanks", "mxnet.broadcast_like", op, op])
    elif rng.random() < 0.3:
        op = {"name": "xarray.broadcast", "dims": [names(rank)] * inputs}
    data = rng.choice([1, 2, 0, 255])
    value: Value = {"inputs": [
        {"dtype": "int64", "shape": [count, rank], "data": bytes([data, 0, 0, 0, 0, 0, 0, 0]) * (count * rank)}
        for _ in range(inputs)
    ], "op": op, "json_data": rng.choice(["list", "base64"])}  # fmt: skip
    if rng.random() < 0.4:  # as JSON lists
        few = min(count, max(nbytes // (2 * inputs * max(rank, 1) + 1), 1))
        value["inputs"] = [{"shape": [few, rank], "data": [[data % 3] * rank] * few}] * inputs
        return of_value("columns", "/v1/check/columns", repaired(value, nbytes), JSON)
    media, accept = rng.choice([MSGPACK, JSON]), rng.choice(["", JSON, MSGPACK])
    return of_value("columns", "/v1/check/columns", repaired(value, nbytes), media, accept)


def translations(rng: Rng, nbytes: int) -> Case:
    """One op in another's words: many inputs, many axes, einops both ways."""
    rank = rng.choice([1, 8, 32, 64])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 257))
    pick = rng.random()
    op: Value = rng.choice(
        [None, "torch.broadcast_tensors", {"name": "xarray.broadcast", "dims": [names(rank)] * rows}]
    )
    shapes: Value = [a_shape(rng, rank, [1, 2]) for _ in range(rows)]
    if pick < 0.5:
        name = rng.choice(list(TARGETS))
        shapes, op = [a_shape(rng, rank // 2, [1])], {"name": name, TARGETS[name]: a_shape(rng, rank, [1, 2, HUGE])}
    elif pick < 0.7:
        named = names(rank)
        right = rng.sample(named, rank)
        op = {
            "name": "einops.repeat",
            "pattern": f"{' '.join(named)} -> ({' '.join(right)}) z",
            "axes_lengths": {"z": 2},
        }
        shapes = [a_shape(rng, rank, [2, HUGE, 1])]
    value = {"inputs": shapes, "to": rng.choice(NAMES)} | ({"op": op} if op is not None else {})
    return of_value("translations", "/v1/translate", value, rng.choice([JSON, MSGPACK]))


def comparisons(rng: Rng, nbytes: int) -> Case:
    """The same shapes to every op."""
    rank = rng.choice([0, 1, 8, 8, 64])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 100_000 / max(rank, 4)))
    sizes = rng.choice([[1], [1, 2], [2, 3, 5, 7], [2, 3]])
    value: Value = {"inputs": [a_shape(rng, rank, sizes) for _ in range(rows)]}
    if rng.random() < 0.4:
        value = {"inputs": [a_shape(rng, rank // 2, sizes)], "shape": a_shape(rng, rank, [*sizes, -1])}
    return of_value("comparisons", "/v1/compare", value, rng.choice([JSON, MSGPACK]))
