"""Write vectors of einsum by executing the released package.

    python tests/vectors/execute_einsum.py torch >> tests/vectors/einsum.jsonl

The script imports the package and NumPy, but not axiscast. `product` is the shape of the result. `values` are the
products of an operand with arrays of ones, one for each letter, which show how the operand is broadcast.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
Case = tuple[str, tuple[Shape, ...]]

WRITTEN: list[tuple[str, list[list[int]]]] = [
    ("ij,jk->ik", [[2, 3], [3, 4]]), ("ij,jk->ik", [[2, 3], [4, 4]]), ("ij,jk->ik", [[2, 1], [3, 4]]),
    ("ij,jk->ik", [[2, 3], [1, 4]]), ("ij,jk", [[2, 3], [3, 4]]), ("ji,jk", [[2, 3], [2, 4]]), ("ba", [[2, 3]]),
    ("ij,jk->ki", [[2, 3], [3, 4]]), ("ij,kj->ik", [[2, 3], [4, 3]]), ("ij,ji->", [[2, 3], [3, 2]]),
    ("ij,ji->ij", [[2, 3], [3, 2]]), ("ij,ji->ij", [[2, 3], [2, 3]]), ("ij,ij->ij", [[2, 3], [3, 2]]),
    ("ii", [[3, 3]]), ("ii->i", [[3, 3]]), ("ii->i", [[1, 3]]), ("ii->i", [[3, 1]]), ("ii->i", [[2, 3]]),
    ("ii", [[2, 3]]), ("ii", [[1, 3]]), ("ii", [[0, 0]]), ("ii->i", [[1, 1]]), ("ii->i", [[0, 1]]),
    ("iii->i", [[2, 2, 2]]), ("iii->i", [[2, 1, 2]]), ("iji->j", [[2, 3, 2]]), ("iji->j", [[2, 3, 1]]),
    ("iij->ij", [[2, 2, 3]]), ("jii->ij", [[3, 2, 2]]), ("ijj->ij", [[2, 3, 3]]), ("ijij->ij", [[2, 3, 2, 3]]),
    ("ii,i->i", [[1, 1], [3]]), ("ii,i->i", [[1, 3], [3]]), ("ii,i->i", [[3, 3], [1]]), ("ii,i->i", [[3, 3], [3]]),
    ("ii,i->i", [[3, 3], [2]]), ("ii,jj->ij", [[2, 2], [3, 3]]), ("...ii->...i", [[2, 3, 3]]),
    ("...ii->...", [[2, 3, 3]]), ("...ii->...i", [[2, 3, 4]]), ("i...i->...i", [[3, 2, 3]]),
    ("i,i->i", [[1], [3]]), ("i,i->", [[1], [3]]), ("i,i->", [[2], [3]]), ("i,i,i->i", [[1], [3], [1]]),
    ("i,i,i->i", [[2], [1], [3]]), ("i,i,i->i", [[2], [2], [2]]), ("i,j->ij", [[2], [3]]), ("i,j->ji", [[2], [3]]),
    ("i,j", [[2], [3]]), ("i,j,k->ki", [[2], [3], [4]]), ("ijk,ijk->ijk", [[1, 3, 1], [2, 1, 4]]),
    ("ij,j->i", [[2, 3], [3]]), ("ij,j->i", [[2, 3], [2]]), ("ij,j->ij", [[2, 3], [1]]), ("ij->", [[2, 3]]),
    ("ij->j", [[2, 3]]), ("ijk->kji", [[2, 3, 4]]), ("bhqd,bhkd->bhqk", [[2, 3, 4, 5], [2, 3, 6, 5]]),
    ("bhqd,bhkd->bhqk", [[2, 3, 4, 5], [2, 3, 5, 6]]), ("bqhd,bkhd->bhqk", [[2, 4, 3, 5], [2, 6, 3, 5]]),
    ("bhqd,bhkd->bhqk", [[2, 3, 4, 5], [1, 3, 6, 5]]), ("bhqd,bhkd->bhqk", [[2, 3, 4, 5], [3, 6, 5]]),
    ("...ij,...jk->...ik", [[5, 1, 2, 3], [6, 3, 4]]), ("...ij,...jk->...ik", [[5, 2, 3], [6, 3, 4]]),
    ("...ij,...jk->...ik", [[2, 3], [3, 4]]), ("...ij,...jk", [[5, 1, 2, 3], [6, 3, 4]]),
    ("...ij,jk->...ik", [[5, 2, 3], [3, 4]]), ("...ij,jk->...ik", [[2, 3], [3, 4]]), ("...ij,jk", [[5, 2, 3], [3, 4]]),
    ("...ij,jk->ik...", [[5, 2, 3], [3, 4]]), ("...i->...", [[2, 3]]), ("...i->i", [[2, 3]]), ("...i->", [[2, 3]]),
    ("...i->i", [[3]]), ("...->...", [[2, 3]]), ("...", [[2, 3]]), ("...", [[]]), ("...,...", [[2, 3], [3]]),
    ("...,...->...", [[2, 1], [3]]), ("...,...->...", [[2, 1], [5, 3]]), ("...,...->...", [[2], [5, 3]]),
    ("...,...->...", [[0], [1]]), ("...,...->...", [[], [2]]), ("...,...,...->...", [[2, 1], [3], []]),
    ("i...->i", [[2, 3]]), ("i...->...i", [[2, 3, 4]]), ("i...j->j...i", [[2, 3, 4, 5]]), ("i...j->j...i", [[2, 3]]),
    ("i...j", [[2, 3, 4]]), ("ij->...ij", [[2, 3]]), ("ij->ij...", [[2, 3]]), ("i->...", [[3]]),
    ("i...->...", [[2, 3]]),
    ("i...,j->ij...", [[2, 3], [4]]), ("...i,...i", [[2, 3], [2, 3]]), ("...i,...i->...", [[2, 3], [1, 3]]),
    ("...i,i->", [[2, 3], [3]]), ("...i,i->...", [[2, 3], [3]]), ("...,i->i", [[], [3]]), ("...,i->...i", [[2], [3]]),
    ("...,i->...i", [[], [3]]), ("ij...,jk...->ik...", [[2, 3, 4], [3, 5, 1]]), ("i,i->...i", [[2], [2]]),
    ("...i,...j->...ij", [[4, 2], [4, 3]]), ("i...,...i->i...", [[2, 4], [4, 2]]),
    ("...a,b...->...ab", [[2, 3], [4, 2]]),
    ("->", [[]]), ("", [[]]), (",->", [[], []]), (",", [[], []]), ("i,->i", [[3], []]), (",i->i", [[], [3]]),
    ("i,", [[2], []]), ("i->i", [[1]]), ("", [[2]]), ("->", [[2, 3]]),
    ("i->", [[0]]), ("i->i", [[0]]), ("i,i->i", [[0], [0]]), ("i,i->i", [[0], [1]]), ("i,i->i", [[1], [0]]),
    ("i,i->i", [[0], [3]]), ("ij,jk->ik", [[0, 3], [3, 4]]), ("ij,jk->ik", [[2, 0], [0, 4]]),
    ("ij,jk->ik", [[2, 0], [1, 4]]), ("ij,jk->ik", [[2, 0], [3, 4]]), ("...i->...i", [[0, 3]]),
    ("i->ii", [[3]]), ("ij->jj", [[2, 3]]), ("i->j", [[3]]), ("i->ij", [[3]]), ("ij,jk->il", [[2, 3], [3, 4]]),
    ("iJ,Jk->ik", [[2, 3], [3, 4]]), ("Ab", [[2, 3]]), ("bA", [[2, 3]]), ("Zaz", [[2, 3, 4]]),
    ("aA,Ab", [[2, 3], [3, 4]]),
    (" i j , j k -> i k ", [[2, 3], [3, 4]]), ("ij , jk", [[2, 3], [3, 4]]), ("i->i ", [[2]]),
    ("ij,jk - > ik", [[2, 3], [3, 4]]), ("i. ..->i...", [[2, 3]]), ("i\tj->ji", [[2, 3]]),
    ("ij", [[2]]), ("ij", [[2, 3, 4]]), ("i", [[]]), ("ij,jk->ik", [[5, 2, 3], [3, 4]]), ("ij,jk->ik", [[2], [3, 4]]),
    ("...ij", [[2]]), ("...ij,...j->...i", [[3], [3]]), ("i->i->i", [[2]]), ("i-i", [[2]]), ("i>i", [[2]]),
    ("i->i>", [[2]]), ("i..->i", [[2, 3]]), ("i....->i", [[2, 3]]), ("...i...", [[2, 3]]),
    ("i1->i", [[2, 3]]), ("i_", [[2, 3]]), ("ij->i,j", [[2, 3]]), ("i;j->ij", [[2, 3]]), ("i*j->ij", [[2, 3, 4]]),
    ("\u00e9->\u00e9", [[2]]), ("\u03b1\u03b2->\u03b2\u03b1", [[2, 3]]),
]  # fmt: skip
LETTERS = "ijkabXy"


def drawn(count: int) -> Iterator[Case]:
    """Yield random equations and operands, most of which fit."""
    draw = Random(24)
    for _ in range(count):
        letters = draw.sample(LETTERS, draw.randint(1, 4))
        sizes = {letter: draw.choice([0, 1, 2, 2, 3, 3, 4]) for letter in letters}
        unnamed = [draw.choice([1, 2, 3]) for _ in range(draw.choice([0, 1, 2]))]
        terms, shapes = [], []
        for _ in range(draw.choice([1, 1, 2, 2, 2, 3])):
            term = draw.sample(letters, draw.randint(0 if unnamed else 1, len(letters)))
            if draw.random() < 0.15 and term:
                term.insert(draw.randint(0, len(term)), draw.choice(term))
            shape = [sizes[letter] if draw.random() < 0.9 else draw.choice([1, 1, 1, 2]) for letter in term]
            if unnamed and draw.random() < 0.7:
                place = draw.randint(0, len(term))
                own = [size if draw.random() < 0.7 else 1 for size in unnamed][draw.choice([0, 0, 1]) :]
                term.insert(place, "...")
                shape[place:place] = own
            terms.append("".join(term))
            shapes.append(tuple(shape))
        yield ",".join(terms) + _output(terms, draw), tuple(shapes)


def _output(terms: list[str], draw: Random) -> str:
    if draw.random() < 0.25:
        return ""
    known = sorted(set("".join(terms).replace(".", "")))
    output = draw.sample(known, draw.randint(0, len(known)))
    if any("..." in term for term in terms) and draw.random() < 0.9:
        output.insert(draw.randint(0, len(output)), "...")
    return "->" + "".join(output)


class Parts(NamedTuple):
    """The labels of the operands' axes, found by hand for equations without errors."""

    own: list[list[str]]
    wanted: list[list[str]]
    sizes: dict[str, int]
    result: str

    def diagonals(self, shapes: tuple[Shape, ...]) -> list[set[int]]:
        """Return the sizes of each label that one operand repeats."""
        return [
            {size for label, size in zip(own, shape, strict=True) if label == repeated}
            for own, shape in zip(self.own, shapes, strict=True)
            for repeated in {label for label in own if own.count(label) > 1}
        ]

    def combined(self, shapes: tuple[Shape, ...]) -> dict[str, set[int]]:
        """Return all sizes of each label."""
        sizes: dict[str, set[int]] = {}
        for own, shape in zip(self.own, shapes, strict=True):
            for label, size in zip(own, shape, strict=True):
                sizes.setdefault(label, set()).add(size)
        return sizes


