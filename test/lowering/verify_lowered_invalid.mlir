// RUN: glow-opt --verify-lowered --verify-diagnostics --split-input-file %s

// expected-error @+2 {{glow.tile must be lowered for backend 'cpu'}}
func.func @not_lowered(%x: tensor<2x3xf32>) -> tensor<4x9xf32> {
  %y = glow.tile %x repeats [2, 3] : tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}

// -----

// expected-error @+2 {{memref.dealloc does not belong to the lowered level}}
func.func @other_level(%m: memref<4xf32>) {
  memref.dealloc %m : memref<4xf32>
  func.return
}
