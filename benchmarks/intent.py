"""Measure each candidate rule: the planted bugs that it finds, and the correct functions that it warns about.

    python benchmarks/intent.py [watch torch jax onnx] [--folder PROGRAMS]

Takes torch, jax and onnxscript (`make models` installs them). The bugs and the right functions are those of
tests/upstream and tests/programs. Each is watched, or exported and checked, and the facts of each square are recorded.
Then each rule decides by them. A rule was chosen on the half "choose".
"""

from __future__ import annotations

import argparse
import inspect
import logging
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import axiscast
from axiscast.models import intent
from axiscast.models.intent import OperandPair
from axiscast.training import watching

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def _here(pair: OperandPair) -> set[str]:
    return {origin.axis_origin for origin in pair.origins if origin.is_here and origin.axis_origin}


def _is_one(pair: OperandPair) -> bool:
    one, other = pair.origins
    return one.source is not None and one.source == other.source


CHOSEN = intent.is_meant
RULES: dict[str, Callable[[OperandPair], bool]] = {
    "a: an axis was written anywhere": lambda pair: (
        any(origin.axis_origin for origin in pair.origins) and not pair.is_loss
    ),
    "b: nothing is meant": lambda pair: False,
    "c: an axis was written in the expression": lambda pair: bool(_here(pair)) and not pair.is_loss,
    "c, by None in an index": lambda pair: "index" in _here(pair) and not pair.is_loss,
    "d: comparisons and integers": lambda pair: pair.is_discrete,
    "d, of positions alone": lambda pair: all(origin.is_index for origin in pair.origins),
    "e: both come from one tensor": lambda pair: _is_one(pair) and not pair.is_loss,
    "c or d": lambda pair: (bool(_here(pair)) and not pair.is_loss) or pair.is_discrete,
    "c, and d or e": lambda pair: bool(_here(pair)) and (pair.is_discrete or _is_one(pair)) and not pair.is_loss,
    "the rule that was chosen": CHOSEN,
}
"""The candidate rules."""


class Outcome(NamedTuple):
    """The squares that one function makes."""

    half: str
    is_bug: bool
    pairs: list[OperandPair]


def recorded(run: Callable[[], object]) -> list[OperandPair]:
    """Return the facts of each square while `run` is watched or checked."""
    pairs: list[OperandPair] = []

    def record(pair: OperandPair) -> bool:
        if pair.is_square:
            pairs.append(pair)
        return False

    intent.is_meant = watching.is_meant = record  # type: ignore[attr-defined]
    try:
        run()
    finally:
        intent.is_meant = watching.is_meant = CHOSEN  # type: ignore[attr-defined]
    return pairs


def cases() -> list[Any]:
    from upstream import densities, idioms, regression, reinforcement

    return [case for module in (reinforcement, regression, densities, idioms) for case in module.CASES]


def tensors(case: Any) -> tuple[Any, ...]:
    import torch

    types = {"float": torch.float32, "int": torch.int64, "bool": torch.bool}
    return tuple(torch.ones(shape).to(types[kind]) for shape, kind in case.arguments)


def watched() -> Iterator[Outcome]:
    """Yield the squares that a watch sees."""

    def run(case: Any) -> None:
        with axiscast.watch(on=lambda finding: None):
            case.function(*tensors(case))

    for case in cases():
        yield Outcome(case.half, case.is_bug, recorded(partial(run, case)))


def exported(case: Any, is_dynamic: bool) -> Any:
    """Return the program of a function, whose lines are those of a module's `forward`."""
    import torch

    class Module(torch.nn.Module):
        """Return a function as a module."""

    module = Module()
    code = case.function.__code__.replace(co_name="forward")
    module.forward = types.FunctionType(code, case.function.__globals__, "forward")
    named = {letter: torch.export.Dim(letter) for letter in "nbthw"}
    free = tuple({axis: named[size] for axis, size in enumerate(sizes) if size in named} for sizes in case.shapes)
    return torch.export.export(module, tensors(case), dynamic_shapes=free if is_dynamic else None)


def of_torch() -> Iterator[Outcome]:
    """Yield the squares that check_torch sees in programs with free sizes."""
    for case in cases():
        program = exported(case, is_dynamic=True)
        yield Outcome(case.half, case.is_bug, recorded(partial(axiscast.check_torch, program)))


def of_onnx(folder: Path, is_dynamic: bool) -> Iterator[Outcome]:
    """Yield the squares that check_model sees in the functions that torch can export. Existing files are reused."""
    import torch

    for case in cases():
        path = folder / ("dynamic" if is_dynamic else "static") / f"{case.name}.onnx"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            program = exported(case, is_dynamic)
            try:
                torch.onnx.export(program, (), path, dynamo=True, external_data=False, verbose=False)
            except Exception as error:  # such as functions that ONNX lacks
                print(f"{case.name}: {type(error).__name__}", file=sys.stderr)
                continue
        yield Outcome(case.half, case.is_bug, recorded(partial(axiscast.check_model, path, probe=False)))


def of_jax() -> Iterator[Outcome]:
    """Yield the squares that check_jax sees."""
    import jax
    from programs import jax_bugs, jax_right

    (n,) = jax.export.symbolic_shape("n")
    for module in (jax_bugs, jax_right):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                shapes = [jax_bugs.SHAPES[parameter] for parameter in inspect.signature(function).parameters]
                sizes = [tuple(n if size == "n" else size for size in shape) for shape in shapes]
                arguments = [jax.ShapeDtypeStruct(shape, "float32") for shape in sizes]
                half = "report" if sha256(name.encode()).digest()[0] & 1 else "choose"
                traced = jax.jit(function).trace(*arguments)
                yield Outcome(half, module is jax_bugs, recorded(partial(axiscast.check_jax, traced)))


def rows(title: str, outcomes: list[Outcome]) -> None:
    """Print the bugs that each rule finds and the correct functions that it reports, for each half."""
    print(f"\n| {title} | choose: found | accused | report: found | accused |\n|---|---|---|---|---|")
    for name, rule in RULES.items():
        cells = []
        for half in ("choose", "report"):
            for is_bug in (True, False):
                here = [each for each in outcomes if (each.half, each.is_bug) == (half, is_bug)]
                said = sum(any(not rule(pair) for pair in each.pairs) for each in here)
                cells.append(f"{said} of {len(here)}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkers", nargs="*", default=["watch", "torch", "jax", "onnx"])
    parser.add_argument("--folder", type=Path, help="where exported ONNX files are, and stay")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    with TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        ways: dict[str, list[tuple[str, Callable[[], Iterator[Outcome]]]]] = {
            "watch": [("watch", watched)],
            "torch": [("check_torch", of_torch)],
            "jax": [("check_jax", of_jax)],
            "onnx": [
                ("ONNX, sizes as numbers", lambda: of_onnx(folder, is_dynamic=False)),
                ("ONNX, free sizes", lambda: of_onnx(folder, is_dynamic=True)),
            ],
        }
        for checker in arguments.checkers:
            for title, run in ways[checker]:
                rows(title, [*run()])


if __name__ == "__main__":
    main()
