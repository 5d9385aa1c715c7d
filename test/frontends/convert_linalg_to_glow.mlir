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
