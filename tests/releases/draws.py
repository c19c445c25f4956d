"""Random requests of an op, many of them close to a limit of its rule; and the neighbours of a request."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

from axiscast.ops import Op
from axiscast.ops.einsum import Einsum, LabeledProduct
from axiscast.ops.families import MatrixProduct, Tile

Shape = tuple[int, ...]
Drawn = tuple[dict[str, Any], tuple[Shape, ...]]
"""The attributes and the shapes of the inputs."""
MAX_ELEMENTS = 20_000
"""Of a tensor of a request: more is not drawn."""
PATTERNS = [
    "a -> a n", "a -> n a", "a -> (n a)", "a -> (a n)", "a b -> a n b", "(a b) -> a b n", "(a n) -> a n", "a -> a n m",
    "a b -> (a b) n", "a n -> a n", "a -> (a m) n", "... -> n ...", "... a -> ... (a n)", "-> n", "-> n m",
    "1 a -> a n", "a b -> (a n) (b m)", "a b -> n (b m) a", "(a b) -> (b n) a", "a -> (a n m)", "a ... -> ... (n a) m",
]  # fmt: skip


def _size(random: Random) -> int:
    return random.choice((0, 1, 1, 1, 2, 2, 3, 3, 4))


def _shape(random: Random) -> Shape:
    """Of rank 0 to 4; or long, of axes of sizes 1 and 2."""
    if random.random() < 0.7:
        return tuple(_size(random) for _ in range(random.randrange(5)))
    return tuple(random.choice((1, 2)) for _ in range(random.randrange(5, 15)))


def _narrowed(random: Random, shape: Shape, fewer: bool = True) -> Shape:
    """What broadcasts to `shape`: some sizes 1, and some of the first axes missing."""
    lost = random.randrange(len(shape) + 1) if fewer and random.random() < 0.4 else 0
    share = random.choice((0.2, 0.5, 0.8))
    return tuple(1 if random.random() < share else size for size in shape[lost:])


def _negative(random: Random, target: Shape) -> Shape:
    """Some sizes of a target replaced by negative ones and zeros, in half of the requests."""
    share = random.choice((0, 0, 0.2, 0.5))
    return tuple(random.choice((-1, -1, -2, -3, 0)) if random.random() < share else size for size in target)


def _pair(random: Random, count: int = 2) -> tuple[Shape, ...]:
    reached = _shape(random)
    return tuple(_narrowed(random, reached) for _ in range(count))


def _target(random: Random, attribute: str) -> Drawn:
    target = _shape(random)
    return {attribute: _negative(random, target)}, (_narrowed(random, target),)


def _product(random: Random) -> Drawn:
    stacks = _pair(random)
    rows, inner, columns = (_size(random) for _ in range(3))
    rows = 17 if rows == 4 else rows  # some kernels compute 16 rows at a time
    other = inner if random.random() < 0.85 else _size(random)
    left, right = (*stacks[0], rows, inner), (*stacks[1], other, columns)
    return {}, (left if random.random() < 0.8 else (inner,), right if random.random() < 0.8 else (other,))


def _gemm(random: Random) -> Drawn:
    m, k, n = (_size(random) for _ in range(3))
    transposed: dict[str, Any] = {"transA": random.randrange(2), "transB": random.randrange(2)}
    factors = {name: random.choice((0, 2, -1)) for name in ("alpha", "beta") if random.random() < 0.5}
    a, b = ((m, k), (k, n))
    added = (_narrowed(random, (m, n)),) if random.random() < 0.7 else ()
    return transposed | factors, (
        a[::-1] if transposed["transA"] else a, b[::-1] if transposed["transB"] else b, *added,
    )  # fmt: skip


def _broadcast_1(random: Random) -> Drawn:
    mode = random.choice(("numpy", "explicit", "explicit", "pdpd", "pdpd"))
    return _openvino(random, mode)


def _broadcast_3(random: Random) -> Drawn:
    return _openvino(random, random.choice(("numpy", "explicit", "bidirectional")))


def _openvino(random: Random, mode: str) -> Drawn:
    target = tuple(_size(random) for _ in range(random.randrange(5)))
    if mode == "explicit":
        axes = sorted(random.choices(range(len(target)), k=random.randrange(len(target) + 1))) if target else []
        shape = tuple(1 if random.random() < 0.3 else target[axis] for axis in axes)
        return {"mode": mode, "target_shape": _negative(random, target), "axes_mapping": tuple(axes)}, (shape,)
    shape = _narrowed(random, target)
    if mode == "numpy":
        return {"mode": mode, "target_shape": _negative(random, target)}, (shape,)
    if mode == "bidirectional":
        return {"mode": mode, "target_shape": _negative(random, _narrowed(random, target))}, (shape,)
    start = random.randrange(len(target) + 1)
    attributes: dict[str, Any] = {"mode": mode, "target_shape": _negative(random, target)}
    if random.random() < 0.8:
        attributes["axis"] = random.choice((start, start, len(target) - len(shape), -1))
    return attributes, (_narrowed(random, target[start:], fewer=False),)


def _add_1(random: Random) -> Drawn:
    mode = random.choice(("numpy", "none", "pdpd", "pdpd", "pdpd"))
    one = tuple(_size(random) for _ in range(random.randrange(5)))
    if mode != "pdpd":
        return {"auto_broadcast": mode}, (one, _narrowed(random, one, fewer=mode == "numpy"))
    start = random.randrange(len(one) + 1)
    other = _narrowed(random, one[start : random.randrange(start, len(one) + 1)], fewer=False)
    if random.random() < 0.2:  # a 0 against a 1
        other = tuple(0 if size == 1 else size for size in other)
    attributes: dict[str, Any] = {"auto_broadcast": mode}
    if random.random() < 0.8:
        attributes["axis"] = random.choice((start, start, start, -1))
    return attributes, (one, other)


def _broadcast_axis(random: Random) -> Drawn:
    shape = _shape(random)
    axes = [axis for axis, size in enumerate(shape) if size == 1 and random.random() < 0.6]
    return {"axis": tuple(axes), "size": tuple(_size(random) for _ in axes)}, (shape,)


def _broadcast_like(random: Random) -> Drawn:
    reached = _shape(random)
    lhs = _narrowed(random, reached, fewer=False)
    axes = tuple(axis for axis, size in enumerate(lhs) if size == 1)
    if not axes or random.random() < 0.5:
        return {}, (lhs, reached)
    return {"lhs_axes": axes, "rhs_axes": axes}, (lhs, reached)


def _mxnet_broadcast_to(random: Random) -> Drawn:
    target = _shape(random)
    share = random.choice((0, 0.3))
    kept = tuple(0 if random.random() < share else size for size in target)
    return {"shape": kept}, (_narrowed(random, target, fewer=False),)


def _xarray(random: Random) -> Drawn:
    sizes = {name: _size(random) for name in "xyz"}
    count = random.choice((1, 1, 2, 3))
    dims = tuple(tuple(random.choices("xyz", k=random.randrange(4))) for _ in range(count))
    names = tuple(name for name in "xyz" if random.random() < 0.3)
    attributes: dict[str, Any] = {"dims": dims}
    if names:
        attributes["exclude"] = names if random.random() < 0.7 else "".join(names)
    return attributes, tuple(tuple(sizes[name] for name in own) for own in dims)


def _einops(random: Random) -> Drawn:
    pattern = random.choice(PATTERNS)
    left, _, right = pattern.partition("->")
    lengths = {name: random.choice((-1, -1, -2, 0, 1, 2, 3)) for name in "nm" if name in left + right}
    axes = left.replace("(a b)", "c").replace("(a n)", "c").split()
    if "(a b)" in left:
        lengths["b"] = random.choice((-1, 1, 2))
    return {"pattern": pattern, "axes_lengths": lengths}, (tuple(_size(random) for _ in axes),)


def _ngraph_like(random: Random) -> Drawn:
    like = tuple(_size(random) for _ in range(random.randrange(4)))
    axes = tuple(axis for axis in range(len(like)) if random.random() < 0.5)
    return {"initial_broadcast_axes": axes}, (tuple(s for a, s in enumerate(like) if a not in axes), like)


def _tile(random: Random, kind: type[Tile]) -> Drawn:
    """An input and the numbers of its copies, often as many as the input has axes."""
    shape, counts = _shape(random), _shape(random)
    if random.random() < 0.7:
        counts = (*counts, *(1,) * len(shape))[: len(shape)]
    shape, counts = (tuple(size if axis < 5 else 1 for axis, size in enumerate(sizes)) for sizes in (shape, counts))
    if random.random() < 0.3:  # negative numbers, often only where the size is 0
        own = ((1,) * len(counts) + shape)[len(shape) :]
        drawn = _negative(random, counts)
        counts = tuple(
            other if size == 0 or random.random() < 0.1 else count
            for size, count, other in zip(own, counts, drawn, strict=False)
        )
    return {kind.counts: counts}, (shape,)


def _many_axes(random: Random) -> Drawn:
    """Two or three inputs, some of which have about 32 axes."""
    first, *others = _pair(random, random.choice((2, 3)))
    return {}, ((1,) * random.choice((0, 0, 27, 29, 31, 33)) + first, *others)


def _terms(random: Random) -> tuple[list[list[str]], list[Shape]]:
    """The labels of one to four operands, some of them repeated, and shapes that fit in most requests."""
    letters = random.sample("ijkaBI", random.randint(1, 4))
    sizes = {letter: _size(random) for letter in letters}
    unnamed = [_size(random) for _ in range(random.choice((0, 0, 1, 2)))]
    noise = random.choice((0, 0.1, 0.2, 0.4))
    terms, shapes = [], []
    for _ in range(random.choice((1, 1, 2, 2, 2, 3, 4))):
        term = random.sample(letters, random.randint(0 if unnamed else 1, len(letters)))
        while term and len(term) < 6 and random.random() < 0.3:
            place = random.randrange(len(term))
            term.insert(random.choice((place, random.randrange(len(term) + 1))), term[place])
        shape = [_size(random) if random.random() < noise else sizes[letter] for letter in term]
        if unnamed and random.random() < 0.7:
            place = random.randrange(len(term) + 1)
            own = [1 if random.random() < 0.3 else size for size in unnamed][random.choice((0, 0, 1)) :]
            term.insert(place, "...")
            shape[place:place] = own
        if random.random() < 0.02:
            shape = shape[1:]
        terms.append(term)
        shapes.append(tuple(shape))
    return terms, shapes


def _diagonals(random: Random) -> tuple[list[list[str]], list[Shape]]:
    """The labels and the shape of one operand: few repeated letters, or five to eight letters with one twice.

    The long operand may end in an ellipsis.
    """
    if random.random() < 0.1:
        letters = [*"abcdefgh"[: random.randint(5, 8)]]
        repeated = random.choice(letters)
        letters.insert(random.randrange(len(letters)), repeated)
        shape = [2] * len(letters)
        shape[letters.index(repeated)] = random.choice((1, 2))
        if random.random() < 0.5:
            letters, shape = [*letters, "..."], [*shape, 1]
        return [letters], [tuple(shape)]
    count = random.randint(2, 4)
    return [random.choices("ij", k=count)], [tuple(random.choices((0, 0, 1, 2), k=count))]


def _output(random: Random, terms: list[list[str]]) -> list[str]:
    """The labels of the result, of which few are repeated or unknown."""
    known = sorted({label for term in terms for label in term} - {"..."})
    output = random.sample(known, random.randint(0, len(known)))
    if random.random() < 0.05:
        output.insert(random.randrange(len(output) + 1), random.choice([*known, "z"]))
    has_ellipsis = any("..." in term for term in terms)
    for _ in range(1 + (random.random() < 0.03)):
        if random.random() < (0.9 if has_ellipsis else 0.05):
            output.insert(random.randrange(len(output) + 1), "...")
    return output


def _labeled(random: Random, kind: type[LabeledProduct]) -> Drawn:
    """An equation, of which few have a syntax error."""
    terms, shapes = _terms(random) if random.random() < 0.9 else _diagonals(random)
    is_einsum, separator = issubclass(kind, Einsum), "" if issubclass(kind, Einsum) else " "
    text = ",".join(map(separator.join, terms))
    if random.random() < 0.75 or not is_einsum:
        text += f"->{separator.join(_output(random, terms))}"
    if random.random() < 0.03:
        place = random.randrange(len(text) + 1)
        text = text[:place] + random.choice((" ", " ", ".", "->", "1", "...", "\n")) + text[place:]
    return {"equation" if is_einsum else "pattern": text}, tuple(shapes)


OWN: dict[str, Callable[[Random], Drawn]] = {
    "onnx.Gemm": _gemm,
    "onnx.Where": lambda random: ({}, _pair(random, 3)),
    "openvino.Broadcast-1": _broadcast_1,
    "openvino.Broadcast-3": _broadcast_3,
    "openvino.Add-1": _add_1,
    "mxnet.broadcast_axis": _broadcast_axis,
    "mxnet.broadcast_like": _broadcast_like,
    "mxnet.broadcast_to": _mxnet_broadcast_to,
    "xarray.broadcast": _xarray,
    "array_api.broadcast_arrays": _many_axes,
    "array_api.broadcast_shapes": _many_axes,
    "einops.repeat": _einops,
    "ngraph.BroadcastLike": _ngraph_like,
    "jax.lax.broadcast": lambda random: _target(random, "sizes"),
}


def draw(kind: type[Op], random: Random) -> Drawn:
    """A request of this kind of op."""
    name = kind.model_fields["name"].default
    if name in OWN:
        return OWN[name](random)
    if kind.target:
        return _target(random, kind.target)
    if issubclass(kind, Tile):
        return _tile(random, kind)
    if issubclass(kind, MatrixProduct):
        return _product(random)
    if issubclass(kind, LabeledProduct):
        return _labeled(random, kind)
    reached = _pair(random, random.randint(kind.min_inputs, kind.max_inputs or 3))
    if name == "torch.masked_fill":
        return {}, (reached[0], _narrowed(random, reached[0]))
    return {}, (*reached[:-1], _narrowed(random, reached[0])) if random.random() < 0.1 else reached


def neighbour(drawn: Drawn, random: Random) -> Drawn:
    """The request with one thing changed: a size, an axis more or less, an entry of an attribute."""
    attributes, shapes = drawn
    tuples = [*shapes, *(value for value in attributes.values() if _is_integers(value))]
    place = random.randrange(len(tuples) + ("axis" in attributes))
    if place == len(tuples) and not _is_integers(attributes["axis"]):
        return attributes | {"axis": attributes["axis"] + random.choice((-1, 1))}, shapes
    place = min(place, len(tuples) - 1)
    if place < len(shapes):
        return attributes, (*shapes[:place], _changed(shapes[place], random, least=0), *shapes[place + 1 :])
    names = [name for name, value in attributes.items() if _is_integers(value)]
    name = names[place - len(shapes)]
    return attributes | {name: _changed(attributes[name], random, least=-3)}, shapes


def _is_integers(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, int) for each in value)


def _changed(sizes: Shape, random: Random, least: int) -> Shape:
    place = random.randrange(len(sizes) + 1)
    step = random.random()
    if step < 0.2 or not sizes:
        return (*sizes[:place], random.choice((1, 2, 3)), *sizes[place:])
    place = min(place, len(sizes) - 1)
    rest = () if step < 0.35 else (random.choice([size for size in range(least, 5) if size != sizes[place]]),)
    return (*sizes[:place], *rest, *sizes[place + 1 :])


def is_small(shapes: tuple[Shape, ...]) -> bool:
    return all(prod(max(size, 1) for size in shape) <= MAX_ELEMENTS for shape in shapes)
