// RUN: glow-reduce --test=%S/inputs/has_tanh.sh --test-arg=--strict %s | filecheck %s
// RUN: glow-reduce --reduction-tree='traversal-mode=0 test=%S/inputs/has_tanh.sh' %s -o %t.mlir
// RUN: filecheck %s < %t.mlir

// What is left is the operation that the test asks for, on an input.
// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%{{.*}}: tensor<4x3xf32>) attributes {glow.input_names = ["{{.*}}"], glow.output_names = []} {
// CHECK-NEXT:     %t = glow.tanh %{{.*}} : tensor<4x3xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @main(%x: tensor<4x2xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) attributes {glow.input_names = ["x"], glow.output_names = ["y", "z"]} {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.matmul %x, %w : tensor<4x3xf32>
  %b = glow.relu %a : tensor<4x3xf32>
  %t = glow.tanh %b : tensor<4x3xf32>
  %y = glow.add %t, %a : tensor<4x3xf32>
  %z = func.call @other(%y) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}

func.func private @other(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = glow.sigmoid %x : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
