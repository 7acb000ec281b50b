"""Writing ONNX models: from a symbol and its parameters, node by node."""
