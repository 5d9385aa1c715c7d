// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @halves(%x: tensor<5x7xbf16>) {
  // expected-error @+1 {{the rows must be f32, not tensor<5x7xbf16>}}
  %p = cpu.softmax %x : tensor<5x7xbf16>
  func.return
}

// -----

func.func @parameters(%x: tensor<5x7xf32>, %s: tensor<5xf32>, %b: tensor<7xf32>) {
  // expected-error @+1 {{a parameter must be tensor<7xf32>, not tensor<5xf32>}}
  %y = cpu.layer_norm %x, %s, %b axis 1 : tensor<5x7xf32>
  func.return
}

// -----

func.func @plain_bytes(%x: tensor<5x7xf32>, %s: tensor<7xf32>, %b: tensor<7xf32>) {
  // expected-error @+1 {{the plain result must be tensor<5x7xf32>}}
  %y, %p = cpu.layer_norm %x, %s, %b axis 1 : tensor<5x7xf32>, tensor<5x7xui8>
  func.return
}

// -----

func.func @rows(%x: tensor<5x7xf32>, %r: tensor<5x1xf32>) {
  // expected-error @+1 {{the epilogue operand tensor<5x1xf32> fits neither the result tensor<5x7xf32> nor its channels}}
  %p = cpu.softmax %x, %r {
  ^bb0(%v: f32, %w: f32):
    %m = arith.mulf %v, %w : f32
    glow.yield %m
  } : tensor<5x7xf32>
  func.return
}
