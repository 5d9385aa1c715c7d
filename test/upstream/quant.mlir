// REQUIRES: mlir-opt
// RUN: glow-opt %S/../dialects/quant/ops.mlir | MLIR_OPT --verify-roundtrip | filecheck %s
// RUN: glow-opt --mlir-print-op-generic %S/../dialects/quant/ops.mlir | MLIR_OPT | filecheck %s
// RUN: MLIR_OPT %S/../dialects/quant/ops.mlir | glow-opt | filecheck %s

// Upstream's quant dialect reads ours, and ours reads upstream's.
// CHECK:      func.func @casts(
// CHECK-NEXT:   quant.qcast {{.*}} : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
// CHECK-NEXT:   quant.scast {{.*}} : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> to tensor<4xi8>
// CHECK-NEXT:   quant.scast {{.*}} : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
// CHECK-NEXT:   quant.dcast {{.*}} : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> to tensor<4xf32>
// CHECK:      func.func @types(
// CHECK-SAME:   tensor<2x!quant.uniform<u8:f32, 2.500000e-01:128>>
// CHECK-SAME:   tensor<2x!quant.uniform<i8<-127:127>:f32, 2.500000e-01>>
// CHECK-SAME:   tensor<2x3x!quant.uniform<i8:f32:0, {5.000000e-01,{{ ?}}2.500000e-01:-1}>>
