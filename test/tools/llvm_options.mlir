// Options are taken as LLVM spells them: with one dash, and with true or false.
// RUN: glow-opt -mlir-print-op-generic=true -pass-pipeline='builtin.module(cse)' %s | filecheck %s
// RUN: glow-opt -split-input-file --mlir-print-op-generic=1 -cse --verify-each=false %s | filecheck %s
// CHECK: "glow.relu"(%x)

// What always holds here is accepted.
// RUN: glow-opt -mlir-disable-threading --mlir-print-local-scope=true --mlir-print-ir-module-scope %s | filecheck %s --check-prefix=PLAIN
// RUN: glow-opt --mlir-print-op-generic=false %s | filecheck %s --check-prefix=PLAIN
// PLAIN: glow.relu %x : tensor<2xf32>

// RUN: not glow-opt --verify-each=maybe %s 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: glow-opt: error: option '--verify-each' must be true or false, not 'maybe'

// RUN: glow-opt -list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: glow-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// DIALECTS: Available Dialects: {{.*}}, glow, {{.*}}stablehlo

// RUN: not glow-opt -irdl-file=x.irdl %s 2>&1 | filecheck %s --check-prefix=IRDL
// IRDL: glow-opt: error: --irdl-file: glow-opt loads no dialects from IRDL files
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = glow.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
