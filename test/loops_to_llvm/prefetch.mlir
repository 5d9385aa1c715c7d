// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s
// RUN: glow-opt -p loops-to-llvm{target=avx512} -t llvm %s | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: llvm.func @f
func.func @f(%x: memref<4x16xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[A:.*]] = llvm.getelementptr %x[72]
  // CHECK: llvm.call_intrinsic "llvm.prefetch.p0"(%[[A]], %{{.*}}, %{{.*}}, %{{.*}})
  // LLVM: call void @llvm.prefetch.p0(ptr %{{.*}}, i32 0, i32 3, i32 1)
  memref.prefetch %x[%c1, %c2], read, locality<3>, data : memref<4x16xf32>
  func.return
}
