// RUN: glow-opt --cse --canonicalize --mlir-print-ir-after-all %s 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// ALL:     // -----// IR Dump After cse //----- //
// ALL:     // -----// IR Dump After canonicalize //----- //

// RUN: glow-opt --cse --canonicalize --mlir-print-ir-before=canonicalize %s 2>&1 >/dev/null | filecheck %s --check-prefix=BEFORE
// BEFORE-NOT: cse
// BEFORE:     // -----// IR Dump Before canonicalize //----- //

// RUN: glow-opt --cse --canonicalize --mlir-print-ir-after=cse --mlir-print-op-generic %s 2>&1 >/dev/null | filecheck %s --check-prefix=AFTER
// AFTER:     // -----// IR Dump After cse //----- //
// AFTER:     "func.func"()
// AFTER-NOT: canonicalize

// RUN: glow-opt --cse --canonicalize --mlir-timing %s 2>&1 >/dev/null | filecheck %s --check-prefix=TIMING
// TIMING:      pass
// TIMING:      cse
// TIMING-NEXT: canonicalize
// TIMING-NEXT: total

// RUN: not glow-opt --cse --verify-lowered --mlir-print-ir-after-failure %s 2>&1 >/dev/null | filecheck %s --check-prefix=FAILURE
// FAILURE-NOT: After cse
// FAILURE:     // -----// IR Dump After verify-lowered Failed //----- //
// FAILURE:     glow.batch_norm
// FAILURE:     glow-opt: error: verify-lowered

// Each to a file of its own.
// RUN: rm -rf %t && glow-opt --cse --canonicalize --mlir-print-ir-before=cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t %s 2>&1 | filecheck %s
// RUN: ls %t/builtin_module_no-symbol-name | filecheck %s --check-prefix=FILES
// FILES:      0_cse.before.mlir
// FILES-NEXT: 0_cse.mlir
// FILES-NEXT: 1_canonicalize.mlir
// RUN: filecheck %s < %t/builtin_module_no-symbol-name/0_cse.mlir --check-prefix=TREE
// TREE: // -----// IR Dump After cse //----- //

// RUN: glow-opt --mlir-use-nameloc-as-prefix %s | filecheck %s --check-prefix=NAMES
// NAMES: %norm_all = glow.batch_norm %x

// What always holds here.
// RUN: glow-opt --mlir-disable-threading --mlir-print-ir-module-scope --mlir-print-local-scope %s | filecheck %s

// None of it goes to stdout.
// RUN: glow-opt --cse --mlir-print-ir-after-all --mlir-timing --dump-pass-pipeline %s | filecheck %s
// CHECK-NOT: Dump
// CHECK-NOT: total
// CHECK:     func.func @empty
func.func @empty() {
  func.return
}

func.func @normalized(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = glow.batch_norm %x, %s, %s, %s, %s : tensor<2x3xf32> loc("norm/all")
  func.return %0 : tensor<2x3xf32>
}
