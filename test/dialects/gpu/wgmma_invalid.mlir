// RUN: glow-opt --split-input-file --verify-diagnostics --parsing-diagnostics %s | filecheck %s

!sums = !llvm.struct<(i32, i32, i32, i32)>
func.func @mixed(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 8, k = 32>, D [<s32>, <one>], A [<u8>, <one>, <row>], B [<f16>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: no product of u8 and f16

// -----

!sums = !llvm.struct<(i32, i32, i32, i32)>
func.func @shallow(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 8, k = 16>, D [<s32>, <one>], A [<s8>, <one>, <row>], B [<s8>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: multiplies 64 rows by 32 bytes of the depth

// -----

!sums = !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)>
func.func @narrow(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 40, k = 32>, D [<s32>, <one>], A [<s8>, <one>, <row>], B [<s8>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: no product with 40 columns

// -----

!sums = !llvm.struct<(f32, f32, f32, f32)>
func.func @whole_sums(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 8, k = 16>, D [<s32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: no sums of s32

// -----

!sums = !llvm.struct<(f32, f32, f32, f32)>
func.func @columns_first(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <col>], B [<f16>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: rows of tiles run along the depth

// -----

!sums = !llvm.struct<(f32, f32)>
func.func @few_sums(%a: i64, %s: !sums) -> !sums {
  %0 = nvvm.wgmma.mma_async %a, %a, %s, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !sums -> !sums
  func.return %0 : !sums
}
// CHECK: nvvm.wgmma.mma_async: the sums of a thread are !llvm.struct<(f32, f32, f32, f32)>

// -----

func.func @words() {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<tensormap>}
  func.return
}
// CHECK: nvvm.proxy_kind: no 'tensormap'
