// RUN: glow-opt %s --split-input-file --training-mode='momentum=0.2 seed=7' | filecheck %s

// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: %mean = glow.variable @mean : tensor<4xf32>
// CHECK-NEXT: %variance = glow.variable @variance initial dense<{{.*}}> : tensor<4xf32>
// CHECK-NEXT: %y, [[MEAN:%.*]], [[VARIANCE:%.*]] = glow.batch_norm_training %x, %scale, %bias, %mean, %variance epsilon 1.000000e-03 momentum 2.000000e-01 : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: glow.save [[MEAN]], @mean
// CHECK-NEXT: glow.save [[VARIANCE]], @variance
// CHECK-NEXT: func.return %y : tensor<8x4xf32>
func.func @constants(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<8x4xf32> {
  %mean = glow.splat 0.0 : tensor<4xf32>
  %variance = glow.splat 1.0 : tensor<4xf32>
  %y = glow.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.0e-3 : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// -----

// The second layer goes on from what the first one leaves.

// CHECK-LABEL: func.func @shared(
// CHECK:      %y, [[MEAN:%.*]], [[VARIANCE:%.*]] = glow.batch_norm_training %x, %scale, %bias, %m, %v
// CHECK-NEXT: %z, [[MEAN2:%.*]], [[VARIANCE2:%.*]] = glow.batch_norm_training %y, %scale, %bias, [[MEAN]], [[VARIANCE]]
// CHECK-NEXT: glow.save [[MEAN2]], @m
// CHECK-NEXT: glow.save [[VARIANCE2]], @v
// CHECK-NEXT: func.return %z : tensor<8x4xf32>
func.func @shared(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<8x4xf32> {
  %m = glow.variable @m : tensor<4xf32>
  %v = glow.variable @v : tensor<4xf32>
  %y = glow.batch_norm %x, %scale, %bias, %m, %v : tensor<8x4xf32>
  %z = glow.batch_norm %y, %scale, %bias, %m, %v : tensor<8x4xf32>
  func.return %z : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @dropout(
// CHECK-NEXT: %seed = glow.variable @seed initial dense<[7, 0]> : tensor<2xi64>
// CHECK:      %y = glow.dropout %x, %seed ratio 1.000000e-01 : tensor<8x4xf32>
// CHECK-NEXT: %z = glow.dropout %y, %seed stream 1 : tensor<8x4xf32>
// CHECK-NEXT: [[ONE:%.*]] = glow.constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: [[NEXT:%.*]] = glow.add %seed, [[ONE]] : tensor<2xi64>
// CHECK-NEXT: glow.save [[NEXT]], @seed
func.func @dropout(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = glow.constant dense<0> : tensor<2xi64>
  %y = glow.dropout %x, %0 ratio 0.1 : tensor<8x4xf32>
  %z = glow.dropout %y, %0 : tensor<8x4xf32>
  func.return %z : tensor<8x4xf32>
}

// -----

// Nothing to do.

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %y = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
