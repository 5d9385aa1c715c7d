// A pass that fails leaves the program and the passes, which fail again in the same way.
// RUN: not glow-opt --cse --verify-lowered --mlir-pass-pipeline-crash-reproducer=%t.mlir %s 2>&1 | filecheck %s --check-prefix=NOTE
// NOTE: glow-opt: note: {{.*}}.mlir reproduces the failure
// NOTE-NEXT: glow-opt: error: verify-lowered: glow.batch_norm must be lowered for backend 'cpu'

// RUN: filecheck %s --check-prefix=FILE < %t.mlir
// FILE:      glow.batch_norm
// FILE:      {-#
// FILE-NEXT:   external_resources: {
// FILE-NEXT:     mlir_reproducer: {
// FILE-NEXT:       pipeline: "builtin.module(cse,verify-lowered)",
// FILE-NEXT:       disable_threading: true,
// FILE-NEXT:       verify_each: false

// RUN: not glow-opt --run-reproducer %t.mlir 2>&1 | filecheck %s --check-prefix=AGAIN
// AGAIN: glow-opt: error: verify-lowered: glow.batch_norm must be lowered for backend 'cpu'

// Without the option a reproducer is a program like any other.
// RUN: glow-opt --lower-nodes --verify-lowered %t.mlir | filecheck %s --check-prefix=LOWERED
// LOWERED-NOT: glow.batch_norm

// No pass has failed: there is no file.
// RUN: rm %t.mlir && glow-opt --cse --mlir-pass-pipeline-crash-reproducer=%t.mlir %s && not cat %t.mlir

// RUN: echo "module {}" | not glow-opt --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// NONE: not a reproducer: there is no mlir_reproducer with a pipeline
func.func @main(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = glow.batch_norm %x, %s, %s, %s, %s : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
