// Shapes that contradict each other are an error that names the ONNX node.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: not glow-opt %t.onnx 2>&1 | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: contradiction (float[2,3] x, float[4,5] w) => (float[2,5] y) {
// MODEL:   y = MatMul(x, w)
// MODEL: }

// CHECK: error: MatMul: the inner sizes must agree: tensor<2x3xf32> has 3, tensor<4x5xf32> has 4 (at node 'y')
