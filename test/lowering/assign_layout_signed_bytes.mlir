// RUN: glow-opt --assign-layout='target=neon-dotprod' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=neon-i8mm' --dce %s | filecheck %s --check-prefix=MIXED

// Dot products of signed bytes read the input 128 lower, for which the bias makes up.
// CHECK-LABEL: func.func @convolution(
// CHECK: glow.constant dense<1988> : tensor<1x4xi32>
// CHECK: cpu.int8_conv2d {{.*}}signed_input{{.*}} zero_point 3 kernel [1, 1] : tensor<1x1x4x4x4xi32>
// MIXED-LABEL: func.func @convolution(
// MIXED: glow.constant dense<-60> : tensor<1x4xi32>
// MIXED-NOT: signed_input
func.func @convolution(%x: tensor<1x16x4x4xui8>) -> tensor<1x4x4x4xi32> {
  %w = glow.constant dense<1> : tensor<4x16x1x1xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %b = glow.constant dense<-12> : tensor<1x4x1x1xi32>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x4x4x4xi32>
  %1 = glow.add %0, %b : tensor<1x4x4x4xi32>
  func.return %1 : tensor<1x4x4x4xi32>
}

// Where padding counts, each class of places at a border has a bias: those inside first.
// CHECK-LABEL: func.func @padded(
// CHECK: glow.constant dense<{{.*}}18000{{.*}}12000{{.*}}8000{{.*}}> : tensor<9x4xi32>
// CHECK: cpu.int8_conv2d {{.*}}signed_input zero_point 3 kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x4x4x4xi32>
// MIXED-LABEL: func.func @padded(
func.func @padded(%x: tensor<1x16x4x4xui8>) -> tensor<1x4x4x4xi32> {
  %w = glow.constant dense<1> : tensor<4x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x4x4x4xi32>
  func.return %0 : tensor<1x4x4x4xi32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: glow.constant dense<[768, 1024, 1280, 1536]> : tensor<4xi32>
// CHECK: cpu.int8_matmul {{.*}}signed_input
func.func @matmul(%x: tensor<3x4xui8>) -> tensor<3x4xi32> {
  %w = glow.constant dense<[[0, 2, 1, 3], [2, 2, 3, 3], [2, 2, 3, 3], [2, 2, 3, 3]]> : tensor<4x4xi8>
  %z = glow.constant dense<0> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<3x4xi32>
  func.return %0 : tensor<3x4xi32>
}
