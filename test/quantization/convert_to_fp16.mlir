// RUN: glow-opt --convert-to-fp16 %s | filecheck %s
// RUN: glow-opt --convert-to-fp16='keep=matmul' %s | filecheck %s --check-prefix=KEEP

// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: %0 = glow.convert %x : tensor<2x3xf16>
  // CHECK-NEXT: %1 = glow.constant dense<1.099610e+00> : tensor<3x2xf16>
  // CHECK-NEXT: %2 = glow.matmul %0, %1 : tensor<2x2xf32>
  // KEEP:       glow.matmul %x, %w : tensor<2x2xf32>
  %w = glow.constant dense<1.1> : tensor<3x2xf32>
  %0 = glow.matmul %x, %w : tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
