// RUN: rm -rf %t && mkdir -p %t

// RUN: cat %s | glow-opt | filecheck %s
// RUN: cat %s | glow-opt - | filecheck %s
// RUN: cat %s | glow-opt -f mlir - -o - | filecheck %s
// RUN: glow-opt %s -o %t/out.mlir && filecheck %s --input-file %t/out.mlir
// CHECK: func.func @empty

// RUN: not glow-opt %t/absent.mlir 2>&1 | filecheck %s --check-prefix=ABSENT
// ABSENT: glow-opt: error: {{.*}}absent.mlir: no such file or directory

// RUN: not glow-opt %t/program.txt 2>&1 | filecheck %s --check-prefix=KIND
// KIND: glow-opt: error: {{.*}}program.txt: unknown kind of file; glow-opt reads .mlir, .onnx; name the kind with -f

// RUN: not glow-opt %s -o %t/absent/out.mlir 2>&1 | filecheck %s --check-prefix=FOLDER
// FOLDER: glow-opt: error: cannot write into {{.*}}absent: it does not exist

// RUN: not glow-opt %s -o %t/out.mlir/out.mlir 2>&1 | filecheck %s --check-prefix=FILE
// FILE: glow-opt: error: cannot write into {{.*}}out.mlir: it is not a folder
func.func @empty() {
  func.return
}

// RUN: glow compile %s --emit=graph -o - | filecheck %s
// RUN: not glow compile %s --emit=obj -o - 2>&1 | filecheck %s --check-prefix=BINARY
// BINARY: error: {{.*}} needs -o FILE
