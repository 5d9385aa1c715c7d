// RUN: glow-opt --split-input-file --differentiate='wrt=x,y' %s | filecheck %s

// Softmax reads its result; statistics are computed again.

// CHECK-LABEL: func.func @softmax(
// CHECK:      %0 = glow.mul %y, %s : tensor<2x8xf32>
// CHECK-NEXT: %1 = glow.reduce_sum %0 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %2 = glow.sub %y, %1 : tensor<2x8xf32>
// CHECK-NEXT: %x.grad = glow.mul %s, %2 : tensor<2x8xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %s : tensor<f32>, tensor<2x8xf32>, tensor<2x8xf32>
func.func @softmax(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<f32> {
  %s = glow.softmax %x axis 1 : tensor<2x8xf32>
  %d = glow.mul %s, %y : tensor<2x8xf32>
  %loss = glow.reduce_sum %d axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @log_softmax(
// CHECK:      %0 = glow.reduce_sum %y axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.exp %s : tensor<2x8xf32>
// CHECK-NEXT: %2 = glow.mul %1, %0 : tensor<2x8xf32>
// CHECK-NEXT: %x.grad = glow.sub %y, %2 : tensor<2x8xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %s : tensor<f32>, tensor<2x8xf32>, tensor<2x8xf32>
func.func @log_softmax(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<f32> {
  %s = glow.log_softmax %x axis 1 : tensor<2x8xf32>
  %d = glow.mul %s, %y : tensor<2x8xf32>
  %loss = glow.reduce_sum %d axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @layer_norm(
// CHECK:      %0 = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.sub %x, %0 : tensor<2x8xf32>
// CHECK-NEXT: %2 = glow.mul %1, %1 : tensor<2x8xf32>
// CHECK-NEXT: %3 = glow.reduce_mean %2 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %4 = glow.splat 1.000000e-05 : tensor<f32>
// CHECK-NEXT: %5 = glow.add %3, %4 : tensor<2x1xf32>
// CHECK-NEXT: %6 = glow.rsqrt %5 : tensor<2x1xf32>
// CHECK-NEXT: %7 = glow.mul %1, %6 : tensor<2x8xf32>
// CHECK-NEXT: %8 = glow.mul %d, %y : tensor<2x8xf32>
// CHECK-NEXT: %9 = glow.mul %8, %7 : tensor<2x8xf32>
// CHECK-NEXT: %10 = glow.reduce_mean %9 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %11 = glow.reduce_mean %8 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %12 = glow.sub %8, %11 : tensor<2x8xf32>
// CHECK-NEXT: %13 = glow.mul %7, %10 : tensor<2x8xf32>
// CHECK-NEXT: %14 = glow.sub %12, %13 : tensor<2x8xf32>
// CHECK-NEXT: %x.grad = glow.mul %14, %6 : tensor<2x8xf32>
// CHECK-NEXT: %15 = glow.mul %d, %7 : tensor<2x8xf32>
// CHECK-NEXT: %y.grad = glow.reduce_sum %15 axes [0] : tensor<8xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %y.grad : tensor<f32>, tensor<2x8xf32>, tensor<8xf32>
func.func @layer_norm(%x: tensor<2x8xf32>, %y: tensor<8xf32>) -> tensor<f32> {
  %s = glow.layer_norm %x, %y axis 1 : tensor<2x8xf32>
  %d = glow.exp %s : tensor<2x8xf32>
  %loss = glow.reduce_sum %d axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @batch_norm(
// CHECK:      %0 = glow.splat 1.000000e-05 : tensor<f32>
// CHECK-NEXT: %1 = glow.add %v, %0 : tensor<8xf32>
// CHECK-NEXT: %2 = glow.rsqrt %1 : tensor<8xf32>
// CHECK-NEXT: %3 = glow.mul %y, %2 : tensor<8xf32>
// CHECK-NEXT: %4 = glow.reshape %3 : tensor<8x1xf32>
// CHECK-NEXT: %x.grad = glow.mul %d, %4 : tensor<2x8x3xf32>
// CHECK-NEXT: %5 = glow.reshape %m : tensor<8x1xf32>
// CHECK-NEXT: %6 = glow.sub %x, %5 : tensor<2x8x3xf32>
// CHECK-NEXT: %7 = glow.mul %d, %6 : tensor<2x8x3xf32>
// CHECK-NEXT: %8 = glow.reduce_sum %7 axes [0, 2] : tensor<8xf32>
// CHECK-NEXT: %y.grad = glow.mul %8, %2 : tensor<8xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %y.grad : tensor<f32>, tensor<2x8x3xf32>, tensor<8xf32>
func.func @batch_norm(%x: tensor<2x8x3xf32>, %y: tensor<8xf32>, %b: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<f32> {
  %s = glow.batch_norm %x, %y, %b, %m, %v : tensor<2x8x3xf32>
  %d = glow.exp %s : tensor<2x8x3xf32>
  %loss = glow.reduce_sum %d axes [0, 1, 2] : tensor<f32>
  func.return %loss : tensor<f32>
}
