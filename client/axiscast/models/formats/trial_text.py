"""What became of a node at several sets of sizes, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import printable
from ..finding import Finding


def sizes_of(finding: Finding) -> str:
    """Return the first set of sizes at which a node fails."""
    return printable(", ".join(f"{name}={size}" for name, size in finding.tried.sizes.items()) if finding.tried else "")


def tried(finding: Finding) -> Iterator[str]:
    """Yield a sentence if a node fails at each set of sizes."""
    if finding.tried is not None and finding.tried.outcome == "fails":
        count = {1: "the only set", 2: "both sets"}.get(finding.tried.sets, f"all {finding.tried.sets} sets")
        were = "was" if finding.tried.sets == 1 else "were"
        yield f"It fails at {count} of sizes that {were} tried; --example tries another."


def failing(finding: Finding) -> str:
    """Return at which sizes a node fails that fits at others, and what would let it fit at all."""
    needed = finding.tried.needs if finding.tried else ""
    return f"fails at {sizes_of(finding)}, and {f'needs {printable(needed)}' if needed else 'fits at other sizes'}"


def pins_of(finding: Finding) -> str:
    """Return the numbers that names must have."""
    return printable(" and ".join(map(str, finding.pins)))


def pinned(finding: Finding) -> str:
    """Return which numbers names must have for a node to fit."""
    names = printable(" and ".join(pin.name for pin in finding.pins))
    return f"works only with {pins_of(finding)}, although the file declares {names} free"
