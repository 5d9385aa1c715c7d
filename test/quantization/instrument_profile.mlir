// RUN: glow-opt --instrument-profile %s | filecheck %s

// Every float value is observed under its name, constants and integers are not.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: glow.quantization_profile %x "x" : tensor<2xf32>
// CHECK-NEXT: %c = glow.constant
// CHECK-NEXT: %sum = glow.add %x, %c : tensor<2xf32>
// CHECK-NEXT: glow.quantization_profile %sum "sum" : tensor<2xf32>
// CHECK-NEXT: %{{[0-9]+}} = glow.relu %sum : tensor<2xf32>
// CHECK-NEXT: glow.quantization_profile %{{[0-9]+}} "relu" : tensor<2xf32>
// CHECK-NEXT: %i = glow.convert %{{[0-9]+}} : tensor<2xi64>
// CHECK-NEXT: func.return
func.func @main(%x: tensor<2xf32>) -> tensor<2xi64> {
  %c = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sum = glow.add %x, %c : tensor<2xf32>
  %0 = glow.relu %sum : tensor<2xf32>
  %i = glow.convert %0 : tensor<2xi64>
  func.return %i : tensor<2xi64>
}
