// REQUIRES: mlir-opt
// RUN: glow-opt %S/../dialects/amx/ops.mlir | MLIR_OPT | filecheck %s
// RUN: glow-opt --mlir-print-op-generic %S/../dialects/amx/ops.mlir | MLIR_OPT | filecheck %s

// Upstream reads matrix tiles as we print them.

// CHECK: amx.tile_zero : !amx.tile<9x16xi32>
// CHECK: amx.tile_load {{.*}} : memref<32x128xi8> into !amx.tile<9x64xi8>
// CHECK: amx.tile_muli {{.*}} zext, {{.*}} : !amx.tile<9x64xi8>, !amx.tile<16x64xi8>, !amx.tile<9x16xi32>
// CHECK: amx.tile_store
// CHECK: amx.tile_mulf
