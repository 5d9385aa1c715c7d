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

// None of it goes to stdout.
// RUN: glow-opt --cse --mlir-print-ir-after-all --mlir-timing --dump-pass-pipeline %s | filecheck %s
// CHECK-NOT: Dump
// CHECK-NOT: total
// CHECK:     func.func @empty
func.func @empty() {
  func.return
}
