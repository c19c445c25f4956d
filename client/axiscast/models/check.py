"""check_model: the check of an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from ..answers.intent import FindingKind
from ..errors import UnusableModel
from ..library import check_batch as check_batch_in_process
from ..library import typed
from ..messages import CheckRequest
from ..messages.validation import validate
from ..wire.problems import Problem
from .node_checks import CheckBatch, Progress
from .packages import import_package
from .report import Report
from .warning_kinds import validate_kinds

OLDEST_ONNX = "1.23"
"""The oldest release of onnx that is tested, the same as in pyproject.toml."""


@typed
def check_model(
    path: str | PathLike[str],
    *,
    assume: Mapping[str, int | str] | None = None,
    example: Mapping[str, int] | None = None,
    probe: bool = True,
    kinds: Sequence[FindingKind] = ("square",),
    check_batch: CheckBatch = check_batch_in_process,
    progress: Progress | None = None,
) -> Report:
    """Check every node of an ONNX model that broadcasts, and return the report.

    Nodes of subgraphs and functions are included. Weights are not read.

    Args:
        path: The ONNX file.
        assume: Known sizes by name. An integer replaces the name before shapes are inferred. A range such as "2.."
            limits the name.
        example: Sizes by name at which the model runs, which the probe tries too.
        probe: Whether to try numbers for the free sizes. A node that fails at every set of sizes is incompatible.
        kinds: The suspicious broadcasts to report, as in `watch`.
        check_batch: The function that checks the nodes, such as the method of a Client.
        progress: A function that is called with the number of finished checks and the number of all checks.

    Raises:
        UnusableModel: The file is missing or is not a model.
        InvalidRequest: The model has no size of a name in `assume` or `example`.
        ImportError: The package onnx is missing or too old.

    >>> import axiscast
    >>> axiscast.check_model("model.onnx").exit_status()         # doctest: +SKIP
    0
    """
    import_package("onnx", OLDEST_ONNX, "check_model")
    from .onnx.model_report import report_model

    known_sizes = validate(CheckRequest, {"inputs": [], "assume": assume}).assume or {}
    example_sizes = validate(CheckRequest, {"inputs": [], "assume": example}).assume or {}
    for name, size in example_sizes.items():
        if not isinstance(size, int):
            pointer = f"/example/{name[:60]}"
            raise Problem("invalid-request", f"{pointer[1:]}: must be an integer", pointer=pointer)
    try:
        return report_model(Path(path), known_sizes, example_sizes, probe, check_batch, progress, validate_kinds(kinds))
    except UnusableModel as error:
        raise UnusableModel(error.reason, fspath(path)) from None
