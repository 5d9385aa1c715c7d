// RUN: glow-opt --fuse-epilogue %s | filecheck %s

// The sum is read elsewhere, the last part of a chain included.
// CHECK-LABEL: func.func @other_reader(
// CHECK-NEXT: %y = cpu.matmul %x, %w, %b : tensor<2x8xf32>
// CHECK-NEXT: %g = glow.sigmoid %y : tensor<2x8xf32>
// CHECK-NEXT: func.return %y, %g : tensor<2x8xf32>, tensor<2x8xf32>
func.func @other_reader(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %y = cpu.matmul %x, %w, %b : tensor<2x8xf32>
  %g = glow.sigmoid %y : tensor<2x8xf32>
  func.return %y, %g : tensor<2x8xf32>, tensor<2x8xf32>
}

// Another shape, another element type, an operand that is one number a batch.
// CHECK-LABEL: func.func @no_fit(
// CHECK-NEXT: %y = cpu.matmul %x, %w, %b : tensor<1x8xf32>
// CHECK-NEXT: %a = glow.add %y, %l : tensor<4x8xf32>
// CHECK-NEXT: %v = cpu.matmul %x, %w, %b : tensor<1x8xf32>
// CHECK-NEXT: %n = glow.is_nan %v : tensor<1x8xi1>
// CHECK-NEXT: %u = cpu.matmul %q, %w, %b : tensor<2x3x8xf32>
// CHECK-NEXT: %m = glow.mul %u, %r : tensor<2x3x8xf32>
// CHECK-NEXT: func.return %a, %n, %m : tensor<4x8xf32>, tensor<1x8xi1>, tensor<2x3x8xf32>
func.func @no_fit(%x: tensor<1x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>, %l: tensor<4x8xf32>, %r: tensor<2x1x1xf32>, %q: tensor<2x3x8xf32>) -> (tensor<4x8xf32>, tensor<1x8xi1>, tensor<2x3x8xf32>) {
  %y = cpu.matmul %x, %w, %b : tensor<1x8xf32>
  %a = glow.add %y, %l : tensor<4x8xf32>
  %v = cpu.matmul %x, %w, %b : tensor<1x8xf32>
  %n = glow.is_nan %v : tensor<1x8xi1>
  %u = cpu.matmul %q, %w, %b : tensor<2x3x8xf32>
  %m = glow.mul %u, %r : tensor<2x3x8xf32>
  func.return %a, %n, %m : tensor<4x8xf32>, tensor<1x8xi1>, tensor<2x3x8xf32>
}

// A factor for each matrix of a batch is neither one of a column nor one of a row.
// CHECK-LABEL: @factor_of_a_matrix
// CHECK: cpu.matmul %x, %w, %b : tensor<5x8x1x2xf32>
// CHECK: glow.mul
func.func @factor_of_a_matrix(%x: tensor<5x8x1x1xf32>, %w: tensor<16xf32>, %b: tensor<2xf32>) -> tensor<5x8x1x2xf32> {
  %0 = cpu.matmul %x, %w, %b : tensor<5x8x1x2xf32>
  %c = glow.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]]]> : tensor<8x1x1xf32>
  %2 = glow.mul %0, %c : tensor<5x8x1x2xf32>
  func.return %2 : tensor<5x8x1x2xf32>
}

// A loop of its own updates a variable in place.
// CHECK-LABEL: func.func @update(
// CHECK: %g = cpu.batch_matmul %x, %x lhs_axes [1, 0] rhs_axes [0, 1] result_axes [0, 1] : tensor<4x4xf32>
// CHECK-NEXT: %s = glow.mul %m, %rate : tensor<4x4xf32>
// CHECK-NEXT: %n = glow.add %s, %g : tensor<4x4xf32>
func.func @update(%x: tensor<2x4xf32>, %rate: tensor<f32>) -> tensor<4x4xf32> {
  %m = glow.variable @m : tensor<4x4xf32>
  %g = cpu.batch_matmul %x, %x lhs_axes [1, 0] rhs_axes [0, 1] result_axes [0, 1] : tensor<4x4xf32>
  %s = glow.mul %m, %rate : tensor<4x4xf32>
  %n = glow.add %s, %g : tensor<4x4xf32>
  glow.save %n, @m
  func.return %n : tensor<4x4xf32>
}
