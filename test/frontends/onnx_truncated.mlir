// A file that ends early is one line, not a traceback.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: head -c 60 %t.onnx > %t.short.onnx
// RUN: not glow-opt %t.short.onnx 2>&1 | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: truncated (float[2,3] x) => (float[2,3] y) {
// MODEL:   y = Relu(x)
// MODEL: }

// CHECK: error: {{.*}}.short.onnx is not a valid ONNX file: 60 bytes that do not parse
