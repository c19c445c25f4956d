"""Exported models with a planted bug, and right ones, by which `tensorcast check model.onnx` is measured."""
