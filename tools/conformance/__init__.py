"""ONNX's own tests of backends: the cases, running one, and the record of what fails."""
