// RUN: glow-opt %s --split-input-file --verify-diagnostics --outline-parts

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.neg %x backend "cpu" : tensor<4xf32>
  // expected-error @+1 {{glow.abs has no backend (at node 'b'); --assign-backends=npu,cpu gives each node one}}
  %b = glow.abs %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

// All reads of a variable and its save are on one device.

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{nodes of backends cpu and interpreter must stay together: variable 'v'}}
  %v = glow.variable @v backend "interpreter" : tensor<4xf32>
  %s = glow.add %v, %x backend "cpu" : tensor<4xf32>
  glow.save %s, @v backend "cpu"
  func.return %s : tensor<4xf32>
}
