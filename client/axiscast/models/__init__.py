"""Checks of the broadcasts in models and programs, with one kind of report for all of them."""

from __future__ import annotations

from .check import check_model
from .finding import Finding, Operand
from .report import Report

__all__ = ["Finding", "Operand", "Report", "check_model"]
