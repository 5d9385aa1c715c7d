// RUN: not glow-opt --convert-stablehlo-to-glow %s 2>&1 | filecheck %s

// CHECK: {{.*}}:11:3: error: convert-stablehlo-to-glow: @f calls itself
// CHECK-NOT: error:
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.abs %x : tensor<3xf32>
  %1 = call @f(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
