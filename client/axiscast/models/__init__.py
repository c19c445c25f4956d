"""Checks of ONNX models, torch programs and jax programs, which all return the same type of report."""