class Release(NamedTuple):
    """A package: its function, and the requests on which it deviates from its rule."""

    name: str
    run: Callable[..., Array]
    deviates: Callable[[Parts, tuple[Shape, ...]], bool] = lambda found, shapes: False
    crashes: tuple[str, ...] = ()
    """The equations that end the process."""
    ignores_case: bool = False
    attributes: Callable[[str], dict[str, str]] = lambda equation: {"equation": equation}
    is_explicit: bool = False
    """Whether the package refuses an equation without an output."""
    reads_ellipsis: bool = True
    """Whether the values are read with an ellipsis. Otherwise, each of its axes has a letter."""


def parts(equation: str, shapes: tuple[Shape, ...]) -> Parts:
    """Return the labels of each operand before and after the broadcast, and the size of each label."""
    terms = [re.findall(r"\.\.\.|[^ .]", term) for term in equation.replace(" ", "").split("->")[0].split(",")]
    pairs = list(zip(terms, shapes, strict=True))
    longest = max((len(shape) - len(term) + 1 for term, shape in pairs if "..." in term), default=0)
    own, wanted, sizes = [], [], dict[str, int]()
    for term, shape in pairs:
        extra = len(shape) - len(term) + 1
        own.append([label for name in term for label in (_unnamed(extra) if name == "..." else [name])])
        wanted.append([label for name in term for label in (_unnamed(longest) if name == "..." else [name])])
        for label, size in zip(own[-1], shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return Parts(own, wanted, sizes, _result(equation.replace(" ", "")))


def _result(equation: str) -> str:
    left, arrow, right = equation.partition("->")
    return right if arrow else "".join(letter for letter in left if left.count(letter) == 1)


def _unnamed(count: int) -> list[str]:
    return [f"...{number}" for number in range(count, 0, -1)]


def filled(shape: Shape, start: int) -> Array:
    return np.arange(start, start + prod(shape), dtype=np.float64).reshape(shape)


def outputs(found: Parts) -> list[dict[str, Any]]:
    rows = []
    for number, (own, wanted) in enumerate(zip(found.own, found.wanted, strict=True)):
        new = [place for place, label in enumerate(wanted) if label.startswith("...") and label not in own]
        axes = [place for place in range(len(wanted)) if place not in new]
        rows.append({"shape": [found.sizes[label] for label in wanted], "input": number, "axes": axes})
    return rows


def read(release: Release, found: Parts, shapes: tuple[Shape, ...]) -> list[list[float]]:
    """Return each operand's product with arrays of ones, which have the labels of the operand after the broadcast."""
    values = []
    for number, (shape, wanted) in enumerate(zip(shapes, found.wanted, strict=True)):
        letters, whole, ones = iter("abcdefghijklmnopqrstuvw"), list[str](), dict[str, Array]()
        unnamed = tuple(found.sizes[label] for label in wanted if label.startswith("..."))
        for label in wanted:
            is_ellipsis = label.startswith("...") and release.reads_ellipsis
            letter = "..." if is_ellipsis else next(letters)
            whole += [] if letter in whole else [letter]
            ones[letter] = np.ones(unnamed if is_ellipsis else found.sizes[label])
        term = whole if "..." in whole else [whole[place] for place in outputs(found)[number]["axes"]]
        equation = f"{','.join([''.join(term), *ones])}->{''.join(whole)}"
        values.append(release.run(equation, filled(shape, 1000 * number), *ones.values()).ravel().tolist())
    return values


def reasons(equation: str, shapes: tuple[Shape, ...]) -> list[str]:
    """Return the conflict codes that are correct for a request that the package refuses."""
    text = equation.replace(" ", "")
    codes = {"invalid-attribute"} if "..." in text or not re.fullmatch("[A-Za-z,]*(->[A-Za-z]*)?", text) else set()
    left, _, right = text.partition("->")
    if set(right) - set(left) or len(set(right)) < len(right) or re.search(r"- >|\. \.", equation):
        codes.add("invalid-attribute")
    for term, shape in zip(left.split(","), shapes, strict=True):
        named = len(term.replace(".", ""))
        if named > len(shape) or (named < len(shape) and "..." not in term):
            codes.add("rank-mismatch")
    return sorted(codes | {"size-mismatch"})


def vectors(release: Release) -> Iterator[dict[str, Any]]:
    written = [(equation, tuple(map(tuple, shapes))) for equation, shapes in WRITTEN]
    for equation, shapes in dict.fromkeys([*written, *drawn(160)]):
        vector: dict[str, Any] = {"op": {"name": release.name, **release.attributes(equation)}, "inputs": shapes}
        try:
            found = parts(equation.lower() if release.ignores_case else equation, shapes)
        except ValueError:  # the ranks do not fit, or the equation is malformed
            found = None
        if equation in release.crashes or (found is not None and release.deviates(found, shapes)):
            continue
        try:
            result = release.run(equation, *[filled(shape, 1000 * number) for number, shape in enumerate(shapes)])
        except Exception as error:
            codes = reasons(equation, shapes)
            if release.is_explicit and "->" not in equation:
                codes.append("invalid-attribute")
            yield vector | {"compatible": False, "conflict_codes": codes, "raised": type(error).__name__}
            continue
        assert found is not None, (equation, shapes)
        rows, values = outputs(found), read(release, found, shapes)
        for row, own in zip(rows, shapes, strict=True):
            at = dict(zip(row["axes"], own, strict=True))
            row["broadcast_axes"] = [axis for axis, size in enumerate(row["shape"]) if at.get(axis) != size]
        yield vector | {"compatible": True, "outputs": rows, "values": values, "product": result.shape}


def _skips_zero(found: Parts, shapes: tuple[Shape, ...]) -> bool:
    """Return whether a diagonal has a 0 and another size, which NumPy and opt_einsum do not check."""
    return any(len(sizes) > 1 and 0 in sizes for sizes in found.diagonals(shapes))


def _numpy() -> tuple[str, Release]:
    return f"numpy {np.__version__}", Release("numpy.einsum", lambda *x: np.asarray(np.einsum(*x)), _skips_zero)


def _torch() -> tuple[str, Release]:
    import torch

    def run(equation: str, *arrays: Array) -> Array:
        return torch.einsum(equation, *[torch.tensor(array) for array in arrays]).numpy()

    return f"torch {torch.__version__}", Release("torch.einsum", run)


def _jax() -> tuple[str, Release]:
    import jax

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(jax.numpy.einsum(equation, *arrays))

    def deviates(found: Parts, shapes: tuple[Shape, ...]) -> bool:
        """JAX does not check a diagonal with a size 1, and returns zeros on it."""
        return any(len(sizes) > 1 and sizes & {0, 1} for sizes in found.diagonals(shapes))

    return f"jax {jax.__version__}", Release("jax.numpy.einsum", run, deviates)


def _tensorflow() -> tuple[str, Release]:
    import tensorflow as tf

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(tf.einsum(equation, *map(tf.constant, arrays)))

    def deviates(found: Parts, shapes: tuple[Shape, ...]) -> bool:
        """TensorFlow does not check a letter that first has the size 0."""
        return any(len(sizes) > 1 and 0 in sizes for sizes in found.combined(shapes).values())

    return f"tensorflow {tf.__version__}", Release("tensorflow.einsum", run, deviates)


def _paddle() -> tuple[str, Release]:
    import paddle

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(paddle.einsum(equation, *map(paddle.to_tensor, arrays)).numpy())

    def deviates(found: Parts, _: tuple[Shape, ...]) -> bool:
        """Paddle fails on adjacent repeated letters before other letters, and on an ellipsis of many operands."""
        adjacent = any(one == other for own in found.own for one, other in pairwise(own[:-1]))
        has_ellipsis = any(label.startswith("...") for own in found.wanted for label in own)
        return adjacent or (len(found.own) > 2 and has_ellipsis)

    crashes = ("ij->i,j", "\u03b1\u03b2->\u03b2\u03b1")
    release = Release("paddle.einsum", run, deviates, crashes, ignores_case=True, reads_ellipsis=False)
    return f"paddlepaddle {paddle.__version__}", release


def _mlx() -> tuple[str, Release]:
    from importlib.metadata import version

    import mlx.core as mx

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(mx.einsum(equation, *[mx.array(array.astype(np.float32)) for array in arrays]))

    def deviates(found: Parts, shapes: tuple[Shape, ...]) -> bool:
        """MLX refuses to sum over sizes 0 and 1."""
        return any({0, 1} <= sizes and label not in found.result for label, sizes in found.combined(shapes).items())

    return f"mlx {version('mlx')}", Release("mlx.core.einsum", run, deviates)


def _opt_einsum() -> tuple[str, Release]:
    import opt_einsum

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(opt_einsum.contract(equation, *arrays))

    return f"opt_einsum {opt_einsum.__version__}", Release("opt_einsum.contract", run, _skips_zero)


def _einops() -> tuple[str, Release]:
    import einops

    def spaced(equation: str) -> str:
        return re.sub(r"(\.\.\.|\w)(?! )", r"\1 ", equation).strip()

    def run(equation: str, *arrays: Array) -> Array:
        return np.asarray(einops.einsum(*arrays, spaced(equation)))

    release = Release(
        "einops.einsum", run, _skips_zero, attributes=lambda text: {"pattern": spaced(text)}, is_explicit=True
    )
    return f"einops {einops.__version__} with numpy {np.__version__}", release


PACKAGES = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
    "paddle": _paddle,
    "mlx": _mlx,
    "opt_einsum": _opt_einsum,
    "einops": _einops,
}

if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    framework, release = PACKAGES[sys.argv[1]]()
    for number, vector in enumerate(vectors(release), 1):
        whole = {"id": f"{sys.argv[1]}-einsum-{number:04}"} | vector | {"framework": framework, "source": "executed"}
        print(json.dumps(whole))
