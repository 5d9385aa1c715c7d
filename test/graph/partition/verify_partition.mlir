// RUN: glow-opt %s --verify-partition | filecheck %s
// RUN: glow-opt %s --verify-partition='devices=cpu:64B,interpreter:48B' | filecheck %s
// RUN: ! glow-opt %s --verify-partition='devices=cpu:64B,interpreter:40B' 2>&1 | filecheck %s --check-prefix MEMORY
// RUN: ! glow-opt %s --verify-partition='devices=cpu' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: ! glow-opt %s --verify-partition='unsupported=interpreter=glow.tanh' 2>&1 | filecheck %s --check-prefix REFUSED

// CHECK: func.call @part0
// MEMORY: error: verify-partition: the network does not fit device 'interpreter:0': with this node a part takes 48 bytes, 8 bytes more than there are (40 bytes on 'interpreter:0') (at node 'c')
// DEVICE: error: verify-partition: unknown device 'interpreter:0'; there are cpu:0
// REFUSED: error: verify-partition: device 'interpreter:0' does not run glow.tanh: it is among those that are refused (at node 'b')
builtin.module attributes {glow.devices = ["cpu:2GiB", "interpreter"]} {
  func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
    %k = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %a = glow.add %x, %k : tensor<4xf32>
    func.return %a : tensor<4xf32>
  }
  func.func private @part1(%a: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "interpreter:0"} {
    %b = glow.tanh %a : tensor<4xf32>
    %c = glow.neg %b : tensor<4xf32>
    func.return %c : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %c = func.call @part1(%a) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %c : tensor<4xf32>
  }
}
