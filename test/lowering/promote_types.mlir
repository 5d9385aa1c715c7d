// RUN: glow-opt --promote-types %s | filecheck %s
// RUN: glow-opt --widen-elements %s 2>&1 | filecheck %s --check-prefix=RENAMED
// RENAMED: warning: --widen-elements is now --promote-types

// Functions of 16-bit floats are computed in f32 and rounded once.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %0 = glow.convert %x : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.softmax %0 axis 1 : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.convert %1 : tensor<2x4xbf16>
// CHECK-NEXT: func.return %y : tensor<2x4xbf16>
func.func @softmax(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %y = glow.softmax %x axis 1 : tensor<2x4xbf16>
  func.return %y : tensor<2x4xbf16>
}

// Positions stay what they are.
// CHECK-LABEL: func.func @position(
// CHECK-NEXT: %0 = glow.convert %x : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.arg_max %0 axis 1 : tensor<2xi64>
// CHECK-NEXT: func.return %y : tensor<2xi64>
func.func @position(%x: tensor<2x4xf16>) -> tensor<2xi64> {
  %y = glow.arg_max %x axis 1 : tensor<2xi64>
  func.return %y : tensor<2xi64>
}

// Products of narrow integers saturate.
// CHECK-LABEL: func.func @product(
// CHECK: glow.matmul %{{.*}}, %{{.*}} : tensor<2x2xi64>
// CHECK-NEXT: glow.clip %{{.*}} low -1.280000e+02 high 1.270000e+02 : tensor<2x2xi64>
// CHECK-NEXT: %y = glow.convert %{{.*}} : tensor<2x2xi8>
func.func @product(%x: tensor<2x2xi8>) -> tensor<2x2xi8> {
  %y = glow.matmul %x, %x : tensor<2x2xi8>
  func.return %y : tensor<2x2xi8>
}

// Kernels exist for f32 and f64, and element-wise code for every type.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: %a = glow.add %x, %x : tensor<2x4xf16>
// CHECK-NEXT: %b = glow.matmul %w, %w : tensor<2x2xf64>
// CHECK-NEXT: func.return
func.func @kept(%x: tensor<2x4xf16>, %w: tensor<2x2xf64>) -> (tensor<2x4xf16>, tensor<2x2xf64>) {
  %a = glow.add %x, %x : tensor<2x4xf16>
  %b = glow.matmul %w, %w : tensor<2x2xf64>
  func.return %a, %b : tensor<2x4xf16>, tensor<2x2xf64>
}

// Sums of volumes and of transposed windows, too.
// CHECK-LABEL: func.func @convolutions(
// CHECK: glow.conv3d %{{.*}}, %{{.*}} : tensor<1x4x3x3x3xf32>
// CHECK: glow.conv_transpose2d %{{.*}}, %{{.*}} : tensor<1x4x3x3xf32>
// CHECK: glow.conv_transpose3d %{{.*}}, %{{.*}} : tensor<1x4x3x3x3xf32>
func.func @convolutions(%x: tensor<1x4x3x3x3xf16>, %y: tensor<1x4x3x3xf16>, %w: tensor<4x4x1x1x1xf16>, %v: tensor<4x4x1x1xf16>) -> (tensor<1x4x3x3x3xf16>, tensor<1x4x3x3xf16>, tensor<1x4x3x3x3xf16>) {
  %a = glow.conv3d %x, %w : tensor<1x4x3x3x3xf16>
  %b = glow.conv_transpose2d %y, %v : tensor<1x4x3x3xf16>
  %c = glow.conv_transpose3d %x, %w : tensor<1x4x3x3x3xf16>
  func.return %a, %b, %c : tensor<1x4x3x3x3xf16>, tensor<1x4x3x3xf16>, tensor<1x4x3x3x3xf16>
}
