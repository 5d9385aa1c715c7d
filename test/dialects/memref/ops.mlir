// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --print-op-generic %s | filecheck %s --check-prefix=GENERIC

func.func @f(%m: memref<4x16xf32>, %i: index) {
  // CHECK: memref.prefetch %m[%i, %i], read, locality<3>, data : memref<4x16xf32>
  // GENERIC: "memref.prefetch"(%m, %i, %i) <{isWrite = false, localityHint = 3 : i32, isDataCache = true}>
  memref.prefetch %m[%i, %i], read, locality<3>, data : memref<4x16xf32>
  // CHECK: memref.prefetch %m[%i, %i], write, locality<0>, instr : memref<4x16xf32>
  memref.prefetch %m[%i, %i], write, locality<0>, instr : memref<4x16xf32>
  func.return
}
