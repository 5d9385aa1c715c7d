// RUN: glow compile %s --backend=opencl --emit=opencl-c | filecheck %s

// A kernel f(buffers, lo, hi) and its entry, of which each part of the grid runs some items.
// Rows are vectors, carried values variables, bounds that are known whole numbers.

// CHECK:      #pragma OPENCL FP_CONTRACT OFF
// CHECK:      static void sums(__global float *restrict p0_x, __global float *p1_y, long lo, long hi) {
// CHECK-NEXT:   for (long v1 = lo; v1 < hi; v1++) {
// CHECK-NEXT:     float16 v2[2];
// CHECK-NEXT:     v2[0] = ((float16)(0.0f));
// CHECK-NEXT:     v2[1] = ((float16)(0.0f));
// CHECK-NEXT:     for (long v3 = 0; v3 < 8; v3 += 2) {
// CHECK-NEXT:       float16 v5[2];
// CHECK-NEXT:       const float16 v4_0 = vload16(0, p0_x + 256 * v1 + 16 * v3);
// CHECK-NEXT:       v5[0] = fma(v4_0, ((float16)(0.5f)), v2[0]);
// CHECK-NEXT:       const float16 v4_1 = vload16(0, p0_x + 256 * v1 + 16 * v3 + 16);
// CHECK-NEXT:       v5[1] = fma(v4_1, ((float16)(0.5f)), v2[1]);
// CHECK-NEXT:       v2[0] = v5[0];
// CHECK-NEXT:       v2[1] = v5[1];
// CHECK-NEXT:     }
// CHECK-NEXT:     vstore16(v2[0], 0, p1_y + 32 * v1);
// CHECK-NEXT:     vstore16(v2[1], 0, p1_y + 32 * v1 + 16);
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      __kernel void sums_entry(__global uchar *b0, long o0, __global uchar *b1, long o1, long items) {
// CHECK-NEXT:   long part = get_global_id(0), parts = get_global_size(0);
// CHECK-NEXT:   sums((__global float *)(b0 + o0), (__global float *)(b1 + o1), part * items / parts, (part + 1) * items / parts);
// CHECK-NEXT: }
func.func @sums(%x: memref<4x16x16xf32> {llvm.noalias}, %y: memref<4x2x16xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : vector<2x16xf32>
  %none = arith.constant dense<0.0> : vector<2x16xf32>
  scf.for %i = %lo to %hi step %c1 {
    %sum = scf.for %j = %c0 to %c8 step %c2 iter_args(%s = %none) -> (vector<2x16xf32>) {
      %0 = vector.transfer_read %x[%i, %j, %c0], %zero {in_bounds = [true, true]} : memref<4x16x16xf32>, vector<2x16xf32>
      %1 = vector.fma %0, %half, %s : vector<2x16xf32>
      scf.yield %1 : vector<2x16xf32>
    }
    vector.transfer_write %sum, %y[%i, %c0, %c0] {in_bounds = [true, true]} : vector<2x16xf32>, memref<4x2x16xf32>
  }
  func.return
}

// What is yielded is read before it is overwritten; a condition and a loop without bounds.
// CHECK-LABEL: static void exchange(
// CHECK:       for (long v3 = 0; v3 < 3; v3++) {
// CHECK-NEXT:    float v4 = v2;
// CHECK-NEXT:    float v5 = v1;
// CHECK-NEXT:    v1 = v4;
// CHECK-NEXT:    v2 = v5;
// CHECK-NEXT:  }
// CHECK:       const int v6 = v1 < v2;
// CHECK-NEXT:  float v7;
// CHECK-NEXT:  if (v6) {
// CHECK-NEXT:    v7 = v1;
// CHECK-NEXT:  } else {
// CHECK-NEXT:    v7 = v2;
// CHECK-NEXT:  }
// CHECK:       while (1) {
// CHECK:         if (!(v10)) break;
// CHECK:       }
func.func @exchange(%x: memref<2xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %p, %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%a = %one, %b = %two) -> (f32, f32) {
    scf.yield %b, %a : f32, f32
  }
  %t = arith.cmpf olt, %p, %q : f32
  %r = scf.if %t -> (f32) {
    scf.yield %p : f32
  } else {
    scf.yield %q : f32
  }
  %w = scf.while (%s = %r) : (f32) -> f32 {
    %u = arith.cmpf olt, %s, %two : f32
    scf.condition(%u) %s : f32
  } do {
  ^bb0(%s: f32):
    %n = arith.addf %s, %one : f32
    scf.yield %n : f32
  }
  memref.store %w, %x[%c0] : memref<2xf32>
  func.return
}
func.func @main(%constants: memref<64xi8>) {
  func.return
}
