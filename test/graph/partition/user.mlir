// RUN: glow-opt %s --partition='devices=cpu:2GiB,interpreter strategy=user map=b=interpreter,d=cpu:0' | filecheck %s
// RUN: glow-opt %s --partition='devices=cpu:2GiB,interpreter strategy=user map=b=interpreter,d=cpu:0' --verify-partition --inline-parts | filecheck %s --check-prefix WHOLE

// CHECK: builtin.module attributes {glow.devices = ["cpu:2GiB", "interpreter"]}

// CHECK-NEXT: func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.input_names = ["in"], glow.output_names = ["a"], glow.device = "cpu:0"}
// CHECK-NEXT:   %c = glow.constant
// CHECK-NEXT:   %a = glow.add %x, %c
// CHECK-NEXT:   func.return %a : tensor<4xf32>

// CHECK:      func.func private @part1(%a: tensor<4xf32>) -> tensor<4xf32> attributes {glow.input_names = ["a"], glow.output_names = ["b"], glow.device = "interpreter:0"}
// CHECK-NEXT:   %b = glow.tanh %a
// CHECK-NEXT:   func.return %b : tensor<4xf32>

// CHECK:      func.func private @part2(%b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {glow.input_names = ["b"], glow.output_names = ["out", "same"], glow.device = "cpu:0"}
// CHECK-NEXT:   %c = glow.constant
// CHECK-NEXT:   %d = glow.mul %b, %c
// CHECK-NEXT:   func.return %d, %d : tensor<4xf32>, tensor<4xf32>

// CHECK:      func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {glow.input_names = ["in"], glow.output_names = ["out", "same"]}
// CHECK-NEXT:   %a = func.call @part0(%x)
// CHECK-NEXT:   %b = func.call @part1(%a)
// CHECK-NEXT:   [[D:%.*]], [[SAME:%.*]] = func.call @part2(%b)
// CHECK-NEXT:   func.return [[D]], [[SAME]]

// WHOLE-NOT: part
// WHOLE: func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// WHOLE: %a = glow.add
// WHOLE: %b = glow.tanh %a
// WHOLE: %d = glow.mul %b
// WHOLE: func.return %d, %d
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {glow.input_names = ["in"], glow.output_names = ["out", "same"]} {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = glow.add %x, %c : tensor<4xf32>
  %b = glow.tanh %a : tensor<4xf32>
  %d = glow.mul %b, %c : tensor<4xf32>
  func.return %d, %d : tensor<4xf32>, tensor<4xf32>
}
