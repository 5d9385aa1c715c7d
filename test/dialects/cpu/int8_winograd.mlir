// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 zero_point 3 pads [1, 1, 1, 1] tile 4 scratch [2304, 1152] : tensor<1x4x8x8x4xi32>
func.func @plain(%x: tensor<1x4x8x8x4xui8>, %w: tensor<9216xi16>, %b: tensor<4x4xi32>) -> tensor<1x4x8x8x4xi32> {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 zero_point 3 pads [1, 1, 1, 1] tile 4 scratch [2304, 1152] : tensor<1x4x8x8x4xi32>
  func.return %0 : tensor<1x4x8x8x4xi32>
}

// CHECK-LABEL: func.func @stored(
// CHECK-NEXT: %0 = cpu.int8_winograd_conv2d %x, %w, %b, %r input_channels 16 output_channels 16 tile 2 scratch [64, 64] {
// CHECK-NEXT: ^bb0(%sum: i32, %residual: i32):
// CHECK: } : tensor<1x4x6x6x4xi8>
func.func @stored(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>, %r: tensor<1x4x6x6x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b, %r input_channels 16 output_channels 16 tile 2 scratch [64, 64] {
  ^bb0(%sum: i32, %residual: i32):
    %s = arith.addi %sum, %residual : i32
    %t = arith.trunci %s : i32 to i8
    glow.yield %t
  } : tensor<1x4x6x6x4xi8>
  func.return
}

// The instruction has a scratch operand for each size.
// CHECK-LABEL: func.func @instruction(
// CHECK-NEXT: instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32]
func.func @instruction(%y: memref<1x4x6x6x4xi32>, %p: memref<64xi16>, %q: memref<32xi32>, %x: memref<1x4x8x8x4xui8>, %w: memref<4096xi16>, %b: memref<4x4xi32>) {
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32]
  func.return
}
