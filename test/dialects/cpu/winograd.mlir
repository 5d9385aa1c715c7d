// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 20 pads [1, 1, 1, 1] tile 4 scratch [2304, 4608, 64] : tensor<1x2x8x8x16xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x8x8x16xf32>
func.func @plain(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<18432xf32>, %b: tensor<2x16xf32>) -> tensor<1x2x8x8x16xf32> {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 20 pads [1, 1, 1, 1] tile 4 scratch [2304, 4608, 64] : tensor<1x2x8x8x16xf32>
  func.return %0 : tensor<1x2x8x8x16xf32>
}

// CHECK-LABEL: func.func @groups(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 32 output_channels 32 group 2 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
func.func @groups(%x: tensor<1x2x8x8x16xf32>, %f: tensor<2x16xf32>, %w: tensor<8192xf32>, %b: tensor<2x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 32 output_channels 32 group 2 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
  func.return
}

// CHECK-LABEL: func.func @residual(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b, %r input_channels 16 output_channels 16 tile 2 scratch [64, 64, 64] {
// CHECK-NEXT: ^bb0(%sum: f32, %residual: f32):
// CHECK-NEXT: %s = arith.addf %sum, %residual : f32
// CHECK-NEXT: glow.yield %s
// CHECK-NEXT: } : tensor<1x1x6x6x16xf32>
// CHECK-NEXT: func.return
func.func @residual(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>, %r: tensor<1x1x6x6x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b, %r input_channels 16 output_channels 16 tile 2 scratch [64, 64, 64] {
  ^bb0(%sum: f32, %residual: f32):
    %s = arith.addf %sum, %residual : f32
    glow.yield %s
  } : tensor<1x1x6x6x16xf32>
  func.return
}

// CHECK-LABEL: func.func @pooled(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 pool 2 scratch [64, 64, 64] : tensor<1x1x3x3x16xf32>
func.func @pooled(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 pool 2 scratch [64, 64, 64] : tensor<1x1x3x3x16xf32>
  func.return
}

// CHECK-LABEL: func.func @zero_taps(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 zero_taps scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
func.func @zero_taps(%f: tensor<1x16xf32>, %x: tensor<1x1x8x8x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 zero_taps scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// Of one axis kernel and tile are lines, and pads may be all of the kernel but a tap.
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 axes [0] pads [2, 0, 0, 0] tile 6 scratch [64, 64, 64] : tensor<1x1x32x4x16xf32>
func.func @columns(%f: tensor<1x16xf32>, %x: tensor<1x1x32x4x16xf32>, %w: tensor<2048xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 axes [0] pads [2, 0, 0, 0] tile 6 scratch [64, 64, 64] : tensor<1x1x32x4x16xf32>
  func.return
}

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 kernel 2 axes [1] tile 3 scratch [64, 64, 64] : tensor<1x1x5x8x16xf32>
func.func @rows(%f: tensor<1x16xf32>, %x: tensor<1x1x5x9x16xf32>, %w: tensor<1024xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 kernel 2 axes [1] tile 3 scratch [64, 64, 64] : tensor<1x1x5x8x16xf32>
  func.return
}

// The instruction has a scratch operand for each size.
// CHECK-LABEL: func.func @instruction(
// CHECK-NEXT: instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 64]
func.func @instruction(%y: memref<1x1x6x6x16xf32>, %p: memref<64xf32>, %q: memref<32xf32>, %s: memref<64xf32>, %x: memref<1x1x8x8x16xf32>, %f: memref<1x16xf32>, %w: memref<4096xf32>, %b: memref<1x16xf32>) {
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 64]
  func.return
}
