// RUN: glow-opt %s --split-input-file --outline-parts | filecheck %s
// RUN: glow-opt %s --split-input-file --outline-parts --verify-partition --inline-parts | filecheck %s --check-prefix WHOLE

// A part has all of its backend that what it reads allows: %d needs nothing of the CPU. A constant
// is in each part that reads it, and is not passed.

// CHECK:       builtin.module attributes {glow.devices = ["interpreter", "cpu"]}
// CHECK-LABEL: func.func private @part0_interpreter(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME:  glow.device = "interpreter:0"
// CHECK-NEXT:    %c = glow.constant
// CHECK-NEXT:    %a = glow.add %x, %c : tensor<4xf32>
// CHECK-NEXT:    %d = glow.abs %a : tensor<4xf32>
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func private @part1_cpu(%a: tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:  glow.device = "cpu:0"
// CHECK-NEXT:    %c = glow.constant
// CHECK-NEXT:    %b = glow.mul %a, %c : tensor<4xf32>
// CHECK-NEXT:    func.return %b
// CHECK-LABEL: func.func private @part2_interpreter(%b: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %e = glow.neg %b : tensor<4xf32>
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %d, %a = func.call @part0_interpreter(%x)
// CHECK-NEXT:    %b = func.call @part1_cpu(%a)
// CHECK-NEXT:    %e = func.call @part2_interpreter(%b)
// CHECK-NEXT:    func.return %e, %d

// WHOLE-LABEL: func.func @main(
// WHOLE-COUNT-4: {{glow.(add|abs|mul|neg)}}
// WHOLE-NOT: part
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = glow.add %x, %c backend "interpreter" : tensor<4xf32>
  %b = glow.mul %a, %c backend "cpu" : tensor<4xf32>
  %e = glow.neg %b backend "interpreter" : tensor<4xf32>
  %d = glow.abs %a backend "interpreter" : tensor<4xf32>
  func.return %e, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// %a and %d are two parts, since what is between them is not theirs; %b and %c, of which neither
// reads the other, are one.

// CHECK-LABEL: func.func private @part0_interpreter(%x: tensor<4xf32>)
// CHECK-NEXT:    %a = glow.neg
// CHECK-LABEL: func.func private @part1_cpu(%x: tensor<4xf32>, %a: tensor<4xf32>)
// CHECK-NEXT:    %b = glow.abs
// CHECK-NEXT:    %c = glow.tanh
// CHECK-LABEL: func.func private @part2_interpreter(
// CHECK-NEXT:    %d = glow.add
// CHECK-LABEL: func.func private @part3_cpu(
// CHECK-NEXT:    %e = glow.exp

// WHOLE-LABEL: func.func @main(
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = glow.neg %x backend "interpreter" : tensor<4xf32>
  %b = glow.abs %a backend "cpu" : tensor<4xf32>
  %c = glow.tanh %x backend "cpu" : tensor<4xf32>
  %d = glow.add %b, %c backend "interpreter" : tensor<4xf32>
  %e = glow.exp %d backend "cpu" : tensor<4xf32>
  func.return %d, %e : tensor<4xf32>, tensor<4xf32>
}
