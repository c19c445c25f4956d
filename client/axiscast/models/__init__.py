"""Models: every node that broadcasts, and whether it does; one report, whatever the model was written in."""

from __future__ import annotations

from .check import check_model
from .finding import Finding, Operand
from .report import Report

__all__ = ["Finding", "Operand", "Report", "check_model"]
