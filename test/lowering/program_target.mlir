// The first pass that asks about the machine writes the target to the module; others agree.
// RUN: glow-opt --promote-types='target=x86-64-v3' %s | filecheck %s
// RUN: glow-opt --fp16-storage='target=x86-64-v3' %s | filecheck %s
// RUN: glow-opt --split-batch='target=x86-64-v3' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=x86-64-v3' %s | filecheck %s
// RUN: glow-opt --split-batch='target=x86-64-v3' %s | glow-opt --assign-layout='target=avx2' | filecheck %s
// RUN: glow-opt --target-cpu=x86-64-v4 --target-features=-avx512f --split-batch %s | filecheck %s --check-prefix=FEATURES

// CHECK: builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = ["fma"]}>
// FEATURES: glow.target = #glow.target<{name = "x86-64-v4_without-avx512f", arch = "x86_64", core = "generic-avx512", vector_bytes = 32 : i64
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = glow.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
