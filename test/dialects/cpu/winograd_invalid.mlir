// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: the input tensor<1x1x8x8x16xf32> does not hold 20 channels
func.func @input(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 20 output_channels 16 tile 2 scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: the bias must have 2 blocks of 16
func.func @bias(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 32 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
  func.return
}

// -----
// CHECK: there must be factors for 1 blocks of 16
func.func @factors(%x: tensor<1x1x8x8x16xf32>, %f: tensor<16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: there must be 4096 packed weights
func.func @weights(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<2304xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: pads must be four numbers from 0 to 1, not [2, 2, 2, 2]
func.func @pads(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [2, 2, 2, 2] tile 2 scratch [64, 64, 64] : tensor<1x1x10x10x16xf32>
  func.return
}

// -----
// CHECK: pads must be four numbers from 0 to 2 along axis 0, not [2, 1, 0, 0]
func.func @line_pads(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<1024xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 axes [0] pads [2, 1, 0, 0] tile 2 scratch [64, 64, 64] : tensor<1x1x8x9x16xf32>
  func.return
}

// -----
// CHECK: axes must be 0, 1 or both, not [1, 0]
func.func @axes(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 axes [1, 0] tile 2 scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: squares of 2 must divide tiles of 2 x 1 and the plane 6 x 8
func.func @line_pool(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<1024xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 axes [0] tile 2 pool 2 scratch [64, 64, 64] : tensor<1x1x3x4x16xf32>
  func.return
}

// -----
// CHECK: the tile must be positive, not 0
func.func @tile(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 0 scratch [64, 64, 64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: the input tensor<1x1x2x8x16xf32> is too small
func.func @small(%x: tensor<1x1x2x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 64, 64] : tensor<1x1x1x6x16xf32>
  func.return
}

// -----
// CHECK: scratch must be three positive sizes, not [64]
func.func @scratch(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----
// CHECK: needs @inout scratch memory for [tensor<64xf32>, tensor<32xf32>, tensor<64xf32>]
func.func @operands(%y: memref<1x1x6x6x16xf32>, %p: memref<64xf32>, %x: memref<1x1x8x8x16xf32>, %f: memref<1x16xf32>, %w: memref<4096xf32>, %b: memref<1x16xf32>) {
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %p, @in %f, @in %x, @in %w, @in %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 64]
  func.return
}

// -----
// CHECK: squares of 4 must divide tiles of 4 x 4 and the plane 8 x 6
func.func @pool(%x: tensor<1x1x8x6x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 pool 4 scratch [64, 64, 64] : tensor<1x1x2x1x16xf32>
  func.return
}

// -----
// CHECK: 24 output_channels in 2 groups do not fill blocks of 16
func.func @groups(%x: tensor<1x2x8x8x16xf32>, %f: tensor<2x16xf32>, %w: tensor<8192xf32>, %b: tensor<2x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 32 output_channels 24 group 2 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
  func.return
}

// -----
// CHECK: the number of groups must be positive, not 0
func.func @no_groups(%x: tensor<1x2x8x8x16xf32>, %f: tensor<2x16xf32>, %w: tensor<8192xf32>, %b: tensor<2x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 32 output_channels 32 group 0 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
  func.return
}

// -----
// CHECK: there must be 8192 packed weights
func.func @group_weights(%x: tensor<1x2x8x8x16xf32>, %f: tensor<2x16xf32>, %w: tensor<16384xf32>, %b: tensor<2x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 32 output_channels 32 group 2 tile 2 scratch [64, 64, 64] : tensor<1x2x6x6x16xf32>
  func.return
}
