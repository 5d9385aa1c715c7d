// RUN: glow-opt --assign-layout='target=avx512' --canonicalize %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' --canonicalize %s | filecheck %s --check-prefix=EXACT

// A convolution with a dilation is one without of the phases of its plane.
// CHECK-LABEL: func.func @phases(
// CHECK:      cpu.pack %x lanes 16 : tensor<1x4x28x28x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x4x14x2x14x2x16xf32>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 3, 5, 1, 2, 4, 6] : tensor<1x2x2x4x14x14x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<4x4x14x14x16xf32>
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} pads [1, 1, 1, 1] {{.*}} : tensor<4x4x14x14x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x2x2x4x14x14x16xf32>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 3, 4, 1, 5, 2, 6] : tensor<1x4x14x2x14x2x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x4x28x28x16xf32>
// CHECK-NEXT: cpu.unpack
// EXACT-LABEL: func.func @phases(
// EXACT-NOT:   cpu.winograd_conv2d
// EXACT:       cpu.conv2d {{.*}} dilations [2, 2]
func.func @phases(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %y = glow.conv2d %x, %w pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}

// Zeros make phases of one size, and what is beyond the plane is cut off.
// CHECK-LABEL: func.func @uneven(
// CHECK:      glow.pad {{.*}} pads [0, 0, 0, 0, 0, 0, 0, 1, 1, 0] : tensor<1x16x34x34x16xf32>
// CHECK:      cpu.winograd_conv2d {{.*}} : tensor<4x16x17x17x16xf32>
// CHECK:      glow.slice {{.*}} sizes [1, 16, 33, 33, 16] {{.*}} : tensor<1x16x33x33x16xf32>
func.func @uneven(%x: tensor<1x256x33x33xf32>) -> tensor<1x256x33x33xf32> {
  %w = glow.splat 1.0 : tensor<256x256x3x3xf32>
  %y = glow.conv2d %x, %w pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x256x33x33xf32>
  func.return %y : tensor<1x256x33x33xf32>
}

// Pixels stay in their phases from one convolution to the next.
// CHECK-LABEL: func.func @following(
// CHECK:      glow.transpose
// CHECK:      cpu.winograd_conv2d
// CHECK-NOT:  glow.transpose
// CHECK:      cpu.winograd_conv2d
// CHECK:      glow.transpose
// CHECK-NOT:  glow.transpose
// CHECK:      func.return
func.func @following(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %0 = glow.conv2d %x, %w pads [2, 2, 2, 2] dilations [2, 2] activation "relu" : tensor<1x64x28x28xf32>
  %1 = glow.conv2d %0, %w pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  func.return %1 : tensor<1x64x28x28xf32>
}

// What follows element by element is computed in phases, behind the convolution.
// CHECK-LABEL: func.func @elementwise(
// CHECK:      %[[Y:.*]] = cpu.winograd_conv2d
// CHECK-NEXT: %[[T:.*]] = glow.tanh %[[Y]] : tensor<4x4x14x14x16xf32>
// CHECK-NEXT: cpu.pack %c
// CHECK-NEXT: %[[M:.*]] = glow.mul %[[T]], %{{.*}} : tensor<4x4x14x14x16xf32>
// CHECK-NEXT: glow.reshape %[[M]] : tensor<1x2x2x4x14x14x16xf32>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 3, 4, 1, 5, 2, 6] : tensor<1x4x14x2x14x2x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x4x28x28x16xf32>
// CHECK-NEXT: cpu.unpack
func.func @elementwise(%x: tensor<1x64x28x28xf32>, %c: tensor<1x64x1x1xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %0 = glow.conv2d %x, %w pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  %1 = glow.tanh %0 : tensor<1x64x28x28xf32>
  %2 = glow.mul %1, %c : tensor<1x64x28x28xf32>
  func.return %2 : tensor<1x64x28x28xf32>
}

// But not where pixels differ, where another node reads them, or in wider elements.
// CHECK-LABEL: func.func @not_in_phases(
// CHECK:      glow.mul {{.*}} : tensor<1x4x28x28x16xf32>
// CHECK:      glow.tanh {{.*}} : tensor<1x4x28x28x16xf32>
// CHECK:      glow.convert {{.*}} : tensor<1x4x28x28x16xf64>
func.func @not_in_phases(%x: tensor<1x64x28x28xf32>, %c: tensor<1x1x28x28xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf64>) {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %v = glow.splat 2.0 : tensor<64x64x3x3xf32>
  %u = glow.splat 3.0 : tensor<64x64x3x3xf32>
  %0 = glow.conv2d %x, %w pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  %1 = glow.mul %0, %c : tensor<1x64x28x28xf32>
  %2 = glow.conv2d %x, %v pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  %3 = glow.tanh %2 : tensor<1x64x28x28xf32>
  %4 = glow.conv2d %x, %u pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x28x28xf32>
  %5 = glow.convert %4 : tensor<1x64x28x28xf64>
  func.return %1, %2, %3, %5 : tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf64>
}

// Phases that are smaller than a tile, and outputs that read several phases, have direct sums.
// CHECK-LABEL: func.func @direct(
// CHECK-NOT:  cpu.winograd_conv2d
// CHECK:      func.return
func.func @direct(%x: tensor<1x64x28x28xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x64x26x26xf32>, tensor<1x64x14x14xf32>) {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %0 = glow.conv2d %x, %w pads [18, 18, 18, 18] dilations [18, 18] : tensor<1x64x28x28xf32>
  %1 = glow.conv2d %x, %w pads [1, 1, 1, 1] dilations [2, 2] : tensor<1x64x26x26xf32>
  %2 = glow.conv2d %x, %w strides [2, 2] pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x14x14xf32>
  func.return %0, %1, %2 : tensor<1x64x28x28xf32>, tensor<1x64x26x26xf32>, tensor<1x64x14x14xf32>
}
