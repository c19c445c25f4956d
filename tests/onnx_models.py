"""ONNX models for tests, and short forms of their reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
from facts import formulas

import axiscast
from axiscast import Finding, Report

Check = Callable[..., Report]


def parsed(graph: str, opset: int = 21) -> Any:
    """Return a model from the text form of a graph: `(inputs) => (outputs) { nodes }`."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "my": 1]> graph {graph}')


def saved(path: Path, model: Any, opset: int = 21) -> Path:
    """Write a model or a graph to a file."""
    onnx.save(parsed(model, opset) if isinstance(model, str) else model, path)
    return path


def checks(folder: Path) -> Check:
    """Return the report of a model or a graph. It is probed with sizes only if `probe` is true."""
    return lambda model, opset=21, **options: axiscast.check_model(
        saved(folder / "model.onnx", model, opset), **{"probe": False, **options}
    )


def verdicts(report: Report) -> dict[str, Any]:
    """Return for each node its output shape and conditions, the code of its conflict, or why it is unchecked."""
    return {
        finding.node: verdict(finding) for finding in report.nodes if finding.answer is not None or finding.unchecked
    }


def verdict(finding: Finding) -> Any:
    if finding.answer is None:
        return finding.unchecked and (finding.unchecked.code, *finding.unchecked.details)
    if finding.answer.conflict is not None:
        return finding.answer.conflict.code
    shape = [*finding.output]
    conditions = formulas(finding.answer.conditions)
    return (shape, conditions) if conditions else shape
