// A small network: names, weights in the table, small constants inline, and a subgraph
// that computes a shape and leaves no trace.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: glow-opt %t.onnx | filecheck %s
// RUN: glow-opt %t.onnx | glow-opt | filecheck %s
// RUN: glow-opt %t.onnx --mlir-print-op-generic | glow-opt | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: network (float[1,2,6,6] "data/0") => (float[1,16] logits)
// MODEL: <
// MODEL:   float[4,2,3,3] "conv/w" = {
// MODEL:     1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,
// MODEL:     1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9},
// MODEL:   float[4] b = {1, 2, 3, 4},
// MODEL:   int64[1] first = {0}, int64[1] rest = {-1}
// MODEL: > {
// MODEL:   c = Conv<strides=[2,2], pads=[0,0,1,1], kernel_shape=[3,3]>("data/0", "conv/w", b)
// MODEL:   r = Relu(c)
// MODEL:   p = MaxPool<kernel_shape=[2,2], strides=[1,1], pads=[0,0,1,1]>(r)
// MODEL:   g = AveragePool<kernel_shape=[2,2]>(p)
// MODEL:   shape = Shape(g)
// MODEL:   batch = Gather<axis=0>(shape, first)
// MODEL:   target = Concat<axis=0>(batch, rest)
// MODEL:   logits = Reshape(g, target)
// MODEL: }

// CHECK:      func.func @main(%data: tensor<1x2x6x6xf32>) -> tensor<1x16xf32> attributes {glow.input_names = ["data/0"], glow.output_names = ["logits"]} {
// CHECK-NEXT:   %conv_w = glow.constant dense
// CHECK-NEXT:   %b = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:   %c = glow.conv2d %data, %conv_w, %b strides [2, 2] pads [0, 0, 1, 1] : tensor<1x4x3x3xf32>
// CHECK-NEXT:   %r = glow.relu %c : tensor<1x4x3x3xf32>
// CHECK-NEXT:   %p = glow.max_pool2d %r kernel [2, 2] pads [0, 0, 1, 1] : tensor<1x4x3x3xf32>
// CHECK-NEXT:   %g = glow.avg_pool2d %p kernel [2, 2] : tensor<1x4x2x2xf32>
// CHECK-NEXT:   %logits = glow.reshape %g : tensor<1x16xf32>
// CHECK-NEXT:   func.return %logits : tensor<1x16xf32>
