// RUN: glow-opt --split-input-file --verify-diagnostics --glow-to-instr %s

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{arith.addf has no instruction}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
