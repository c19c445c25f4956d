"""The report for an ONNX model, which combines the check with named sizes and the trials with integer sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path

from ...checks.two_sided import find_outer_product
from ...messages.findings import SUSPICIOUS, Finding, Unchecked
from ...wire.problems import Problem
from ..intent import FindingKind
from ..node_checks import check_nodes
from ..report import Report
from ..size_expressions import as_name
from .graph import decoded
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
    kinds: Sequence[FindingKind],
) -> Report:
    """Check the model in a file and return a report. `check_model` describes the arguments and exceptions."""
    prepared = prepare_model(path, {name: size for name, size in assume.items() if isinstance(size, int)})
    for argument, names in (("assume", assume), ("example", example)):
        _require_names(argument, names, prepared)
    model = infer_model(prepared)
    ranges = {as_name(name): str(size) for name, size in assume.items() if isinstance(size, str)}
    tried = Probe(prepared, ranges, _example_sizes(prepared, example))
    result = tried.run() if probe else ProbeResult({}, set(), set())
    checks = list(find_node_checks(model, result.failures.keys() | result.unsolved, result.shapes))
    findings = check_nodes(checks, ranges, kinds)
    by_number = {check.number: finding for check, finding in zip(checks, findings, strict=True)}
    for number, finding in by_number.items():
        by_number[number] = _with_trials(number, finding, result)
        if probe and _is_by_chance(number, finding, tried):
            by_number[number] = _without_suspicion(by_number[number])
    by_number = _add_contradictions(by_number, model)
    nodes = [by_number[number] for number in sorted(by_number, key=int)]
    faults = [fault for fault in model.faults if fault.node not in prepared.node_names]
    errors = [f"onnx can't infer shapes: {fault.message}" for fault in faults]
    return Report(fspath(path), tuple(nodes), tuple(errors), sizes=result.sizes)


def _require_names(argument: str, names: Iterable[str], prepared: PreparedModel) -> None:
    """Raise Problem (invalid-request) if one of these names is not a named size of the model."""
    for name in names:
        if name not in prepared.assumable:
            known = ", ".join(sorted(prepared.assumable)[:_MAX_LISTED_NAMES])
            known = f"its named sizes are {known}" if known else "it has no named sizes"
            field = f"{argument}/{name[:60]}"
            message = f"{field}: the model has no size of this name; {known}"
            raise Problem("invalid-request", message, pointer=f"/{field}")


def _example_sizes(prepared: PreparedModel, example: Mapping[str, int | str]) -> dict[str, int]:
    """Return the sizes with which the model is known to run, keyed by the names in the file."""
    names = [(name, key) for name in free_sizes(prepared) for key in (name, as_name(name))]
    return {name: int(example[key]) for name, key in names if key in example}


def _with_trials(number: str, finding: Finding, result: ProbeResult) -> Finding:
    """Return a finding with the results of the trials."""
    if failure := result.failures.get(number):
        if failure.requirement is None and not failure.rules:
            return replace(finding, unchecked=Unchecked("refused"), answer=None)
        return replace(finding, failure=failure)
    if number in result.unsolved:
        return replace(finding, unchecked=Unchecked("unsolved"), answer=None)
    is_open = finding.answer is not None and finding.answer.compatible is None
    return replace(finding, passes_trials=number in result.fitting or (is_open and bool(result.sizes)))


def _is_by_chance(number: str, finding: Finding, tried: Probe) -> bool:
    """Return whether an outer product ("square") has two equal sizes only because two inputs of the model have them.

    Each size of an input of the model that is also a size of this node is changed, and the node is tried again.
    """
    codes = {warning.code for warning in finding.answer.warnings} if finding.answer is not None else set()
    if "square" not in codes:
        return False
    sizes = {size for operand in finding.operands for size in operand.shape or () if isinstance(size, int)} - {1}
    return any(
        shapes is not None and find_outer_product(shapes) is None
        for shapes in tried.shapes_at_other_sizes(number, sizes)
    )


def _without_suspicion(finding: Finding) -> Finding:
    if finding.answer is None:
        return finding
    warnings = [warning for warning in finding.answer.warnings if warning.code not in SUSPICIOUS]
    return replace(finding, answer=finding.answer.model_copy(update={"warnings": warnings}))


def _add_contradictions(nodes: dict[str, Finding], model: InferredModel) -> dict[str, Finding]:
    """Add the contradictions between the file and shape inference to the findings, and return the findings."""
    for node, contradiction in model.contradictions:  # in an inferred model, the name of a node is its number
        name = model.prepared.node_names.get(node.name, contradiction.value)
        known = nodes.get(node.name) or Finding(name, decoded(node.op_type))
        nodes[node.name] = replace(known, contradiction=contradiction)
    return nodes
