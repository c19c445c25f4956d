"""Exported models with planted bugs, and correct ones, to measure `axiscast check model.onnx`."""
