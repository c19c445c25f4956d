"""Functions that describe the sizes with which a node was tried."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import printable
from ..finding import Finding


def failing_sizes(finding: Finding) -> str:
    """Return the first set of sizes for which a node fails, such as "N=13, seq=17"."""
    return printable(", ".join(f"{name}={size}" for name, size in finding.tried.sizes.items()) if finding.tried else "")


def trial_sentences(finding: Finding) -> Iterator[str]:
    """If a node fails for every set of sizes, yield a sentence that says so."""
    if finding.tried is not None and finding.tried.outcome == "fails":
        sets = finding.tried.sets
        subject = {1: "the only set", 2: "both sets"}.get(sets, f"all {sets} sets")
        yield f"It fails for {subject} of tried sizes. Use --example to try other sizes."


def partial_failure_text(finding: Finding) -> str:
    """Return a predicate for a node that fails for some sizes. It states these sizes, and what the node needs."""
    needed = finding.tried.needs if finding.tried else ""
    remedy = f"needs {printable(needed)}" if needed else "fits for other sizes"
    return f"fails for {failing_sizes(finding)}, and {remedy}"


def pin_equations(finding: Finding) -> str:
    """Return the values that named sizes must have, as equations such as "seq = 12 or 1"."""
    return printable(" and ".join(map(str, finding.pins)))


def pin_predicate(finding: Finding) -> str:
    """Return a predicate for a node that works only if named sizes have particular values."""
    names = printable(" and ".join(pin.name for pin in finding.pins))
    return f"works only with {pin_equations(finding)}, although the file declares {names} as dynamic"
