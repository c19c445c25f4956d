"""The report for an ONNX model, which combines the check with named sizes and the trials with integer sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path

from ...answers.intent import FindingKind
from ...wire.problems import Problem
from ..finding import Finding, PinnedSize, TrialSummary
from ..node_checks import CheckBatch, Progress, check_nodes
from ..report import Report
from ..size_expressions import as_name
from .inference import InferredModel, PreparedModel, infer_model, prepare_model
from .nodes import find_node_checks
from .probe import Probe, ProbeResult
from .probe_sizes import free_sizes

_MAX_LISTED_NAMES = 20


def report_model(
    path: Path,
    assume: Mapping[str, int | str],
    example: Mapping[str, int | str],
    probe: bool,
    check_batch: CheckBatch,
    progress: Progress | None,
    kinds: Sequence[FindingKind],
) -> Report:
    """Check the model in a file and return a report. `check_model` describes the arguments and exceptions."""
    prepared = prepare_model(path, {name: size for name, size in assume.items() if isinstance(size, int)})
    for argument, names in (("assume", assume), ("example", example)):
        _require_names(argument, names, prepared)
    model = infer_model(prepared)
    ranges = {as_name(name): str(size) for name, size in assume.items() if isinstance(size, str)}
    checks = list(find_node_checks(model))
    findings = check_nodes(checks, check_batch, ranges, progress, kinds)
    by_number = {check.number: finding for check, finding in zip(checks, findings, strict=True)}
    result = ProbeResult({}, set(), (), ())
    if probe:
        sizes = {name: size for name, size in example.items() if isinstance(size, int)}
        result = Probe(prepared, check_batch, ranges, sizes, progress).run()
    by_number = _add_contradictions(_merge(by_number, result), model)
    free = {as_name(size.name): size.name for size in free_sizes(prepared) if size.name in prepared.size_names}
    nodes = [_add_pins(by_number[number], free) for number in sorted(by_number, key=int)]
    faults = [fault for fault in model.faults if fault.node not in prepared.node_names]
    errors = [f"onnx can't infer shapes: {fault.message}" for fault in faults]
    return Report(fspath(path), tuple(nodes), tuple(errors), sizes=result.sizes, notes=result.notes)


def _require_names(argument: str, names: Iterable[str], prepared: PreparedModel) -> None:
    """Raise InvalidRequest if one of these names is not a named size of the model."""
    for name in names:
        if name not in prepared.assumable:
            known = ", ".join(sorted(prepared.assumable)[:_MAX_LISTED_NAMES])
            known = f"its named sizes are {known}" if known else "it has no named sizes"
            field = f"{argument}/{name[:60]}"
            message = f"{field}: the model has no size of this name; {known}"
            raise Problem("invalid-request", message, pointer=f"/{field}")


def _merge(nodes: Mapping[str, Finding], result: ProbeResult) -> dict[str, Finding]:
    """Merge the findings from the check with named sizes and the findings from the probe.

    A finding from the probe replaces another finding if it contains more information.
    """
    merged = dict(nodes)
    for number, finding in result.findings.items():
        known = nodes.get(number)
        if known is None or known.verdict == "compatible" or known.reason.startswith("rank unknown"):
            merged[number] = finding
        elif known.verdict == "depends":
            fails_partly = finding.tried is not None and finding.tried.outcome == "partly"
            merged[number] = replace(known, tried=finding.tried) if fails_partly else finding
    for number in result.fitting:
        known = merged.get(number)
        if known is not None and _is_undecided(known):
            merged[number] = replace(known, tried=TrialSummary("fits", sets=len(result.sizes)))
    return merged


def _is_undecided(finding: Finding) -> bool:
    """Return whether the verdict on a node is undecided only because onnx could not infer the node's sizes."""
    if finding.verdict == "unchecked":
        return finding.reason.startswith("rank unknown")
    return finding.verdict == "depends" and all(finding.unnamed_in_conditions())


def _add_contradictions(nodes: dict[str, Finding], model: InferredModel) -> dict[str, Finding]:
    """Add the contradictions between the file and shape inference to the findings, and return the findings."""
    for number, value, op, message in model.contradictions:
        known = nodes.get(number) or Finding(model.prepared.node_names.get(number, value), op)
        nodes[number] = replace(known, contradiction=message)
    return nodes


def _add_pins(finding: Finding, free: Mapping[str, str]) -> Finding:
    """Add the pinned sizes to a finding and return the finding.

    A dynamic size is pinned if the conditions of the finding permit only one integer, or only one integer and 1.
    """
    if finding.verdict != "depends" or finding.pins:
        return finding
    pins = tuple(_pinned_sizes(finding, free))
    return replace(finding, pins=pins) if pins else finding


def _pinned_sizes(finding: Finding, free: Mapping[str, str]) -> Iterator[PinnedSize]:
    for pairs in finding.alternatives():
        if not all({type(side) for side in pair} == {int, str} for pair in pairs):
            continue
        names = {side for pair in pairs for side in pair if isinstance(side, str)}
        numbers = {side for pair in pairs for side in pair if isinstance(side, int)}
        if len(names) == 1 and len(numbers - {1}) == 1 and (name := next(iter(names))) in free:
            yield PinnedSize(free[name], next(iter(numbers - {1})), 1 in numbers)
