// RUN: glow-opt %s --split-input-file --partition='devices=cpu,interpreter strategy=heterogeneous unsupported=cpu=glow.tanh,cpu=quant.dcast' | filecheck %s

// A node that the first device does not run is on the second one; the others stay together as far
// as what they read allows: %d needs nothing of the second device.

// CHECK-LABEL: func.func private @part0(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME:  glow.output_names = ["d", "a"], glow.device = "cpu:0"
// CHECK-NEXT:    %a = glow.neg %x
// CHECK-NEXT:    %d = glow.abs %a
// CHECK-NEXT:    func.return %d, %a
// CHECK:       func.func private @part1(%a: tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK-NEXT:    %b = glow.tanh %a
// CHECK-NEXT:    func.return %b
// CHECK:       func.func private @part2(%b: tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:  glow.device = "cpu:0"
// CHECK-NEXT:    %c = glow.neg %b
// CHECK-NEXT:    func.return %c
// CHECK:       func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME:  attributes {glow.output_names = ["c", "d"]}
// CHECK-NEXT:    %d, %a = func.call @part0(%x)
// CHECK-NEXT:    %b = func.call @part1(%a)
// CHECK-NEXT:    %c = func.call @part2(%b)
// CHECK-NEXT:    func.return %c, %d
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {glow.output_names = ["c", "d"]} {
  %a = glow.neg %x : tensor<4xf32>
  %b = glow.tanh %a : tensor<4xf32>
  %c = glow.neg %b : tensor<4xf32>
  %d = glow.abs %a : tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nodes with regions move whole, with the constants that they read.

// CHECK-LABEL: func.func private @part0(
// CHECK-SAME:  glow.device = "cpu:0"
// CHECK-NEXT:    %0 = arith.constant 0 : index
// CHECK:         %r = scf.for
// CHECK:           glow.add
// CHECK:       func.func private @part1(
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK-NEXT:    %y = glow.tanh
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %r = scf.for %i = %0 to %3 step %1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %n = glow.add %s, %x : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %y = glow.tanh %r : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A loop with a node that the device does not run is elsewhere as a whole.

// CHECK-LABEL: func.func private @part0(
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK:         scf.for
// CHECK:       func.func @main
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %r = scf.for %i = %0 to %3 step %1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %n = glow.tanh %s : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// What nobody computes, an input or a constant, is a result of the first part.

// CHECK-LABEL: func.func private @part0(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:    %c = glow.constant
// CHECK-NEXT:    func.return %x, %c
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  func.return %x, %c : tensor<4xf32>, tensor<4xf32>
}

// -----

// Quantized values cross as their stored integers.

// CHECK-LABEL: func.func private @part0(%x: tensor<4xf32>) -> tensor<4xi8>
// CHECK-NEXT:    %q = quant.qcast %x
// CHECK-NEXT:    [[S:%.*]] = quant.scast %q
// CHECK-NEXT:    func.return [[S]] : tensor<4xi8>
// CHECK:       func.func private @part1(%q: tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:    [[Q:%.*]] = quant.scast %q
// CHECK-NEXT:    %y = quant.dcast [[Q]]
// CHECK-NEXT:    %z = glow.tanh %y
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %y = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xf32>
  %z = glow.tanh %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
