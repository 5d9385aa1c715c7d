// RUN: glow-opt --fuse-pool %s | filecheck %s
// RUN: glow-opt --fuse-pool --fuse-epilogue %s | filecheck %s --check-prefix=EPILOGUE

// CHECK-LABEL: func.func @relu(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 pool 2 scratch [2304, 4608, 64] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z = glow.relu %0 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: func.return %z : tensor<1x1x4x4x16xf32>

// EPILOGUE-LABEL: func.func @relu(
// EPILOGUE-NEXT: %z = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 pool 2 scratch [2304, 4608, 64] {
// EPILOGUE-NEXT: ^bb0(%0: f32):
// EPILOGUE-NEXT: %1 = arith.constant 0.000000e+00 : f32
// EPILOGUE-NEXT: %2 = arith.maximumf %0, %1 : f32
// EPILOGUE-NEXT: glow.yield %2
// EPILOGUE-NEXT: } : tensor<1x1x4x4x16xf32>
// EPILOGUE-NEXT: func.return %z : tensor<1x1x4x4x16xf32>
func.func @relu(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [2304, 4608, 64] : tensor<1x1x8x8x16xf32>
  %y = glow.relu %0 : tensor<1x1x8x8x16xf32>
  %z = glow.max_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x1x4x4x16xf32>
  func.return %z : tensor<1x1x4x4x16xf32>
}

// Squares of three in tiles of six, and two functions in between.
// CHECK-LABEL: func.func @functions(
// CHECK-NEXT: %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 6 pool 3 scratch [64, 64, 64] : tensor<2x1x4x3x16xf32>
// CHECK-NEXT: %1 = glow.leaky_relu %0 alpha 1.000000e-01 : tensor<2x1x4x3x16xf32>
// CHECK-NEXT: %z = glow.clip %1 high 6.000000e+00 : tensor<2x1x4x3x16xf32>
// CHECK-NEXT: func.return %z
func.func @functions(%x: tensor<2x1x12x9x16xf32>, %f: tensor<1x16xf32>, %w: tensor<16384xf32>, %b: tensor<1x16xf32>) -> tensor<2x1x4x3x16xf32> {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 6 scratch [64, 64, 64] : tensor<2x1x12x9x16xf32>
  %1 = glow.leaky_relu %0 alpha 0.1 : tensor<2x1x12x9x16xf32>
  %y = glow.clip %1 high 6.0 : tensor<2x1x12x9x16xf32>
  %z = glow.max_pool2d %y kernel [3, 3] strides [3, 3] : tensor<2x1x4x3x16xf32>
  func.return %z : tensor<2x1x4x3x16xf32>
}

// What comes after the pool is the epilogue of the pooled sums.
// EPILOGUE-LABEL: func.func @residual(
// EPILOGUE-NEXT: %z = cpu.winograd_conv2d %f, %x, %w, %b, %r input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 pool 4 scratch [64, 64, 64] {
// EPILOGUE-NEXT: ^bb0(%0: f32, %1: f32):
// EPILOGUE-NEXT: %2 = arith.addf %0, %1 : f32
// EPILOGUE-NEXT: glow.yield %2
// EPILOGUE-NEXT: } : tensor<1x1x2x2x16xf32>
func.func @residual(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>, %r: tensor<1x1x2x2x16xf32>) -> tensor<1x1x2x2x16xf32> {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %y = glow.max_pool2d %0 kernel [4, 4] strides [4, 4] : tensor<1x1x2x2x16xf32>
  %z = glow.add %y, %r : tensor<1x1x2x2x16xf32>
  func.return %z : tensor<1x1x2x2x16xf32>
}
