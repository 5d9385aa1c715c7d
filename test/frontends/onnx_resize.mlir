// Resize becomes a node for each axis that changes: the nearest elements are gathered, others
// are weighted sums. The axis that grows least comes first.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: glow-opt %t.onnx | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: network (float[1,2,3,4] x) => (float[N] y, float[N] z)
// MODEL: <float[4] scales = {1, 1, 2, 1.5}> {
// MODEL:   y = Resize<mode="nearest">(x, , scales)
// MODEL:   z = Resize<mode="linear">(y, , scales)
// MODEL: }

// CHECK: %0 = glow.gather %x, %places axis 3 : tensor<1x2x3x6xf32>
// CHECK: %y = glow.gather %0, %places_1 axis 2 : tensor<1x2x6x6xf32>
// CHECK: glow.constant dense<{{.*}}> : tensor<9x2xi64>
// CHECK: glow.constant dense<{{.*}}> : tensor<9x2xf32>
// CHECK: glow.sample %y, %{{.*}}, %{{.*}} axis 3 : tensor<1x2x6x9xf32>
// CHECK: glow.sample %{{.*}} axis 2 : tensor<1x2x12x9xf32>
