// RUN: glow-opt --promote-types='target=avx512bf16' %s | filecheck %s
// RUN: glow-opt --promote-types='target=avx2' %s | filecheck %s --check-prefix=WIDE

// Products with weights stay where there are dot products of pairs; their sums are f32.
// CHECK-LABEL: func.func @pairs(
// CHECK-NEXT: %w = glow.constant
// CHECK-NEXT: %0 = glow.matmul %x, %w : tensor<2x4xf32>
// CHECK-NEXT: %y = glow.convert %0 : tensor<2x4xbf16>
// WIDE-LABEL: func.func @pairs(
// WIDE: glow.matmul %{{.*}}, %{{.*}} : tensor<2x4xf32>
func.func @pairs(%x: tensor<2x6xbf16>) -> (tensor<2x4xbf16>, tensor<2x4xf32>) {
  %w = glow.constant dense<1.0> : tensor<6x4xbf16>
  %y = glow.matmul %x, %w : tensor<2x4xbf16>
  // CHECK-NEXT: %z = glow.matmul %x, %w : tensor<2x4xf32>
  // WIDE: glow.convert %x : tensor<2x6xf32>
  %z = glow.matmul %x, %w : tensor<2x4xf32>
  func.return %y, %z : tensor<2x4xbf16>, tensor<2x4xf32>
}

// An odd depth has no pairs, f16 no instruction, and products of activations no kernel.
// CHECK-LABEL: func.func @others(
// CHECK:      glow.matmul %{{.*}}, %{{.*}} : tensor<2x4xf32>
// CHECK:      %{{.*}} = glow.convert %a : tensor<2x4xf32>
// CHECK-NEXT: %{{.*}} = glow.convert %b : tensor<4x2xf32>
// CHECK-NEXT: glow.matmul %{{.*}}, %{{.*}} : tensor<2x2xf32>
func.func @others(%x: tensor<2x3xbf16>, %a: tensor<2x4xbf16>, %b: tensor<4x2xbf16>) -> (tensor<2x4xf32>, tensor<2x2xf32>) {
  %w = glow.constant dense<1.0> : tensor<3x4xbf16>
  %y = glow.matmul %x, %w : tensor<2x4xf32>
  %z = glow.matmul %a, %b : tensor<2x2xf32>
  func.return %y, %z : tensor<2x4xf32>, tensor<2x2xf32>
}
