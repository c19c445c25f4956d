"""ONNX files: how they are read, their shapes inferred, and their nodes checked."""
