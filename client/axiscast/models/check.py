"""A model in a file, checked: read, asked of node by node, and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from ..answers.intent import FindingKind
from ..errors import UnusableModel
from ..library import check_batch as ask_here
from ..library import typed
from ..messages import CheckRequest
from ..messages.validation import validate
from ..wire.problems import Problem
from .node_checks import CheckBatch, Progress
from .report import Report
from .warning_kinds import required

OLDEST_ONNX = "1.23"
"""The first release of onnx that this was tried with, as pyproject.toml has it."""


@typed
def check_model(
    path: str | PathLike[str],
    *,
    assume: Mapping[str, int | str] | None = None,
    example: Mapping[str, int] | None = None,
    probe: bool = True,
    kinds: Sequence[FindingKind] = ("square",),
    check_batch: CheckBatch = ask_here,
    progress: Progress | None = None,
) -> Report:
    """Whether each node of an ONNX model broadcasts, those of subgraphs and functions included; weights are not read.

    `assume` says what is known of a named size: a number goes into the graph before shapes are inferred, a range such
    as "2.." into the questions. Names that are free are then tried with numbers, unless `probe` is false: a node that
    fails at every set of sizes is incompatible. `example` gives sizes at which the model runs, which are tried as well.
    `kinds` of suspicious broadcasts are those of `watch`. `check_batch` may be that of a Client, `progress` is told how
    many of the questions are answered, and of how many. Raises UnusableModel for a file that is no model,
    InvalidRequest for a name that the model does not have, ImportError where the package onnx is missing or too old.

    >>> import axiscast
    >>> axiscast.check_model("model.onnx").exit_status()         # doctest: +SKIP
    0
    """
    _require_onnx()
    from .onnx.model_report import checked

    assume = validate(CheckRequest, {"inputs": [], "assume": assume}).assume or {}
    example = validate(CheckRequest, {"inputs": [], "assume": example}).assume or {}
    for name, size in example.items():
        if not isinstance(size, int):
            raise Problem(
                "invalid-request", f"example/{name[:60]}: must be an integer", pointer=f"/example/{name[:60]}"
            )
    try:
        return checked(Path(path), assume, example, probe, check_batch, progress, required(kinds))
    except UnusableModel as error:
        raise UnusableModel(error.reason, fspath(path)) from None


def _require_onnx() -> None:
    """Raises ImportError, with what to install, where there is no onnx or an older one."""
    from importlib.metadata import PackageNotFoundError, version

    needed = f"pip install 'onnx>={OLDEST_ONNX}'"
    try:
        import onnx  # noqa: F401

        there = version("onnx")
    except (ImportError, PackageNotFoundError):
        raise ImportError(f"reading a model takes the package onnx, {OLDEST_ONNX} or later: {needed}") from None
    if [int(part) for part in there.split(".")[:2]] < [int(part) for part in OLDEST_ONNX.split(".")]:
        raise ImportError(f"reading a model takes onnx {OLDEST_ONNX} or later, and {there} is installed: {needed}")
