"""The forms of operators in ONNX, a file for each family; each puts its own into the table."""
