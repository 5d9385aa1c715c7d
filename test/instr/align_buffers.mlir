// RUN: glow-opt --align-buffers %s | filecheck %s

// A softmax reads and writes copies of parts from 12 bytes on; work on elements takes the parts.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %0 = instr.alloc : memref<1x8xf32>
// CHECK-NEXT:    %v = instr.tensorview %x offset 3 : memref<1x8xf32>
// CHECK-NEXT:    instr.copy @out %0, @in %v
// CHECK-NEXT:    %1 = instr.alloc : memref<1x8xf32>
// CHECK-NEXT:    instr.softmax @out %1, @in %0 axis 1
// CHECK-NEXT:    instr.dealloc %0
// CHECK-NEXT:    %r = instr.tensorview %y offset 3 : memref<1x8xf32>
// CHECK-NEXT:    instr.copy @out %r, @in %1
// CHECK-NEXT:    instr.dealloc %1
// CHECK-NEXT:    instr.exp @out %r, @in %v
// CHECK-NEXT:    func.return
func.func @parts(%x: memref<1x11xf32>, %y: memref<1x11xf32>) {
  %v = instr.tensorview %x offset 3 : memref<1x8xf32>
  %r = instr.tensorview %y offset 3 : memref<1x8xf32>
  instr.softmax @out %r, @in %v axis 1
  instr.exp @out %r, @in %v
  func.return
}
