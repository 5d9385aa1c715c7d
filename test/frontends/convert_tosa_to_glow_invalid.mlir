// RUN: glow-opt --convert-tosa-to-glow --split-input-file --verify-diagnostics %s | filecheck %s

// All that has no node is told at once, each operation with its place.
// CHECK: 2 operations are not converted: 'tosa.rfft2d' at {{.*}}:6:{{.*}} (not supported); 'tosa.clz' at {{.*}}:7:{{.*}} (not supported)
func.func @two(%x: tensor<1x4x4xf32>, %y: tensor<2xi32>) -> (tensor<1x4x3xf32>, tensor<2xi32>) {
  %0, %1 = tosa.rfft2d %x : (tensor<1x4x4xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>)
  %2 = tosa.clz %y : (tensor<2xi32>) -> tensor<2xi32>
  return %0, %2 : tensor<1x4x3xf32>, tensor<2xi32>
}

// -----

// CHECK: nan_mode IGNORE is not supported
func.func @nan(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.maximum %x, %x {nan_mode = IGNORE} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: it says tensor<4xf32>, and gives tensor<5xf32>
func.func @shape(%x: tensor<5xf32>) -> tensor<4xf32> {
  %0 = tosa.exp %x : (tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
