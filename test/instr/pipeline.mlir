// RUN: glow-opt --glow-to-instr --schedule-for-memory --eliminate-copies --eliminate-dead-stores --stack-data-parallel --share-buffers --plan-memory --verify-instr %s | filecheck %s

// Two branches of a network: the concat is written in place, and of all buffers only that
// of the concat and one for a branch are left.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = instr.alloc offset 8192 : memref<1x16x8x8xf32>
// CHECK-NEXT:    instr.conv2d @out %0, @in %x, @in %w
// CHECK-NEXT:    instr.stacked @out %0, @in %0 {
// CHECK-NEXT:    ^bb0(%1: f32):
// CHECK-NEXT:      %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %3 = arith.maximumf %1, %2 : f32
// CHECK-NEXT:      glow.yield %3
// CHECK-NEXT:    }
// CHECK-NEXT:    %4 = instr.alloc offset 0 : memref<1x32x8x8xf32>
// CHECK-NEXT:    %5 = instr.tensorview %4 : memref<1x16x8x8xf32>
// CHECK-NEXT:    instr.conv2d @out %5, @in %0, @in %w
// CHECK-NEXT:    instr.dealloc %0
// CHECK-NEXT:    %6 = instr.alloc offset 8192 : memref<1x16x8x8xf32>
// CHECK-NEXT:    instr.conv2d @out %6, @in %x, @in %w
// CHECK-NEXT:    %7 = instr.tensorview %4 offset 1024 : memref<1x16x8x8xf32>
// CHECK-NEXT:    instr.stacked @out %7, @in %6 {
// CHECK-NEXT:    ^bb0(%8: f32):
// CHECK-NEXT:      %9 = math.tanh %8 : f32
// CHECK-NEXT:      %10 = arith.negf %9 : f32
// CHECK-NEXT:      glow.yield %10
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %6
// CHECK-NEXT:    instr.softmax @out %result0, @in %4 axis 1
// CHECK-NEXT:    instr.dealloc %4
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x32x8x8xf32> {
  %zero = glow.splat 0.0 : tensor<1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x16x8x8xf32>
  %1 = glow.max %0, %zero : tensor<1x16x8x8xf32>
  %2 = glow.conv2d %1, %w : tensor<1x16x8x8xf32>
  %3 = glow.conv2d %x, %w : tensor<1x16x8x8xf32>
  %4 = glow.tanh %3 : tensor<1x16x8x8xf32>
  %5 = glow.neg %4 : tensor<1x16x8x8xf32>
  %6 = glow.concat %2, %5 axis 1 : tensor<1x32x8x8xf32>
  %7 = glow.softmax %6 axis 1 : tensor<1x32x8x8xf32>
  func.return %7 : tensor<1x32x8x8xf32>
}
