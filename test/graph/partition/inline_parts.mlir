// RUN: glow-opt %s --split-input-file --inline-parts | filecheck %s

// CHECK-LABEL: builtin.module
// CHECK-NEXT:  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %a = glow.neg %x
// CHECK-NEXT:    %b = glow.tanh %a
// CHECK-NEXT:    %a_1 = glow.neg %b
// CHECK-NEXT:    func.return %a_1
// CHECK-NEXT:  }
// CHECK-NEXT:  }
builtin.module attributes {glow.devices = ["cpu"]} {
  func.func private @first(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = glow.neg %x : tensor<4xf32>
    func.return %a : tensor<4xf32>
  }
  func.func private @both(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
    %a = func.call @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = glow.tanh %a : tensor<4xf32>
    %c = func.call @first(%b) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %c : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = func.call @both(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %a : tensor<4xf32>
  }
}

// -----

// Casts to stored integers and back at a border go; a public function stays.

// CHECK-LABEL: func.func @public(
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %q = quant.qcast %x
// CHECK-NEXT:    %y = quant.dcast %q
// CHECK-NEXT:    func.return %y
func.func @public(%x: tensor<4xf32>) -> tensor<4xi8> {
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %0 = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
func.func private @part1(%q: tensor<4xi8>) -> tensor<4xf32> {
  %0 = quant.scast %q : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %y = quant.dcast %0 : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %q = func.call @public(%x) : (tensor<4xf32>) -> tensor<4xi8>
  %y = func.call @part1(%q) : (tensor<4xi8>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
