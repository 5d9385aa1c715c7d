// RUN: glow-opt --fuse-epilogue --dce %s | filecheck %s

// Sums are f32; a residual is read as bf16, and the result stored as bf16.
// CHECK-LABEL: func.func @residual(
// CHECK-NEXT: %h = cpu.conv2d %x, %w, %b, %r input_channels 16 output_channels 16 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%0: f32, %1: bf16):
// CHECK-NEXT: %2 = arith.extf %1 : bf16 to f32
// CHECK-NEXT: %3 = arith.addf %0, %2 : f32
// CHECK-NEXT: %4 = arith.truncf %3 : f32 to bf16
// CHECK-NEXT: glow.yield %4
// CHECK-NEXT: } : tensor<1x1x4x4x16xbf16>
// CHECK-NEXT: func.return %h
func.func @residual(%x: tensor<1x1x4x4x16xbf16>, %r: tensor<1x1x4x4x16xbf16>, %w: tensor<256xbf16>, %b: tensor<1x16xf32>) -> tensor<1x1x4x4x16xbf16> {
  %y = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xf32>
  %e = glow.convert %r : tensor<1x1x4x4x16xf32>
  %s = glow.add %e, %y : tensor<1x1x4x4x16xf32>
  %h = glow.convert %s : tensor<1x1x4x4x16xbf16>
  func.return %h : tensor<1x1x4x4x16xbf16>
}

// What is read in f32 too is stored in f32 and rounded by itself.
// CHECK-LABEL: func.func @both(
// CHECK:      %y = cpu.matmul %x, %w, %b : tensor<2x16xf32>
// CHECK-NEXT: %h = glow.convert %y : tensor<2x16xbf16>
func.func @both(%x: tensor<2x4xbf16>, %w: tensor<64xbf16>, %b: tensor<16xf32>) -> (tensor<2x16xf32>, tensor<2x16xbf16>) {
  %y = cpu.matmul %x, %w, %b : tensor<2x16xf32>
  %h = glow.convert %y : tensor<2x16xbf16>
  func.return %y, %h : tensor<2x16xf32>, tensor<2x16xbf16>
}
