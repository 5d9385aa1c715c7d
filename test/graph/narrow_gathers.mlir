// RUN: glow-opt --narrow-gathers %s | filecheck %s

// Columns from the first to the last that is read, in sixteens, and the places in them; negative
// ones count from the end.
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %[[W:.*]] = glow.slice %w starts [0, 20] sizes [4, 16] steps [1, 1] : tensor<4x16xf32>
// CHECK-NEXT: %[[P:.*]] = glow.matmul %x, %[[W]] : tensor<2x16xf32>
// CHECK-NEXT: %[[I:.*]] = glow.constant dense<{{\[\[}}0, 9, 2], [2, 10, 10]]> : tensor<2x3xi64>
// CHECK-NEXT: %[[Y:.*]] = glow.gather_elements %[[P]], %[[I]] axis 1 : tensor<2x3xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @columns(%x: tensor<2x4xf32>, %w: tensor<4x64xf32>) -> tensor<2x3xf32> {
  %i = glow.constant dense<[[20, 29, 22], [22, -34, 30]]> : tensor<2x3xi64>
  %p = glow.matmul %x, %w : tensor<2x64xf32>
  %y = glow.gather_elements %p, %i axis 1 : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Near the end the sixteen begin earlier; rows of a factor that is transposed.
// CHECK-LABEL: func.func @rows(
// CHECK: glow.slice %w starts [0, 48, 0] sizes [3, 16, 4] steps [1, 1, 1] : tensor<3x16x4xf32>
// CHECK: glow.matmul %x, %{{.*}} transpose_rhs : tensor<3x2x16xf32>
// CHECK: glow.constant dense<15> : tensor<3x2x1xi64>
func.func @rows(%x: tensor<3x2x4xf32>, %w: tensor<3x64x4xf32>) -> tensor<3x2x1xf32> {
  %i = glow.constant dense<63> : tensor<3x2x1xi64>
  %p = glow.matmul %x, %w transpose_rhs : tensor<3x2x64xf32>
  %y = glow.gather_elements %p, %i axis 2 : tensor<3x2x1xf32>
  func.return %y : tensor<3x2x1xf32>
}
