// RUN: glow-opt -p loops-to-llvm{target=cortex-m4} %s | filecheck %s

// Every second byte of a word becomes a 16-bit word, once for all lanes, and two products are one
// instruction.
// CHECK-LABEL: llvm.func @bytes
func.func @bytes(%a: memref<1x4xi8>, %w: memref<4x4xi8>, %y: memref<1x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<1x4xi8>, vector<1x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x4xi8>, vector<4x4xi8>
  %ux = arith.extui %u : vector<1x4xi8> to vector<1x4xi32>
  %vx = arith.extsi %v : vector<4x4xi8> to vector<4x4xi32>
  %acc = arith.constant dense<0> : vector<1x4xi32>
  // CHECK:      %[[X:.*]] = llvm.load %a {alignment = 1 : i64} : !llvm.ptr -> i32
  // CHECK:      %[[W:.*]] = llvm.load %w {alignment = 1 : i64} : !llvm.ptr -> vector<4xi32>
  // CHECK:      "llvm.fshr.i32"
  // CHECK:      %[[E:.*]] = llvm.call_intrinsic "llvm.arm.uxtb16"
  // CHECK:      %[[O:.*]] = llvm.call_intrinsic "llvm.arm.uxtb16"
  // CHECK-NOT:  uxtb16
  // CHECK:      "llvm.arm.sxtb16"
  // CHECK:      "llvm.arm.sxtb16"
  // CHECK:      "llvm.arm.smlad"(%[[E]]
  // CHECK:      "llvm.arm.smlad"(%[[O]]
  // CHECK-NOT:  llvm.mul
  %r = vector.contract {
      indexing_maps = [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>,
                       affine_map<(m, l, k) -> (m, l)>],
      iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %ux, %vx, %acc
    : vector<1x4xi32>, vector<4x4xi32> into vector<1x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<1x4xi32>, memref<1x4xi32>
  func.return
}
