// RUN: not glow-opt --convert-stablehlo-to-glow %s 2>&1 | filecheck %s

// The larger element, and of any two the smaller place.
// CHECK: error: convert-stablehlo-to-glow: 1 operation is not converted: 'stablehlo.reduce' at {{.*}}:9:3 (a reduction of two operands that is no argmax or argmin)
func.func @main(%x: tensor<2x5xf32>) -> tensor<2xi64> {
  %place = stablehlo.iota dim = 1 : tensor<2x5xi64>
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.reduce(%x init: %inf), (%place init: %zero) across dimensions = [1] : (tensor<2x5xf32>, tensor<2x5xi64>, tensor<f32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i64>, %j: tensor<i64>)  {
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.minimum %i, %j : tensor<i64>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i64>
  }
  return %0#1 : tensor<2xi64>
}
