// RUN: glow-opt --lower-nodes %s | filecheck %s
// RUN: glow-opt --lower-nodes='backend=none' %s | filecheck %s --check-prefix=NONE

// Few of many elements have a kernel of their own, and so have rows that are sorted whole.
// CHECK-LABEL: func.func @few(
// CHECK-NEXT: glow.top_k %x k 4 : tensor<2x4xf32>, tensor<2x4xi64>
// CHECK: glow.top_k %x k 1000 smallest : tensor<2x1000xf32>, tensor<2x1000xi64>
// NONE-LABEL: func.func @few(
// NONE-NEXT: [[V:%[0-9]+]], [[I:%[0-9]+]] = glow.top_k %x k 1000 : tensor<2x1000xf32>, tensor<2x1000xi64>
// NONE-NEXT: glow.slice [[V]] starts [0, 0] sizes [2, 4] steps [1, 1] : tensor<2x4xf32>
// NONE-NEXT: glow.slice [[I]] starts [0, 0] sizes [2, 4] steps [1, 1] : tensor<2x4xi64>
func.func @few(%x: tensor<2x1000xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>, tensor<2x1000xf32>) {
  %0, %1 = glow.top_k %x k 4 : tensor<2x4xf32>, tensor<2x4xi64>
  %2, %3 = glow.top_k %x k 1000 smallest : tensor<2x1000xf32>, tensor<2x1000xi64>
  func.return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xi64>, tensor<2x1000xf32>
}

// CHECK-LABEL: func.func @many(
// CHECK-NEXT: [[V:%[0-9]+]], [[I:%[0-9]+]] = glow.top_k %x k 1000 : tensor<2x1000xf32>, tensor<2x1000xi64>
// CHECK-NEXT: glow.slice [[V]] starts [0, 0] sizes [2, 600] steps [1, 1] : tensor<2x600xf32>
// CHECK-NEXT: glow.slice [[I]] starts [0, 0] sizes [2, 600] steps [1, 1] : tensor<2x600xi64>
func.func @many(%x: tensor<2x1000xf32>) -> (tensor<2x600xf32>, tensor<2x600xi64>) {
  %0, %1 = glow.top_k %x k 600 : tensor<2x600xf32>, tensor<2x600xi64>
  func.return %0, %1 : tensor<2x600xf32>, tensor<2x600xi64>
}
