// RUN: glow-opt --canonicalize %s | filecheck %s

!a = !quant.uniform<u8:f32, 0.5:3>
!b = !quant.uniform<u8:f32, 0.75:7>
!rows = !quant.uniform<i8:f32:0, {0.5, 0.25}>

// Nodes that do nothing to numbers may rescale them.
// CHECK-LABEL: @rescaling
// CHECK-NEXT: glow.max %x, %x
// CHECK-NEXT: glow.avg_pool2d %x
// CHECK-NEXT: glow.reduce_mean %x
// CHECK-NEXT: func.return
func.func @rescaling(%x: tensor<1x1x4x1x!a>) -> (tensor<1x1x4x1x!b>, tensor<1x1x4x1x!b>, tensor<1x1x4x1x!b>) {
  %0 = glow.max %x, %x : tensor<1x1x4x1x!b>
  %1 = glow.avg_pool2d %x kernel [1, 1] : tensor<1x1x4x1x!b>
  %2 = glow.reduce_mean %x axes [3] keepdims : tensor<1x1x4x1x!b>
  func.return %0, %1, %2 : tensor<1x1x4x1x!b>, tensor<1x1x4x1x!b>, tensor<1x1x4x1x!b>
}

// CHECK-LABEL: @nothing
// CHECK-NEXT: glow.reshape %x : tensor<1x1x4x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: func.return %x, %x
func.func @nothing(%x: tensor<1x1x4x1x!a>) -> (tensor<1x1x4x1x!a>, tensor<1x1x4x1x!a>, tensor<1x1x4x!a>) {
  %0 = glow.max %x, %x : tensor<1x1x4x1x!a>
  %1 = glow.avg_pool2d %x kernel [1, 1] : tensor<1x1x4x1x!a>
  %2 = glow.reduce_mean %x axes [3] : tensor<1x1x4x!a>
  func.return %0, %1, %2 : tensor<1x1x4x1x!a>, tensor<1x1x4x1x!a>, tensor<1x1x4x!a>
}

// Bounds are numbers, not stored integers: 300 is 603 steps.
// CHECK-LABEL: @bounds
// CHECK-NEXT: glow.clip %x low -3.000000e+02 high 1.000000e+02
// CHECK-NEXT: glow.relu %x : tensor<4x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.relu %x : tensor<4x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.clip {{.*}} low 1.000000e+00 high 5.000000e+01 : tensor<4x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: func.return
func.func @bounds(%x: tensor<4x!a>) -> (tensor<4x!a>, tensor<4x!b>, tensor<4x!a>) {
  %0 = glow.clip %x low -300.0 high 100.0 : tensor<4x!a>
  %1 = glow.relu %x : tensor<4x!b>
  %2 = glow.relu %1 : tensor<4x!b>
  %3 = glow.relu %x : tensor<4x!b>
  %4 = glow.clip %3 low 1.0 high 50.0 : tensor<4x!a>
  func.return %0, %2, %4 : tensor<4x!a>, tensor<4x!b>, tensor<4x!a>
}

// Rows with a scale each become floats, which no slice does.
// CHECK-LABEL: @rows
// CHECK: glow.gather
func.func @rows() -> tensor<1x3xf32> {
  %t = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> as tensor<2x3x!rows>
  %i = glow.constant dense<[1]> : tensor<1xi64>
  %y = glow.gather %t, %i axis 0 : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}

// CHECK-LABEL: @repeated_matrix
// CHECK-NEXT: glow.matmul %x, %w : tensor<2x1x3x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @repeated_matrix(%x: tensor<2x1x3x!a>, %w: tensor<3x3x!a>) -> tensor<2x1x3x!b> {
  %r = glow.broadcast %w : tensor<2x3x3x!a>
  %y = glow.matmul %x, %r : tensor<2x1x3x!b>
  func.return %y : tensor<2x1x3x!b>
}

// What only moves has its operand's type, which says all.
// CHECK-LABEL: @concats
// CHECK-NEXT: %[[C:.*]] = glow.concat %x, %y, %y axis 0 : tensor<6x3x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: %[[S:.*]] = glow.slice %y starts [1, 0] sizes [1, 3] steps [1, 1]
// CHECK-NEXT: func.return %[[C]], %[[S]], %x
func.func @concats(%x: tensor<2x3x!a>, %y: tensor<2x3x!a>) -> (tensor<6x3x!a>, tensor<1x3x!a>, tensor<2x3x!a>) {
  %0 = glow.concat %x, %y axis 0 : tensor<4x3x!a>
  %1 = glow.concat %0, %y axis 0 : tensor<6x3x!a>
  %2 = glow.concat %x, %y axis 0 : tensor<4x3x!a>
  %3 = glow.slice %2 starts [3, 0] sizes [1, 3] steps [1, 1] : tensor<1x3x!a>
  %4 = glow.slice %x starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3x!a>
  %5 = glow.slice %x starts [1, 0] sizes [1, 3] steps [1, 1] : tensor<1x3x!a>
  %6 = glow.concat %4, %5 axis 0 : tensor<2x3x!a>
  func.return %1, %3, %6 : tensor<6x3x!a>, tensor<1x3x!a>, tensor<2x3x!a>
}

// CHECK-LABEL: @movement
// CHECK-NEXT: %[[R:.*]] = glow.reshape %x : tensor<2x1x3x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: %[[P:.*]] = glow.pad %x pads [2, 0, 0, 1] value 1.500000e+00
// CHECK-NEXT: %[[G:.*]] = glow.slice %x starts [0, 1] sizes [2, 2] steps [1, 1]
// CHECK-NEXT: %[[S:.*]] = glow.add %x, %row : tensor<2x3x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: func.return %[[R]], %[[P]], %[[G]], %[[S]]
func.func @movement(%x: tensor<2x3x!a>, %row: tensor<3x!a>) -> (tensor<2x1x3x!a>, tensor<4x4x!a>, tensor<2x2x!a>, tensor<2x3x!b>) {
  %0 = glow.reshape %x : tensor<1x2x3x!a>
  %1 = glow.transpose %0 permutation [1, 0, 2] : tensor<2x1x3x!a>
  %2 = glow.pad %x pads [1, 0, 0, 1] value 1.5 : tensor<3x4x!a>
  %3 = glow.pad %2 pads [1, 0, 0, 0] value 1.5 : tensor<4x4x!a>
  %i = glow.constant dense<[1, 2]> : tensor<2xi64>
  %4 = glow.gather %x, %i axis 1 : tensor<2x2x!a>
  %5 = glow.broadcast %row : tensor<2x3x!a>
  %6 = glow.add %x, %5 : tensor<2x3x!b>
  func.return %1, %3, %4, %6 : tensor<2x1x3x!a>, tensor<4x4x!a>, tensor<2x2x!a>, tensor<2x3x!b>
}
