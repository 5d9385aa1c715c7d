// RUN: ! glow-opt --convert-to-bf16='keep=matmull' %s 2>&1 | filecheck %s
// RUN: ! glow-opt --convert-to-fp16='kept=matmul' %s 2>&1 | filecheck %s --check-prefix=OPTION

// CHECK: error: convert-to-bf16: keep: the network has no node 'matmull'; did you mean 'matmul'?
// OPTION: error: unknown option 'kept' of pass 'convert-to-fp16'; did you mean 'keep'?
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %0 = glow.matmul %x, %w : tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
