// RUN: glow-opt --convert-linalg-to-glow --split-input-file %s | filecheck %s

// A linear layer: what a sum begins with is left out where it is 0, ReLU is found in its body.
// CHECK-LABEL: func.func @layer(
// CHECK-NEXT: %{{.*}} = glow.matmul %x, %w : tensor<2x4xf32>
// CHECK-NEXT: %{{.*}} = glow.add %{{.*}}, %b : tensor<2x4xf32>
// CHECK: glow.relu
// CHECK-NEXT: func.return
func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x4xf32>) outs(%start : tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<2x4xf32>, tensor<4xf32>) outs(%empty : tensor<2x4xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %2 = arith.addf %in, %bias : f32
    %3 = arith.cmpf ugt, %2, %zero : f32
    %4 = arith.select %3, %2, %zero : f32
    linalg.yield %4 : f32
  } -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Scalar functions without a node are taken as they are.
// CHECK-LABEL: func.func @fused(
// CHECK: glow.fused %x {
// CHECK: math.expm1
func.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.map { math.expm1 } ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>)
  return %0 : tensor<4xf32>
}

// -----

// A body with a test for NaN, as upstream's conversion of `tosa.argmax` writes it.
// CHECK-LABEL: func.func @position(
// CHECK: glow.arg_max %x axis 1 keepdims : tensor<4x1xi64>
func.func @position(%x: tensor<4x5xf32>) -> tensor<4xi32> {
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<4xf32>
  %places = tensor.empty() : tensor<4xi32>
  %start = linalg.fill ins(%lowest : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %first = linalg.fill ins(%zero : i32) outs(%places : tensor<4xi32>) -> tensor<4xi32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x5xf32>) outs(%start, %first : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%in: f32, %best: f32, %place: i32):
    %1 = linalg.index 1 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.cmpf ugt, %in, %best : f32
    %4 = arith.cmpf ord, %best, %best : f32
    %5 = arith.andi %3, %4 : i1
    %6 = arith.select %5, %in, %best : f32
    %7 = arith.select %5, %2, %place : i32
    linalg.yield %6, %7 : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  return %0#1 : tensor<4xi32>
}
