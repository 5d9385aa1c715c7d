// RUN: glow-opt %s --split-input-file --lower-nodes='backend=cpu' | filecheck %s

// CHECK-LABEL: func.func @mean_squared(
// CHECK-NEXT: %0 = glow.sub %x, %y : tensor<8x3xf32>
// CHECK-NEXT: %1 = glow.mul %0, %0 : tensor<8x3xf32>
// CHECK-NEXT: %2 = glow.reduce_sum %1 axes [0, 1] : tensor<f32>
// CHECK-NEXT: %3 = glow.splat 2.400000e+01 : tensor<f32>
// CHECK-NEXT: %loss = glow.div %2, %3 : tensor<f32>
func.func @mean_squared(%x: tensor<8x3xf32>, %y: tensor<8x3xf32>) -> tensor<f32> {
  %loss = glow.mse_loss %x, %y : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @two_classes(
// CHECK:      {{%.*}} = glow.softplus {{%.*}} : tensor<8x3xf32>
// CHECK:      {{%.*}} = glow.reduce_sum {{%.*}} axes [0, 1] : tensor<f32>
func.func @two_classes(%x: tensor<8x3xf32>, %y: tensor<8x3xf32>) -> tensor<f32> {
  %loss = glow.bce_with_logits %x, %y reduction "sum" : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// A label that is negative becomes the number of classes, which the gather reports.

// CHECK-LABEL: func.func @classes(
// CHECK:      [[IGNORED:%.*]] = glow.equal %labels, {{%.*}} : tensor<8xi1>
// CHECK-NEXT: [[SAFE:%.*]] = glow.select [[IGNORED]], {{%.*}}, %labels : tensor<8xi64>
// CHECK-NEXT: [[CLASSES:%.*]] = glow.splat 3 : tensor<i64>
// CHECK-NEXT: [[NEGATIVE:%.*]] = glow.less [[SAFE]], {{%.*}} : tensor<8xi1>
// CHECK-NEXT: [[PLACES:%.*]] = glow.select [[NEGATIVE]], [[CLASSES]], [[SAFE]] : tensor<8xi64>
// CHECK:      [[INDEX:%.*]] = glow.reshape [[PLACES]] : tensor<8x1xi64>
// CHECK-NEXT: [[PICKED:%.*]] = glow.gather_elements {{%.*}}, [[INDEX]] axis 1 : tensor<8x1xf32>
// CHECK:      %loss = glow.div
func.func @classes(%x: tensor<8x3xf32>) -> tensor<f32> {
  %labels = glow.constant dense<[0, 2, 1, -100, 0, 1, 2, 2]> : tensor<8xi64>
  %loss = glow.cross_entropy %x, %labels : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// What depends on the rate alone is computed in f64, for all parameters at once; each of them is
// then updated by one node.

// CHECK-LABEL: func.func @step(
// CHECK:      {{%.*}} = glow.convert %rate : tensor<f64>
// CHECK:      [[P:%.*]] = glow.fused [[RATE:%[0-9]+]], {{.*}}, %p, %dp {
// CHECK:      arith.subf
// CHECK:      } : tensor<4x3xf32>
// CHECK-NEXT: [[Q:%.*]] = glow.fused [[RATE]], {{.*}}, %q, %dq {
// CHECK:      } : tensor<3xf32>
// CHECK-NEXT: func.return [[P]], [[Q]] : tensor<4x3xf32>, tensor<3xf32>
func.func @step(%rate: tensor<f32>, %step: tensor<f32>, %p: tensor<4x3xf32>, %q: tensor<3xf32>, %dp: tensor<4x3xf32>, %dq: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %0, %1 = glow.sgd %rate, %step, %p, %q, %dp, %dq weight_decay 0.1 : tensor<4x3xf32>, tensor<3xf32>
  func.return %0, %1 : tensor<4x3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @drop(
// CHECK:      [[ROW:%.*]] = glow.constant dense<0> : tensor<1x1xi64>
// CHECK-NEXT: [[COLUMN:%.*]] = glow.constant dense<[0, 1, 2]> : tensor<3xi64>
// CHECK:      [[A:%.*]], [[B:%.*]], [[C:%.*]], [[D:%.*]] = glow.fused [[ROW]], [[COLUMN]], {{%.*}}, {{%.*}} {
// CHECK:      } : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: {{%.*}} = glow.concat [[A]], [[B]], [[C]], [[D]] axis 0 : tensor<4x3xf32>
// CHECK:      [[RANDOM:%.*]] = glow.reshape {{%.*}} : tensor<5x2xf32>
// CHECK:      [[DROPPED:%.*]] = glow.less [[RANDOM]], {{%.*}} : tensor<5x2xi1>
// CHECK:      %y = glow.select [[DROPPED]], {{%.*}}, {{%.*}} : tensor<5x2xf32>
func.func @drop(%x: tensor<5x2xf32>, %seed: tensor<2xi64>) -> tensor<5x2xf32> {
  %y = glow.dropout %x, %seed : tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}
