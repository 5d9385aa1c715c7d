// RUN: glow-opt --lower-nodes='backend=toaster' --verify-diagnostics %s

// expected-error @+1 {{unknown backend 'toaster'; there are cpu, cuda, interpreter, opencl}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
