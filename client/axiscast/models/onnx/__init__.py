"""ONNX files: reading, shape inference, and the checks of their nodes."""
