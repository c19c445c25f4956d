"""Count the planted bugs that `axiscast check model.onnx` finds, and its findings in correct models.

Every bug is verified in onnxruntime: the model runs at the sizes of its example, if it has one, and fails at others.
Every correct model runs at two sets of sizes. Every other bug was used to choose the rules ("chosen on").
Needs the packages in benchmarks/models.txt: `make models`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from planted import graphs, modules, right, upstream, upstream_held_out
from planted.files import Runs, export_module, file_names, save_graph
from planted.graphs import Sizes

import axiscast
from axiscast.models.report import FailOn


class Case(NamedTuple):
    """A model in a file."""

    name: str
    path: Path
    half: str
    runs: tuple[Sizes, ...]
    """Sizes at which the model runs."""
    fails: Sizes | None
    """Sizes at which the model fails, or None for a correct model."""


def cases(folder: Path) -> Iterator[Case]:
    """Return the models that could be exported, after a verification in onnxruntime."""
    for number, case in enumerate(_made(folder)):
        try:
            run = Runs(case.path)
            wrong = [sizes for sizes in case.runs if run(sizes)]
            if wrong or (case.fails is not None and not run(case.fails)):
                print(f"{case.name}: not as stated: {[run(sizes) for sizes in wrong] or 'runs'}", file=sys.stderr)
                continue
        except Exception as error:  # a model that onnxruntime can't load is no case
            print(f"{case.name}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        yield case if case.half else case._replace(half=("chosen on", "reported")[number % 2])


def _made(folder: Path) -> Iterator[Case]:
    for graph in graphs.GRAPHS:
        path = folder / f"graph {graph.name}.onnx"
        save_graph(graph.graph, graph.constants, path)
        yield Case(graph.name, path, "", (graph.example,) if graph.example else (), graph.fails)
    for module in modules.MODULES:
        path = folder / f"module {module.name}.onnx"
        if path.exists() or _exported(module.name, module.forward, module.inputs, module.axes, path):
            example = {
                name: shape[axis]
                for (value, shape) in module.inputs.items() for axis, name in module.axes[value].items()
            }  # fmt: skip
            yield Case(module.name, path, "", (example,), module.fails)
    yield from _from_upstream(folder)
    for fits in right.GRAPHS:
        path = folder / f"right graph {fits.name}.onnx"
        save_graph(fits.graph, fits.constants, path)
        yield Case(fits.name, path, "", fits.runs, None)
    for each in right.MODULES:
        path = folder / f"right module {each.name}.onnx"
        if path.exists() or _exported(each.name, each.make(), each.inputs, each.axes, path):
            yield Case(each.name, path, "", each.runs, None)
    for each in right.NEEDLESS:
        path = folder / f"needless {each.name}.onnx"
        if path.exists() or _exported(each.name, each.make(), each.inputs, each.axes, path):
            yield Case(each.name, path, "needless", each.runs, None)


def _from_upstream(folder: Path) -> Iterator[Case]:
    """Write the models with bugs from upstream issues, with both exporters, and yield them."""
    for half, bugs in (("upstream, chosen on", upstream), ("upstream, held out", upstream_held_out)):
        for graph in bugs.GRAPHS:
            path = folder / f"upstream graph {graph.name}.onnx"
            save_graph(graph.graph, graph.constants, path)
            yield Case(graph.name, path, half, (graph.example,), graph.fails)
        for dynamo, listed in ((False, bugs.MODULES), (True, bugs.DYNAMO)):
            for module in listed:
                path = folder / f"upstream module {module.name}.onnx"
                given = module.name, module.forward, module.inputs, module.axes, path, dynamo
                if path.exists() or _exported(*given):
                    names = file_names(path, module.inputs, module.axes)
                    example = {
                        names[name]: shape[axis]
                        for value, shape in module.inputs.items() for axis, name in module.axes[value].items()
                    }  # fmt: skip
                    fails = {names[name]: size for name, size in module.fails.items()}
                    yield Case(module.name, path, half, (example,), fails)


def _exported(name: str, *arguments: object) -> bool:
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            export_module(*arguments)  # type: ignore[arg-type]
    except Exception as error:  # exporters raise all kinds of exceptions; a model that can't be exported is no case
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where exported files are, and stay")
    parser.add_argument("--list", action="store_true", help="print a line for each model")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    with TemporaryDirectory() as temporary:
        table(cases(arguments.folder or Path(temporary)), arguments.list)


def count(case: Case, sort: str, example: Sizes, rows: dict[str, Counter[str]], each: bool) -> None:
    """Check a model, and count its exit statuses in the row of its group."""
    start = process_time()
    report = axiscast.check_model(case.path, example=example)
    row = rows.setdefault(sort, Counter())
    row["models"] += 1
    row["seconds"] += process_time() - start  # type: ignore[assignment]
    levels: tuple[FailOn, ...] = ("square", "needs")
    for fail_on in levels:
        row[fail_on] += report.exit_status(fail_on) != 0
    if each:
        kinds = {kind for finding in report.findings for kind in finding.kinds}
        print(f"{sort}: {case.name}: {report.exit_status()} {' '.join(sorted(kinds))}", flush=True)


def table(found: Iterator[Case], each: bool) -> None:
    """Print the number of models with each finding, for each half and group."""
    rows: dict[str, Counter[str]] = {}
    for case in found:
        sort = "right" if case.fails is None else f"planted, {case.half}"
        if case.half == "needless":
            sort = "right, free without need"
            count(case, f"{sort}, with --example", case.runs[0], rows, each)
        count(case, sort, {}, rows, each)
    print("| models | all | not 0 | --fail-on needs | CPU s |")
    print("|---|---|---|---|---|")
    for sort, row in rows.items():
        print(f"| {sort} | {row['models']} | {row['square']} | {row['needs']} | {row['seconds']:.1f} |")


if __name__ == "__main__":
    main()
