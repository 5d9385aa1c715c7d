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
