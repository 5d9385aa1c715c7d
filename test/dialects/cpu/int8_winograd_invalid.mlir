// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: the input tensor<1x4x8x8x4xui8> does not hold 20 channels
func.func @input(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 20 output_channels 16 tile 2 scratch [64, 64] : tensor<1x4x6x6x4xi32>
  func.return
}

// -----
// CHECK: the input must be bytes, not tensor<1x4x8x8x4xf32>
func.func @floats(%x: tensor<1x4x8x8x4xf32>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 64] : tensor<1x4x6x6x4xi32>
  func.return
}

// -----
// CHECK: the bias must have 8 blocks of 4 i32, not tensor<4x4xi32>
func.func @bias(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 32 tile 2 scratch [64, 64] : tensor<1x8x6x6x4xi32>
  func.return
}

// -----
// CHECK: there must be 4096 packed weights of i16, not tensor<4096xi8>
func.func @weights(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi8>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 64] : tensor<1x4x6x6x4xi32>
  func.return
}

// -----
// CHECK: pads must be four numbers from 0 to 1, not [2, 2, 2, 2]
func.func @pads(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 pads [2, 2, 2, 2] tile 2 scratch [64, 64] : tensor<1x4x10x10x4xi32>
  func.return
}

// -----
// CHECK: the tile must be 2 or 4, not 3
func.func @tile(%x: tensor<1x4x8x8x4xui8>, %w: tensor<6400xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 tile 3 scratch [64, 64] : tensor<1x4x6x6x4xi32>
  func.return
}

// -----
// CHECK: the input tensor<1x4x5x8x4xui8> is too small
func.func @small(%x: tensor<1x4x5x8x4xui8>, %w: tensor<9216xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 tile 4 scratch [64, 64] : tensor<1x4x3x6x4xi32>
  func.return
}

// -----
// CHECK: scratch must be two positive sizes, not [64]
func.func @scratch(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64] : tensor<1x4x6x6x4xi32>
  func.return
}

// -----
// CHECK: needs @inout scratch memory for [tensor<64xi16>, tensor<32xi32>]
func.func @operands(%y: memref<1x4x6x6x4xi32>, %p: memref<64xi16>, %x: memref<1x4x8x8x4xui8>, %w: memref<4096xi16>, %b: memref<4x4xi32>) {
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %p, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32]
  func.return
}

// -----
// CHECK: 16 input_channels in 3 groups do not fill blocks of 4
func.func @groups(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<3x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 12 group 3 tile 2 scratch [64, 64] : tensor<1x3x6x6x4xi32>
  func.return
}

// -----
// CHECK: there must be 2048 packed weights of i16
func.func @group_weights(%x: tensor<1x4x8x8x4xui8>, %w: tensor<4096xi16>, %b: tensor<4x4xi32>) {
  %0 = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16 group 2 tile 2 scratch [64, 64] : tensor<1x4x6x6x4xi32>
  func.return
}
