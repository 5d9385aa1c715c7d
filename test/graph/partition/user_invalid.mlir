// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=bb=cpu' 2>&1 | filecheck %s
// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=b=npu' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=b=cpu,b=interpreter' 2>&1 | filecheck %s --check-prefix TWICE
// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=no_such_file.json' 2>&1 | filecheck %s --check-prefix FILE
// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=b=interpreter unsupported=interpreter=glow.tanh' 2>&1 | filecheck %s --check-prefix REFUSED
// RUN: ! glow-opt %s --partition='devices=cpu,interpreter strategy=user map=v=cpu:0,w=interpreter' 2>&1 | filecheck %s --check-prefix VARIABLE

// CHECK: error: partition: the map names 'bb', and there is no such node; did you mean
// DEVICE: error: partition: unknown device 'npu'; there are cpu:0, interpreter:0
// TWICE: error: partition: the map names 'b' twice
// FILE: error: partition: cannot read the map no_such_file.json: no such file or directory
// REFUSED: error: partition: device 'interpreter:0' does not run glow.tanh: it is among those that are refused (at node 'b')
// VARIABLE: error: partition: 'v' on cpu:0 and 'w' on interpreter:0 cannot be apart: variable 'v'; map them to one device
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = glow.variable @v : tensor<4xf32>
  %b = glow.tanh %x : tensor<4xf32>
  %w = glow.add %v, %b : tensor<4xf32>
  glow.save %w, @v
  func.return %w : tensor<4xf32>
}
