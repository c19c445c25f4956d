"""check_model: checks the broadcasts in an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from ..errors import UnusableModel, typed
from ..messages import CheckRequest
from ..messages.validation import validate
from ..wire.problems import Problem
from ..wire.wording import close_matches, did_you_mean
from .intent import FindingKind, validate_kinds
from .packages import import_package
from .report import Report

__all__ = ["check_model"]

OLDEST_ONNX = "1.23"
"""The oldest onnx release with which axiscast is tested. pyproject.toml requires the same release."""


@typed
def check_model(
    path: str | PathLike[str],
    *,
    assume: Mapping[str, int | str] | None = None,
    example: Mapping[str, int] | None = None,
    probe: bool = True,
    kinds: Sequence[FindingKind] = ("square",),
) -> Report:
    """Check every node of an ONNX model that broadcasts, and return a report.

    Nodes in subgraphs and functions are also checked. Weights are not read.

    Args:
        path: The path of the ONNX file.
        assume: Known sizes for named sizes of the model. If the value is an integer, it replaces the name before shapes
            are inferred. If the value is a range such as "2..", it limits the possible sizes.
        example: Sizes at which the model is known to run. The search for sizes tries them first.
        probe: Whether to try integers for the dynamic sizes, and to search for sizes at which failing nodes run.
        kinds: The kinds of suspicious broadcasts to report, as in `watch`.

    Raises:
        UnusableModel: The file is missing or is not a model.
        InvalidRequest: `assume` or `example` contains a name that is not a named size of the model.
        ImportError: The onnx package is missing or too old.

    >>> import axiscast
    >>> axiscast.check_model("model.onnx").exit_status()         # doctest: +SKIP
    0
    """
    _verify_file(Path(path))
    import_package("onnx", OLDEST_ONNX, "the check of an ONNX model")
    from .onnx.model_report import report_model

    known_sizes = validate(CheckRequest, {"inputs": [], "assume": assume}).assume or {}
    example_sizes = validate(CheckRequest, {"inputs": [], "assume": example}).assume or {}
    for name, size in example_sizes.items():
        if not isinstance(size, int):
            pointer = f"/example/{name[:60]}"
            raise Problem("invalid-request", f"{pointer[1:]}: must be an integer", pointer=pointer)
    try:
        return report_model(Path(path), known_sizes, example_sizes, probe, validate_kinds(kinds))
    except UnusableModel as error:
        raise UnusableModel(error.reason, fspath(path)) from None


def _verify_file(path: Path) -> None:
    """Raise UnusableModel if the file is missing. No package is needed for this answer."""
    if path.is_file():
        return
    if path.exists():
        raise UnusableModel("is not a file", fspath(path))
    stems = close_matches(path.stem, [file.stem for file in path.parent.glob("*.onnx")])
    similar = did_you_mean([str(path.with_name(f"{stem}.onnx")) for stem in stems])
    raise UnusableModel(f"does not exist{similar}", fspath(path))
