"""Exported models with a planted bug, and right ones, by which `axiscast check model.onnx` is measured."""
