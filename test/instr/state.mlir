// RUN: glow-opt %s --split-input-file --passes=glow-to-instr,eliminate-copies,schedule-for-memory,stack-data-parallel,share-buffers,eliminate-dead-stores,plan-memory,verify-instr | filecheck %s

// New values are written over the old ones, with no copy; weights are read before that.
func.func @step(%x: tensor<8x4xf32>, %rate: tensor<f32>) -> tensor<8x4xf32> {
  %w = glow.variable @w initial dense<1.0> : tensor<4x4xf32>
  %m = glow.variable @"w/m" : tensor<4x4xf32>
  %y = glow.matmul %x, %w : tensor<8x4xf32>
  %t = glow.transpose %x permutation [1, 0] : tensor<4x8xf32>
  %g = glow.matmul %t, %y : tensor<4x4xf32>
  %c = glow.splat 0.9 : tensor<f32>
  %m1 = glow.mul %m, %c : tensor<4x4xf32>
  %m2 = glow.add %m1, %g : tensor<4x4xf32>
  %u = glow.mul %m2, %rate : tensor<4x4xf32>
  %w2 = glow.sub %w, %u : tensor<4x4xf32>
  glow.save %w2, @w
  glow.save %m2, @"w/m"
  func.return %y : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @step(
// CHECK-NEXT:    %w = instr.variable @w initial dense<1.000000e+00> : tensor<4x4xf32> : memref<4x4xf32>
// CHECK-NEXT:    %m = instr.variable @"w/m" : memref<4x4xf32>
// CHECK:         instr.matmul @out %result0, @in %x, @in %w
// CHECK:         instr.stacked @out %m, @out %w, @in %m, @in %g, @in %rate, @in %w {
// CHECK-NOT:     instr.copy
// CHECK:         func.return

// -----

// Values that change places are set aside; a variable that nobody uses is kept.
func.func @exchanged() -> tensor<2xf32> {
  %a = glow.variable @a initial dense<1.0> : tensor<2xf32>
  %b = glow.variable @b : tensor<2xf32>
  %c = glow.variable @c : tensor<2xf32>
  glow.save %a, @b
  glow.save %b, @a
  func.return %a : tensor<2xf32>
}
// CHECK-LABEL: func.func @exchanged(
// CHECK-NEXT:    %a = instr.variable @a
// CHECK-NEXT:    %b = instr.variable @b
// CHECK-NEXT:    %c = instr.variable @c
// CHECK-NEXT:    instr.copy @out %result0, @in %a
// CHECK:         instr.copy @out [[ASIDE:%[0-9a-z_]+]], @in %a
// CHECK:         instr.copy @out %a, @in %b
// CHECK-NEXT:    instr.copy @out %b, @in [[ASIDE]]

// -----

// The old value is read after the new one is made: one copy at the end.
func.func @read_later(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = glow.variable @w : tensor<4xf32>
  %new = glow.add %w, %x : tensor<4xf32>
  %sum = glow.softmax %new axis 0 : tensor<4xf32>
  %old = glow.softmax %w axis 0 : tensor<4xf32>
  glow.save %new, @w
  func.return %sum, %old : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @read_later(
// CHECK:         instr.softmax @out %result1, @in %w
// CHECK:         @out %w
// CHECK-NOT:     @in %w
// CHECK:         func.return

// -----

// What is saved in one of two branches: the other keeps the old value.
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %w = glow.variable @w : tensor<4xf32>
  %0 = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %0 -> (tensor<4xf32>) {
    %2 = glow.add %w, %x : tensor<4xf32>
    %3 = glow.mul %2, %w : tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  glow.save %1, @w
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @branches(
// CHECK-NEXT:    %w = instr.variable @w : memref<4xf32>

// -----

// A loop would read what its trips before have written.
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = glow.variable @w initial dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %2 = glow.add %s, %w : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  glow.save %1, @w
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @loop(
// CHECK:         instr.copy @out %w, @in %{{[0-9a-z_]+}}
// CHECK-NEXT:    instr.dealloc
// CHECK-NEXT:    func.return

// -----

// A view of a variable that changes is set aside, one of a variable that does not is copied.
func.func @views() -> tensor<4xf32> {
  %w = glow.variable @w initial dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = glow.variable @v initial dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %k = glow.variable @k initial dense<[5.0, 6.0]> : tensor<2xf32>
  %u = glow.variable @u : tensor<2xf32>
  %0 = glow.slice %w starts [2] sizes [2] steps [1] : tensor<2xf32>
  %1 = glow.reshape %0 : tensor<2x1xf32>
  %2 = glow.neg %w : tensor<4xf32>
  glow.save %2, @w
  glow.save %1, @v
  glow.save %k, @u
  func.return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @views(
// CHECK:         instr.copy @out %u, @in %k
