// A group is a flag, and a name in pipelines; options go to its first pass.
// RUN: glow-opt --lower --cse %s --dump-pass-pipeline 2>&1 >/dev/null | filecheck %s --check-prefix=FLAG
// FLAG: builtin.module(lower-nodes,cse)

// RUN: glow-opt --pass-pipeline='builtin.module(cse,lower)' %s --dump-pass-pipeline 2>&1 >/dev/null | filecheck %s --check-prefix=NAME
// NAME: builtin.module(cse,lower-nodes)

// RUN: glow-opt --lower='backend=interpreter' %s --dump-pass-pipeline 2>&1 >/dev/null | filecheck %s --check-prefix=OPTION
// OPTION: builtin.module(lower-nodes{backend="interpreter"})

// RUN: glow-opt --lower=backend=none %s | filecheck %s
// CHECK:     glow.max
// CHECK-NOT: glow.relu
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = glow.relu %x : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
