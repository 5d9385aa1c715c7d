// RUN: glow-opt %s --split-input-file --assign-backends='cpu,interpreter unsupported=cpu=glow.tanh,cpu=glow.abs' | filecheck %s
// RUN: glow-opt %s --split-input-file --assign-backends='backends=cpu,interpreter unsupported=cpu=glow.tanh,cpu=glow.abs' | glow-opt --split-input-file | filecheck %s
// RUN: glow-opt %s --split-input-file --assign-backends=interpreter | filecheck %s --check-prefix ONE

// A node is of the first backend that takes it. A constant has none: each part gets a copy.

// CHECK:      %c = glow.constant dense<2.000000e+00> : tensor<2x8xf32>
// CHECK-NEXT: %a = glow.mul %x, %c backend "cpu" : tensor<2x8xf32>
// CHECK-NEXT: %b = glow.tanh %a backend "interpreter" : tensor<2x8xf32>
// CHECK-NEXT: %s = glow.softmax %b axis 1 backend "cpu" : tensor<2x8xf32>
// CHECK-NEXT: func.return %s

// ONE-COUNT-3: backend "interpreter"
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %c = glow.constant dense<2.0> : tensor<2x8xf32>
  %a = glow.mul %x, %c : tensor<2x8xf32>
  %b = glow.tanh %a : tensor<2x8xf32>
  %s = glow.softmax %b axis 1 : tensor<2x8xf32>
  func.return %s : tensor<2x8xf32>
}

// -----

// A loop has one backend, by all that is in it; what nobody reads has none.

// CHECK:      scf.for
// CHECK-NEXT:   %n = glow.tanh %s : tensor<4xf32>
// CHECK:      } {glow.backend = "interpreter"}
// CHECK-NOT:  glow.neg
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %r = scf.for %i = %0 to %3 step %1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %n = glow.tanh %s : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %dead = glow.neg %x : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Reads of a variable and its save have one backend, which takes all of them and what lies between.

// CHECK:      %v = glow.variable @v backend "interpreter" : tensor<4xf32>
// CHECK-NEXT: %s = glow.abs %v backend "interpreter" : tensor<4xf32>
// CHECK-NEXT: glow.save %s, @v backend "interpreter"
// CHECK-NEXT: %y = glow.add %s, %x backend "cpu" : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = glow.variable @v : tensor<4xf32>
  %s = glow.abs %v : tensor<4xf32>
  glow.save %s, @v
  %y = glow.add %s, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// What is assigned already stays, unless that backend is none of these or does not take the node.

// CHECK:      %a = glow.neg %x backend "interpreter"
// CHECK-NEXT: %b = glow.exp %a backend "cpu"
// CHECK-NEXT: %c = glow.tanh %b backend "interpreter"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.neg %x backend "interpreter" : tensor<4xf32>
  %b = glow.exp %a backend "npu" : tensor<4xf32>
  %c = glow.tanh %b backend "cpu" : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
