// RUN: glow-opt --verify-graph --verify-diagnostics --split-input-file %s

// expected-error @+1 {{cpu.pack does not belong to the graph level}}
func.func @backend_node(%x: tensor<1x4x2x2xf32>) -> tensor<1x1x2x2x4xf32> {
  %y = cpu.pack %x lanes 4 : tensor<1x1x2x2x4xf32>
  func.return %y : tensor<1x1x2x2x4xf32>
}
