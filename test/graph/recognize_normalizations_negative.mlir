// RUN: glow-opt --recognize-normalizations %s | filecheck %s

// A mean over the first axis; a variance of x, not of what is centred.
// CHECK-LABEL: func.func @not_layer_norm(
// CHECK-NEXT: %epsilon = glow.splat 4.000000e+01 : tensor<f32>
// CHECK-NEXT: %m = glow.reduce_mean %x axes [0] keepdims : tensor<1x4xf32>
// CHECK-NEXT: %c = glow.sub %x, %m : tensor<2x4xf32>
// CHECK-NEXT: %s = glow.mul %c, %c : tensor<2x4xf32>
// CHECK-NEXT: %v = glow.reduce_mean %s axes [0] keepdims : tensor<1x4xf32>
// CHECK-NEXT: %e = glow.add %v, %epsilon : tensor<1x4xf32>
// CHECK-NEXT: %d = glow.sqrt %e : tensor<1x4xf32>
// CHECK-NEXT: %n = glow.div %c, %d : tensor<2x4xf32>
// CHECK-NEXT: %m2 = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %c2 = glow.sub %x, %m2 : tensor<2x4xf32>
// CHECK-NEXT: %s2 = glow.mul %x, %x : tensor<2x4xf32>
// CHECK-NEXT: %v2 = glow.reduce_mean %s2 axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %e2 = glow.add %v2, %epsilon : tensor<2x1xf32>
// CHECK-NEXT: %d2 = glow.sqrt %e2 : tensor<2x1xf32>
// CHECK-NEXT: %n2 = glow.div %c2, %d2 : tensor<2x4xf32>
// CHECK-NEXT: func.return %n, %n2 : tensor<2x4xf32>, tensor<2x4xf32>
func.func @not_layer_norm(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %epsilon = glow.splat 40.0 : tensor<f32>
  %m = glow.reduce_mean %x axes [0] keepdims : tensor<1x4xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %s = glow.mul %c, %c : tensor<2x4xf32>
  %v = glow.reduce_mean %s axes [0] keepdims : tensor<1x4xf32>
  %e = glow.add %v, %epsilon : tensor<1x4xf32>
  %d = glow.sqrt %e : tensor<1x4xf32>
  %n = glow.div %c, %d : tensor<2x4xf32>
  %m2 = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %c2 = glow.sub %x, %m2 : tensor<2x4xf32>
  %s2 = glow.mul %x, %x : tensor<2x4xf32>
  %v2 = glow.reduce_mean %s2 axes [1] keepdims : tensor<2x1xf32>
  %e2 = glow.add %v2, %epsilon : tensor<2x1xf32>
  %d2 = glow.sqrt %e2 : tensor<2x1xf32>
  %n2 = glow.div %c2, %d2 : tensor<2x4xf32>
  func.return %n, %n2 : tensor<2x4xf32>, tensor<2x4xf32>
}

