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

// Heads that are merged around a transpose and taken apart again; a transpose that others read,
// and an axis of it that is torn apart, stay.
// CHECK-LABEL: func.func @merged_heads(
// CHECK-NEXT: %r = glow.transpose %x permutation [0, 1, 3, 2] : tensor<2x3x5x4xf32>
// CHECK-NEXT: %b = glow.reshape %x : tensor<6x4x5xf32>
// CHECK-NEXT: %d = glow.transpose %b permutation [0, 2, 1] : tensor<6x5x4xf32>
// CHECK-NEXT: %e = glow.reshape %d : tensor<6x10x2xf32>
// CHECK-NEXT: %0 = glow.reshape %y : tensor<1x6x4x5xf32>
// CHECK-NEXT: %h = glow.transpose %0 permutation [0, 1, 3, 2] : tensor<1x6x5x4xf32>
// CHECK-NEXT: func.return %r, %h, %d, %e
func.func @merged_heads(%x: tensor<2x3x4x5xf32>, %y: tensor<6x20xf32>) -> (tensor<2x3x5x4xf32>, tensor<1x6x5x4xf32>, tensor<6x5x4xf32>, tensor<6x10x2xf32>) {
  %a = glow.reshape %x : tensor<6x4x5xf32>
  %t = glow.transpose %a permutation [0, 2, 1] : tensor<6x5x4xf32>
  %r = glow.reshape %t : tensor<2x3x5x4xf32>
  %b = glow.reshape %x : tensor<6x4x5xf32>
  %d = glow.transpose %b permutation [0, 2, 1] : tensor<6x5x4xf32>
  %e = glow.reshape %d : tensor<6x10x2xf32>
  %f = glow.reshape %y : tensor<6x4x5xf32>
  %g = glow.transpose %f permutation [0, 2, 1] : tensor<6x5x4xf32>
  %h = glow.reshape %g : tensor<1x6x5x4xf32>
  func.return %r, %h, %d, %e : tensor<2x3x5x4xf32>, tensor<1x6x5x4xf32>, tensor<6x5x4xf32>, tensor<6x10x2xf32>
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

// CHECK-LABEL: func.func @constants_last(
// CHECK-NEXT: %c = glow.splat 3.000000e+00 : tensor<f32>
// CHECK-NEXT: %0 = glow.add %x, %c : tensor<4xf32>
// CHECK-NEXT: %1 = glow.equal %y, %c : tensor<4xi1>
// CHECK-NEXT: %2 = glow.sub %c, %x : tensor<4xf32>
// CHECK-NEXT: func.return %0, %1, %2 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
func.func @constants_last(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %c = glow.splat 3.0 : tensor<f32>
  %0 = glow.add %c, %x : tensor<4xf32>
  %1 = glow.equal %c, %y : tensor<4xi1>
  %2 = glow.sub %c, %x : tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: func.func @equal_branches(
// CHECK-NEXT: func.return %x : tensor<4xf32>
func.func @equal_branches(%c: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = glow.select %c, %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Broadcasts vanish where the other operand has the shape; `%1` would be too small.
// CHECK-LABEL: func.func @broadcasts(
// CHECK-NEXT: %0 = glow.broadcast %b : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.add %x, %b : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.mul %r, %x : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.add %0, %b : tensor<2x4xf32>
// CHECK-NEXT: func.return %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
func.func @broadcasts(%x: tensor<2x4xf32>, %b: tensor<4xf32>, %r: tensor<1x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = glow.broadcast %b : tensor<2x4xf32>
  %1 = glow.add %x, %0 : tensor<2x4xf32>
  %2 = glow.tile %r repeats [2, 1] : tensor<2x4xf32>
  %3 = glow.mul %2, %x : tensor<2x4xf32>
  %4 = glow.add %0, %b : tensor<2x4xf32>
  func.return %1, %3, %4 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// Powers of two have exact reciprocals; 3 has none, and zero neither.
// CHECK-LABEL: func.func @reciprocals(
// CHECK-NEXT: %three = glow.splat 3.000000e+00 : tensor<f32>
// CHECK-NEXT: %zero = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %0 = glow.splat -1.250000e-01 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.div %x, %three : tensor<4xf32>
// CHECK-NEXT: %3 = glow.div %x, %zero : tensor<4xf32>
// CHECK-NEXT: %4 = glow.mul %x, %x : tensor<4xf32>
// CHECK-NEXT: func.return %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @reciprocals(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %eight = glow.splat -8.0 : tensor<f32>
  %three = glow.splat 3.0 : tensor<f32>
  %zero = glow.splat 0.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %0 = glow.div %x, %eight : tensor<4xf32>
  %1 = glow.div %x, %three : tensor<4xf32>
  %2 = glow.div %x, %zero : tensor<4xf32>
  %3 = glow.pow %x, %two : tensor<4xf32>
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Bounds that no element passes: of bytes, of half precision (70000 rounds to infinity).
// CHECK-LABEL: func.func @bounds_beyond_type(
// CHECK-NEXT: %0 = glow.clip %x high 1.000000e+02 : tensor<4xi8>
// CHECK-NEXT: %1 = glow.clip %f low -7.000000e+04 high 7.000000e+04 : tensor<4xf32>
// CHECK-NEXT: func.return %0, %h, %1 : tensor<4xi8>, tensor<4xf16>, tensor<4xf32>
func.func @bounds_beyond_type(%x: tensor<4xi8>, %h: tensor<4xf16>, %f: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf16>, tensor<4xf32>) {
  %0 = glow.clip %x low -128.0 high 100.0 : tensor<4xi8>
  %1 = glow.clip %h low -70000.0 high 70000.0 : tensor<4xf16>
  %2 = glow.clip %f low -70000.0 high 70000.0 : tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xi8>, tensor<4xf16>, tensor<4xf32>
}

// The first conversion must keep every value.
// CHECK-LABEL: func.func @conversions(
// CHECK-NEXT: %0 = glow.convert %x : tensor<4xf64>
// CHECK-NEXT: %1 = glow.convert %y : tensor<4xf16>
// CHECK-NEXT: %2 = glow.convert %1 : tensor<4xf32>
// CHECK-NEXT: func.return %0, %2 : tensor<4xf64>, tensor<4xf32>
func.func @conversions(%x: tensor<4xf16>, %y: tensor<4xf32>) -> (tensor<4xf64>, tensor<4xf32>) {
  %0 = glow.convert %x : tensor<4xf32>
  %1 = glow.convert %0 : tensor<4xf64>
  %2 = glow.convert %y : tensor<4xf16>
  %3 = glow.convert %2 : tensor<4xf32>
  func.return %1, %3 : tensor<4xf64>, tensor<4xf32>
}

// CHECK-LABEL: func.func @windows(
// CHECK-NEXT: %0 = glow.avg_pool2d %x kernel [1, 1] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %x, %0 : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>
func.func @windows(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = glow.max_pool2d %x kernel [1, 1] : tensor<1x2x4x4xf32>
  %1 = glow.avg_pool2d %0 kernel [1, 1] strides [1, 1] : tensor<1x2x4x4xf32>
  %2 = glow.avg_pool2d %0 kernel [1, 1] strides [2, 2] : tensor<1x2x2x2xf32>
  func.return %1, %2 : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>
}

// Slices that touch are one; a gap, another order or another tensor keeps them apart.
// CHECK-LABEL: func.func @adjacent_slices(
// CHECK-NEXT: %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2xf32>
// CHECK-NEXT: %1 = glow.slice %x starts [0] sizes [5] steps [1] : tensor<5xf32>
// CHECK-NEXT: %2 = glow.slice %x starts [3] sizes [2] steps [1] : tensor<2xf32>
// CHECK-NEXT: %3 = glow.concat %0, %2 axis 0 : tensor<4xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<5xf32>, tensor<4xf32>
func.func @adjacent_slices(%x: tensor<6xf32>) -> (tensor<5xf32>, tensor<4xf32>) {
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2xf32>
  %1 = glow.slice %x starts [2] sizes [3] steps [1] : tensor<3xf32>
  %2 = glow.concat %0, %1 axis 0 : tensor<5xf32>
  %3 = glow.slice %x starts [3] sizes [2] steps [1] : tensor<2xf32>
  %4 = glow.concat %0, %3 axis 0 : tensor<4xf32>
  func.return %2, %4 : tensor<5xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @concat_of_reshapes(
// CHECK-NEXT: %0 = glow.concat %x, %y axis 1 : tensor<2x8xf32>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<2x1x8xf32>
// CHECK-NEXT: %2 = glow.reshape %x : tensor<6xf32>
// CHECK-NEXT: %3 = glow.reshape %y : tensor<10xf32>
// CHECK-NEXT: %4 = glow.concat %2, %3 axis 0 : tensor<16xf32>
// CHECK-NEXT: func.return %1, %4 : tensor<2x1x8xf32>, tensor<16xf32>
func.func @concat_of_reshapes(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> (tensor<2x1x8xf32>, tensor<16xf32>) {
  %0 = glow.reshape %x : tensor<2x1x3xf32>
  %1 = glow.reshape %y : tensor<2x1x5xf32>
  %2 = glow.concat %0, %1 axis 2 : tensor<2x1x8xf32>
  %3 = glow.reshape %x : tensor<6xf32>
  %4 = glow.reshape %y : tensor<10xf32>
  %5 = glow.concat %3, %4 axis 0 : tensor<16xf32>
  func.return %2, %5 : tensor<2x1x8xf32>, tensor<16xf32>
}

// Ranges of indices are slices; others are not, and wrong ones stay to be reported.
// CHECK-LABEL: func.func @gathers(
// CHECK-NEXT: %s = glow.constant dense<[0, 2]> : tensor<2xi64>
// CHECK-NEXT: %0 = glow.slice %x starts [3, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<3xf32>
// CHECK-NEXT: %2 = glow.slice %x starts [1, 0] sizes [2, 3] steps [1, 1] : tensor<2x3xf32>
// CHECK-NEXT: %3 = glow.gather %x, %s : tensor<2x3xf32>
// CHECK-NEXT: func.return %1, %2, %3 : tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
func.func @gathers(%x: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %i = glow.constant dense<-1> : tensor<i64>
  %r = glow.constant dense<[1, 2]> : tensor<2xi64>
  %s = glow.constant dense<[0, 2]> : tensor<2xi64>
  %0 = glow.gather %x, %i : tensor<3xf32>
  %1 = glow.gather %x, %r : tensor<2x3xf32>
  %2 = glow.gather %x, %s : tensor<2x3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// Positions of all elements in order are a reshape, whatever their shape; others are not.
// CHECK-LABEL: func.func @gathers_of_all(
// CHECK-NEXT: %t = glow.constant dense<[{{\[\[0, 1\], \[0, 0\]\]}}]> : tensor<1x2x2xi64>
// CHECK-NEXT: %0 = glow.reshape %x : tensor<2x1xf32>
// CHECK-NEXT: %1 = glow.reshape %x : tensor<2x1x1xf32>
// CHECK-NEXT: %2 = glow.gather_nd %x, %t : tensor<1x2xf32>
// CHECK-NEXT: func.return %0, %1, %2 : tensor<2x1xf32>, tensor<2x1x1xf32>, tensor<1x2xf32>
func.func @gathers_of_all(%x: tensor<1x2xf32>) -> (tensor<2x1xf32>, tensor<2x1x1xf32>, tensor<1x2xf32>) {
  %i = glow.constant dense<[[[0, 0]], [[0, 1]]]> : tensor<2x1x2xi64>
  %j = glow.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %t = glow.constant dense<[[[0, 1], [0, 0]]]> : tensor<1x2x2xi64>
  %0 = glow.gather_nd %x, %i : tensor<2x1xf32>
  %1 = glow.gather %x, %j axis 1 : tensor<1x2x1xf32>
  %2 = glow.reshape %1 : tensor<2x1x1xf32>
  %3 = glow.gather_nd %x, %t : tensor<1x2xf32>
  func.return %0, %2, %3 : tensor<2x1xf32>, tensor<2x1x1xf32>, tensor<1x2xf32>
}

// Positions of one coordinate pick slices along the first axis.
// CHECK-LABEL: func.func @gathers_of_slices(
// CHECK-NEXT: %0 = glow.reshape %i : tensor<2x16xi64>
// CHECK-NEXT: %1 = glow.gather %x, %0 : tensor<2x16x3xf32>
// CHECK-NEXT: %2 = glow.gather_nd %y, %i batch_dims 1 : tensor<2x16x3xf32>
func.func @gathers_of_slices(%x: tensor<16x3xf32>, %y: tensor<2x16x3xf32>, %i: tensor<2x16x1xi64>) -> (tensor<2x16x3xf32>, tensor<2x16x3xf32>) {
  %0 = glow.gather_nd %x, %i : tensor<2x16x3xf32>
  %1 = glow.gather_nd %y, %i batch_dims 1 : tensor<2x16x3xf32>
  func.return %0, %1 : tensor<2x16x3xf32>, tensor<2x16x3xf32>
}

// CHECK-LABEL: func.func @pads_and_broadcasts(
// CHECK-NEXT: %0 = glow.pad %x pads [0, 1, 0, 2] : tensor<1x5xf32>
// CHECK-NEXT: %1 = glow.pad %x pads [0, 1, 0, 0] value 1.000000e+00 : tensor<1x3xf32>
// CHECK-NEXT: %2 = glow.pad %1 pads [0, 0, 0, 1] : tensor<1x4xf32>
// CHECK-NEXT: %3 = glow.broadcast %x : tensor<4x3x2xf32>
// CHECK-NEXT: func.return %0, %2, %3 : tensor<1x5xf32>, tensor<1x4xf32>, tensor<4x3x2xf32>
func.func @pads_and_broadcasts(%x: tensor<1x2xf32>) -> (tensor<1x5xf32>, tensor<1x4xf32>, tensor<4x3x2xf32>) {
  %0 = glow.pad %x pads [0, 1, 0, 1] : tensor<1x4xf32>
  %1 = glow.pad %0 pads [0, 0, 0, 1] : tensor<1x5xf32>
  %2 = glow.pad %x pads [0, 1, 0, 0] value 1.0 : tensor<1x3xf32>
  %3 = glow.pad %2 pads [0, 0, 0, 1] : tensor<1x4xf32>
  %4 = glow.broadcast %x : tensor<3x2xf32>
  %5 = glow.broadcast %4 : tensor<4x3x2xf32>
  func.return %1, %3, %5 : tensor<1x5xf32>, tensor<1x4xf32>, tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @broadcast_matrix(
// CHECK-NEXT: %0 = glow.matmul %x, %w : tensor<2x4x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x4x5xf32>
func.func @broadcast_matrix(%x: tensor<2x4x3xf32>, %w: tensor<3x5xf32>) -> tensor<2x4x5xf32> {
  %0 = glow.broadcast %w : tensor<2x3x5xf32>
  %1 = glow.matmul %x, %0 : tensor<2x4x5xf32>
  func.return %1 : tensor<2x4x5xf32>
}

// CHECK-LABEL: func.func @negated_condition(
// CHECK-NEXT: %0 = glow.select %c, %y, %x : tensor<2xf32>
// CHECK-NEXT: func.return %0 : tensor<2xf32>
func.func @negated_condition(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %n = glow.not %c : tensor<2xi1>
  %0 = glow.select %n, %x, %y : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Indices that are repeated along rows are those of whole rows.
// CHECK-LABEL: func.func @rows_of_scatter(
// CHECK-NEXT:  [[ROWS:%.*]] = glow.reshape %i : tensor<7x1xi64>
// CHECK-NEXT:  glow.scatter %x, [[ROWS]], %u coordinates [-1, 1] reduction "add" : tensor<16x4xf32>
// CHECK-NEXT:  func.return
func.func @rows_of_scatter(%x: tensor<16x4xf32>, %i: tensor<7xi64>, %u: tensor<7x4xf32>) -> tensor<16x4xf32> {
  %0 = glow.reshape %i : tensor<7x1xi64>
  %1 = glow.broadcast %0 : tensor<7x4xi64>
  %2 = glow.reshape %1 : tensor<7x4x1xi64>
  %y = glow.scatter %x, %2, %u coordinates [-1, 1] reduction "add" : tensor<16x4xf32>
  func.return %y : tensor<16x4xf32>
}

// Those that are repeated along the first axis stay.
// CHECK-LABEL: func.func @columns_of_scatter(
// CHECK:       glow.scatter %x, {{.*}}, %u coordinates [0, -1] : tensor<7x16xf32>
func.func @columns_of_scatter(%x: tensor<7x16xf32>, %i: tensor<1x4xi64>, %u: tensor<7x4xf32>) -> tensor<7x16xf32> {
  %1 = glow.broadcast %i : tensor<7x4xi64>
  %2 = glow.reshape %1 : tensor<7x4x1xi64>
  %y = glow.scatter %x, %2, %u coordinates [0, -1] : tensor<7x16xf32>
  func.return %y : tensor<7x16xf32>
}
