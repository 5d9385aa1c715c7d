// RUN: ! glow-opt --convert-fake-quantization %s 2>&1 | filecheck %s
// RUN: sed 's/-0.5/0.5/' %s | ! glow-opt --convert-fake-quantization 2>&1 | filecheck %s --check-prefix=COMPUTED

// CHECK: error: convert-fake-quantization: the scale of glow.fake_quantize is -0.5, not positive and finite
// COMPUTED: error: convert-fake-quantization: the scale of glow.fake_quantize is computed; to store integers it must be a constant; convert variables to constants before
func.func @main(%x: tensor<2xf32>, %s: tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %negative = glow.splat -0.5 : tensor<f32>
  %0 = glow.fake_quantize %x, %negative low 0 high 255 : tensor<2xf32>
  %1 = glow.fake_quantize %x, %s low 0 high 255 : tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
