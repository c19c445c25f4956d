"""The check of ONNX files: reading a file, inferring its shapes and checking its nodes."""
