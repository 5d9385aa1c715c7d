// RUN: glow-opt --recognize-recurrence --fold-constants --canonicalize %s | filecheck %s

// CHECK-LABEL: func.func @rnn(
// CHECK: glow.rnn %x, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} activation "relu"
// CHECK-NOT: scf.for
func.func @rnn(%x: tensor<5x2x3xf32>, %first: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<5x2x1xf32>) {
  %w = glow.constant dense<[[1.0], [2.0], [-1.0]]> : tensor<3x1xf32>
  %r = glow.constant dense<[[0.5]]> : tensor<1x1xf32>
  %b = glow.constant dense<[0.25]> : tensor<1xf32>
  %zero = glow.splat 0.0 : tensor<f32>
  %none = glow.splat 0.0 : tensor<5x2x1xf32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %5 = arith.constant 5 : index
  %last, %all = scf.for %i = %0 to %5 step %1 iter_args(%h = %first, %s = %none) -> (tensor<2x1xf32>, tensor<5x2x1xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x3xf32>
    %2 = glow.fully_connected %step, %w, %b : tensor<2x1xf32>
    %3 = glow.matmul %h, %r : tensor<2x1xf32>
    %4 = glow.add %2, %3 : tensor<2x1xf32>
    %6 = glow.max %zero, %4 : tensor<2x1xf32>
    %7 = glow.dynamic_update %s, %6, %i : tensor<5x2x1xf32>
    scf.yield %6, %7 : tensor<2x1xf32>, tensor<5x2x1xf32>
  }
  func.return %last, %all : tensor<2x1xf32>, tensor<5x2x1xf32>
}

// The products with the input stand before the loop, which counts from the end, and the update
// gate is the other way around: its weights are negated.
// CHECK-LABEL: func.func @gru(
// CHECK: glow.neg
// CHECK: glow.gru %x, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} direction "reverse"
// CHECK-NOT: scf.for
func.func @gru(%x: tensor<4x2x3xf32>, %w: tensor<3x6xf32>, %r: tensor<2x6xf32>) -> tensor<2x2xf32> {
  %first = glow.splat 0.0 : tensor<2x2xf32>
  %one = glow.splat 1.0 : tensor<f32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %xw = glow.matmul %x, %w : tensor<4x2x6xf32>
  %last = scf.for %i = %0 to %4 step %1 iter_args(%h = %first) -> (tensor<2x2xf32>) {
    %c = arith.constant 3 : index
    %from_end = arith.subi %c, %i : index
    %step = glow.dynamic_slice %xw, %from_end : tensor<2x6xf32>
    %r_zr = glow.slice %r starts [0, 0] sizes [2, 4] steps [1, 1] : tensor<2x4xf32>
    %r_n = glow.slice %r starts [0, 4] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
    %x_zr = glow.slice %step starts [0, 0] sizes [2, 4] steps [1, 1] : tensor<2x4xf32>
    %x_n = glow.slice %step starts [0, 4] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
    %5 = glow.matmul %h, %r_zr : tensor<2x4xf32>
    %6 = glow.add %x_zr, %5 : tensor<2x4xf32>
    %7 = glow.sigmoid %6 : tensor<2x4xf32>
    %z = glow.slice %7 starts [0, 0] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
    %reset = glow.slice %7 starts [0, 2] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
    %8 = glow.mul %reset, %h : tensor<2x2xf32>
    %9 = glow.matmul %8, %r_n : tensor<2x2xf32>
    %10 = glow.add %9, %x_n : tensor<2x2xf32>
    %n = glow.tanh %10 : tensor<2x2xf32>
    %11 = glow.sub %n, %h : tensor<2x2xf32>
    %12 = glow.mul %z, %11 : tensor<2x2xf32>
    %13 = glow.add %h, %12 : tensor<2x2xf32>
    scf.yield %13 : tensor<2x2xf32>
  }
  func.return %last : tensor<2x2xf32>
}

// One product with the input beside the state; gates in the order forget, output, input, cell.
// CHECK-LABEL: func.func @lstm(
// CHECK: glow.lstm
// CHECK-NOT: scf.for
func.func @lstm(%x: tensor<3x2x2xf32>, %w: tensor<3x4xf32>, %h0: tensor<2x1xf32>, %c0: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %one = glow.splat 1.0 : tensor<f32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %cn, %hn = scf.for %i = %0 to %3 step %1 iter_args(%c = %c0, %h = %h0) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
    %step = glow.dynamic_slice %x, %i : tensor<2x2xf32>
    %both = glow.concat %h, %step axis 1 : tensor<2x3xf32>
    %sums = glow.matmul %both, %w : tensor<2x4xf32>
    %4 = glow.slice %sums starts [0, 0] sizes [2, 1] steps [1, 1] : tensor<2x1xf32>
    %5 = glow.slice %sums starts [0, 1] sizes [2, 1] steps [1, 1] : tensor<2x1xf32>
    %6 = glow.slice %sums starts [0, 2] sizes [2, 1] steps [1, 1] : tensor<2x1xf32>
    %7 = glow.slice %sums starts [0, 3] sizes [2, 1] steps [1, 1] : tensor<2x1xf32>
    %raised = glow.add %4, %one : tensor<2x1xf32>
    %f = glow.sigmoid %raised : tensor<2x1xf32>
    %o = glow.sigmoid %5 : tensor<2x1xf32>
    %in = glow.sigmoid %6 : tensor<2x1xf32>
    %g = glow.tanh %7 : tensor<2x1xf32>
    %8 = glow.mul %f, %c : tensor<2x1xf32>
    %9 = glow.mul %in, %g : tensor<2x1xf32>
    %10 = glow.add %8, %9 : tensor<2x1xf32>
    %11 = glow.tanh %10 : tensor<2x1xf32>
    %12 = glow.mul %o, %11 : tensor<2x1xf32>
    scf.yield %10, %12 : tensor<2x1xf32>, tensor<2x1xf32>
  }
  func.return %hn, %cn : tensor<2x1xf32>, tensor<2x1xf32>
}
