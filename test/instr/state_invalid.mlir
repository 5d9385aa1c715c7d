// RUN: glow-opt --split-input-file --verify-diagnostics --verify-instr %s

func.func @twice() {
  %a = instr.variable @w : memref<4xf32>
  // expected-error @below {{instr.variable: names the memory of variable 'w' a second time}}
  %b = instr.variable @w : memref<4xf32>
  func.return
}

// -----

func.func @inside(%x: memref<4xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  scf.for %i = %0 to %1 step %1 {
    // expected-error @below {{instr.variable: names the memory of variable 'w' in a branch or loop}}
    %b = instr.variable @w : memref<4xf32>
    instr.copy @out %b, @in %x
  }
  func.return
}

// -----

func.func @value() {
  // expected-error @below {{the initial value has type tensor<1xf32>, the variable tensor<4xf32>}}
  %a = instr.variable @w initial dense<1.0> : tensor<1xf32> : memref<4xf32>
  func.return
}
