// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @gates(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<1x3xf32>, %c: tensor<1x3xf32>) {
  // expected-error @+1 {{3 gates of tensor<1x3xf32> do not suit tensor<5x1x6xf32>}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 3 {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32):
    glow.yield %old, %state
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}

// -----

func.func @batch(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<2x3xf32>, %c: tensor<1x3xf32>) {
  // expected-error @+1 {{2 gates of tensor<2x3xf32> do not suit tensor<5x1x6xf32>}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 2 {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32):
    glow.yield %old, %state
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}

// -----

func.func @state(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<1x3xf32>, %c: tensor<1x4xf32>) {
  // expected-error @+1 {{what else a step reads must be 1x3 or 3}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 2 {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32):
    glow.yield %old, %state
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}

// -----

func.func @weights(%x: tensor<5x1x6xf32>, %w: tensor<9x2xf32>, %h: tensor<1x3xf32>, %c: tensor<1x3xf32>) {
  // expected-error @+1 {{packed weights}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 2 {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32):
    glow.yield %old, %state
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}

// -----

func.func @arguments(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<1x3xf32>, %c: tensor<1x3xf32>) {
  // expected-error @+1 {{the region must take the operands' element types}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 2 {
  ^bb0(%old: f32, %state: f32):
    glow.yield %old, %state
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}

// -----

func.func @results(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<1x3xf32>, %c: tensor<1x3xf32>) {
  // expected-error @+1 {{the region must end in glow.yield}}
  %y, %last = cpu.recurrence %x, %w, %h, %c gates 2 {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32):
    glow.yield %old
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return
}
