// RUN: glow-opt --assign-layout='target=avx512' --fuse-epilogue --dce %s | filecheck %s

// Bytes are summed up, and what makes bytes of the sums comes with them.
// CHECK-LABEL: func.func @mean(
// CHECK: %[[X:.*]] = cpu.pack %x lanes 16 : tensor<1x1x7x7x16xui8>
// CHECK: cpu.int8_sum_pool2d %[[X]] zero_point 3 kernel [7, 7] {
// CHECK-NEXT: ^bb0(%[[S:.*]]: i32):
// CHECK-NEXT: arith.sitofp %[[S]] : i32 to f32
// CHECK: glow.yield %{{.*}}
// CHECK-NEXT: } : tensor<1x1x1x1x16xui8>
// CHECK-NOT: glow.avg_pool2d
func.func @mean(%x: tensor<1x16x7x7xui8>) -> tensor<1x16x1x1xui8> {
  %w = cpu.pack %x lanes 16 : tensor<1x1x7x7x16xui8>
  %u = cpu.unpack %w channels 16 : tensor<1x16x7x7xui8>
  %z = glow.splat 3.0 : tensor<f32>
  %n = glow.splat 49.0 : tensor<f32>
  %s = glow.splat 0.01 : tensor<f32>
  %0 = glow.convert %u : tensor<1x16x7x7xf32>
  %1 = glow.sub %0, %z : tensor<1x16x7x7xf32>
  %2 = glow.avg_pool2d %1 kernel [7, 7] : tensor<1x16x1x1xf32>
  %3 = glow.mul %2, %n : tensor<1x16x1x1xf32>
  %4 = glow.round %3 : tensor<1x16x1x1xf32>
  %5 = glow.mul %4, %s : tensor<1x16x1x1xf32>
  %6 = glow.clip %5 low 0.0 high 255.0 : tensor<1x16x1x1xf32>
  %7 = glow.convert %6 : tensor<1x16x1x1xui8>
  func.return %7 : tensor<1x16x1x1xui8>
}

// Windows at a border have fewer elements.
// CHECK-LABEL: func.func @border(
// CHECK: cpu.int8_sum_pool2d %{{.*}} kernel [2, 2] pads [1, 1, 0, 0] : tensor<1x1x2x2x16xi32>
// CHECK-NOT: glow.avg_pool2d
func.func @border(%x: tensor<1x1x2x2x16xi8>) -> tensor<1x16x2x2xi32> {
  %u = cpu.unpack %x channels 16 : tensor<1x16x2x2xi8>
  %n = glow.constant dense<[[[[1.0, 2.0], [2.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0 = glow.convert %u : tensor<1x16x2x2xf32>
  %1 = glow.avg_pool2d %0 kernel [2, 2] pads [1, 1, 0, 0] : tensor<1x16x2x2xf32>
  %2 = glow.mul %1, %n : tensor<1x16x2x2xf32>
  %3 = glow.round %2 : tensor<1x16x2x2xf32>
  %4 = glow.convert %3 : tensor<1x16x2x2xi32>
  func.return %4 : tensor<1x16x2x2xi32>
}

// Another factor, other elements, another reader: averages of floats.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: cpu.int8_sum_pool2d
// CHECK-COUNT-3: glow.avg_pool2d
func.func @others(%x: tensor<1x1x2x2x16xui8>, %y: tensor<1x1x2x2x16xi16>) -> (tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>) {
  %u = cpu.unpack %x channels 16 : tensor<1x16x2x2xui8>
  %v = cpu.unpack %y channels 16 : tensor<1x16x2x2xi16>
  %3 = glow.splat 3.0 : tensor<f32>
  %4 = glow.splat 4.0 : tensor<f32>
  %0 = glow.convert %u : tensor<1x16x2x2xf32>
  %1 = glow.convert %v : tensor<1x16x2x2xf32>
  %a = glow.avg_pool2d %0 kernel [2, 2] : tensor<1x16x1x1xf32>
  %b = glow.mul %a, %3 : tensor<1x16x1x1xf32>
  %c = glow.round %b : tensor<1x16x1x1xf32>
  %d = glow.avg_pool2d %1 kernel [2, 2] : tensor<1x16x1x1xf32>
  %e = glow.mul %d, %4 : tensor<1x16x1x1xf32>
  %f = glow.round %e : tensor<1x16x1x1xf32>
  %g = glow.avg_pool2d %0 kernel [2, 2] : tensor<1x16x1x1xf32>
  %h = glow.mul %g, %4 : tensor<1x16x1x1xf32>
  func.return %c, %f, %h : tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>
}

// In the plain layout each number of a pool is computed by itself: images of floats are packed for
// it, but not for means of planes, or where they would fill less than half of their blocks.
// CHECK-LABEL: func.func @plain(
// CHECK: %[[P:.*]] = cpu.pack %x lanes 16 : tensor<1x1x6x6x16xf32>
// CHECK-NEXT: %[[M:.*]] = glow.max_pool2d %[[P]] kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x6x6x16xf32>
// CHECK-NEXT: cpu.unpack %[[M]] channels 8 : tensor<1x8x6x6xf32>
// CHECK: glow.avg_pool2d %x kernel [6, 6] : tensor<1x8x1x1xf32>
// CHECK: glow.avg_pool2d %y kernel [2, 2] : tensor<1x7x5x5xf32>
func.func @plain(%x: tensor<1x8x6x6xf32>, %y: tensor<1x7x6x6xf32>) -> (tensor<1x8x6x6xf32>, tensor<1x8x1x1xf32>, tensor<1x7x5x5xf32>) {
  %0 = glow.max_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x8x6x6xf32>
  %1 = glow.avg_pool2d %x kernel [6, 6] : tensor<1x8x1x1xf32>
  %2 = glow.avg_pool2d %y kernel [2, 2] : tensor<1x7x5x5xf32>
  func.return %0, %1, %2 : tensor<1x8x6x6xf32>, tensor<1x8x1x1xf32>, tensor<1x7x5x5xf32>
}
