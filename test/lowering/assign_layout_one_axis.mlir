// RUN: glow-opt --assign-layout='target=avx2' --canonicalize %s | filecheck %s

// Rows between convolutions of one axis are planes one high, and stay in blocks.
// CHECK-LABEL: func.func @gated(
// CHECK:      [[BOTH:%.*]] = cpu.conv2d {{.*}} : tensor<1x4x1x12x8xf32>
// CHECK-NEXT: [[HALF:%.*]] = glow.slice [[BOTH]] starts [0, 0, 0, 0, 0] sizes [1, 2, 1, 12, 8] {{.*}} : tensor<1x2x1x12x8xf32>
// CHECK-NEXT: [[GATE:%.*]] = glow.slice [[BOTH]] starts [0, 2, 0, 0, 0] sizes [1, 2, 1, 12, 8] {{.*}} : tensor<1x2x1x12x8xf32>
// CHECK-NEXT: [[GATED:%.*]] = glow.mul [[HALF]], [[GATE]] : tensor<1x2x1x12x8xf32>
// CHECK-NEXT: [[LAST:%.*]] = cpu.conv2d [[GATED]]{{.*}} : tensor<1x2x1x12x8xf32>
// CHECK-NEXT: [[PLAIN:%.*]] = cpu.unpack [[LAST]] channels 16 : tensor<1x16x1x12xf32>
// CHECK-NEXT: [[ROWS:%.*]] = glow.reshape [[PLAIN]] : tensor<1x16x12xf32>
// CHECK-NEXT: func.return [[ROWS]]
func.func @gated(%x: tensor<1x16x1x12xf32>) -> tensor<1x16x12xf32> {
  %w = glow.splat 0.25 : tensor<32x16x1x2xf32>
  %v = glow.splat 0.5 : tensor<16x16x1x1xf32>
  %0 = glow.conv2d %x, %w pads [0, 1, 0, 0] : tensor<1x32x1x12xf32>
  %1 = glow.reshape %0 : tensor<1x32x12xf32>
  %2 = glow.slice %1 starts [0, 0, 0] sizes [1, 16, 12] steps [1, 1, 1] : tensor<1x16x12xf32>
  %3 = glow.slice %1 starts [0, 16, 0] sizes [1, 16, 12] steps [1, 1, 1] : tensor<1x16x12xf32>
  %4 = glow.mul %2, %3 : tensor<1x16x12xf32>
  %5 = glow.reshape %4 : tensor<1x16x1x12xf32>
  %6 = glow.conv2d %5, %v : tensor<1x16x1x12xf32>
  %7 = glow.reshape %6 : tensor<1x16x12xf32>
  func.return %7 : tensor<1x16x12xf32>
}

// What is repeated has a height too: by channels, by pixels, and rows from elsewhere.
// CHECK-LABEL: func.func @repeated(
// CHECK:     glow.add {{.*}} : tensor<2x2x1x12x8xf32>
// CHECK:     glow.mul {{.*}} : tensor<2x2x1x12x8xf32>
// CHECK:     glow.sub {{.*}} : tensor<2x2x1x12x8xf32>
// CHECK:     glow.max {{.*}} : tensor<2x2x1x12x8xf32>
// CHECK-NOT: glow.{{add|mul|sub|max}}
func.func @repeated(%x: tensor<2x16x1x12xf32>, %y: tensor<2x12x12xf32>, %c: tensor<12x1xf32>, %l: tensor<12xf32>) -> tensor<2x12x12xf32> {
  %w = glow.splat 0.25 : tensor<12x16x1x3xf32>
  %k = glow.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0], [11.0], [12.0]]]> : tensor<1x12x1xf32>
  %0 = glow.conv2d %x, %w pads [0, 1, 0, 1] : tensor<2x12x1x12xf32>
  %1 = glow.reshape %0 : tensor<2x12x12xf32>
  %2 = glow.add %1, %c : tensor<2x12x12xf32>
  %3 = glow.mul %k, %2 : tensor<2x12x12xf32>
  %4 = glow.sub %3, %l : tensor<2x12x12xf32>
  %5 = glow.max %4, %y : tensor<2x12x12xf32>
  func.return %5 : tensor<2x12x12xf32>
}

// Channels that end within a block are cut from planes that are not in blocks.
// CHECK-LABEL: func.func @within(
// CHECK: glow.slice {{.*}} starts [0, 3, 0, 0] sizes [1, 5, 1, 12] {{.*}} : tensor<1x5x1x12xf32>
func.func @within(%x: tensor<1x16x1x12xf32>) -> tensor<1x5x12xf32> {
  %w = glow.splat 0.25 : tensor<16x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x16x1x12xf32>
  %1 = glow.reshape %0 : tensor<1x16x12xf32>
  %2 = glow.slice %1 starts [0, 3, 0] sizes [1, 5, 12] steps [1, 1, 1] : tensor<1x5x12xf32>
  func.return %2 : tensor<1x5x12xf32>
}

// The largest pixel of each channel is found in blocks, too.
// CHECK-LABEL: func.func @reduced(
// CHECK:      [[ROWS:%.*]] = cpu.conv2d {{.*}} : tensor<1x2x1x12x8xf32>
// CHECK-NEXT: [[MOST:%.*]] = glow.reduce_max [[ROWS]] axes [3] keepdims : tensor<1x2x1x1x8xf32>
// CHECK-NEXT: [[PLAIN:%.*]] = cpu.unpack [[MOST]] channels 12 : tensor<1x12x1x1xf32>
// CHECK-NEXT: [[SHAPED:%.*]] = glow.reshape [[PLAIN]] : tensor<1x12xf32>
// CHECK-NEXT: func.return [[SHAPED]]
func.func @reduced(%x: tensor<1x16x1x12xf32>) -> tensor<1x12xf32> {
  %w = glow.splat 0.25 : tensor<12x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x12x1x12xf32>
  %1 = glow.reshape %0 : tensor<1x12x12xf32>
  %2 = glow.reduce_max %1 axes [2] : tensor<1x12xf32>
  func.return %2 : tensor<1x12xf32>
}

// Not where channels are compared.
// CHECK-LABEL: func.func @channels(
// CHECK: glow.reduce_max {{.*}} axes [1] keepdims : tensor<1x1x12xf32>
func.func @channels(%x: tensor<1x16x1x12xf32>) -> tensor<1x1x12xf32> {
  %w = glow.splat 0.25 : tensor<12x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x12x1x12xf32>
  %1 = glow.reshape %0 : tensor<1x12x12xf32>
  %2 = glow.reduce_max %1 axes [1] keepdims : tensor<1x1x12xf32>
  func.return %2 : tensor<1x1x12xf32>
}
