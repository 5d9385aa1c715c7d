// RUN: glow-opt --promote-types='excess=true' %s | filecheck %s

// What is rounded between two nodes that compute in f32 is not.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %0 = glow.convert %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.softmax %0 axis 0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.add %1, %1 : tensor<4xf32>
// CHECK-NEXT: %3 = glow.softmax %2 axis 0 : tensor<4xf32>
// CHECK-NEXT: %y = glow.convert %3 : tensor<4xf16>
// CHECK-NEXT: func.return %y : tensor<4xf16>
func.func @chain(%x: tensor<4xf16>) -> tensor<4xf16> {
  %a = glow.softmax %x axis 0 : tensor<4xf16>
  %b = glow.add %a, %a : tensor<4xf16>
  %y = glow.softmax %b axis 0 : tensor<4xf16>
  func.return %y : tensor<4xf16>
}

// Inputs, results and constants are what they are; a value is rounded for whom it leaves.
// CHECK-LABEL: func.func @ends(
// CHECK-DAG: %[[X:.*]] = glow.convert %x : tensor<4xf32>
// CHECK-DAG: %[[A:.*]] = glow.mul %[[X]], %[[X]] : tensor<4xf32>
// CHECK-DAG: %a = glow.convert %[[A]] : tensor<4xf16>
// CHECK-DAG: %[[C:.*]] = glow.constant dense<{{.*}}> : tensor<4xf32>
// CHECK: %[[B:.*]] = glow.add %[[A]], %[[C]] : tensor<4xf32>
// CHECK-NEXT: %b = glow.convert %[[B]] : tensor<4xf16>
// CHECK-NEXT: func.return %a, %b
func.func @ends(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>
  %a = glow.mul %x, %x : tensor<4xf16>
  %b = glow.add %a, %c : tensor<4xf16>
  func.return %a, %b : tensor<4xf16>, tensor<4xf16>
}

// Elements are moved as f32 where all of them were rounded.
// CHECK-LABEL: func.func @moved(
// CHECK: %[[S:.*]] = glow.softmax %{{.*}} axis 0 : tensor<2x3xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[S]] permutation [1, 0] : tensor<3x2xf32>
// CHECK-NEXT: glow.softmax %[[T]] axis 0 : tensor<3x2xf32>
func.func @moved(%x: tensor<2x3xf16>) -> tensor<3x2xf16> {
  %s = glow.softmax %x axis 0 : tensor<2x3xf16>
  %t = glow.transpose %s permutation [1, 0] : tensor<3x2xf16>
  %y = glow.softmax %t axis 0 : tensor<3x2xf16>
  func.return %y : tensor<3x2xf16>
}

// So are sums of scattered elements.
// CHECK-LABEL: func.func @scattered(
// CHECK: %[[S:.*]] = glow.scatter %{{.*}}, %i, %{{.*}} coordinates [0] reduction "add" : tensor<16xf32>
// CHECK-NEXT: glow.convert %[[S]] : tensor<16xf16>
func.func @scattered(%i: tensor<3x1xi64>, %u: tensor<3xf16>) -> tensor<16xf16> {
  %d = glow.splat 1.0 : tensor<16xf16>
  %s = glow.softmax %u axis 0 : tensor<3xf16>
  %y = glow.scatter %d, %i, %s coordinates [0] reduction "add" : tensor<16xf16>
  func.return %y : tensor<16xf16>
}
