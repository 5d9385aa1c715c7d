// RUN: glow-opt %s --split-input-file --verify-diagnostics --inline-parts

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@part0 has no body, and cannot be inlined}}
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@part0 calls itself, and cannot be inlined}}
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
