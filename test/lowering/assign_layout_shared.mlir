// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s --check-prefix=ALONE
// RUN: glow-opt --assign-layout='target=avx512 shares=true' %s | filecheck %s --check-prefix=SHARED

// Two rows and eight: each for itself has another order of weights. Both have that of many rows
// where programs share them, which costs two rows next to nothing.
// ALONE-LABEL: func.func @two(
// ALONE: cpu.matmul {{.*}}rows = 2, blocks = 4
// SHARED-LABEL: func.func @two(
// SHARED: cpu.matmul {{.*}}rows = 2, blocks = 3
func.func @two(%x: tensor<2x64xf32>) -> tensor<2x192xf32> {
  %w = glow.splat 1.0 : tensor<64x192xf32>
  %y = glow.fully_connected %x, %w : tensor<2x192xf32>
  func.return %y : tensor<2x192xf32>
}

// ALONE-LABEL: func.func @eight(
// ALONE: cpu.matmul {{.*}}rows = 8, blocks = 3
// SHARED-LABEL: func.func @eight(
// SHARED: cpu.matmul {{.*}}rows = 8, blocks = 3
func.func @eight(%x: tensor<8x64xf32>) -> tensor<8x192xf32> {
  %w = glow.splat 1.0 : tensor<64x192xf32>
  %y = glow.fully_connected %x, %w : tensor<8x192xf32>
  func.return %y : tensor<8x192xf32>
}

// One row of weights that are near is done sooner by a wider tile: it keeps that.
// ALONE-LABEL: func.func @one(
// ALONE: cpu.matmul {{.*}}blocks = 7
// SHARED-LABEL: func.func @one(
// SHARED: cpu.matmul {{.*}}blocks = 7
func.func @one(%x: tensor<1x64xf32>) -> tensor<1x192xf32> {
  %w = glow.splat 1.0 : tensor<64x192xf32>
  %y = glow.fully_connected %x, %w : tensor<1x192xf32>
  func.return %y : tensor<1x192xf32>
}
