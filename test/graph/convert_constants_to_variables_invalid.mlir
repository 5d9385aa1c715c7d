// RUN: not glow-opt --convert-constants-to-variables='names=v' %s 2>&1 | filecheck %s
// RUN: not glow-opt --convert-constants-to-variables='names=q' %s 2>&1 | filecheck %s --check-prefix QUANTIZED

// CHECK: convert-constants-to-variables: no weight is called 'v'; there are w, q
// QUANTIZED: convert-constants-to-variables: weight 'q' is quantized, and cannot be a variable
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = glow.constant @w : tensor<4xf32>
  %q = glow.constant dense<[7, 9]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 0.5>>
  %0 = glow.add %x, %w : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
