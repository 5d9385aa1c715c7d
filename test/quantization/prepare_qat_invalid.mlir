// RUN: ! glow-opt --prepare-qat=activations=per-row %s 2>&1 | filecheck %s --check-prefix=ROWS
// RUN: ! glow-opt --prepare-qat=embeddings=int8 %s 2>&1 | filecheck %s --check-prefix=EMBEDDINGS
// RUN: ! glow-opt --prepare-qat=bias=int8 %s 2>&1 | filecheck %s --check-prefix=BIAS
// RUN: ! glow-opt --prepare-qat=keep=other %s 2>&1 | filecheck %s --check-prefix=KEEP

// ROWS: error: prepare-qat: linear layers of a transformer quantize their rows at run time, by scales that cannot be trained; activations=static
// EMBEDDINGS: error: prepare-qat: embeddings=int8 cannot be trained; embeddings=float, and quantize them afterwards
// BIAS: error: prepare-qat: bias=int8 cannot be trained; bias=int32
// KEEP: error: prepare-qat: keep: the network has no node 'other'
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = glow.constant dense<[[0.5, 1.0], [0.25, -1.0]]> : tensor<2x2xf32>
  %y = glow.matmul %x, %w : tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
