// RUN: glow-opt --convert-stablehlo-to-glow %s | filecheck %s

// JAX tests for NaN, and selects the place with the element or for equal ones.
// CHECK: func.func @jax
// CHECK-NEXT: glow.arg_min %{{.*}} axis 1 : tensor<2xi64>
func.func @jax(%x: tensor<2x5xf32>) -> tensor<2xi64> {
  %place = stablehlo.iota dim = 1 : tensor<2x5xi64>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.reduce(%x init: %inf), (%place init: %zero) across dimensions = [1] : (tensor<2x5xf32>, tensor<2x5xi64>, tensor<f32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i64>, %j: tensor<i64>)  {
    %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i64>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i64>
  }
  return %0#1 : tensor<2xi64>
}

// torch-mlir takes the smaller place of equal elements.
// CHECK: func.func @torch
// CHECK-NEXT: glow.arg_max %{{.*}} axis 1 : tensor<2xi64>
func.func @torch(%x: tensor<2x5xf32>) -> tensor<2xi64> {
  %place = stablehlo.iota dim = 1 : tensor<2x5xi64>
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.reduce(%x init: %inf), (%place init: %zero) across dimensions = [1] : (tensor<2x5xf32>, tensor<2x5xi64>, tensor<f32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i64>, %j: tensor<i64>)  {
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.minimum %i, %j : tensor<i64>
    %5 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i64>
    %6 = stablehlo.select %3, %4, %5 : tensor<i1>, tensor<i64>
    stablehlo.return %2, %6 : tensor<f32>, tensor<i64>
  }
  return %0#1 : tensor<2xi64>
}

// The operands of a comparison are exchanged; of equal elements the later one stays.
// CHECK: func.func @last
// CHECK-NEXT: glow.arg_max %{{.*}} select_last : tensor<3xi64>
// CHECK-NEXT: glow.convert
func.func @last(%x: tensor<7x3xi32>) -> tensor<3xi32> {
  %place = stablehlo.iota dim = 0 : tensor<7x3xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %least), (%place init: %zero) across dimensions = [0] : (tensor<7x3xi32>, tensor<7x3xi32>, tensor<i32>, tensor<i32>) -> (tensor<3xi32>, tensor<3xi32>)
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %1 = stablehlo.compare LT, %b, %a, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<i32>
    %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<3xi32>
}
