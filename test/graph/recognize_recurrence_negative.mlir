// RUN: glow-opt --recognize-recurrence %s | filecheck %s

// What is handed out is the state before the step.
// CHECK-LABEL: func.func @earlier(
// CHECK: scf.for
func.func @earlier(%x: tensor<5x2x3xf32>, %first: tensor<2x3xf32>, %r: tensor<3x3xf32>) -> tensor<5x2x3xf32> {
  %none = glow.splat 0.0 : tensor<5x2x3xf32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %5 = arith.constant 5 : index
  %last, %all = scf.for %i = %0 to %5 step %1 iter_args(%h = %first, %s = %none) -> (tensor<2x3xf32>, tensor<5x2x3xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x3xf32>
    %2 = glow.matmul %step, %r : tensor<2x3xf32>
    %3 = glow.matmul %h, %r : tensor<2x3xf32>
    %4 = glow.add %2, %3 : tensor<2x3xf32>
    %6 = glow.tanh %4 : tensor<2x3xf32>
    %7 = glow.dynamic_update %s, %h, %i : tensor<5x2x3xf32>
    scf.yield %6, %7 : tensor<2x3xf32>, tensor<5x2x3xf32>
  }
  func.return %all : tensor<5x2x3xf32>
}

// A bias that is not the same in all rows, and an activation that no node has.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK: scf.for
func.func @rows(%x: tensor<5x2x3xf32>, %first: tensor<2x3xf32>, %r: tensor<3x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %5 = arith.constant 5 : index
  %last = scf.for %i = %0 to %5 step %1 iter_args(%h = %first) -> (tensor<2x3xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x3xf32>
    %2 = glow.matmul %step, %r : tensor<2x3xf32>
    %3 = glow.matmul %h, %r : tensor<2x3xf32>
    %4 = glow.add %2, %3 : tensor<2x3xf32>
    %6 = glow.add %4, %b : tensor<2x3xf32>
    %7 = glow.tanh %6 : tensor<2x3xf32>
    scf.yield %7 : tensor<2x3xf32>
  }
  %other = scf.for %i = %0 to %5 step %1 iter_args(%h = %first) -> (tensor<2x3xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x3xf32>
    %2 = glow.matmul %step, %r : tensor<2x3xf32>
    %3 = glow.matmul %h, %r : tensor<2x3xf32>
    %4 = glow.add %2, %3 : tensor<2x3xf32>
    %6 = glow.exp %4 : tensor<2x3xf32>
    %7 = glow.tanh %6 : tensor<2x3xf32>
    scf.yield %7 : tensor<2x3xf32>
  }
  func.return %last, %other : tensor<2x3xf32>, tensor<2x3xf32>
}

// But for a square of the state, small as long as the state is, a GRU.
// CHECK-LABEL: func.func @square(
// CHECK: scf.for
func.func @square(%x: tensor<5x2x3xf32>, %first: tensor<2x3xf32>, %r: tensor<3x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %small = glow.splat 1.0e-10 : tensor<f32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %5 = arith.constant 5 : index
  %last = scf.for %i = %0 to %5 step %1 iter_args(%h = %first) -> (tensor<2x3xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x3xf32>
    %2 = glow.matmul %step, %r : tensor<2x3xf32>
    %3 = glow.matmul %h, %r : tensor<2x3xf32>
    %4 = glow.add %2, %3 : tensor<2x3xf32>
    %z = glow.sigmoid %4 : tensor<2x3xf32>
    %g = glow.fully_connected %step, %r, %b : tensor<2x3xf32>
    %reset = glow.sigmoid %g : tensor<2x3xf32>
    %6 = glow.mul %reset, %h : tensor<2x3xf32>
    %7 = glow.matmul %6, %r : tensor<2x3xf32>
    %8 = glow.add %2, %7 : tensor<2x3xf32>
    %n = glow.tanh %8 : tensor<2x3xf32>
    %9 = glow.sub %n, %h : tensor<2x3xf32>
    %10 = glow.mul %z, %9 : tensor<2x3xf32>
    %11 = glow.add %h, %10 : tensor<2x3xf32>
    %12 = glow.mul %h, %h : tensor<2x3xf32>
    %13 = glow.mul %12, %small : tensor<2x3xf32>
    %14 = glow.add %11, %13 : tensor<2x3xf32>
    scf.yield %14 : tensor<2x3xf32>
  }
  func.return %last : tensor<2x3xf32>
}
