// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @positions(
// CHECK-NEXT: %0 = glow.gather_nd %x, %i : tensor<4x3xf32>
// CHECK-NEXT: %1 = glow.gather_nd %x, %j batch_dims 1 : tensor<2x5xf32>
// CHECK-NEXT: %2 = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<2x3xf32>
// CHECK-NEXT: %3 = glow.scatter %x, %i, %u coordinates [-1, 1] reduction "add" : tensor<2x3xf32>
// CHECK-NEXT: func.return
func.func @positions(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %j: tensor<2x5x1xi64>, %u: tensor<4x3xf32>) {
  %0 = glow.gather_nd %x, %i : tensor<4x3xf32>
  %1 = glow.gather_nd %x, %j batch_dims 1 : tensor<2x5xf32>
  %2 = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<2x3xf32>
  %3 = glow.scatter %x, %i, %u coordinates [-1, 1] reduction "add" : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @bits(
// CHECK-NEXT: %0 = glow.bitwise_and %x, %y : tensor<2x3xi32>
// CHECK-NEXT: %1 = glow.bitwise_or %x, %y : tensor<2x3xi32>
// CHECK-NEXT: %2 = glow.bitwise_xor %x, %y : tensor<2x3xi32>
// CHECK-NEXT: %3 = glow.bitwise_not %x : tensor<2x3xi32>
// CHECK-NEXT: %4 = glow.shift_left %x, %y : tensor<2x3xi32>
// CHECK-NEXT: %5 = glow.shift_right %x, %y : tensor<2x3xi32>
// CHECK-NEXT: %6 = glow.bitcast %x : tensor<2x3xf32>
// CHECK-NEXT: func.return
func.func @bits(%x: tensor<2x3xi32>, %y: tensor<3xi32>) {
  %0 = glow.bitwise_and %x, %y : tensor<2x3xi32>
  %1 = glow.bitwise_or %x, %y : tensor<2x3xi32>
  %2 = glow.bitwise_xor %x, %y : tensor<2x3xi32>
  %3 = glow.bitwise_not %x : tensor<2x3xi32>
  %4 = glow.shift_left %x, %y : tensor<2x3xi32>
  %5 = glow.shift_right %x, %y : tensor<2x3xi32>
  %6 = glow.bitcast %x : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @along_an_axis(
// CHECK-NEXT: %0 = glow.cumulative %x kind "sum" axis 1 : tensor<2x3xf32>
// CHECK-NEXT: %1 = glow.cumulative %x kind "prod" axis 0 exclusive reverse : tensor<2x3xf32>
// CHECK-NEXT: %2, %3 = glow.top_k %x k 2 smallest : tensor<2x2xf32>, tensor<2x2xi64>
// CHECK-NEXT: func.return
func.func @along_an_axis(%x: tensor<2x3xf32>) {
  %0 = glow.cumulative %x kind "sum" axis 1 : tensor<2x3xf32>
  %1 = glow.cumulative %x kind "prod" axis 0 exclusive reverse : tensor<2x3xf32>
  %2, %3 = glow.top_k %x k 2 smallest : tensor<2x2xf32>, tensor<2x2xi64>
  func.return
}

// CHECK-LABEL: func.func @factors(
// CHECK-NEXT: %0, %1 = glow.lu %x : tensor<2x3x3xf32>, tensor<2xf32>
// CHECK-NEXT: func.return
func.func @factors(%x: tensor<2x3x3xf32>) {
  %0, %1 = glow.lu %x : tensor<2x3x3xf32>, tensor<2xf32>
  func.return
}

// CHECK-LABEL: func.func @selection(
// CHECK-NEXT: %0, %1 = glow.compact %f : tensor<6xi64>, tensor<i64>
// CHECK-NEXT: %2, %3 = glow.select_boxes %b, %o, %v, %t limit 2 center_point_box : tensor<1x2x2xi64>, tensor<1x2xi64>
// CHECK-NEXT: func.return
func.func @selection(%f: tensor<6xi1>, %b: tensor<1x3x4xf32>, %o: tensor<1x2x3xi64>, %v: tensor<1x2x3xi1>, %t: tensor<f32>) {
  %0, %1 = glow.compact %f : tensor<6xi64>, tensor<i64>
  %2, %3 = glow.select_boxes %b, %o, %v, %t limit 2 center_point_box : tensor<1x2x2xi64>, tensor<1x2xi64>
  func.return
}
