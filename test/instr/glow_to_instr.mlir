// RUN: glow-opt --split-input-file --glow-to-instr %s | filecheck %s

// Each value gets a buffer, each node an instruction; results are arguments.
// CHECK-LABEL: func.func @nodes
// CHECK-NEXT:    %0 = instr.weight dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32> : memref<3xf32>
// CHECK-NEXT:    %1 = instr.alloc : memref<2x3xf32>
// CHECK-NEXT:    instr.add @out %1, @in %x, @in %0
// CHECK-NEXT:    %2 = instr.alloc : memref<2x3xf32>
// CHECK-NEXT:    instr.relu @out %2, @in %1
// CHECK-NEXT:    instr.dealloc %1
// CHECK-NEXT:    instr.copy @out %result0, @in %2
// CHECK-NEXT:    instr.dealloc %2
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @nodes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = glow.add %x, %0 : tensor<2x3xf32>
  %2 = glow.relu %1 : tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// -----

// Reshapes and slices that are one run of memory are views.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %0 = instr.tensorview %x offset 6 : memref<1x6xf32>
// CHECK-NEXT:    %1 = instr.tensorview %0 : memref<3x2xf32>
// CHECK-NEXT:    %2 = instr.alloc : memref<4x2xf32>
// CHECK-NEXT:    instr.slice @out %2, @in %x starts [0, 2] sizes [4, 2] steps [1, 1]
// CHECK-NEXT:    instr.copy @out %result0, @in %1
// CHECK-NEXT:    instr.copy @out %result1, @in %2
// CHECK-NEXT:    instr.dealloc %2
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @views(%x: tensor<4x6xf32>) -> (tensor<3x2xf32>, tensor<4x2xf32>) {
  %0 = glow.slice %x starts [1, 0] sizes [1, 6] steps [1, 1] : tensor<1x6xf32>
  %1 = glow.reshape %0 : tensor<3x2xf32>
  %2 = glow.slice %x starts [0, 2] sizes [4, 2] steps [1, 1] : tensor<4x2xf32>
  func.return %1, %2 : tensor<3x2xf32>, tensor<4x2xf32>
}

// -----

// A concat copies its pieces to where they belong, or inserts them.
// CHECK-LABEL: func.func @concat
// CHECK-NEXT:    %0 = instr.alloc : memref<2x2xf32>
// CHECK-NEXT:    %x_1 = instr.tensorview %0 : memref<1x2xf32>
// CHECK-NEXT:    instr.copy @out %x_1, @in %x
// CHECK-NEXT:    %x_2 = instr.tensorview %0 offset 2 : memref<1x2xf32>
// CHECK-NEXT:    instr.copy @out %x_2, @in %x
// CHECK-NEXT:    %1 = instr.alloc : memref<2x6xf32>
// CHECK-NEXT:    instr.insert @inout %1, @in %y offsets [0, 0]
// CHECK-NEXT:    instr.insert @inout %1, @in %y offsets [0, 3]
// CHECK-NEXT:    instr.copy @out %result0, @in %0
// CHECK-NEXT:    instr.dealloc %0
// CHECK-NEXT:    instr.copy @out %result1, @in %1
// CHECK-NEXT:    instr.dealloc %1
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @concat(%x: tensor<1x2xf32>, %y: tensor<2x3xf32>)
    -> (tensor<2x2xf32>, tensor<2x6xf32>) {
  %0 = glow.concat %x, %x axis 0 : tensor<2x2xf32>
  %1 = glow.concat %y, %y axis 1 : tensor<2x6xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x6xf32>
}

// -----

// A loop carries its values in buffers that are allocated before it.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 4 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %all = instr.alloc : memref<4x3xf32>
// CHECK-NEXT:    %last = instr.alloc : memref<3xf32>
// CHECK-NEXT:    instr.copy @out %all, @in %x
// CHECK-NEXT:    instr.copy @out %last, @in %h
// CHECK-NEXT:    %next = instr.alloc : memref<3xf32>
// CHECK-NEXT:    scf.for %0 = %first to %end step %step {
// CHECK-NEXT:      %1 = instr.dynamic_view %all, %0 : memref<3xf32>
// CHECK-NEXT:      instr.add @out %next, @in %1, @in %last
// CHECK-NEXT:      instr.copy @out %last, @in %next
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %next
// CHECK-NEXT:    instr.copy @out %result0, @in %all
// CHECK-NEXT:    instr.dealloc %all
// CHECK-NEXT:    instr.copy @out %result1, @in %last
// CHECK-NEXT:    instr.dealloc %last
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%x: tensor<4x3xf32>, %h: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 4 : index
  %step = arith.constant 1 : index
  %all, %last = scf.for %i = %first to %end step %step
      iter_args(%states = %x, %state = %h) -> (tensor<4x3xf32>, tensor<3xf32>) {
    %row = glow.dynamic_slice %states, %i : tensor<3xf32>
    %next = glow.add %row, %state : tensor<3xf32>
    scf.yield %states, %next : tensor<4x3xf32>, tensor<3xf32>
  }
  func.return %all, %last : tensor<4x3xf32>, tensor<3xf32>
}

// -----

// Values that change places go through a temporary.
// CHECK-LABEL: func.func @swap
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %p = instr.alloc : memref<3xf32>
// CHECK-NEXT:    %q = instr.alloc : memref<3xf32>
// CHECK-NEXT:    instr.copy @out %p, @in %x
// CHECK-NEXT:    instr.copy @out %q, @in %y
// CHECK-NEXT:    %b = instr.alloc : memref<3xf32>
// CHECK-NEXT:    %a = instr.alloc : memref<3xf32>
// CHECK-NEXT:    scf.for %0 = %first to %end step %step {
// CHECK-NEXT:      instr.copy @out %b, @in %q
// CHECK-NEXT:      instr.copy @out %a, @in %p
// CHECK-NEXT:      instr.copy @out %p, @in %b
// CHECK-NEXT:      instr.copy @out %q, @in %a
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.copy @out %result0, @in %p
// CHECK-NEXT:    instr.dealloc %p
// CHECK-NEXT:    instr.copy @out %result1, @in %q
// CHECK-NEXT:    instr.dealloc %q
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @swap(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %p, %q = scf.for %i = %first to %end step %step
      iter_args(%a = %x, %b = %y) -> (tensor<3xf32>, tensor<3xf32>) {
    scf.yield %b, %a : tensor<3xf32>, tensor<3xf32>
  }
  func.return %p, %q : tensor<3xf32>, tensor<3xf32>
}
