"""The checks of an ONNX model: of each node by the names of sizes, and at sizes that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path

from ...answers.intent import FindingKind
from ...wire.problems import Problem
from ..finding import Finding, Pin, Tried
from ..node_checks import CheckBatch, Progress, judged
from ..report import Report
from ..size_expressions import as_name
from .inference import Model, Source, inferred, source
from .nodes import questions
from .probe import Probe, Probed
from .probe_sizes import free_sizes


def checked(
    path: Path,
    assume: Mapping[str, int | str],
    example: Mapping[str, int | str],
    probe: bool,
    check_batch: CheckBatch,
    progress: Progress | None,
    kinds: Sequence[FindingKind],
) -> Report:
    """Return the report of a model. Raises UnusableModel, and InvalidRequest for an unknown name."""
    origin = source(path, {name: size for name, size in assume.items() if isinstance(size, int)})
    for argument, given in (("assume", assume), ("example", example)):
        _require_names(argument, given, origin)
    model = inferred(origin)
    ranges = {as_name(name): str(size) for name, size in assume.items() if isinstance(size, str)}
    asked = list(questions(model))
    found = judged(asked, check_batch, ranges, progress, kinds)
    nodes = {question.number: finding for question, finding in zip(asked, found, strict=True)}
    tried = Probed({}, set(), (), ())
    if probe:
        sizes = {name: size for name, size in example.items() if isinstance(size, int)}
        tried = Probe(origin, check_batch, ranges, sizes, progress).run()
    nodes = _contradicted(_merged(nodes, tried), model)
    named = {as_name(size.name): size.name for size in free_sizes(origin) if size.name in origin.sizes}
    ordered = [_pinned(nodes[number], named) for number in sorted(nodes, key=int)]
    errors = [f"onnx can't infer shapes: {fault.said}" for fault in model.faults if fault.node not in model.names]
    return Report(fspath(path), tuple(ordered), tuple(errors), sizes=tried.sizes, notes=tried.notes)


def _require_names(argument: str, names: Iterable[str], origin: Source) -> None:
    """Raises InvalidRequest for a name that no size of the model has."""
    for name in names:
        if name not in origin.assumable:
            there = ", ".join(sorted(origin.assumable)[:20])
            there = f"the names are {there}" if there else "none has a name"
            place = f"{argument}/{name[:60]}"
            raise Problem(
                "invalid-request", f"{place}: no size of the model has this name: {there}", pointer=f"/{place}"
            )


def _merged(nodes: Mapping[str, Finding], tried: Probed) -> dict[str, Finding]:
    """The findings by names of sizes, and what was found by trying sizes, where that says more."""
    merged = dict(nodes)
    for number, finding in tried.findings.items():
        known = nodes.get(number)
        if known is None or known.verdict == "compatible":
            merged[number] = finding
        elif known.verdict == "depends":
            partly = finding.tried is not None and finding.tried.outcome == "partly"
            merged[number] = replace(known, tried=finding.tried) if partly else finding
        elif known.reason.startswith("rank unknown"):
            merged[number] = finding
    for number in tried.settled:
        known = merged.get(number)
        if known is not None and _is_undecided(known):
            merged[number] = replace(known, tried=Tried("fits", sets=len(tried.sizes)))
    return merged


def _is_undecided(finding: Finding) -> bool:
    """Whether a node is not decided only because onnx could not infer sizes: no condition is of named sizes alone."""
    if finding.verdict == "not_judged":
        return finding.reason.startswith("rank unknown")
    return finding.verdict == "depends" and all(finding.unknown_in_conditions())


def _contradicted(nodes: dict[str, Finding], model: Model) -> dict[str, Finding]:
    """The findings, with the shapes that the file states and that what follows from the inputs contradicts."""
    for number, name, op, said in model.contradictions:
        known = nodes.get(number) or Finding(model.names.get(number, name), op)
        nodes[number] = replace(known, stated=said)
    return nodes


def _pinned(finding: Finding, names: Mapping[str, str]) -> Finding:
    """A finding with the names of inputs' sizes that its conditions give one number, or that number and 1."""
    if finding.verdict != "depends" or finding.pins:
        return finding
    pins = tuple(_pins(finding, names))
    return replace(finding, pins=pins) if pins else finding


def _pins(finding: Finding, names: Mapping[str, str]) -> Iterator[Pin]:
    for sides in finding.alternatives():
        found = {side for pair in sides for side in pair if isinstance(side, str)}
        numbers = {side for pair in sides for side in pair if isinstance(side, int)}
        one_name = len(found) == 1 and all({type(side) for side in pair} == {int, str} for pair in sides)
        others = numbers - {1}
        if one_name and len(others) == 1 and (name := next(iter(found))) in names:
            yield Pin(names[name], others.pop(), 1 in numbers)
