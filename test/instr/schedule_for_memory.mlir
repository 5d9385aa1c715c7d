// RUN: glow-opt --split-input-file --schedule-for-memory %s | filecheck %s

// Each large value is reduced before the next is computed.
// CHECK-LABEL: func.func @large_first
// CHECK-NEXT:    %a = instr.alloc : memref<64x64xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    %c = instr.alloc : memref<64xf32>
// CHECK-NEXT:    instr.reduce_sum @out %c, @in %a axes [1]
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    %b = instr.alloc : memref<64x64xf32>
// CHECK-NEXT:    instr.exp @out %b, @in %x
// CHECK-NEXT:    %d = instr.alloc : memref<64xf32>
// CHECK-NEXT:    instr.reduce_sum @out %d, @in %b axes [1]
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.add @out %y, @in %c, @in %d
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    instr.dealloc %d
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @large_first(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  %a = instr.alloc : memref<64x64xf32>
  instr.relu @out %a, @in %x
  %b = instr.alloc : memref<64x64xf32>
  instr.exp @out %b, @in %x
  %c = instr.alloc : memref<64xf32>
  instr.reduce_sum @out %c, @in %a axes [1]
  instr.dealloc %a
  %d = instr.alloc : memref<64xf32>
  instr.reduce_sum @out %d, @in %b axes [1]
  instr.dealloc %b
  instr.add @out %y, @in %c, @in %d
  instr.dealloc %c
  instr.dealloc %d
  func.return
}

// -----

// Of two operands the one that needs more memory for itself comes first.
// CHECK-LABEL: func.func @demanding_first
// CHECK-NEXT:    %b = instr.alloc : memref<64x64xf32>
// CHECK-NEXT:    instr.relu @out %b, @in %m
// CHECK-NEXT:    %c = instr.alloc : memref<64xf32>
// CHECK-NEXT:    instr.reduce_sum @out %c, @in %b axes [1]
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    %a = instr.alloc : memref<64xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    instr.add @out %y, @in %a, @in %c
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @demanding_first(%x: memref<64xf32>, %m: memref<64x64xf32>, %y: memref<64xf32>) {
  %a = instr.alloc : memref<64xf32>
  instr.relu @out %a, @in %x
  %b = instr.alloc : memref<64x64xf32>
  instr.relu @out %b, @in %m
  %c = instr.alloc : memref<64xf32>
  instr.reduce_sum @out %c, @in %b axes [1]
  instr.dealloc %b
  instr.add @out %y, @in %a, @in %c
  instr.dealloc %a
  instr.dealloc %c
  func.return
}

// -----

// Writes of the parts of a buffer, through views, come before its reads; allocations move
// down to the first use, deallocations up to the last.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %a = instr.alloc : memref<8xf32>
// CHECK-NEXT:    %v = instr.tensorview %a : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %v, @in %x
// CHECK-NEXT:    %w = instr.tensorview %a offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %w, @in %x
// CHECK-NEXT:    %z = instr.alloc : memref<8xf32>
// CHECK-NEXT:    instr.softmax @out %z, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.softmax @out %y, @in %z axis 0
// CHECK-NEXT:    instr.dealloc %z
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @views(%x: memref<4xf32>, %y: memref<8xf32>) {
  %unused = instr.alloc : memref<8xf32>
  %a = instr.alloc : memref<8xf32>
  %z = instr.alloc : memref<8xf32>
  %v = instr.tensorview %a : memref<4xf32>
  instr.relu @out %v, @in %x
  %w = instr.tensorview %a offset 4 : memref<4xf32>
  instr.exp @out %w, @in %x
  instr.softmax @out %z, @in %a axis 0
  instr.softmax @out %y, @in %z axis 0
  instr.dealloc %a
  instr.dealloc %z
  instr.dealloc %unused
  func.return
}

// -----

// What is inserted elsewhere is read when all of it is there, wherever its place is.
// CHECK-LABEL: func.func @chain
// CHECK:         instr.insert @inout %a, @in %{{[pq]}}
// CHECK:         instr.insert @inout %a, @in %{{[pq]}}
// CHECK:         instr.insert @inout %y, @in %a offsets [0, 32]
func.func @chain(%x: memref<1x64xf32>, %y: memref<1x64xf32>, %z: memref<1x1xf32>) attributes {glow.input_count = 1 : i64} {
  %e = instr.alloc : memref<1x64xf32>
  instr.exp @out %e, @in %x
  %p = instr.alloc : memref<1x16xf32>
  instr.slice @out %p, @in %e starts [0, 0] sizes [1, 16] steps [1, 1]
  %f = instr.alloc : memref<1x64xf32>
  instr.neg @out %f, @in %x
  %q = instr.alloc : memref<1x16xf32>
  instr.slice @out %q, @in %f starts [0, 0] sizes [1, 16] steps [1, 1]
  %a = instr.alloc : memref<1x32xf32>
  instr.insert @inout %a, @in %p offsets [0, 0]
  instr.insert @inout %a, @in %q offsets [0, 16]
  instr.insert @inout %y, @in %a offsets [0, 32]
  instr.reduce_sum @out %z, @in %e axes [1] keepdims
  instr.dealloc %p
  instr.dealloc %q
  instr.dealloc %a
  instr.dealloc %e
  instr.dealloc %f
  func.return
}
