// RUN: not glow-opt --convert-linalg-to-glow %s 2>&1 | filecheck %s

// All that has no node is told at once, each operation with its place.
// CHECK: error: convert-linalg-to-glow: 3 operations are not converted: 'linalg.reduce' at {{.*}}:6:3 (a reduction by arith.xori is not supported); 'linalg.winograd_filter_transform' at {{.*}}:7:3 (not supported); 'linalg.generic' at {{.*}}:8:3 (a reduction of two results that is no argmax or argmin of numbers with signs)
func.func @main(%x: tensor<3x4xi32>, %s: tensor<4xi32>, %f: tensor<2x3x3x5xf32>, %o: tensor<6x6x5x2xf32>, %b: tensor<4x5xi8>, %best: tensor<4xi8>) -> (tensor<4xi32>, tensor<6x6x5x2xf32>, tensor<4xi32>) {
  %0 = linalg.reduce { arith.xori } ins(%x : tensor<3x4xi32>) outs(%s : tensor<4xi32>) dimensions = [0]
  %1 = linalg.winograd_filter_transform ins(%f : tensor<2x3x3x5xf32>) outs(%o : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  %2:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%b : tensor<4x5xi8>) outs(%best, %s : tensor<4xi8>, tensor<4xi32>) {
  ^bb0(%in: i8, %extreme: i8, %place: i32):
    %3 = linalg.index 1 : index
    %4 = arith.index_cast %3 : index to i32
    %5 = arith.cmpi ugt, %in, %extreme : i8
    %6 = arith.select %5, %in, %extreme : i8
    %7 = arith.select %5, %4, %place : i32
    linalg.yield %6, %7 : i8, i32
  } -> (tensor<4xi8>, tensor<4xi32>)
  return %0, %1, %2#1 : tensor<4xi32>, tensor<6x6x5x2xf32>, tensor<4xi32>
}
