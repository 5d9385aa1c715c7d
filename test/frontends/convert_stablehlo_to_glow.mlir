// RUN: glow-opt --convert-stablehlo-to-glow --split-input-file %s | filecheck %s

// A call is inlined, a bias broadcasts by itself, a start value that changes nothing is left out.
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: glow.output_names = ["logits"]
// CHECK: %0 = glow.matmul %x, %w : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.add %0, %b : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %3 = glow.max %1, %2 : tensor<2x4xf32>
// CHECK-NEXT: func.return %3
// CHECK-NOT: func.func
func.func public @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32> {jax.result_info = "result['logits']"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
  %3 = call @relu(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
func.func private @relu(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
  %1 = stablehlo.maximum %x, %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Means are found although the axis is dropped first and comes back later.
// CHECK-LABEL: func.func @centred(
// CHECK-NEXT: %{{.*}} = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %{{.*}} = glow.sub %x, %{{.*}} : tensor<2x3xf32>
// CHECK-NEXT: func.return
func.func @centred(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<3.0> : tensor<2x1xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
  %2 = stablehlo.divide %1, %n : tensor<2x1xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.subtract %x, %3 : tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// A loop that counts: its counter is the index, what stays is no state.
// CHECK-LABEL: func.func @sum(
// CHECK: %{{.*}} = scf.for %4 = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %start) -> (tensor<2xf32>) {
// CHECK-NEXT: glow.dynamic_slice %x, %4 : tensor<2xf32>
// CHECK-NEXT: glow.add
// CHECK-NEXT: scf.yield
func.func @sum(%x: tensor<5x2xf32>, %start: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %rows = %x, %total = %start) : tensor<i32>, tensor<5x2xf32>, tensor<2xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %column = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %rows, %i, %column, sizes = [1, 2] : (tensor<5x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %total, %2 : tensor<2xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %rows, %3 : tensor<i32>, tensor<5x2xf32>, tensor<2xf32>
  }
  return %0#2 : tensor<2xf32>
}

// -----

// Means of windows with channels last: what divides the sums counts the elements inside.
// CHECK-LABEL: func.func @same_mean(
// CHECK-NEXT: %[[X:.*]] = glow.transpose %x permutation [0, 3, 1, 2]
// CHECK: %[[MEAN:.*]] = glow.avg_pool2d %[[X]] kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x2x4x5xf32>
// CHECK-NEXT: %[[Y:.*]] = glow.transpose %[[MEAN]] permutation [0, 2, 3, 1]
// CHECK-NEXT: func.return %[[Y]]
func.func @same_mean(%x: tensor<1x4x5x2xf32>) -> tensor<1x4x5x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x4x5x2xf32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<1x4x5x2xf32>, tensor<f32>) -> tensor<1x4x5x2xf32>
  %1 = "stablehlo.reduce_window"(%ones, %zero) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<1x4x5x2xf32>, tensor<f32>) -> tensor<1x4x5x2xf32>
  %2 = stablehlo.divide %0, %1 : tensor<1x4x5x2xf32>
  return %2 : tensor<1x4x5x2xf32>
}

// -----

// Divisors of windows of another size are none of a mean; they are known all the same.
// CHECK-LABEL: func.func @other_divisors(
// CHECK-DAG: glow.avg_pool2d %{{.*}} count_include_pad kernel [1, 3]
// CHECK-DAG: glow.constant dense<{{.*}}[2.000000e+00], [2.000000e+00], [2.000000e+00], [1.000000e+00]{{.*}}> : tensor<1x4x1xf32>
// CHECK: glow.div
func.func @other_divisors(%x: tensor<1x4x2xf32>) -> tensor<1x4x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x4x2xf32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %1 = "stablehlo.reduce_window"(%ones, %zero) <{padding = dense<[[0, 0], [0, 1], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %2 = stablehlo.divide %0, %1 : tensor<1x4x2xf32>
  return %2 : tensor<1x4x2xf32>
}
