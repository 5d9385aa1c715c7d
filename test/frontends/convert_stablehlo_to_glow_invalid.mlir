// RUN: not glow-opt --convert-stablehlo-to-glow %s 2>&1 | filecheck %s

// Everything that cannot be converted is told at once, each with its place.
// CHECK: error: convert-stablehlo-to-glow: 2 operations are not converted: 'chlo.digamma' at {{.*}}:7:3 (not supported); 'stablehlo.pad' at {{.*}}:8:3 (the padding must be a constant number)
// CHECK-NOT: error:
func.func @main(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %0 = chlo.digamma %x : tensor<3xf32> -> tensor<3xf32>
  %1 = stablehlo.pad %0, %v, low = [0], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
