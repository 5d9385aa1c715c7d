// RUN: glow-opt --lower-nodes='backend=none' %s | filecheck %s

// CHECK-LABEL: func.func @relu(
// CHECK-NEXT: %0 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %y = glow.max %x, %0 : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @clip(
// CHECK-NEXT: %0 = glow.splat 6.000000e+00 : tensor<f32>
// CHECK-NEXT: %y = glow.min %x, %0 : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @clip(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.clip %x high 6.0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @leaky_relu(
// CHECK-NEXT: %0 = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %3 = glow.less %x, %2 : tensor<4xi1>
// CHECK-NEXT: %y = glow.select %3, %1, %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @leaky_relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.leaky_relu %x alpha 0.5 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu(
// CHECK-NEXT: %0 = glow.splat 0.707106769 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.erf %1 : tensor<4xf32>
// CHECK-NEXT: %3 = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %4 = glow.mul %x, %3 : tensor<4xf32>
// CHECK-NEXT: %5 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %6 = glow.add %2, %5 : tensor<4xf32>
// CHECK-NEXT: %y = glow.mul %4, %6 : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.gelu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @constant_batch_norm(
// CHECK-NEXT: %scale = glow.splat 2.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %bias = glow.splat 1.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %variance = glow.splat 4.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %0 = glow.constant dense<1.000000e+00> : tensor<1x1x1xf32>
// CHECK-NEXT: %1 = glow.constant dense<0.000000e+00> : tensor<1x1x1xf32>
// CHECK-NEXT: %2 = glow.mul %x, %0 : tensor<1x1x2x2xf32>
// CHECK-NEXT: %y = glow.add %2, %1 : tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return %y : tensor<1x1x2x2xf32>
func.func @constant_batch_norm(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %scale = glow.splat 2.0 : tensor<1xf32>
  %bias = glow.splat 1.0 : tensor<1xf32>
  %variance = glow.splat 4.0 : tensor<1xf32>
  %y = glow.batch_norm %x, %scale, %bias, %bias, %variance epsilon 0.0 : tensor<1x1x2x2xf32>
  func.return %y : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func.func @batch_norm(
// CHECK-NEXT: %0 = glow.splat 1.000000e-05 : tensor<f32>
// CHECK-NEXT: %1 = glow.add %v, %0 : tensor<2xf32>
// CHECK-NEXT: %2 = glow.sqrt %1 : tensor<2xf32>
// CHECK-NEXT: %3 = glow.div %s, %2 : tensor<2xf32>
// CHECK-NEXT: %4 = glow.mul %m, %3 : tensor<2xf32>
// CHECK-NEXT: %5 = glow.sub %b, %4 : tensor<2xf32>
// CHECK-NEXT: %6 = glow.reshape %3 : tensor<2x1xf32>
// CHECK-NEXT: %7 = glow.reshape %5 : tensor<2x1xf32>
// CHECK-NEXT: %8 = glow.mul %x, %6 : tensor<1x2x4xf32>
// CHECK-NEXT: %y = glow.add %8, %7 : tensor<1x2x4xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4xf32>
func.func @batch_norm(%x: tensor<1x2x4xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2x4xf32> {
  %y = glow.batch_norm %x, %s, %b, %m, %v : tensor<1x2x4xf32>
  func.return %y : tensor<1x2x4xf32>
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: %0 = glow.reduce_sum %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %2 = glow.mul %0, %1 : tensor<2x1xf32>
// CHECK-NEXT: %3 = glow.sub %x, %2 : tensor<2x4xf32>
// CHECK-NEXT: %4 = glow.mul %3, %3 : tensor<2x4xf32>
// CHECK-NEXT: %5 = glow.splat 1.000000e-05 : tensor<f32>
// CHECK-NEXT: %6 = glow.reduce_sum %4 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %7 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %8 = glow.mul %6, %7 : tensor<2x1xf32>
// CHECK-NEXT: %9 = glow.add %8, %5 : tensor<2x1xf32>
// CHECK-NEXT: %10 = glow.sqrt %9 : tensor<2x1xf32>
// CHECK-NEXT: %11 = glow.div %3, %10 : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.mul %11, %s : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = glow.layer_norm %x, %s axis 1 : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %0 = glow.reduce_max %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.sub %x, %0 : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.exp %1 : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.reduce_sum %2 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %y = glow.div %2, %3 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = glow.softmax %x axis 1 : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK-NEXT: %0 = glow.reduce_max %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.sub %x, %0 : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.exp %1 : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.reduce_sum %2 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %4 = glow.log %3 : tensor<2x1xf32>
// CHECK-NEXT: %y = glow.sub %1, %4 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @log_softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = glow.log_softmax %x axis 1 : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %0 = glow.reduce_sum %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %2 = glow.mul %0, %1 : tensor<2x1xf32>
// CHECK-NEXT: %y = glow.reshape %2 : tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
func.func @mean(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %y = glow.reduce_mean %x axes [1] : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @gemm(
// CHECK-NEXT: %0 = glow.matmul %x, %w transpose_rhs : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %2 = glow.mul %0, %1 : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.add %2, %c : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @gemm(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = glow.gemm %x, %w, %c alpha 2.0 transpose_rhs : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @fully_connected(
// CHECK-NEXT: %0 = glow.matmul %x, %w : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.add %0, %c : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.tanh %1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @fully_connected(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = glow.fully_connected %x, %w, %c activation "tanh" : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @grouped_conv2d(
// CHECK-NEXT: %0 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 2, 2, 2] steps [1, 1, 1, 1] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %1 = glow.slice %w starts [0, 0, 0, 0] sizes [1, 2, 1, 2] steps [1, 1, 1, 1] : tensor<1x2x1x2xf32>
// CHECK-NEXT: %2 = glow.slice %b starts [0] sizes [1] steps [1] : tensor<1xf32>
// CHECK-NEXT: %3 = glow.conv2d %0, %1, %2 activation "sigmoid" : tensor<1x1x2x1xf32>
// CHECK-NEXT: %4 = glow.slice %x starts [0, 2, 0, 0] sizes [1, 2, 2, 2] steps [1, 1, 1, 1] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %5 = glow.slice %w starts [1, 0, 0, 0] sizes [1, 2, 1, 2] steps [1, 1, 1, 1] : tensor<1x2x1x2xf32>
// CHECK-NEXT: %6 = glow.slice %b starts [1] sizes [1] steps [1] : tensor<1xf32>
// CHECK-NEXT: %7 = glow.conv2d %4, %5, %6 activation "sigmoid" : tensor<1x1x2x1xf32>
// CHECK-NEXT: %y = glow.concat %3, %7 axis 1 : tensor<1x2x2x1xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x2x1xf32>
func.func @grouped_conv2d(%x: tensor<1x4x2x2xf32>, %w: tensor<2x2x1x2xf32>, %b: tensor<2xf32>) -> tensor<1x2x2x1xf32> {
  %y = glow.conv2d %x, %w, %b group 2 activation "sigmoid" : tensor<1x2x2x1xf32>
  func.return %y : tensor<1x2x2x1xf32>
}

// CHECK-LABEL: func.func @tile(
// CHECK-NEXT: %0 = glow.concat %x, %x, %x axis 1 : tensor<2x9xf32>
// CHECK-NEXT: %y = glow.concat %0, %0 axis 0 : tensor<4x9xf32>
// CHECK-NEXT: func.return %y : tensor<4x9xf32>
func.func @tile(%x: tensor<2x3xf32>) -> tensor<4x9xf32> {
  %y = glow.tile %x repeats [2, 3] : tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}
