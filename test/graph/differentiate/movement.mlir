// RUN: glow-opt --split-input-file --differentiate='wrt=x' %s | filecheck %s

// The gradient moves back: parts among zeros, sums of what was repeated; reductions repeat it.

// CHECK-LABEL: func.func @views(
// CHECK:      %0 = glow.slice %e starts [0, 0] sizes [4, 3] steps [1, 1] : tensor<4x3xf32>
// CHECK-NEXT: %1 = glow.slice %e starts [4, 0] sizes [4, 3] steps [1, 1] : tensor<4x3xf32>
// CHECK-NEXT: %t.grad = glow.add %0, %1 : tensor<4x3xf32>
// CHECK-NEXT: %d.grad = glow.transpose %t.grad permutation [1, 0] : tensor<3x4xf32>
// CHECK-NEXT: %r.grad = glow.mul %d.grad, %y : tensor<3x4xf32>
// CHECK-NEXT: %x.grad = glow.reshape %r.grad : tensor<2x6xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x6xf32>
func.func @views(%x: tensor<2x6xf32>, %y: tensor<3x4xf32>) -> tensor<f32> {
  %r = glow.reshape %x : tensor<3x4xf32>
  %d = glow.mul %r, %y : tensor<3x4xf32>
  %t = glow.transpose %d permutation [1, 0] : tensor<4x3xf32>
  %c = glow.concat %t, %t axis 0 : tensor<8x3xf32>
  %e = glow.exp %c : tensor<8x3xf32>
  %loss = glow.reduce_sum %e axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @parts(
// CHECK:      %0 = glow.slice %a starts [3] sizes [4] steps [-1] : tensor<4xf32>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<4x1xf32>
// CHECK-NEXT: %2 = glow.pad %1 pads [0, 0, 0, 1] : tensor<4x2xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<8xf32>
// CHECK-NEXT: %4 = glow.pad %3 pads [1, -1] : tensor<8xf32>
// CHECK-NEXT: %5 = glow.pad %b pads [2, 2] : tensor<8xf32>
// CHECK-NEXT: %x.grad = glow.add %4, %5 : tensor<8xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<8xf32>
func.func @parts(%x: tensor<8xf32>) -> tensor<f32> {
  %a = glow.slice %x starts [2] sizes [4] steps [1] : tensor<4xf32>
  %b = glow.slice %x starts [7] sizes [4] steps [-2] : tensor<4xf32>
  %c = glow.mul %a, %b : tensor<4xf32>
  %loss = glow.reduce_sum %c axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @pads(
// CHECK:      %p.grad = glow.pad %e pads [-1, 1] : tensor<7xf32>
// CHECK-NEXT: %0 = glow.slice %p.grad starts [0] sizes [3] steps [1] : tensor<3xf32>
// CHECK-NEXT: %1 = glow.slice %0 starts [2] sizes [3] steps [-1] : tensor<3xf32>
// CHECK-NEXT: %2 = glow.pad %1 pads [0, 1] : tensor<4xf32>
// CHECK-NEXT: %3 = glow.slice %p.grad starts [3] sizes [3] steps [1] : tensor<3xf32>
// CHECK-NEXT: %4 = glow.pad %3 pads [1, 0] : tensor<4xf32>
// CHECK-NEXT: %5 = glow.add %2, %4 : tensor<4xf32>
// CHECK-NEXT: %6 = glow.slice %p.grad starts [6] sizes [1] steps [1] : tensor<1xf32>
// CHECK-NEXT: %7 = glow.pad %6 pads [2, 1] : tensor<4xf32>
// CHECK-NEXT: %x.grad = glow.add %5, %7 : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @pads(%x: tensor<4xf32>) -> tensor<f32> {
  %p = glow.pad %x pads [2, 1] mode "reflect" : tensor<7xf32>
  %q = glow.pad %p pads [1, -1] : tensor<7xf32>
  %e = glow.exp %q : tensor<7xf32>
  %loss = glow.reduce_sum %e axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @repetitions(
// CHECK:      %0 = glow.reshape %y : tensor<3x2x4xf32>
// CHECK-NEXT: %b.grad = glow.reduce_sum %0 axes [1] : tensor<3x4xf32>
// CHECK-NEXT: %x.grad = glow.reduce_sum %b.grad axes [0] : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @repetitions(%x: tensor<4xf32>, %y: tensor<3x8xf32>) -> tensor<f32> {
  %b = glow.broadcast %x : tensor<3x4xf32>
  %t = glow.tile %b repeats [1, 2] : tensor<3x8xf32>
  %d = glow.mul %t, %y : tensor<3x8xf32>
  %loss = glow.reduce_sum %d axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @reductions(
// CHECK:      %m.grad = glow.cumulative %y kind "sum" axis 0 reverse : tensor<3xf32>
// CHECK-NEXT: %0 = glow.reshape %m : tensor<3x1xf32>
// CHECK-NEXT: %1 = glow.equal %x, %0 : tensor<3x4xi1>
// CHECK-NEXT: %2 = glow.convert %1 : tensor<3x4xf32>
// CHECK-NEXT: %3 = glow.reduce_sum %2 axes [1] keepdims : tensor<3x1xf32>
// CHECK-NEXT: %4 = glow.reshape %m.grad : tensor<3x1xf32>
// CHECK-NEXT: %5 = glow.div %4, %3 : tensor<3x1xf32>
// CHECK-NEXT: %6 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %x.grad = glow.select %1, %5, %6 : tensor<3x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<3x4xf32>
func.func @reductions(%x: tensor<3x4xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %m = glow.reduce_max %x axes [1] : tensor<3xf32>
  %s = glow.cumulative %m kind "sum" axis 0 : tensor<3xf32>
  %d = glow.mul %s, %y : tensor<3xf32>
  %loss = glow.reduce_sum %d axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}
