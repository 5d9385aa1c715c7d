// RUN: glow-opt --recognize-normalizations %s | filecheck %s

// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: %scale = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %bias = glow.constant dense<[5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %0 = glow.splat 1.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %1 = glow.mul %0, %scale : tensor<4xf32>
// CHECK-NEXT: %y = glow.layer_norm %x, %1, %bias axis 1 epsilon 1.000000e-02 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @layer_norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %two = glow.splat 2.0 : tensor<f32>
  %epsilon = glow.splat 0.01 : tensor<f32>
  %scale = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %bias = glow.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %s = glow.pow %c, %two : tensor<2x4xf32>
  %v = glow.reduce_mean %s axes [1] keepdims : tensor<2x1xf32>
  %e = glow.add %v, %epsilon : tensor<2x1xf32>
  %d = glow.sqrt %e : tensor<2x1xf32>
  %n = glow.div %c, %d : tensor<2x4xf32>
  %t = glow.mul %n, %scale : tensor<2x4xf32>
  %y = glow.add %bias, %t : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @fold_layer_norm(
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<1x1xf32>
// CHECK-NEXT: %c = glow.constant dense<[[5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]]> : tensor<1x4xf32>
// CHECK-NEXT: %0 = glow.reshape %two : tensor<1xf32>
// CHECK-NEXT: %1 = glow.broadcast %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.mul %s, %1 : tensor<4xf32>
// CHECK-NEXT: %3 = glow.mul %b, %1 : tensor<4xf32>
// CHECK-NEXT: %4 = glow.reshape %c : tensor<4xf32>
// CHECK-NEXT: %5 = glow.add %3, %4 : tensor<4xf32>
// CHECK-NEXT: %y = glow.layer_norm %x, %2, %5 axis 1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @fold_layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %two = glow.splat 2.0 : tensor<1x1xf32>
  %c = glow.constant dense<[[5.0, 6.0, 7.0, 8.0]]> : tensor<1x4xf32>
  %n = glow.layer_norm %x, %s, %b axis 1 : tensor<2x4xf32>
  %t = glow.mul %two, %n : tensor<2x4xf32>
  %y = glow.add %t, %c : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %y = glow.softmax %x axis 0 : tensor<2x4xf32>
// CHECK-NEXT: %z = glow.softmax %x axis 1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
func.func @softmax(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = glow.exp %x : tensor<2x4xf32>
  %t = glow.reduce_sum %e axes [0] keepdims : tensor<1x4xf32>
  %y = glow.div %e, %t : tensor<2x4xf32>
  %m = glow.reduce_max %x axes [1] keepdims : tensor<2x1xf32>
  %s = glow.sub %x, %m : tensor<2x4xf32>
  %f = glow.exp %s : tensor<2x4xf32>
  %u = glow.reduce_sum %f axes [1] keepdims : tensor<2x1xf32>
  %z = glow.div %f, %u : tensor<2x4xf32>
  func.return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK-NEXT: %y = glow.log_softmax %x axis 1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @log_softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %m = glow.reduce_max %x axes [1] keepdims : tensor<2x1xf32>
  %s = glow.sub %x, %m : tensor<2x4xf32>
  %e = glow.exp %s : tensor<2x4xf32>
  %t = glow.reduce_sum %e axes [1] keepdims : tensor<2x1xf32>
  %l = glow.log %t : tensor<2x1xf32>
  %y = glow.sub %s, %l : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @reciprocal_square_root(
// CHECK: glow.layer_norm %x, {{.*}} axis 1 epsilon 1.000000e-06 : tensor<2x4xf32>
func.func @reciprocal_square_root(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %epsilon = glow.splat 1.0e-6 : tensor<1x1xf32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %s = glow.mul %c, %c : tensor<2x4xf32>
  %v = glow.reduce_mean %s axes [1] keepdims : tensor<2x1xf32>
  %d = glow.add %v, %epsilon : tensor<2x1xf32>
  %r = glow.rsqrt %d : tensor<2x1xf32>
  %n = glow.mul %r, %c : tensor<2x4xf32>
  func.return %n : tensor<2x4xf32>
}

// torch-mlir computes the variance in f64.
// CHECK-LABEL: func.func @wide_variance(
// CHECK-NEXT: %[[ONES:.*]] = glow.splat 1.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %y = glow.layer_norm %x, %[[ONES]] axis 1 epsilon 1.000000e-02 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y
func.func @wide_variance(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %epsilon = glow.splat 0.01 : tensor<f32>
  %w = glow.convert %x : tensor<2x4xf64>
  %n = glow.reduce_mean %w axes [1] keepdims : tensor<2x1xf64>
  %d = glow.sub %w, %n : tensor<2x4xf64>
  %s = glow.mul %d, %d : tensor<2x4xf64>
  %u = glow.reduce_mean %s axes [1] keepdims : tensor<2x1xf64>
  %v = glow.convert %u : tensor<2x1xf32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %e = glow.add %v, %epsilon : tensor<2x1xf32>
  %r = glow.rsqrt %e : tensor<2x1xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %y = glow.mul %c, %r : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Flax has mean(x^2) - mean(x)^2, without the axes meanwhile, and multiplies the scale first.
// CHECK-LABEL: func.func @flax(
// CHECK: %[[SCALE:.*]] = glow.mul %{{.*}}, %scale : tensor<4xf32>
// CHECK: glow.layer_norm %x, %[[SCALE]] axis 1 epsilon 1.000000e-06 : tensor<2x4xf32>
// CHECK-NEXT: func.return
func.func @flax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %scale = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %epsilon = glow.splat 1.0e-6 : tensor<1x1xf32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %n = glow.reshape %m : tensor<2xf32>
  %s = glow.mul %x, %x : tensor<2x4xf32>
  %q = glow.reduce_mean %s axes [1] : tensor<2xf32>
  %p = glow.mul %n, %n : tensor<2xf32>
  %d = glow.sub %q, %p : tensor<2xf32>
  %v = glow.relu %d : tensor<2xf32>
  %w = glow.reshape %v : tensor<2x1xf32>
  %e = glow.add %w, %epsilon : tensor<2x1xf32>
  %r = glow.rsqrt %e : tensor<2x1xf32>
  %f = glow.mul %r, %scale : tensor<2x4xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %y = glow.mul %c, %f : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Groups of channels that come last.
// CHECK-LABEL: func.func @groups(
// CHECK-NEXT: %[[X:.*]] = glow.reshape %x : tensor<2x3x5x6xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[X]] permutation [0, 3, 1, 2] : tensor<2x6x3x5xf32>
// CHECK-NEXT: %[[G:.*]] = glow.reshape %[[T]] : tensor<2x2x3x3x5xf32>
// CHECK-NEXT: %[[ONES:.*]] = glow.splat 1.000000e+00 : tensor<3x3x5xf32>
// CHECK-NEXT: %[[N:.*]] = glow.layer_norm %[[G]], %[[ONES]] axis 2 : tensor<2x2x3x3x5xf32>
// CHECK-NEXT: %[[C:.*]] = glow.reshape %[[N]] : tensor<2x6x3x5xf32>
// CHECK-NEXT: %[[B:.*]] = glow.transpose %[[C]] permutation [0, 2, 3, 1] : tensor<2x3x5x6xf32>
// CHECK-NEXT: glow.reshape %[[B]] : tensor<2x3x5x2x3xf32>
func.func @groups(%x: tensor<2x3x5x2x3xf32>) -> tensor<2x3x5x2x3xf32> {
  %epsilon = glow.splat 1.0e-5 : tensor<f32>
  %m = glow.reduce_mean %x axes [1, 2, 4] keepdims : tensor<2x1x1x2x1xf32>
  %c = glow.sub %x, %m : tensor<2x3x5x2x3xf32>
  %s = glow.mul %c, %c : tensor<2x3x5x2x3xf32>
  %v = glow.reduce_mean %s axes [1, 2, 4] keepdims : tensor<2x1x1x2x1xf32>
  %e = glow.add %v, %epsilon : tensor<2x1x1x2x1xf32>
  %r = glow.rsqrt %e : tensor<2x1x1x2x1xf32>
  %y = glow.mul %c, %r : tensor<2x3x5x2x3xf32>
  func.return %y : tensor<2x3x5x2x3xf32>
}

// Each channel by itself, as instance normalization has it.
// CHECK-LABEL: func.func @instances(
// CHECK-NEXT: %[[T:.*]] = glow.transpose %x permutation [0, 2, 1] : tensor<2x3x5xf32>
// CHECK-NEXT: %[[G:.*]] = glow.reshape %[[T]] : tensor<2x3x1x5xf32>
// CHECK: glow.layer_norm %[[G]], %{{.*}} axis 2 : tensor<2x3x1x5xf32>
func.func @instances(%x: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
  %epsilon = glow.splat 1.0e-5 : tensor<f32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1x3xf32>
  %c = glow.sub %x, %m : tensor<2x5x3xf32>
  %s = glow.mul %c, %c : tensor<2x5x3xf32>
  %v = glow.reduce_mean %s axes [1] keepdims : tensor<2x1x3xf32>
  %e = glow.add %v, %epsilon : tensor<2x1x3xf32>
  %r = glow.sqrt %e : tensor<2x1x3xf32>
  %y = glow.div %c, %r : tensor<2x5x3xf32>
  func.return %y : tensor<2x5x3xf32>
}
