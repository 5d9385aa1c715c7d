// RUN: glow-opt --split-input-file --glow-to-instr --verify-instr %s | filecheck %s

// Both branches write the buffer of the result; the condition is loaded.
// CHECK-LABEL: func.func @branch
// CHECK:         %[[C:.*]] = memref.load %c[] : memref<i1>
// CHECK:         %r = instr.alloc : memref<4xf32>
// CHECK:         scf.if %[[C]] {
// CHECK-NEXT:      instr.exp @out %[[A:.*]], @in %x
// CHECK-NEXT:      instr.copy @out %r, @in %[[A]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      instr.copy @out %r, @in %x
// CHECK-NEXT:    }
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %r = scf.if %go -> (tensor<4xf32>) {
    %a = glow.exp %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// The states of a loop live in buffers, which the body's last instructions write.
// CHECK-LABEL: func.func @until
// CHECK:         instr.copy @out %[[N:.*]], @in %n
// CHECK:         instr.copy @out %[[S:.*]], @in %x
// CHECK:         scf.while () : () -> () {
// CHECK:           instr.less @out %[[F:.*]], @in %[[N]], @in %limit
// CHECK-NEXT:      %[[GO:.*]] = memref.load %[[F]][] : memref<i1>
// CHECK-NEXT:      scf.condition(%[[GO]])
// CHECK-NEXT:    } do {
// CHECK-NEXT:      instr.add @out %[[K:.*]], @in %[[N]], @in %one
// CHECK-NEXT:      instr.exp @out %[[E:.*]], @in %[[S]]
// CHECK-NEXT:      instr.copy @out %[[N]], @in %[[K]]
// CHECK-NEXT:      instr.copy @out %[[S]], @in %[[E]]
// CHECK-NEXT:      scf.yield
func.func @until(%n: tensor<i64>, %limit: tensor<i64>, %one: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %m, %r = scf.while (%i = %n, %s = %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    %f = glow.less %i, %limit : tensor<i1>
    %go = tensor.extract %f[] : tensor<i1>
    scf.condition(%go) %i, %s : tensor<i64>, tensor<4xf32>
  } do {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %k = glow.add %i, %one : tensor<i64>
    %e = glow.exp %s : tensor<4xf32>
    scf.yield %k, %e : tensor<i64>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// A number of iterations is data.
// CHECK-LABEL: func.func @counted
// CHECK:         %[[N:.*]] = memref.load %n[] : memref<i64>
// CHECK-NEXT:    %[[U:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[U]] step
func.func @counted(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %e = glow.exp %s : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// A row that is read before it is written needs no copy of the others; one that is read again
// does.
// CHECK-LABEL: func.func @rows
// CHECK:         scf.for %[[I:.*]] = %first to %end step %step {
// CHECK-NEXT:      %[[OLD:.*]] = instr.dynamic_view %r, %[[I]]
// CHECK-NEXT:      instr.add @out %sum, @in %[[OLD]], @in %x
// CHECK-NEXT:      %[[NEW:.*]] = instr.dynamic_view %r, %[[I]]
// CHECK-NEXT:      instr.copy @out %[[NEW]], @in %sum
// CHECK-NEXT:      %[[EARLY:.*]] = instr.dynamic_view %s, %[[I]]
// CHECK-NEXT:      instr.copy @out %other, @in %s
func.func @rows(%all: tensor<5x4xf32>, %x: tensor<4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 5 : index
  %step = arith.constant 1 : index
  %r, %s = scf.for %i = %first to %end step %step iter_args(%a = %all, %b = %all) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
    %old = glow.dynamic_slice %a, %i : tensor<4xf32>
    %sum = glow.add %old, %x : tensor<4xf32>
    %more = glow.dynamic_update %a, %sum, %i : tensor<5x4xf32>
    %early = glow.dynamic_slice %b, %i : tensor<4xf32>
    %other = glow.dynamic_update %b, %x, %i : tensor<5x4xf32>
    %late = glow.add %early, %x : tensor<4xf32>
    %last = glow.dynamic_update %other, %late, %i : tensor<5x4xf32>
    scf.yield %more, %last : tensor<5x4xf32>, tensor<5x4xf32>
  }
  func.return %r, %s : tensor<5x4xf32>, tensor<5x4xf32>
}
