// RUN: rm -rf %t && mkdir -p %t && cp %s %t/in.mlir
// RUN: not glow-opt %t/in.mlir 2>&1 | filecheck %s --check-prefix=FILE
// FILE: glow-opt: error: the weight file '{{.*}}weights.safetensors' does not exist

// RUN: cp %S/inputs/one_weight.safetensors %t/weights.safetensors
// RUN: not glow-opt %t/in.mlir 2>&1 | filecheck %s --check-prefix=ENTRY
// ENTRY: glow-opt: error: weight 'bias' is missing from the weight file '{{.*}}weights.safetensors'

// RUN: cp %S/inputs/two_weights.safetensors %t/weights.safetensors
// RUN: glow-opt %t/in.mlir -o %t/out.mlir && filecheck %s --input-file %t/out.mlir
// RUN: glow-opt %t/out.mlir | filecheck %s
// CHECK: glow.weights = #glow.weights<

// Both files or none: the output folder is left as it was.
// RUN: not glow-opt %t/in.mlir -o %t/new.mlir -t nothing
// RUN: ls %t | filecheck %s --check-prefix=LEFT
// LEFT-NOT: new
builtin.module attributes {glow.weights = #glow.weights<"weights.safetensors">} {
  func.func @main() -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = glow.constant @weight : tensor<2xf32>
    %1 = glow.constant @bias : tensor<2xf32>
    func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
}
