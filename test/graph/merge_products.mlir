// RUN: glow-opt --merge-products %s | filecheck %s

// CHECK-LABEL: func.func @layers(
// CHECK-NEXT: %0 = glow.constant dense<[[1.000000e+00, 2.000000e+00, 5.000000e+00], [3.000000e+00, 4.000000e+00, 6.000000e+00]]> : tensor<2x3xf32>
// CHECK-NEXT: %1 = glow.constant dense<[0.000000e+00, 0.000000e+00, 7.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %2 = glow.fully_connected %x, %0, %1 : tensor<4x3xf32>
// CHECK-NEXT: %3 = glow.slice %2 starts [0, 0] sizes [4, 2] steps [1, 1] : tensor<4x2xf32>
// CHECK-NEXT: %4 = glow.slice %2 starts [0, 2] sizes [4, 1] steps [1, 1] : tensor<4x1xf32>
// CHECK-NEXT: func.return %3, %4 : tensor<4x2xf32>, tensor<4x1xf32>
func.func @layers(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x1xf32>) {
  %v = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %w = glow.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %b = glow.constant dense<[7.0]> : tensor<1xf32>
  %0 = glow.fully_connected %x, %v : tensor<4x2xf32>
  %1 = glow.fully_connected %x, %w, %b : tensor<4x1xf32>
  func.return %0, %1 : tensor<4x2xf32>, tensor<4x1xf32>
}

