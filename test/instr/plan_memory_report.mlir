// RUN: glow-opt --plan-memory=report %s 2>&1 | filecheck %s

// A plan of memory alone: nothing but buffers and their lives is needed.
// CHECK: plan-memory: @lives: arena 32896 bytes, live-set bound 32896 bytes, ratio 1.0000, 3 buffers
// CHECK: plan-memory: @state: arena 128 bytes, live-set bound 128 bytes, ratio 1.0000, 1 buffers, variables of 512 bytes
// CHECK: func.func @lives() attributes {glow.arena_bytes = 32896 : i64, glow.live_bytes = 32896 : i64} {
// CHECK-NEXT:    %0 = instr.alloc offset 0 : memref<32768xi8>
// CHECK-NEXT:    %1 = instr.alloc offset 32768 : memref<100xi8>
// CHECK-NEXT:    instr.dealloc %0
// CHECK-NEXT:    %2 = instr.alloc offset 0 : memref<32768xi8>
// CHECK-NEXT:    instr.dealloc %1
// CHECK-NEXT:    instr.dealloc %2
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @lives() {
  %0 = instr.alloc : memref<32768xi8>
  %1 = instr.alloc : memref<100xi8>
  instr.dealloc %0
  %2 = instr.alloc : memref<32768xi8>
  instr.dealloc %1
  instr.dealloc %2
  func.return
}

// Variables outlive the call: they are counted, and have no place in the arena.
// CHECK: func.func @state() attributes {glow.arena_bytes = 128 : i64, glow.live_bytes = 128 : i64} {
func.func @state() {
  %w = instr.variable @w : memref<100xf32>
  %n = instr.variable @n : memref<i64>
  %0 = instr.alloc : memref<32xf32>
  instr.dealloc %0
  func.return
}
