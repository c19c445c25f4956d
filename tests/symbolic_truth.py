"""The expected results of symbolic requests, by trying sizes with the integer rules.

The sizes of a symbol are small sizes, and two sizes above all constants, which represent all larger sizes. If a pattern
splits the symbol, they also include multiples.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import lcm, prod
from typing import Any

from pydantic import TypeAdapter

from axiscast.ops import OPS, OpMapField, align
from axiscast.ops.einsum import LabeledProduct
from axiscast.ops.families import Tile
from axiscast.plan.alignment import ShapeMismatch
from axiscast.plan.plan import Plan
from axiscast.plan.resolution import try_resolve

OP: TypeAdapter[Any] = TypeAdapter(OpMapField)
SIZES = {"shape", "size", "sizes", "target_shape", "reps", "repeats", "multiples", "repeat_times"}
SPLITTING = {"einops.repeat", "einops.rearrange"}
MOST_CASES = 3000
"""The factors by which splits multiply the sizes."""
Request = dict[str, Any]


@dataclass
class Truth:
    """Yield all assignments of sizes to symbols: the request, the sizes of names, and the plan or None."""

    cases: list[tuple[Request, dict[str, int], Plan | None]]
    unbounded: list[bool]
    """Return the cases in which a size represents all larger sizes."""

    @property
    def compatible(self) -> bool | None:
        found = {plan is not None for _, _, plan in self.cases}
        return found.pop() if len(found) == 1 else None

    @property
    def plans(self) -> list[tuple[dict[str, int], Plan]]:
        return [(names, plan) for _, names, plan in self.cases if plan is not None]

    def tightest(self, values: list[int]) -> set[int | str]:
        """Return the sizes that cover the values of a dimension: the integer, each name, or the range or ?."""
        if len(set(values)) == 1:
            return {values[0]}
        equal = {
            name
            for name in self.cases[0][1]
            if all(value == names[name] for value, (names, _) in zip(values, self.plans, strict=True))
        }
        if equal:
            return set(equal)
        open_ended = [wide for wide, (_, _, plan) in zip(self.unbounded, self.cases, strict=True) if plan is not None]
        low, high = min(values), max(values)
        within = max((value for value, wide in zip(values, open_ended, strict=True) if not wide), default=-1)
        return {f"{low}..{high}" if high == within else f"{low}.." if low else "?"}


def bounds(text: str, largest: int) -> tuple[int, int]:
    if ".." not in text:
        return 0, largest
    low, high = text.split("..")
    return int(low), int(high or largest)


def truth(request: Request) -> Truth:
    """Check a request. Its op must accept all integers or find them incompatible, without an error."""
    places = [*_places(request)]
    assume = request.get("assume", {})
    ends = [
        int(end) for text in [*map(_at, places), *assume.values()] for end in str(text).split("..") if end.isdigit()
    ]
    divisors = _divisors(request)
    largest = max([5, *ends, *divisors]) + 2
    if divisors:
        largest = (largest // lcm(*divisors) + 2) * lcm(*divisors)
    spans: dict[Any, tuple[int, int]] = {}
    keys = []
    for number, (holder, axis) in enumerate(places):
        text = holder[axis]
        key = None
        if isinstance(text, str):
            key = text if text.isidentifier() else number
            known = assume.get(text, "?") if key == text else text
            spans[key] = (known, known) if isinstance(known, int) else bounds(known, largest)
        keys.append(key)
    cases, unbounded = [], []
    interesting = {*range(6), *ends, *divisors, largest - 1, largest}
    interesting.update(*(range(0, largest, divisor) for divisor in divisors))
    values = [[size for size in range(low, high + 1) if size in interesting] for low, high in spans.values()]
    constant = None if _size_attributes(request["op"]) else OP.validate_python(request["op"])
    attributes = _size_attributes(request["op"])
    for sizes in product(*values):
        chosen = dict(zip(spans, sizes, strict=True))
        named = iter(keys)

        def integers(shape: list[Any], named: Iterator[Any] = named, chosen: dict[Any, int] = chosen) -> list[Any]:
            return [size if (key := next(named)) is None else chosen[key] for size in shape]

        op = request["op"] | {attribute: integers(request["op"][attribute]) for attribute in attributes}
        filled = {"op": op, "inputs": [integers(shape) for shape in request["inputs"]]}
        try:
            aligned = align(constant or OP.validate_python(filled["op"]), tuple(map(tuple, filled["inputs"])))
            plan = try_resolve(aligned)
        except ShapeMismatch:
            plan = None
        cases.append((filled, {key: size for key, size in chosen.items() if isinstance(key, str)}, plan))
        unbounded.append(largest in sizes)
    return Truth(cases, unbounded)


def _divisors(request: Request) -> set[int]:
    """Return the sizes that ggml repeats, the factors by which a pattern splits an axis, and the sizes in a pattern."""
    op = request["op"]
    if op["name"].startswith("ggml."):
        sizes = [size for shape in request["inputs"] for size in shape] + [*request.get("assume", {}).values()]
        ends = (end for size in sizes for end in str(size).split(".."))
        return {int(end) for end in ends if end.isdigit()} - {0}
    left = str(op.get("pattern", "")).partition("->")[0]
    lengths = op.get("axes_lengths", {})
    groups = [group.strip("()").split() for group in re.findall(r"\(.*?\)|\w+", left)]
    return {prod(lengths.get(name, 1) for name in group) for group in groups} - {0}


def _size_attributes(op: dict[str, Any]) -> list[str]:
    """Return the attributes that hold sizes. In `tile` of PyTorch and MindSpore, `dims` is one of them."""
    return sorted((SIZES | ({"dims"} if op["name"].endswith(".tile") else set())) & set(op))


def _places(request: Request) -> Iterator[tuple[list[Any], int]]:
    holders = [request["op"][name] for name in _size_attributes(request["op"])]
    for holder in [*holders, *request["inputs"]]:
        yield from ((holder, axis) for axis in range(len(holder)))


def _at(place: tuple[list[Any], int]) -> Any:
    return place[0][place[1]]


def count_of_symbols(request: Request) -> int:
    texts = [text for text in map(_at, _places(request)) if isinstance(text, str)]
    return len({text for text in texts if text.isidentifier()}) + sum(not text.isidentifier() for text in texts)


def is_multiple(whole: int, part: int) -> bool:
    """Return whether one size is a multiple of another. Only 0 is a multiple of 0."""
    return whole % part == 0 if part else whole == 0


def holds(condition: dict[str, Any], filled: Request, names: dict[str, int]) -> bool:
    """Return whether a condition is true for these sizes."""

    def size(side: Any) -> int:
        if isinstance(side, dict):
            holder = filled["op"][side["attribute"]] if "attribute" in side else filled["inputs"][side["input"]]
            return int(holder[side["axis"]])
        return names[side] if isinstance(side, str) else side

    return any(
        size(said["equal"][0]) == size(said["equal"][1])
        if "equal" in said
        else is_multiple(size(said["divides"][1]), size(said["divides"][0]))
        for said in condition["any"]
    )


def requests(name: str, seed: str, count: int, symbols: int = 3) -> Iterator[Request]:
    """Yield random requests of an op with a limited number of symbols, from a seed."""
    draw = random.Random(f"{name} {seed}")
    while count:
        request = _request(name, draw)
        found = count_of_symbols(request)
        if 0 < found <= symbols and lcm(*_divisors(request)) ** found <= MOST_CASES:
            count -= 1
            yield request


def _size(draw: random.Random) -> int | str:
    return draw.choice(
        [0, 1, 1, 2, 3, 5, "?", "?", "?", "N", "N", "N", "M", "M", "K", "0..1", "1..3", "2..", "3..5", "0..3"]
    )


def _shape(draw: random.Random, rank: int) -> list[Any]:
    return [_size(draw) for _ in range(rank)]


def _axes(draw: random.Random, rank: int, count: int) -> list[int]:
    return sorted(draw.sample(range(rank), min(count, rank)))


def _request(name: str, draw: random.Random) -> Request:
    rank = draw.choice([1, 1, 2, 2, 3])
    one, other = _shape(draw, rank), _shape(draw, draw.choice([rank, rank, max(rank - 1, 0)]))
    wide = _shape(draw, draw.choice([0, 0, 1])) + [draw.choice([size, size, _size(draw)]) for size in one]
    op: dict[str, Any] = {"name": name}
    inputs = [one]
    lacked = _axes(draw, len(wide), len(wide) - len(one))
    mapped = [axis for axis in range(len(wide)) if axis not in lacked]
    match name:
        case "numpy.broadcast_arrays" | "torch.broadcast_tensors":
            inputs = [one, other, _shape(draw, 1)][: draw.choice([1, 2, 2, 3])]
        case "numpy.broadcast_to" | "tensorflow.broadcast_to" | "onnx.Expand":
            op["shape"] = wide
        case "ngraph.Broadcast":
            op |= {"shape": wide, "broadcast_axes": lacked}
        case "ngraph.BroadcastLike":
            op["initial_broadcast_axes"] = draw.choice([lacked, []])
            inputs = [one, wide]
        case "mindspore.broadcast_to" | "tinygrad.expand" | "paddle.expand" | "torch.expand":
            kept = [draw.choice([size, size, -1]) for size in wide]
            op["size" if name == "torch.expand" else "shape"] = draw.choice([wide, kept, kept])
        case "ggml.repeat" | "ggml.add":
            inputs = [one, other] if draw.random() < 0.8 else [one[:1], [draw.choice([4, 6, 8, 9, 12, "2..6"])]]
            inputs = inputs[:: draw.choice([1, -1])]
        case "poputil.expandToMatchRanks" | "poputil.canBroadcastToMatch":
            inputs = [one, other]
        case "poputil.broadcastToMatch":
            inputs = [one, other, _shape(draw, 1)][: draw.choice([1, 2, 3])]
            if len(inputs) == 1:
                op["shape"] = wide
        case "openvino.Broadcast-1" | "openvino.Broadcast-3":
            modes = ["numpy", "explicit", "pdpd" if name.endswith("1") else "bidirectional"]
            op |= {"mode": draw.choice(modes), "target_shape": wide}
            if op["mode"] == "explicit":
                op["axes_mapping"] = mapped
                if draw.random() < 0.2:
                    inputs, op["axes_mapping"] = [[]], [draw.randrange(len(wide))]
            if op["mode"] == "pdpd":
                op["axis"] = draw.choice([0, 1, -1, len(wide) - len(one)])
        case _ if issubclass(OPS[name], Tile):
            counts = _shape(draw, rank if not OPS[name].adds_axes else draw.choice([rank, rank, rank + 1]))
            op[OPS[name].counts] = [draw.choice([1, 2, 3, size]) for size in counts]
        case "jax.lax.broadcast":
            op["sizes"] = _shape(draw, draw.choice([0, 1, 2]))
        case "stablehlo.broadcast_in_dim":
            op |= {"shape": wide, "broadcast_dimensions": draw.sample(mapped, len(mapped))}
        case "mxnet.broadcast_axis":
            axes = [draw.randrange(rank) for _ in range(draw.choice([1, 1, 2]))]
            op |= {"axis": axes, "size": _shape(draw, len(axes))}
        case "mxnet.broadcast_like":
            inputs = [one, other]
            if other and draw.random() < 0.6:
                pairs = [(draw.randrange(rank), draw.randrange(len(other))) for _ in range(draw.choice([1, 2]))]
                op |= {"lhs_axes": [pair[0] for pair in pairs], "rhs_axes": [pair[1] for pair in pairs]}
        case "mxnet.broadcast_to":
            op["shape"] = [draw.choice([0, 1, 2, 3, size if isinstance(size, int) else 0]) for size in one]
        case "mxnet.np.broadcast_to":
            op["shape"] = [draw.choice([size, size, -2]) for size in wide]
        case "onnx.Gemm":
            m, k, n = draw.choice([one, wide, _shape(draw, 3)])[:1] + _shape(draw, 2)
            op |= {"transA": draw.choice([0, 1]), "transB": draw.choice([0, 1])}
            inner = draw.choice([k, k, k, _size(draw)])
            inputs = [[k, m] if op["transA"] else [m, k], [n, inner] if op["transB"] else [inner, n]]
            if draw.random() < 0.8:
                inputs.append([draw.choice([size, 1, _size(draw)]) for size in (m, n)][draw.choice([0, 0, 1, 2]) :])
        case "numpy.matmul" | "torch.matmul" | "onnx.MatMul" | "tensorflow.matmul":
            k = _size(draw)
            inner = draw.choice([k, k, k, _size(draw)])
            inputs = [[*one[1:], _size(draw), k], [*draw.choice([wide, other])[1:], inner, _size(draw)]]
            if name != "tensorflow.matmul" and draw.random() < 0.3:
                inputs[draw.choice([0, 1])] = [k]
        case "onnx.PRelu":
            inputs = [wide, one]
        case "onnx.Where":
            inputs = [one, other, _shape(draw, 1)]
        case "openvino.Add-1":
            op["auto_broadcast"] = draw.choice(["numpy", "none", "pdpd"])
            inputs = [wide, one]
            if op["auto_broadcast"] == "pdpd":
                op["axis"] = draw.choice([0, -1, len(wide) - len(one)])
        case "xla.Add":
            op["broadcast_dimensions"] = mapped if len(wide) > len(one) else draw.choice([[], mapped])
            inputs = draw.choice([[one, wide], [wide, one]])
        case "linalg.broadcast":
            op |= {"shape": wide, "dimensions": draw.sample(lacked, len(lacked))}
        case "xarray.broadcast":
            inputs = [one, other, _shape(draw, 1)][: draw.choice([1, 2, 3])]
            op["dims"] = [draw.sample("xyz", len(shape)) for shape in inputs]
            if draw.random() < 0.15:
                op["dims"] = [["x"] * len(shape) for shape in inputs]
            if draw.random() < 0.2:
                op["exclude"] = ["y"]
        case "einops.repeat" | "einops.rearrange":
            inputs = [one]
            op["pattern"], op["axes_lengths"] = _split(draw, one, ["new"] if name == "einops.repeat" else [])
        case _ if issubclass(OPS[name], LabeledProduct):
            terms, inputs = _terms(draw)
            separator, comma = (" ", ", ") if name == "einops.einsum" else ("", ",")
            *left, right = map(separator.join, terms)
            op["pattern" if name == "einops.einsum" else "equation"] = f"{comma.join(left)}->{right}"
        case _ if target := OPS[name].target:
            op[target] = wide
        case _ if OPS[name].min_inputs == OPS[name].max_inputs == 2:
            inputs = [one, draw.choice([other, wide])]
        case _ if OPS[name].max_inputs == 3:
            inputs = [one, other, _shape(draw, 1)][: OPS[name].min_inputs]
        case _ if OPS[name].max_inputs is None:
            inputs = [one, other, _shape(draw, 1)][: draw.choice([1, 2, 2, 3])]
        case _:
            raise ValueError(f"no requests are made for {name}: add its attributes here")
    request: Request = {"op": op, "inputs": inputs}
    names = {text for text in map(_at, _places(request)) if isinstance(text, str) and text.isidentifier()}
    if names and draw.random() < 0.3:
        known = ["2..", "0..1", "1..", "2..4", "3..5", 1, 3, "?"] + ["1..7", "4..12", 6] * (name in SPLITTING)
        request["assume"] = {draw.choice(sorted(names)): draw.choice(known)}
    return request


def _terms(draw: random.Random) -> tuple[list[list[str]], list[list[Any]]]:
    """Return the labels of each operand and of the result of a random einsum, and the shapes of the operands."""
    sizes = {letter: _size(draw) for letter in "ijk"}
    unnamed = _shape(draw, 2) if draw.random() < 0.3 else []
    terms, shapes = [], []
    for _ in range(draw.choice([1, 2, 2, 3])):
        labels = draw.sample([*sizes], draw.choice([0, 1, 1, 2, 2]))
        if labels and draw.random() < 0.2:
            labels.insert(draw.randint(0, len(labels)), labels[0])
        shape = [draw.choice([sizes[label], sizes[label], _size(draw)]) for label in labels]
        if unnamed and draw.random() < 0.7:
            place = draw.randint(0, len(labels))
            labels.insert(place, "...")
            shape[place:place] = unnamed[draw.choice([0, 0, 1]) :]
        terms.append(labels)
        shapes.append(shape)
    known = sorted({label for labels in terms for label in labels} - {"..."})
    result = draw.sample(known, draw.randint(0, len(known)))
    if any("..." in labels for labels in terms):
        result.insert(draw.randint(0, len(result)), "...")
    return [*terms, result], shapes


def _split(draw: random.Random, shape: list[Any], new: list[str]) -> tuple[str, dict[str, int]]:
    """Return a random pattern and its lengths, with split, moved and merged axes, and with the `new` axes."""
    lengths = {name: draw.choice([0, 1, 2]) for name in new}
    left, right = [], [[name] for name in new]
    for axis, letter in zip(range(len(shape)), "abc", strict=False):
        parts = [letter, f"{letter}1", f"{letter}2"][: draw.choice([1, 2, 2, 3])]
        given = draw.sample(parts, len(parts) - (draw.random() < 0.85))
        if len(parts) > 1:
            lengths |= {part: draw.choice([1, 2, 2, 3, 3, 4, 6, draw.choice([0, 5])]) for part in given}
            if isinstance(shape[axis], int):
                whole = prod(lengths[part] for part in given)
                shape[axis] = draw.choice(["N", "N", "?", "1..7", "4..9", whole, 2 * whole])
        elif shape[axis] == 1 and given:
            parts = ["1"]
        elif given:
            lengths[letter] = draw.choice([1, 2, 3, 6])
        left.append(parts)
        moved = draw.sample(parts, len(parts))
        right += [moved] if draw.random() < 0.4 else [[part] for part in moved]
    draw.shuffle(right)
    while len(right) > 1 and draw.random() < 0.35:
        right = [right[0] + right[1], *right[2:]]
        draw.shuffle(right)
    sides = [
        [" ".join(group) if len(group) == 1 else f"({' '.join(group)})" for group in side] for side in (left, right)
    ]
    return " -> ".join(map(" ".join, sides)), lengths
