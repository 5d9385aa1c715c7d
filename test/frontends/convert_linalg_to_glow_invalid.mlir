// RUN: not glow-opt --convert-linalg-to-glow %s 2>&1 | filecheck %s

// All that has no node is told at once, each operation with its place.
// CHECK: error: convert-linalg-to-glow: 2 operations are not converted: 'linalg.reduce' at {{.*}}:6:3 (a reduction by arith.xori is not supported); 'linalg.winograd_filter_transform' at {{.*}}:7:3 (not supported)
func.func @main(%x: tensor<3x4xi32>, %s: tensor<4xi32>, %f: tensor<2x3x3x5xf32>, %o: tensor<6x6x5x2xf32>) -> (tensor<4xi32>, tensor<6x6x5x2xf32>) {
  %0 = linalg.reduce { arith.xori } ins(%x : tensor<3x4xi32>) outs(%s : tensor<4xi32>) dimensions = [0]
  %1 = linalg.winograd_filter_transform ins(%f : tensor<2x3x3x5xf32>) outs(%o : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  return %0, %1 : tensor<4xi32>, tensor<6x6x5x2xf32>
}
