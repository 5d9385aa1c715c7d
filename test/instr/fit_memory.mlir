// RUN: glow-opt --fit-memory='limit=400' --plan-memory='limit=400 report' %s 2>&1 | filecheck %s
// RUN: glow-opt --plan-memory=report --memory-limit=400 %s 2>&1 | filecheck %s

// %a waits while %b and %c are alive: it is computed again for its last reader.
// CHECK:         plan-memory: @main: arena 384 bytes, {{.*}}, computed again: a
// CHECK:         instr.relu @out %a, @in %x
// CHECK-NEXT:    %c = instr.alloc offset {{[0-9]+}} : memref<16xf32>
// CHECK-NEXT:    instr.reduce_sum @out %c, @in %a axes [1]
// CHECK-NEXT:    instr.dealloc %a
// CHECK:         instr.tile @out %b, @in %c repeats [5]
// CHECK:         instr.dealloc %b
// CHECK:         [[A:%.*]] = instr.alloc offset {{[0-9]+}} : memref<16x4xf32>
// CHECK-NEXT:    instr.relu @out [[A]], @in %x
// CHECK-NEXT:    [[V:%.*]] = instr.tensorview [[A]] : memref<64xf32>
// CHECK-NEXT:    %u = instr.tensorview %y : memref<64xf32>
// CHECK-NEXT:    instr.add @out %z, @in [[V]], @in %u
func.func @main(%x: memref<16x4xf32>, %y: memref<80xf32>, %z: memref<64xf32>) {
  %a = instr.alloc : memref<16x4xf32>
  %b = instr.alloc : memref<80xf32>
  %c = instr.alloc : memref<16xf32>
  %d = instr.alloc : memref<80xf32>
  %v = instr.tensorview %a : memref<64xf32>
  instr.relu @out %a, @in %x
  instr.reduce_sum @out %c, @in %a axes [1]
  instr.tile @out %b, @in %c repeats [5]
  instr.softmax @out %y, @in %b axis 0
  instr.softmax @out %b, @in %y axis 0
  instr.exp @out %y, @in %b
  %u = instr.tensorview %y : memref<64xf32>
  instr.add @out %z, @in %v, @in %u
  instr.dealloc %a
  instr.dealloc %b
  instr.dealloc %c
  instr.dealloc %d
  func.return
}
