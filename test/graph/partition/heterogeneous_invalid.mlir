// RUN: ! glow-opt %s --partition='devices=cpu unsupported=cpu=glow.tanh' 2>&1 | filecheck %s
// RUN: ! glow-opt %s --partition='devices=cpu:20B,interpreter:20B' 2>&1 | filecheck %s --check-prefix MEMORY
// RUN: ! glow-opt %s --partition='devices=cpu unsupported=npu=glow.tanh' 2>&1 | filecheck %s --check-prefix KIND
// RUN: ! glow-opt %s --partition='devices=tpu' 2>&1 | filecheck %s --check-prefix BACKEND
// RUN: ! glow-opt %s --partition='devices=cpu:2Gib' 2>&1 | filecheck %s --check-prefix UNIT
// RUN: ! glow-opt %s --partition 2>&1 | filecheck %s --check-prefix NONE
// RUN: ! glow-opt %s --partition='devices=cpu strategy=best' 2>&1 | filecheck %s --check-prefix STRATEGY
// RUN: ! glow-opt %s --partition=devices=cpu --partition=devices=cpu 2>&1 | filecheck %s --check-prefix TWICE

// CHECK: error: partition: device 'cpu:0' does not run glow.tanh: it is among those that are refused (at node 'b')
// MEMORY: error: partition: the network does not fit devices 'cpu:0', 'interpreter:0': with this node a part takes 32 bytes, 12 bytes more than there are (20 bytes on 'cpu:0') (at node 'a'); give more devices or more memory
// KIND: error: partition: there is no device of the kind 'npu' to refuse for
// BACKEND: error: partition: unknown backend 'tpu'; there are cpu, 
// UNIT: error: partition: the memory of device 'cpu:2Gib' is no number of bytes; such as cpu:2GiB
// NONE: error: partition: a division needs devices; such as devices=cpu:2GiB,interpreter
// STRATEGY: error: partition: unknown strategy 'best'; one of heterogeneous, memory, balance, pipeline, user
// TWICE: error: partition: the network is divided already; --inline-parts makes it one again
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.neg %x : tensor<4xf32>
  %b = glow.tanh %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
