"""Checks of ONNX models, torch programs and jax programs, which all return the same type of report."""

from __future__ import annotations

from .check import check_model
from .finding import Finding, Operand
from .report import Report

__all__ = ["Finding", "Operand", "Report", "check_model"]
