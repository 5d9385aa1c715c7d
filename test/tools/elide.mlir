// RUN: glow-opt --mlir-elide-elementsattrs-if-larger=4 %s | filecheck %s
// RUN: glow-opt %s | filecheck %s --check-prefix=FULL

// CHECK: arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK: arith.constant dense_resource<__elided__> : tensor<5xi32>
// FULL:  arith.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
func.func @constants() {
  %small = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %large = arith.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  func.return
}
