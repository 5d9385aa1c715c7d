// RUN: glow-opt --fuse-epilogue %s | filecheck %s

// CHECK-LABEL: func.func @residual(
// CHECK-NEXT: %z = cpu.conv2d %x, %w, %b, %r input_channels 16 output_channels 16 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %2 = arith.addf %0, %1 : f32
// CHECK-NEXT: %3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %4 = arith.maximumf %2, %3 : f32
// CHECK-NEXT: glow.yield %4
// CHECK-NEXT: } : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: func.return %z : tensor<1x1x4x4x16xf32>
func.func @residual(%x: tensor<1x1x4x4x16xf32>, %r: tensor<1x1x4x4x16xf32>, %w: tensor<256xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %y = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xf32>
  %s = glow.add %r, %y : tensor<1x1x4x4x16xf32>
  %z = glow.relu %s : tensor<1x1x4x4x16xf32>
  func.return %z : tensor<1x1x4x4x16xf32>
}

// A sum of two convolutions belongs to the later one.
// CHECK-LABEL: func.func @two_convolutions(
// CHECK-NEXT: %y = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %s = cpu.conv2d %x, %w, %b, %y input_channels 16 output_channels 16 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %2 = arith.addf %0, %1 : f32
// CHECK-NEXT: glow.yield %2
// CHECK-NEXT: } : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: func.return %s : tensor<1x1x4x4x16xf32>
func.func @two_convolutions(%x: tensor<1x1x4x4x16xf32>, %w: tensor<256xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %y = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xf32>
  %v = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xf32>
  %s = glow.add %y, %v : tensor<1x1x4x4x16xf32>
  func.return %s : tensor<1x1x4x4x16xf32>
}

// The product moves below the residual that is computed after it.
// CHECK-LABEL: func.func @moves_down(
// CHECK-NEXT: %e = glow.exp %x : tensor<2x8xf32>
// CHECK-NEXT: %t = cpu.matmul %x, %w, %b, %e, %c {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32, %2: f32):
// CHECK-NEXT: %3 = arith.subf %1, %0 : f32
// CHECK-NEXT: %4 = arith.mulf %3, %2 : f32
// CHECK-NEXT: glow.yield %4
// CHECK-NEXT: } : tensor<2x8xf32>
// CHECK-NEXT: func.return %t : tensor<2x8xf32>
func.func @moves_down(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<2x8xf32> {
  %y = cpu.matmul %x, %w, %b : tensor<2x8xf32>
  %e = glow.exp %x : tensor<2x8xf32>
  %s = glow.sub %e, %y : tensor<2x8xf32>
  %t = glow.mul %s, %c : tensor<2x8xf32>
  func.return %t : tensor<2x8xf32>
}

// The value is read twice, by nodes that both go in.
// CHECK-LABEL: func.func @swish(
// CHECK-NEXT: %z = cpu.matmul %x, %w, %b {
// CHECK-NEXT: ^bb0(%0: f32):
// CHECK-NEXT: %1 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %2 = arith.negf %0 : f32
// CHECK-NEXT: %3 = math.exp %2 : f32
// CHECK-NEXT: %4 = arith.addf %3, %1 : f32
// CHECK-NEXT: %5 = arith.divf %1, %4 : f32
// CHECK-NEXT: %6 = arith.mulf %0, %5 : f32
// CHECK-NEXT: glow.yield %6
// CHECK-NEXT: } : tensor<2x8xf32>
// CHECK-NEXT: func.return %z : tensor<2x8xf32>
func.func @swish(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %y = cpu.matmul %x, %w, %b : tensor<2x8xf32>
  %g = glow.sigmoid %y : tensor<2x8xf32>
  %z = glow.mul %y, %g : tensor<2x8xf32>
  func.return %z : tensor<2x8xf32>
}

// An epilogue grows; constants of one element go into the region.
// CHECK-LABEL: func.func @grows(
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<1x1xf32>
// CHECK-NEXT: %z = cpu.matmul %x, %w, %b, %r {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %s = arith.addf %0, %1 : f32
// CHECK-NEXT: %2 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: %3 = arith.mulf %s, %2 : f32
// CHECK-NEXT: glow.yield %3
// CHECK-NEXT: } : tensor<2x8xf32>
// CHECK-NEXT: func.return %z : tensor<2x8xf32>
func.func @grows(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>, %r: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = glow.splat 0.5 : tensor<1x1xf32>
  %y = cpu.matmul %x, %w, %b, %r {
  ^bb0(%sum: f32, %residual: f32):
    %s = arith.addf %sum, %residual : f32
    glow.yield %s
  } : tensor<2x8xf32>
  %z = glow.mul %half, %y : tensor<2x8xf32>
  func.return %z : tensor<2x8xf32>
}

// One number a row.
// CHECK-LABEL: func.func @row(
// CHECK-NEXT: %y = cpu.matmul %x, %w, %b, %r {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT: glow.yield %2
// CHECK-NEXT: } : tensor<1x2x8xf32>
func.func @row(%x: tensor<1x2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>, %r: tensor<1x2x1xf32>) -> tensor<1x2x8xf32> {
  %0 = cpu.matmul %x, %w, %b : tensor<1x2x8xf32>
  %y = glow.mul %0, %r : tensor<1x2x8xf32>
  func.return %y : tensor<1x2x8xf32>
}

// Of computed matrices: a bias for each column, whatever the rank; a number for each row of one.
// CHECK-LABEL: func.func @computed(
// CHECK-NEXT: %z = cpu.batch_matmul %x, %w, %b lhs_axes [0, 1, 2, 3] rhs_axes [1, 0] result_axes [0, 1, 2, 3] {
// CHECK: } : tensor<1x2x5x8xf32>
// CHECK-NEXT: %n = cpu.batch_matmul %w, %w, %r lhs_axes [0, 1] rhs_axes [1, 0] result_axes [0, 1] {
// CHECK: } : tensor<8x8xf32>
// CHECK-NEXT: func.return %z, %n
func.func @computed(%x: tensor<1x2x5x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>, %r: tensor<8x1xf32>) -> (tensor<1x2x5x8xf32>, tensor<8x8xf32>) {
  %y = cpu.batch_matmul %x, %w lhs_axes [0, 1, 2, 3] rhs_axes [1, 0] result_axes [0, 1, 2, 3] : tensor<1x2x5x8xf32>
  %s = glow.add %y, %b : tensor<1x2x5x8xf32>
  %z = glow.relu %s : tensor<1x2x5x8xf32>
  %m = cpu.batch_matmul %w, %w lhs_axes [0, 1] rhs_axes [1, 0] result_axes [0, 1] : tensor<8x8xf32>
  %n = glow.mul %m, %r : tensor<8x8xf32>
  func.return %z, %n : tensor<1x2x5x8xf32>, tensor<8x8xf32>
}
