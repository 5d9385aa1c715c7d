// RUN: glow-opt --canonicalize %s | filecheck %s

// CHECK-LABEL: func.func @neutral(
// CHECK-NEXT: func.return %x : tensor<4xf32>
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = glow.splat 0.0 : tensor<f32>
  %one = glow.constant dense<1.0> : tensor<4xf32>
  %a = glow.add %x, %zero : tensor<4xf32>
  %b = glow.mul %one, %a : tensor<4xf32>
  %c = glow.sub %b, %zero : tensor<4xf32>
  %d = glow.div %c, %one : tensor<4xf32>
  %e = glow.max %d, %d : tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// A zero of another shape broadcasts: it is not neutral. x * 0 may be NaN.
// CHECK-LABEL: func.func @not_neutral(
// CHECK-NEXT: %zero = glow.splat 0.000000e+00 : tensor<3x1xf32>
// CHECK-NEXT: %a = glow.add %x, %zero : tensor<3x4xf32>
// CHECK-NEXT: %nought = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %b = glow.mul %x, %nought : tensor<1x4xf32>
// CHECK-NEXT: func.return %a, %b : tensor<3x4xf32>, tensor<1x4xf32>
func.func @not_neutral(%x: tensor<1x4xf32>) -> (tensor<3x4xf32>, tensor<1x4xf32>) {
  %zero = glow.splat 0.0 : tensor<3x1xf32>
  %a = glow.add %x, %zero : tensor<3x4xf32>
  %nought = glow.splat 0.0 : tensor<f32>
  %b = glow.mul %x, %nought : tensor<1x4xf32>
  func.return %a, %b : tensor<3x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func.func @integer_zero(
// CHECK-NEXT: %a = glow.splat 0 : tensor<4xi32>
// CHECK-NEXT: func.return %a : tensor<4xi32>
func.func @integer_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = glow.splat 0 : tensor<i32>
  %a = glow.mul %x, %zero : tensor<4xi32>
  func.return %a : tensor<4xi32>
}

// CHECK-LABEL: func.func @twice(
// CHECK-NEXT: %c = glow.abs %x : tensor<4xf32>
// CHECK-NEXT: %f = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: func.return %x, %c, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = glow.neg %x : tensor<4xf32>
  %b = glow.neg %a : tensor<4xf32>
  %c = glow.abs %b : tensor<4xf32>
  %d = glow.abs %c : tensor<4xf32>
  %e = glow.relu %x : tensor<4xf32>
  %f = glow.relu %e : tensor<4xf32>
  func.return %b, %d, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @bounds(
// CHECK-NEXT: %b = glow.clip %x low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %c = glow.clip %x low 5.000000e-01 high 2.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %e = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: func.return %b, %c, %x, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @bounds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = glow.clip %x low -1.0 high 6.0 : tensor<4xf32>
  %b = glow.relu %a : tensor<4xf32>
  %c = glow.clip %a low 0.5 high 2.0 : tensor<4xf32>
  %d = glow.clip %x : tensor<4xf32>
  %e = glow.clip %x low 0.0 : tensor<4xf32>
  func.return %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @select(
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %no = glow.splat 0 : tensor<4xi1>
  %s = glow.select %no, %x, %y : tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// CHECK-LABEL: func.func @identities(
// CHECK-NEXT: func.return %x : tensor<2x4xf32>
func.func @identities(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = glow.reshape %x : tensor<2x4xf32>
  %b = glow.transpose %a permutation [0, 1] : tensor<2x4xf32>
  %c = glow.slice %b starts [0, 0] sizes [2, 4] steps [1, 1] : tensor<2x4xf32>
  %d = glow.pad %c pads [0, 0, 0, 0] : tensor<2x4xf32>
  %e = glow.broadcast %d : tensor<2x4xf32>
  %f = glow.tile %e repeats [1, 1] : tensor<2x4xf32>
  %g = glow.concat %f axis 0 : tensor<2x4xf32>
  %h = glow.convert %g : tensor<2x4xf32>
  func.return %h : tensor<2x4xf32>
}

// A slice of the whole extent that reverses an axis is no identity.
// CHECK-LABEL: func.func @reverse(
// CHECK-NEXT: %a = glow.slice %x starts [3] sizes [4] steps [-1] : tensor<4xf32>
// CHECK-NEXT: func.return %a : tensor<4xf32>
func.func @reverse(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.slice %x starts [3] sizes [4] steps [-1] : tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// CHECK-LABEL: func.func @merge(
// CHECK-NEXT: %b = glow.reshape %x : tensor<24xf32>
// CHECK-NEXT: %d = glow.transpose %x permutation [1, 0, 2] : tensor<3x2x4xf32>
// CHECK-NEXT: func.return %b, %d, %x : tensor<24xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>
func.func @merge(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>) {
  %a = glow.reshape %x : tensor<6x4xf32>
  %b = glow.reshape %a : tensor<24xf32>
  %c = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
  %d = glow.transpose %c permutation [1, 2, 0] : tensor<3x2x4xf32>
  %e = glow.transpose %d permutation [1, 0, 2] : tensor<2x3x4xf32>
  func.return %b, %d, %e : tensor<24xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @concat_and_slice(
// CHECK-NEXT: %a = glow.concat %x, %y axis 0 : tensor<5xf32>
// CHECK-NEXT: %b = glow.concat %x, %a axis 0 : tensor<7xf32>
// CHECK-NEXT: %c = glow.slice %y starts [1] sizes [2] steps [1] : tensor<2xf32>
// CHECK-NEXT: %d = glow.slice %a starts [1] sizes [3] steps [1] : tensor<3xf32>
// CHECK-NEXT: %e = glow.slice %y starts [0] sizes [1] steps [1] : tensor<1xf32>
// CHECK-NEXT: func.return %b, %c, %d, %e : tensor<7xf32>, tensor<2xf32>, tensor<3xf32>, tensor<1xf32>
func.func @concat_and_slice(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<7xf32>, tensor<2xf32>, tensor<3xf32>, tensor<1xf32>) {
  %a = glow.concat %x, %y axis 0 : tensor<5xf32>
  %b = glow.concat %x, %a axis 0 : tensor<7xf32>
  %c = glow.slice %a starts [3] sizes [2] steps [1] : tensor<2xf32>
  %d = glow.slice %a starts [1] sizes [3] steps [1] : tensor<3xf32>
  %e = glow.slice %d starts [1] sizes [1] steps [1] : tensor<1xf32>
  func.return %b, %c, %d, %e : tensor<7xf32>, tensor<2xf32>, tensor<3xf32>, tensor<1xf32>
}

// An inner concatenation that others read stays whole: it is a prefix in memory.
// CHECK-LABEL: func.func @nested_concat(
// CHECK-NEXT: %a = glow.concat %x, %y axis 0 : tensor<5xf32>
// CHECK-NEXT: %b = glow.concat %a, %x axis 0 : tensor<7xf32>
// CHECK-NEXT: %d = glow.concat %x, %y, %x axis 0 : tensor<7xf32>
// CHECK-NEXT: func.return %b, %a, %d : tensor<7xf32>, tensor<5xf32>, tensor<7xf32>
func.func @nested_concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<7xf32>, tensor<5xf32>, tensor<7xf32>) {
  %a = glow.concat %x, %y axis 0 : tensor<5xf32>
  %b = glow.concat %a, %x axis 0 : tensor<7xf32>
  %c = glow.concat %x, %y axis 0 : tensor<5xf32>
  %d = glow.concat %c, %x axis 0 : tensor<7xf32>
  func.return %b, %a, %d : tensor<7xf32>, tensor<5xf32>, tensor<7xf32>
}

// CHECK-LABEL: func.func @splats(
// CHECK-NEXT: %c = glow.splat 3.000000e+00 : tensor<4x6xf32>
// CHECK-NEXT: func.return %c : tensor<4x6xf32>
func.func @splats() -> tensor<4x6xf32> {
  %a = glow.splat 3.0 : tensor<2x3xf32>
  %b = glow.reshape %a : tensor<6xf32>
  %c = glow.broadcast %b : tensor<4x6xf32>
  func.return %c : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @reduce_ones(
// CHECK-NEXT: %a = glow.reshape %x : tensor<4xf32>
// CHECK-NEXT: func.return %a, %x : tensor<4xf32>, tensor<1x4x1xf32>
func.func @reduce_ones(%x: tensor<1x4x1xf32>) -> (tensor<4xf32>, tensor<1x4x1xf32>) {
  %a = glow.reduce_sum %x axes [0, 2] : tensor<4xf32>
  %b = glow.reduce_mean %x axes [0] keepdims : tensor<1x4x1xf32>
  func.return %a, %b : tensor<4xf32>, tensor<1x4x1xf32>
}
