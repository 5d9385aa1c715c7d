// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s

// A loop with constant bounds tests at its end only.
// CHECK-LABEL: llvm.func @static
func.func @static(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  // CHECK:      llvm.br ^[[BODY:.*]](%{{.*}}, %[[Z:.*]] : i64, f32)
  // CHECK-NEXT: ^[[BODY]](%[[I:.*]]: i64, %[[S:.*]]: f32):
  // CHECK:        %[[N:.*]] = llvm.fadd %[[S]]
  // CHECK-NEXT:   %[[K:.*]] = llvm.add %[[I]]
  // CHECK-NEXT:   %[[C:.*]] = llvm.icmp "slt" %[[K]]
  // CHECK-NEXT:   llvm.cond_br %[[C]], ^[[BODY]](%[[K]], %[[N]] : i64, f32), ^[[END:.*]]
  // CHECK-NEXT: ^[[END]]:
  // CHECK-NEXT:   llvm.store %[[N]]
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %z) -> (f32) {
    %v = memref.load %x[%i] : memref<4xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  memref.store %r, %x[%c0] : memref<4xf32>
  func.return
}

// A slice is guarded; an empty static loop emits nothing.
// CHECK-LABEL: llvm.func @slice
func.func @slice(%x: memref<4xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  // CHECK: %[[G:.*]] = llvm.icmp "slt" %lo, %hi
  // CHECK: llvm.cond_br %[[G]], ^[[BODY:.*]](%lo : i64), ^[[END:.*]]
  scf.for %i = %lo to %hi step %c1 {
    // CHECK: llvm.store
    memref.store %z, %x[%i] : memref<4xf32>
  }
  // CHECK-NOT: llvm.store
  // CHECK: llvm.return
  scf.for %i = %c1 to %c1 step %c1 {
    memref.store %z, %x[%i] : memref<4xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @branch
func.func @branch(%x: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %is = arith.cmpi eq, %n, %c0 : index
  // CHECK: llvm.cond_br %{{.*}}, ^[[THEN:.*]], ^[[JOIN:.*]]
  // CHECK: ^[[THEN]]:
  // CHECK: llvm.br ^[[JOIN]]
  scf.if %is {
    memref.store %z, %x[%n] : memref<4xf32>
  }
  func.return
}

// The address of the first element is passed.
// CHECK: llvm.func @callee(!llvm.ptr, i64)
func.func private @callee(memref<4xf32>, index)
// CHECK-LABEL: llvm.func @caller
func.func @caller(%bytes: memref<64xi8>, %n: index) {
  %c16 = arith.constant 16 : index
  %v = memref.view %bytes[%c16][] : memref<64xi8> to memref<4xf32>
  // CHECK:      %[[P:.*]] = llvm.getelementptr %bytes[16]
  // CHECK-NEXT: llvm.call @callee(%[[P]], %n
  func.call @callee(%v, %n) : (memref<4xf32>, index) -> ()
  func.return
}

// Aliasing is promised by whoever builds the function, not by the lowering.
// CHECK-LABEL: llvm.func @flagged(%p: !llvm.ptr {llvm.noalias}, %q: !llvm.ptr)
func.func @flagged(%p: memref<4xf32> {llvm.noalias}, %q: memref<4xf32>) {
  func.return
}

// A loop by a condition: the test's block receives what the body yields, and the values that
// are passed on go to the body and behind the loop.
// CHECK-LABEL: llvm.func @until
func.func @until(%x: memref<4xf32>, %limit: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  // CHECK:      llvm.br ^[[TEST:.*]](%{{.*}}, %{{.*}} : i64, f32)
  // CHECK-NEXT: ^[[TEST]](%[[I:.*]]: i64, %[[S:.*]]: f32):
  // CHECK:        %[[GO:.*]] = llvm.icmp "slt" %[[I]]
  // CHECK-NEXT:   llvm.cond_br %[[GO]], ^[[BODY:.*]](%[[I]], %[[S]] : i64, f32), ^[[END:.*]](%[[I]], %[[S]] : i64, f32)
  // CHECK:      ^[[BODY]](
  // CHECK:        llvm.br ^[[TEST]](
  // CHECK:      ^[[END]](
  // CHECK:        llvm.store
  %n, %r = scf.while (%i = %c0, %s = %z) : (index, f32) -> (index, f32) {
    %go = arith.cmpi slt, %i, %limit : index
    scf.condition(%go) %i, %s : index, f32
  } do {
  ^bb0(%i: index, %s: f32):
    %v = memref.load %x[%i] : memref<4xf32>
    %t = arith.addf %s, %v : f32
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %t : index, f32
  }
  memref.store %r, %x[%c0] : memref<4xf32>
  func.return
}
