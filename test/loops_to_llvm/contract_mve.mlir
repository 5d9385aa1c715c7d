// RUN: glow-opt -p loops-to-llvm{target=cortex-m55} %s | filecheck %s

// The sum of sixteen products of signed bytes is one `vmladav`, which LLVM makes of a reduction.
// CHECK-LABEL: llvm.func @bytes
func.func @bytes(%a: memref<1x16xi8>, %w: memref<4x16xi8>, %y: memref<1x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %sign = arith.constant dense<-128> : vector<1x16xi8>
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<1x16xi8>, vector<1x16xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x16xi8>, vector<4x16xi8>
  %s = arith.xori %u, %sign : vector<1x16xi8>
  %sx = arith.extsi %s : vector<1x16xi8> to vector<1x16xi32>
  %vx = arith.extsi %v : vector<4x16xi8> to vector<4x16xi32>
  %acc = arith.constant dense<0> : vector<1x4xi32>
  // CHECK:      llvm.xor %{{.*}} : vector<16xi8>
  // CHECK:      %[[X:.*]] = llvm.sext %{{.*}} : vector<16xi8> to vector<16xi32>
  // CHECK:      %[[P:.*]] = llvm.mul %[[X]], %{{.*}} : vector<16xi32>
  // CHECK:      "llvm.vector.reduce.add.v16i32"(%[[P]])
  // CHECK:      "llvm.vector.reduce.add.v16i32"
  // CHECK:      "llvm.vector.reduce.add.v16i32"
  // CHECK:      "llvm.vector.reduce.add.v16i32"
  // CHECK-NOT:  reduce
  // CHECK:      llvm.add %{{.*}} : vector<4xi32>
  %r = vector.contract {
      indexing_maps = [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>,
                       affine_map<(m, l, k) -> (m, l)>],
      iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %sx, %vx, %acc
    : vector<1x16xi32>, vector<4x16xi32> into vector<1x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<1x4xi32>, memref<1x4xi32>
  func.return
}
