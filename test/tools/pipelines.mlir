// RUN: glow-opt --list-pipelines | filecheck %s --check-prefix=ALL
// ALL:      backend cpu:
// ALL:        graph: typed nodes, optimized
// ALL-NEXT:     --canonicalize --recognize-recurrence --merge-weights
// ALL:        instr: {{.*}} (compiled from here)
// ALL:        obj: an object file of the target
// ALL:      backend interpreter:
// ALL:        lowered: what it runs in one step (compiled from here)
// ALL-NEXT:     --recognize-attention

// RUN: glow-opt --list-pipelines --backend=cpu --target-cpu=avx2 --memory-limit=4096 | filecheck %s --check-prefix=CHOSEN
// CHOSEN:     --promote-types='target=avx2 excess=true'
// CHOSEN:     --fit-memory='limit=4096'
// CHOSEN-NOT: backend interpreter

// RUN: glow-opt %s --backend=interpreter --lower-nodes='backend=none' | filecheck %s --check-prefix=NODES
// RUN: glow-opt %s --backend=interpreter --lower | filecheck %s --check-prefix=KEPT
// RUN: glow-opt %s --backend=cpu --lower-nodes='backend=interpreter' | filecheck %s --check-prefix=KEPT
// NODES-NOT: glow.batch_norm
// KEPT:      glow.batch_norm

// RUN: not glow-opt %s --backend=gpu --lower 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not glow-opt --list-pipelines --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not glow run %s --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not glow compile %s --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not glow report %s --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown backend 'gpu'; there are cpu, cuda, interpreter, {{(.*, )?}}opencl

// RUN: not glow-opt %s --backend=cpu --cse 2>&1 | filecheck %s --check-prefix=NOBODY
// NOBODY: error: --backend is for passes that ask one, of which none runs

// RUN: glow compile %s --compile-to=graph | filecheck %s --check-prefix=GRAPH
// RUN: glow compile %s --emit=graph | filecheck %s --check-prefix=GRAPH
// RUN: glow compile %s --backend=interpreter | filecheck %s --check-prefix=GRAPH
// GRAPH:     glow.conv2d {{.*}} activation "relu"

// RUN: not glow compile %s --compile-to=ptx 2>&1 | filecheck %s --check-prefix=PHASE
// PHASE: error: --compile-to: unknown phase 'ptx'; one of graph, lowered, instr, loops, llvm, asm, obj

// RUN: glow run %s --backend=interpreter | filecheck %s --check-prefix=RAN
// RAN: output 'output0': 1x16x4x4 float32
func.func @main(%image: tensor<1x3x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %weights = glow.splat 0.1 : tensor<16x3x1x1xf32>
  %scale = glow.splat 2.0 : tensor<16xf32>
  %bias = glow.splat 0.5 : tensor<16xf32>
  %mean = glow.splat 0.25 : tensor<16xf32>
  %variance = glow.splat 1.0 : tensor<16xf32>
  %0 = glow.conv2d %image, %weights : tensor<1x16x4x4xf32>
  %1 = glow.batch_norm %0, %scale, %bias, %mean, %variance : tensor<1x16x4x4xf32>
  %2 = glow.relu %1 : tensor<1x16x4x4xf32>
  func.return %2 : tensor<1x16x4x4xf32>
}
