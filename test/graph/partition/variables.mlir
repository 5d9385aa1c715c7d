// RUN: glow-opt %s --split-input-file --partition='devices=cpu,interpreter unsupported=cpu=glow.tanh,cpu=glow.exp' --verify-partition='devices=cpu,interpreter' | filecheck %s

// A variable is read and saved in one part; what it was may be read by another.

// CHECK-LABEL: func.func private @part0(
// CHECK-SAME:  glow.device = "cpu:0"
// CHECK-NEXT:    %v = glow.variable @v
// CHECK-NEXT:    %w = glow.add %v, %x
// CHECK-NEXT:    glow.save %w, @v
// CHECK-NEXT:    func.return %v
// CHECK-LABEL: func.func private @part1(%v:
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK-NEXT:    %y = glow.tanh %v
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = glow.variable @v : tensor<4xf32>
  %w = glow.add %v, %x : tensor<4xf32>
  %y = glow.tanh %v : tensor<4xf32>
  glow.save %w, @v
  func.return %y : tensor<4xf32>
}

// -----

// What lies between a read and the save stays with them.

// CHECK-LABEL: func.func private @part0(
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK:         glow.variable @v
// CHECK:         glow.add
// CHECK:         glow.tanh
// CHECK:         glow.save
// CHECK:       func.func @main
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = glow.variable @v : tensor<4xf32>
  %w = glow.add %v, %x : tensor<4xf32>
  %y = glow.tanh %w : tensor<4xf32>
  glow.save %y, @v
  func.return %y : tensor<4xf32>
}

// -----

// A read in a branch is one too. The graph's only function becomes main.

// CHECK-LABEL: func.func private @part0(
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK:         scf.if
// CHECK:           glow.variable @v
// CHECK:           glow.exp
// CHECK:         glow.variable @v
// CHECK:         glow.save
// CHECK:       func.func @main
func.func private @net(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %y = scf.if %go -> (tensor<4xf32>) {
    %r = glow.variable @v : tensor<4xf32>
    %e = glow.exp %r : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %v = glow.variable @v : tensor<4xf32>
  %w = glow.add %v, %x : tensor<4xf32>
  glow.save %w, @v
  func.return %y : tensor<4xf32>
}
