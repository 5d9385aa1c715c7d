// RUN: glow-opt --canonicalize --cse --fold-constants --convert-gemm --fold-batch-norm --eliminate-transposes --recognize-gelu --fuse-activation --lower-nodes --assign-layout='target=avx512' --cancel-packs --canonicalize --cse --fuse-epilogue --free-unused-weights --verify-lowered %s | filecheck %s

// A residual block, the mean and a layer: no border between layouts is left.
// CHECK-LABEL: func.func @network(
// CHECK-NEXT: %0 = glow.constant dense<3.000000e+00> : tensor<10xf32>
// CHECK-NEXT: %w3.transposed.packed = glow.constant dense_resource<w3.transposed.packed> : tensor<256xf32>
// CHECK-NEXT: %1 = glow.constant dense<0.000000e+00> : tensor<1x16xf32>
// CHECK-NEXT: %w2.packed = glow.constant dense_resource<w2.packed> : tensor<256xf32>
// CHECK-NEXT: %w1.packed = glow.constant dense_resource<w1.packed> : tensor<432xf32>
// CHECK-NEXT: %c = cpu.conv2d %x, %w1.packed, %1 input_channels 3 output_channels 16{{.*}} kernel [3, 3] pads [1, 1, 1, 1] {
// CHECK-NEXT: ^bb0(%2: f32):
// CHECK-NEXT: %3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %4 = arith.maximumf %2, %3 : f32
// CHECK-NEXT: glow.yield %4
// CHECK-NEXT: } : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: %f = cpu.conv2d %c, %w2.packed, %1, %c input_channels 16 output_channels 16{{.*}} kernel [1, 1] {
// CHECK-NEXT: ^bb0(%5: f32, %6: f32):
// CHECK-NEXT: %7 = arith.addf %5, %6 : f32
// CHECK-NEXT: %8 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %9 = arith.maximumf %7, %8 : f32
// CHECK-NEXT: glow.yield %9
// CHECK-NEXT: } : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: %g = glow.reduce_mean %f axes [2, 3] keepdims : tensor<1x1x1x1x16xf32>
// CHECK-NEXT: %h = glow.reshape %g : tensor<1x16xf32>
// CHECK-NEXT: %i = cpu.matmul %h, %w3.transposed.packed, %0 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<1x10xf32>
// CHECK-NEXT: func.return %i : tensor<1x10xf32>
func.func @network(%x: tensor<1x3x8x8xf32>) -> tensor<1x10xf32> {
  %w1 = glow.splat 0.5 : tensor<16x3x3x3xf32>
  %w2 = glow.splat 0.25 : tensor<16x16x1x1xf32>
  %w3 = glow.splat 0.125 : tensor<10x16xf32>
  %scale = glow.splat 1.0 : tensor<16xf32>
  %bias = glow.splat 2.0 : tensor<16xf32>
  %c3 = glow.splat 3.0 : tensor<10xf32>
  %a = glow.conv2d %x, %w1 pads [1, 1, 1, 1] : tensor<1x16x8x8xf32>
  %b = glow.batch_norm %a, %scale, %bias, %bias, %scale epsilon 0.0 : tensor<1x16x8x8xf32>
  %c = glow.relu %b : tensor<1x16x8x8xf32>
  %d = glow.conv2d %c, %w2 : tensor<1x16x8x8xf32>
  %e = glow.add %d, %c : tensor<1x16x8x8xf32>
  %f = glow.relu %e : tensor<1x16x8x8xf32>
  %g = glow.reduce_mean %f axes [2, 3] keepdims : tensor<1x16x1x1xf32>
  %h = glow.reshape %g : tensor<1x16xf32>
  %i = glow.gemm %h, %w3, %c3 transpose_rhs : tensor<1x10xf32>
  func.return %i : tensor<1x10xf32>
}
