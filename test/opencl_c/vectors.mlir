// RUN: glow compile %s --backend=opencl --emit=opencl-c | filecheck %s

// Lanes that move are swizzles; broadcasts and rows print nothing, reductions are trees.

// CHECK-LABEL: static void lanes(
// CHECK-NEXT:    const float8 v1 = vload8(0, p0_x);
// CHECK-NEXT:    const float4 v2 = v1.s0246;
// CHECK-NEXT:    const float4 v3 = (float4)(v1.s7, v2.s01, v1.s0);
// CHECK-NEXT:    vstore4(v3, 0, p0_x);
// CHECK-NEXT:    const float4 v4 = v1.lo + v1.hi;
// CHECK-NEXT:    const float2 v5 = v4.lo + v4.hi;
// CHECK-NEXT:    const float v6 = v5.lo + v5.hi;
// CHECK-NEXT:    p0_x[4] = v6;
func.func @lanes(%x: memref<8xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
  %1 = vector.shuffle %0, %0 [0, 2, 4, 6] : vector<8xf32>, vector<8xf32>
  %2 = vector.shuffle %0, %1 [7, 8, 9, 0] : vector<8xf32>, vector<4xf32>
  vector.store %2, %x[%c0] : memref<8xf32>, vector<4xf32>
  %3 = vector.reduction <add>, %0 : vector<8xf32> into f32
  memref.store %3, %x[%c4] : memref<8xf32>
  func.return
}

// A row of one element for each row of the accumulator, read where it is needed; a column
// of memory is read lane by lane.
// CHECK-LABEL: static void columns(
// CHECK-NEXT:    float4 v3[2];
// CHECK-NEXT:    const float4 v2_0 = (float4)(p0_x[0]);
// CHECK-NEXT:    const float4 v1 = vload4(0, p0_x + 8);
// CHECK-NEXT:    v3[0] = v2_0 * v1;
// CHECK-NEXT:    const float4 v2_1 = (float4)(p0_x[4]);
// CHECK-NEXT:    v3[1] = v2_1 * v1;
// CHECK:         const float4 v4 = (float4)(p0_x[1], p0_x[5], p0_x[9], p0_x[13]);
// CHECK:         p0_x[0] = (v4).s0;
// CHECK-NEXT:    p0_x[4] = (v4).s1;
func.func @columns(%x: memref<4x4xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.load %x[%c2, %c0] : memref<4x4xf32>, vector<4xf32>
  %1 = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d0, 0)>} : memref<4x4xf32>, vector<2x4xf32>
  %2 = vector.broadcast %0 : vector<4xf32> to vector<2x4xf32>
  %3 = arith.mulf %1, %2 : vector<2x4xf32>
  vector.transfer_write %3, %x[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, memref<4x4xf32>
  %4 = vector.transfer_read %x[%c0, %c1], %zero {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<4x4xf32>, vector<4xf32>
  vector.transfer_write %4, %x[%c0, %c0] {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : vector<4xf32>, memref<4x4xf32>
  func.return
}
func.func @main(%constants: memref<64xi8>) {
  func.return
}
