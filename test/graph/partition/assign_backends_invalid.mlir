// RUN: ! glow-opt %s --assign-backends='cpu unsupported=cpu=glow.tanh,cpu=glow.abs' 2>&1 | filecheck %s
// RUN: ! glow-opt %s --assign-backends='cpu,interpreter unsupported=cpu=glow.abs,interpreter=glow.abs' 2>&1 | filecheck %s --check-prefix TWO
// RUN: ! glow-opt %s --assign-backends 2>&1 | filecheck %s --check-prefix NONE
// RUN: ! glow-opt %s --assign-backends=tpu,cpu 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: ! glow-opt %s --assign-backends=cpu --outline-parts --assign-backends=cpu 2>&1 | filecheck %s --check-prefix TWICE

// All nodes that no backend takes are named, with the reason.

// CHECK: error: assign-backends: backend 'cpu' does not take 3 nodes: glow.tanh at 'a', 'c' (it is among those that are refused); glow.abs at 'b' (it is among those that are refused); name another backend behind it
// TWO: error: assign-backends: none of the backends cpu, interpreter takes 1 node: glow.abs at 'b' (cpu: it is among those that are refused; interpreter: it is among those that are refused); name another backend behind them
// NONE: error: assign-backends: backends are missing; such as --assign-backends=npu,cpu
// UNKNOWN: error: assign-backends: unknown backend 'tpu'; there are cpu, 
// TWICE: error: assign-backends: the network is divided already; --inline-parts makes it one again
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.tanh %x : tensor<4xf32>
  %b = glow.abs %a : tensor<4xf32>
  %c = glow.tanh %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