// CHECK-LABEL: func.func @convolutions(
// CHECK-NEXT: %0 = glow.constant dense<[[[[1.000000e+00]], [[2.000000e+00]]], [[[3.000000e+00]], [[4.000000e+00]]], [[[5.000000e+00]], [[6.000000e+00]]]]> : tensor<3x2x1x1xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %0 activation "relu" : tensor<1x3x3x3xf32>
// CHECK-NEXT: %2 = glow.slice %1 starts [0, 0, 0, 0] sizes [1, 1, 3, 3] steps [1, 1, 1, 1] : tensor<1x1x3x3xf32>
// CHECK-NEXT: %3 = glow.slice %1 starts [0, 1, 0, 0] sizes [1, 2, 3, 3] steps [1, 1, 1, 1] : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %2, %3 : tensor<1x1x3x3xf32>, tensor<1x2x3x3xf32>
func.func @convolutions(%x: tensor<1x2x3x3xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x2x3x3xf32>) {
  %v = glow.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %w = glow.constant dense<[[[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<2x2x1x1xf32>
  %0 = glow.conv2d %x, %v activation "relu" : tensor<1x1x3x3xf32>
  %1 = glow.conv2d %x, %w activation "relu" : tensor<1x2x3x3xf32>
  func.return %0, %1 : tensor<1x1x3x3xf32>, tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @matrices(
// CHECK-NEXT: %0 = glow.constant dense<[[1.000000e+00, 2.000000e+00, 5.000000e+00, 6.000000e+00], [3.000000e+00, 4.000000e+00, 7.000000e+00, 8.000000e+00]]> : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.matmul %x, %0 : tensor<2x3x4xf32>
// CHECK-NEXT: %2 = glow.slice %1 starts [0, 0, 0] sizes [2, 3, 2] steps [1, 1, 1] : tensor<2x3x2xf32>
// CHECK-NEXT: %3 = glow.slice %1 starts [0, 0, 2] sizes [2, 3, 2] steps [1, 1, 1] : tensor<2x3x2xf32>
// CHECK-NEXT: func.return %2, %3 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
func.func @matrices(%x: tensor<2x3x2xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
  %v = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %w = glow.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %0 = glow.matmul %x, %v : tensor<2x3x2xf32>
  %1 = glow.matmul %x, %w : tensor<2x3x2xf32>
  func.return %0, %1 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}

// Several inputs by one matrix.
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %0 = glow.concat %x, %y axis 0 : tensor<7x2xf32>
// CHECK-NEXT: %1 = glow.fully_connected %0, %w : tensor<7x5xf32>
// CHECK-NEXT: %2 = glow.slice %1 starts [0, 0] sizes [4, 5] steps [1, 1] : tensor<4x5xf32>
// CHECK-NEXT: %3 = glow.slice %1 starts [4, 0] sizes [3, 5] steps [1, 1] : tensor<3x5xf32>
// CHECK-NEXT: func.return %2, %3 : tensor<4x5xf32>, tensor<3x5xf32>
func.func @rows(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>, %w: tensor<2x5xf32>) -> (tensor<4x5xf32>, tensor<3x5xf32>) {
  %0 = glow.fully_connected %x, %w : tensor<4x5xf32>
  %1 = glow.fully_connected %y, %w : tensor<3x5xf32>
  func.return %0, %1 : tensor<4x5xf32>, tensor<3x5xf32>
}

// Bytes: one scale for each output, whatever the pieces had; results of one quantization.
// CHECK-LABEL: func.func @quantized(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}1, 2, 5], [3, 4, 6]]> : tensor<2x3xi8> as tensor<2x3x!quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01, 1.250000e-01}>>
// CHECK-NEXT: %1 = glow.constant dense<[7, 8, 9]> : tensor<3xi32> as tensor<3x!quant.uniform<i32:f32:0, {2.500000e-01, 1.250000e-01, 6.250000e-02}>>
// CHECK-NEXT: %2 = glow.fully_connected %x, %0, %1 : tensor<4x3x!quant.uniform<u8:f32, 1.000000e+00>>
// CHECK-NEXT: glow.slice %2 starts [0, 0] sizes [4, 2]
// CHECK-NEXT: glow.slice %2 starts [0, 2] sizes [4, 1]
func.func @quantized(%x: tensor<4x2x!quant.uniform<u8:f32, 0.5:128>>) -> (tensor<4x2x!quant.uniform<u8:f32, 1.0>>, tensor<4x1x!quant.uniform<u8:f32, 1.0>>) {
  %v = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %w = glow.constant dense<[[5], [6]]> : tensor<2x1xi8> as tensor<2x1x!quant.uniform<i8:f32, 0.125>>
  %a = glow.constant dense<[7, 8]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32:0, {0.25, 0.125}>>
  %b = glow.constant dense<[9]> : tensor<1xi32> as tensor<1x!quant.uniform<i32:f32, 0.0625>>
  %0 = glow.fully_connected %x, %v, %a : tensor<4x2x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.fully_connected %x, %w, %b : tensor<4x1x!quant.uniform<u8:f32, 1.0>>
  func.return %0, %1 : tensor<4x2x!quant.uniform<u8:f32, 1.0>>, tensor<4x1x!quant.uniform<u8:f32, 1.0>>
}

// Results of two quantizations stay apart.
// CHECK-LABEL: func.func @two_scales(
// CHECK-COUNT-2: glow.matmul
func.func @two_scales(%x: tensor<4x2x!quant.uniform<u8:f32, 0.5:128>>) -> (tensor<4x2x!quant.uniform<u8:f32, 1.0>>, tensor<4x1x!quant.uniform<u8:f32, 2.0>>) {
  %v = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %w = glow.constant dense<[[5], [6]]> : tensor<2x1xi8> as tensor<2x1x!quant.uniform<i8:f32, 0.125>>
  %0 = glow.matmul %x, %v : tensor<4x2x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.matmul %x, %w : tensor<4x1x!quant.uniform<u8:f32, 2.0>>
  func.return %0, %1 : tensor<4x2x!quant.uniform<u8:f32, 1.0>>, tensor<4x1x!quant.uniform<u8:f32, 2.0>>
}

// Rows are quantized once for all products that read them.
// CHECK-LABEL: func.func @dynamic(
// CHECK: %[[Y:.*]] = glow.dynamic_matmul %x, %{{.*}} : tensor<4x3xf32>
// CHECK-NEXT: glow.slice %[[Y]] starts [0, 0] sizes [4, 2]
// CHECK-NEXT: glow.slice %[[Y]] starts [0, 2] sizes [4, 1]
func.func @dynamic(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x1xf32>) {
  %v = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %w = glow.constant dense<[[5], [6]]> : tensor<2x1xi8> as tensor<2x1x!quant.uniform<i8:f32:1, {0.125}>>
  %0 = glow.dynamic_matmul %x, %v : tensor<4x2xf32>
  %1 = glow.dynamic_matmul %x, %w : tensor<4x1xf32>
  func.return %0, %1 : tensor<4x2xf32>, tensor<4x1xf32>
}

// Where one has no bias its part of the joined one is zeros, as many as it has outputs.
// CHECK-LABEL: func.func @one_bias(
// CHECK: %{{.*}} = glow.constant dense<[1.000000e+00, 2.000000e+00, 0.000000e+00]> : tensor<3xf32>
// CHECK: glow.fully_connected
// CHECK-NOT: glow.fully_connected
// CHECK: func.return
func.func @one_bias(%x: tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x1xf32>) {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 1.0]]> : tensor<5x2xf32>
  %v = glow.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = glow.fully_connected %x, %w, %b : tensor<4x2xf32>
  %1 = glow.fully_connected %x, %v : tensor<4x1xf32>
  func.return %0, %1 : tensor<4x2xf32>, tensor<4x1xf32>
}
