"""What became of a node at several sets of sizes, in words."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Finding
from .printable import printable


def tried(finding: Finding) -> str:
    """Return at which sizes a node fails, and what would let it fit."""
    if finding.tried is None:
        return ""
    sizes = printable(", ".join(f"{name}={size}" for name, size in finding.tried.sizes.items()))
    if finding.tried.outcome == "fails":
        return f"Fails at every set of sizes that was tried ({finding.tried.sets}), such as {sizes}"
    if finding.tried.needs:
        return f"It fails at {sizes}, and needs {printable(finding.tried.needs)}"
    return f"It fails at {sizes}, and fits at other sizes"


def pins_of(finding: Finding) -> str:
    """Return the numbers that names must have."""
    return printable(" and ".join(map(str, finding.pins)))


def pinned(finding: Finding) -> Iterator[str]:
    """Yield a sentence if names must have one number."""
    if finding.pins:
        yield f"It works only with {pins_of(finding)}, although the file declares the size free."
