// RUN: glow-opt --form-dynamic-products %s | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT: %[[Y:.*]] = glow.dynamic_matmul %x, %[[W]] granularity "tensor" : tensor<3x2xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %zero = glow.constant dense<0> : tensor<i8>
  %scales = glow.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %q, %s, %z = glow.dynamic_quantize %x : tensor<3x2xui8>, tensor<f32>, tensor<ui8>
  %1 = glow.matmul_integer %q, %w, %z, %zero : tensor<3x2xi32>
  %2 = glow.convert %1 : tensor<3x2xf32>
  %3 = glow.mul %s, %scales : tensor<2xf32>
  %4 = glow.mul %2, %3 : tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}

// Another tensor's scale: the product stays.
// CHECK-LABEL: func.func @other_scale(
// CHECK: glow.matmul_integer
func.func @other_scale(%x: tensor<3x2xf32>, %s: tensor<f32>) -> tensor<3x2xf32> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %zero = glow.constant dense<0> : tensor<i8>
  %scales = glow.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %q, %t, %z = glow.dynamic_quantize %x : tensor<3x2xui8>, tensor<f32>, tensor<ui8>
  %1 = glow.matmul_integer %q, %w, %z, %zero : tensor<3x2xi32>
  %2 = glow.convert %1 : tensor<3x2xf32>
  %3 = glow.mul %s, %scales : tensor<2xf32>
  %4 = glow.mul %2, %3 : tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}
