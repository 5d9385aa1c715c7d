// RUN: glow-opt --lower-quantized='backend=cpu' --recognize-attention --verify-each %s | filecheck %s
// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' --cse --fuse-epilogue --dce %s | filecheck %s --check-prefix=FUSED

// Rows are quantized by a node, padded to whole words; zero points, scales and the bias join
// the sums, and so does what reads them.
// CHECK-LABEL: func.func @row(
// CHECK-NEXT: %0, %1, %2 = cpu.per_row_quantize %x columns 4 : tensor<5x4xui8>, tensor<5x1xf32>, tensor<5x1xi32>
// CHECK-NEXT: %3 = glow.constant dense<{{\[}}[1, 2], [3, -4], [5, 6], [0, 0]]> : tensor<4x2xi8>
// CHECK:      %[[SUMS:.*]] = glow.matmul_integer %0, %3, %{{.*}}, %{{.*}} : tensor<5x2xi32>
// CHECK-NEXT: %[[TOTALS:.*]] = glow.constant dense<[9, 4]> : tensor<2xi32>
// CHECK-NEXT: %[[SCALES:.*]] = glow.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT: %y = glow.fused %[[SUMS]], %2, %[[TOTALS]], %1, %[[SCALES]], %b {
// CHECK-NEXT: ^bb0(%[[A:.*]]: i32, %[[Z:.*]]: i32, %[[T:.*]]: i32, %[[S:.*]]: f32, %[[W:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.muli %[[Z]], %[[T]] : i32
// CHECK-NEXT: %[[D:.*]] = arith.subi %[[A]], %[[P]] : i32
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[D]] : i32 to f32
// CHECK-NEXT: %[[U:.*]] = arith.mulf %[[S]], %[[W]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[F]], %[[U]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[R]], %[[B]] : f32
// CHECK-NEXT: glow.yield %[[Y]]
// FUSED-LABEL: func.func @row(
// FUSED:      %[[Q:.*]], %[[S:.*]], %[[Z:.*]] = cpu.per_row_quantize
// FUSED:      cpu.int8_matmul %[[Q]], %{{.*}}, %{{.*}}, %[[Z]], %{{.*}}, %[[S]], %{{.*}}, %b config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> {
// FUSED:      arith.maximumf
// FUSED:      } : tensor<5x2xf32>
func.func @row(%x: tensor<5x3xf32>, %b: tensor<2xf32>) -> tensor<5x2xf32> {
  %w = glow.constant dense<[[1, 2], [3, -4], [5, 6]]> : tensor<3x2xi8> as tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %y = glow.dynamic_matmul %x, %w, %b : tensor<5x2xf32>
  %r = glow.relu %y : tensor<5x2xf32>
  func.return %r : tensor<5x2xf32>
}

// Products of one input share its bytes.
// FUSED-LABEL: func.func @shared(
// FUSED-COUNT-1: cpu.per_row_quantize
// FUSED-NOT:     cpu.per_row_quantize
// FUSED:         func.return
func.func @shared(%x: tensor<1x5x4xf32>) -> (tensor<1x5x1xf32>, tensor<1x5x1xf32>) {
  %w = glow.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi8> as tensor<4x1x!quant.uniform<i8:f32, 0.5>>
  %v = glow.constant dense<[[4], [3], [2], [1]]> : tensor<4x1xi8> as tensor<4x1x!quant.uniform<i8:f32, 0.5>>
  %0 = glow.dynamic_matmul %x, %w : tensor<1x5x1xf32>
  %1 = glow.dynamic_matmul %x, %v : tensor<1x5x1xf32>
  func.return %0, %1 : tensor<1x5x1xf32>, tensor<1x5x1xf32>
}

// A whole tensor has one scale, found from the ranges of its rows.
// CHECK-LABEL: func.func @tensor(
// CHECK: %[[R:.*]] = glow.reshape %x : tensor<1x20xf32>
// CHECK: %[[L:.*]], %[[H:.*]] = cpu.row_range %[[R]] : tensor<1x1xf32>, tensor<1x1xf32>
// CHECK: glow.reduce_min %[[L]] axes [0, 1] keepdims : tensor<1x1xf32>
// CHECK: glow.reduce_max %[[H]] axes [0, 1] keepdims : tensor<1x1xf32>
// CHECK: glow.matmul_integer
func.func @tensor(%x: tensor<5x4xf32>) -> tensor<5x1xf32> {
  %w = glow.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi8> as tensor<4x1x!quant.uniform<i8:f32, 0.5>>
  %0 = glow.dynamic_matmul %x, %w granularity "tensor" : tensor<5x1xf32>
  func.return %0 : tensor<5x1xf32>
}

// Rows of more axes than kernels know are those of a matrix.
// CHECK-LABEL: func.func @images(
// CHECK: %[[R:.*]] = glow.reshape %x : tensor<12x4xf32>
// CHECK: cpu.per_row_quantize %[[R]] columns 4 : tensor<12x4xui8>, tensor<12x1xf32>, tensor<12x1xi32>
// CHECK: glow.matmul_integer {{.*}} : tensor<12x1xi32>
// CHECK: glow.reshape {{.*}} : tensor<1x3x4x1xf32>
func.func @images(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x4x1xf32> {
  %w = glow.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi8> as tensor<4x1x!quant.uniform<i8:f32, 0.5>>
  %0 = glow.dynamic_matmul %x, %w : tensor<1x3x4x1xf32>
  func.return %0 : tensor<1x3x4x1xf32>
}

// Weights that are no signed bytes less their zero point are 129 lower, which comes back with the
// sums of the rows.
// CHECK-LABEL: func.func @far_zero_point(
// CHECK: %[[Q:.*]], %{{.*}}, %{{.*}} = cpu.per_row_quantize %x
// CHECK: %[[W:.*]] = glow.constant dense<{{\[\[}}-128], [-127], [-126], [126]]> : tensor<4x1xi8>
// CHECK: %[[M:.*]] = glow.matmul_integer %[[Q]], %[[W]]
// CHECK: %[[I:.*]] = glow.convert %[[Q]] : tensor<5x4xi32>
// CHECK: %[[R:.*]] = glow.reduce_sum %[[I]] axes [1] keepdims : tensor<5x1xi32>
// CHECK: %[[S:.*]] = glow.constant dense<129> : tensor<1x1xi32>
// CHECK: %[[X:.*]] = glow.mul %[[R]], %[[S]]
// CHECK: glow.add %[[M]], %[[X]]
func.func @far_zero_point(%x: tensor<5x4xf32>) -> tensor<5x1xf32> {
  %w = glow.constant dense<[[1], [2], [3], [255]]> : tensor<4x1xui8> as tensor<4x1x!quant.uniform<u8:f32, 0.5>>
  %0 = glow.dynamic_matmul %x, %w : tensor<5x1xf32>
  func.return %0 : tensor<5x1xf32>
}
