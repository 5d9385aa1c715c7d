// RUN: glow-opt --assign-layout='target=avx512 numerics=fast' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s --check-prefix=DEFAULT

// DEFAULT-NOT: bf16
// DEFAULT-NOT: levels 2

// Weights from memory take longer to read than to multiply by one row: they are stored as bf16.
// CHECK-LABEL: func.func @read(
// CHECK: %w.packed = glow.constant dense_resource<w.packed> : tensor<524288xbf16>
// CHECK: cpu.matmul %x, %w.packed, %{{.*}} : tensor<1x512xf32>
func.func @read(%x: tensor<1x1024xf32>) -> tensor<1x512xf32> {
  %w = glow.splat 0.5 : tensor<1024x512xf32>
  %y = glow.matmul %x, %w : tensor<1x512xf32>
  func.return %y : tensor<1x512xf32>
}

// Many rows, weights that stay in a near cache, and an odd number of rows keep f32.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: bf16
func.func @kept(%x: tensor<33x1024xf32>, %s: tensor<1x64xf32>, %o: tensor<1x1023xf32>) -> (tensor<33x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>) {
  %w = glow.splat 0.5 : tensor<1024x512xf32>
  %v = glow.splat 0.5 : tensor<64x512xf32>
  %u = glow.splat 0.5 : tensor<1023x512xf32>
  %0 = glow.matmul %x, %w : tensor<33x512xf32>
  %1 = glow.matmul %s, %v : tensor<1x512xf32>
  %2 = glow.matmul %o, %u : tensor<1x512xf32>
  func.return %0, %1, %2 : tensor<33x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>
}

// Two levels of Strassen's product where one still pays for the half-size products.
// CHECK-LABEL: func.func @levels(
// CHECK: %w.packed = glow.constant dense_resource<w.packed_{{[0-9]+}}> : tensor<1806336xf32>
// CHECK: %[[SUMS:.*]], %[[SCALES:.*]] = cpu.strassen_combinations %x levels 2 : tensor<49x32x192xf32>, tensor<128xf32>
// CHECK: cpu.strassen_matmul %x, %[[SCALES]], %[[SUMS]], %w.packed, %{{.*}} outer [2, 64] config #cpu.strassen_config<rows = 8, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16> : tensor<2x64x768xf32>
// CHECK: cpu.strassen_combinations %{{.*}} levels 1 : tensor<7x64x192xf32>, tensor<128xf32>
func.func @levels(%x: tensor<2x64x768xf32>, %y: tensor<128x384xf32>) -> (tensor<2x64x768xf32>, tensor<128x384xf32>) {
  %w = glow.splat 0.5 : tensor<768x768xf32>
  %v = glow.splat 0.5 : tensor<384x384xf32>
  %0 = glow.matmul %x, %w : tensor<2x64x768xf32>
  %1 = glow.matmul %y, %v : tensor<128x384xf32>
  func.return %0, %1 : tensor<2x64x768xf32>, tensor<128x384xf32>
}
