// A recurrent layer: inputs that are left out become zeros.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: glow-opt %t.onnx | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: recurrent (float[3,1,5] x, float[1,16,5] w, float[1,16,4] r)
// MODEL:   => (float[3,1,4] y, float[1,1,4] last)
// MODEL: < int64[1] axis = {1} > {
// MODEL:   all, last = LSTM<hidden_size=4>(x, w, r)
// MODEL:   y = Squeeze(all, axis)
// MODEL: }

// CHECK:      %zeros = glow.splat 0.000000e+00 : tensor<1x32xf32>
// CHECK-NEXT: %zeros_1 = glow.splat 0.000000e+00 : tensor<1x1x4xf32>
// CHECK-NEXT: %zeros_2 = glow.splat 0.000000e+00 : tensor<1x1x4xf32>
// CHECK-NEXT: %all, %last, %0 = glow.lstm %x, %w, %r, %zeros, %zeros_1, %zeros_2 : tensor<3x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
// CHECK-NEXT: %y = glow.reshape %all : tensor<3x1x4xf32>