// A factor for each row, one that is computed, a normalization with two readers.
// CHECK-LABEL: func.func @not_parameters(
// CHECK-NEXT: %rows = glow.constant dense<[[5.000000e+00], [6.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %n = glow.layer_norm %x, %s axis 1 : tensor<2x4xf32>
// CHECK-NEXT: %a = glow.mul %n, %rows : tensor<2x4xf32>
// CHECK-NEXT: %o = glow.layer_norm %a, %s axis 1 : tensor<2x4xf32>
// CHECK-NEXT: %b = glow.mul %o, %s : tensor<2x4xf32>
// CHECK-NEXT: %p = glow.layer_norm %b, %s axis 1 : tensor<2x4xf32>
// CHECK-NEXT: %c = glow.mul %p, %two : tensor<2x4xf32>
// CHECK-NEXT: func.return %a, %b, %c, %p : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
func.func @not_parameters(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %rows = glow.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %two = glow.splat 2.0 : tensor<f32>
  %n = glow.layer_norm %x, %s axis 1 : tensor<2x4xf32>
  %a = glow.mul %n, %rows : tensor<2x4xf32>
  %o = glow.layer_norm %a, %s axis 1 : tensor<2x4xf32>
  %b = glow.mul %o, %s : tensor<2x4xf32>
  %p = glow.layer_norm %b, %s axis 1 : tensor<2x4xf32>
  %c = glow.mul %p, %two : tensor<2x4xf32>
  func.return %a, %b, %c, %p : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// The sum over another axis than the maximum, of both axes, of other exponentials.
// CHECK-LABEL: func.func @not_softmax(
// CHECK-NEXT: %e = glow.exp %x : tensor<2x4xf32>
// CHECK-NEXT: %t = glow.reduce_sum %e axes [0, 1] keepdims : tensor<1x1xf32>
// CHECK-NEXT: %a = glow.div %e, %t : tensor<2x4xf32>
// CHECK-NEXT: %f = glow.exp %y : tensor<2x4xf32>
// CHECK-NEXT: %u = glow.reduce_sum %f axes [1] keepdims : tensor<2x1xf32>
// CHECK-NEXT: %b = glow.div %e, %u : tensor<2x4xf32>
// CHECK-NEXT: func.return %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
func.func @not_softmax(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = glow.exp %x : tensor<2x4xf32>
  %t = glow.reduce_sum %e axes [0, 1] keepdims : tensor<1x1xf32>
  %a = glow.div %e, %t : tensor<2x4xf32>
  %f = glow.exp %y : tensor<2x4xf32>
  %u = glow.reduce_sum %f axes [1] keepdims : tensor<2x1xf32>
  %b = glow.div %e, %u : tensor<2x4xf32>
  func.return %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
}

// A variance around the mean of another value.
// CHECK-LABEL: func.func @variance_of_another(
// CHECK-NOT: glow.layer_norm
// CHECK: func.return
func.func @variance_of_another(%x: tensor<2x4xf32>, %z: tensor<2x4xf64>) -> tensor<2x4xf32> {
  %epsilon = glow.splat 0.01 : tensor<f32>
  %w = glow.convert %x : tensor<2x4xf64>
  %n = glow.reduce_mean %z axes [1] keepdims : tensor<2x1xf64>
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

// The statistics are over all images, as in training a batch normalization.
// CHECK-LABEL: func.func @over_the_batch(
// CHECK-NOT: glow.layer_norm
// CHECK: func.return
func.func @over_the_batch(%x: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
  %epsilon = glow.splat 1.0e-5 : tensor<f32>
  %m = glow.reduce_mean %x axes [0, 1] keepdims : tensor<1x1x3xf32>
  %c = glow.sub %x, %m : tensor<2x5x3xf32>
  %s = glow.mul %c, %c : tensor<2x5x3xf32>
  %v = glow.reduce_mean %s axes [0, 1] keepdims : tensor<1x1x3xf32>
  %e = glow.add %v, %epsilon : tensor<1x1x3xf32>
  %r = glow.rsqrt %e : tensor<1x1x3xf32>
  %y = glow.mul %c, %r : tensor<2x5x3xf32>
  func.return %y : tensor<2x5x3xf32>
}

// The mean of another value is subtracted from the mean of the squares.
// CHECK-LABEL: func.func @difference_of_others(
// CHECK-NOT: glow.layer_norm
// CHECK: func.return
func.func @difference_of_others(%x: tensor<2x4xf32>, %z: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %epsilon = glow.splat 1.0e-6 : tensor<f32>
  %m = glow.reduce_mean %x axes [1] keepdims : tensor<2x1xf32>
  %s = glow.mul %x, %x : tensor<2x4xf32>
  %q = glow.reduce_mean %s axes [1] keepdims : tensor<2x1xf32>
  %p = glow.mul %z, %z : tensor<2x1xf32>
  %d = glow.sub %q, %p : tensor<2x1xf32>
  %v = glow.relu %d : tensor<2x1xf32>
  %e = glow.add %v, %epsilon : tensor<2x1xf32>
  %r = glow.rsqrt %e : tensor<2x1xf32>
  %c = glow.sub %x, %m : tensor<2x4xf32>
  %y = glow.mul %c, %r : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
