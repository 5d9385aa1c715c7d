// RUN: glow compile %s --backend=opencl --emit=opencl-c | filecheck %s

// Integers wrap around, so they are unsigned; floats of 16 bits are words, computed as `float`.

// CHECK-LABEL: static ushort16 bfloat_of_float16(float16 x) {
// CHECK-LABEL: static float16 float_of_half16(ushort16 x) {

// CHECK-LABEL: static void halves(__global ushort *p0_x, __global ushort *p1_y, long lo, long hi) {
// CHECK-NEXT:    const ushort16 v1 = vload16(0, p0_x);
// CHECK-NEXT:    const float16 v2 = float_of_half16(v1);
// CHECK-NEXT:    const ushort16 v3 = bfloat_of_float16(v2);
// CHECK-NEXT:    vstore16(v3, 0, p1_y);
func.func @halves(%x: memref<16xf16>, %y: memref<16xbf16>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<16xf16>, vector<16xf16>
  %1 = arith.extf %0 : vector<16xf16> to vector<16xf32>
  %2 = arith.truncf %1 : vector<16xf32> to vector<16xbf16>
  vector.store %2, %y[%c0] : memref<16xbf16>, vector<16xbf16>
  func.return
}

// CHECK-LABEL: static void bytes(
// CHECK-NEXT:    const uchar16 v1_0 = vload16(0, p0_x);
// CHECK-NEXT:    const uchar8 v1_1 = vload8(0, p0_x + 16);
// CHECK-NEXT:    uint16 v2_0;
// CHECK-NEXT:    uint8 v2_1;
// CHECK-NEXT:    v2_0 = as_uint16(convert_int16(as_char16(v1_0)));
// CHECK-NEXT:    v2_1 = as_uint8(convert_int8(as_char8(v1_1)));
// CHECK:         as_uint16(as_int16({{.*}}) >> as_int16({{.*}}));
// CHECK:         as_uint16(max(as_int16({{.*}}), as_int16({{.*}})));
// CHECK:         convert_uchar16({{.*}});
func.func @bytes(%x: memref<24xi8>, %y: memref<24xi8>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %one = arith.constant dense<1> : vector<24xi32>
  %0 = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<24xi8>, vector<24xi8>
  %1 = arith.extsi %0 : vector<24xi8> to vector<24xi32>
  %2 = arith.shrsi %1, %one : vector<24xi32>
  %3 = arith.maxsi %2, %one : vector<24xi32>
  %4 = arith.trunci %3 : vector<24xi32> to vector<24xi8>
  vector.transfer_write %4, %y[%c0] {in_bounds = [true]} : vector<24xi8>, memref<24xi8>
  func.return
}

// A mask has lanes of 32 bits; comparisons of wider ones are converted, and so are choices.
// CHECK-LABEL: static void masks(
// CHECK-NEXT:    const double4 v1 = vload4(0, p0_x);
// CHECK-NEXT:    const int4 v2 = convert_int4(v1 > ((double4)(0.0)));
// CHECK-NEXT:    const double4 v3 = select(((double4)(0.0)), v1, convert_long4(v2));
// CHECK-NEXT:    const uint4 v4 = convert_uint4((v2 & 1));
// CHECK:         const double4 v5 = select(v3, v1, (v3 < v1) | (v1 != v1));
func.func @masks(%x: memref<4xf64>, %y: memref<4xi32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4xf64>
  %0 = vector.load %x[%c0] : memref<4xf64>, vector<4xf64>
  %1 = arith.cmpf ogt, %0, %zero : vector<4xf64>
  %2 = arith.select %1, %0, %zero : vector<4xi1>, vector<4xf64>
  %3 = arith.extui %1 : vector<4xi1> to vector<4xi32>
  vector.store %3, %y[%c0] : memref<4xi32>, vector<4xi32>
  %4 = arith.maximumf %2, %0 : vector<4xf64>
  vector.store %4, %x[%c0] : memref<4xf64>, vector<4xf64>
  func.return
}
func.func @main(%constants: memref<64xi8>) {
  func.return
}

// Bytes of a table are read one by one.
// CHECK-LABEL: static void looked_up(
// CHECK:       (uchar4)(p1_t[0 + v{{[0-9]+}}.s0], p1_t[0 + v{{[0-9]+}}.s1], p1_t[0 + v{{[0-9]+}}.s2], p1_t[0 + v{{[0-9]+}}.s3])
func.func @looked_up(%x: memref<4xi8>, %t: memref<256xi8>, %y: memref<4xi8>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %all = arith.constant dense<true> : vector<4xi1>
  %none = arith.constant dense<0> : vector<4xi8>
  %0 = vector.load %x[%c0] : memref<4xi8>, vector<4xi8>
  %1 = arith.extui %0 : vector<4xi8> to vector<4xi32>
  %2 = vector.gather %t[%c0] [%1], %all, %none : memref<256xi8>, vector<4xi32>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  vector.store %2, %y[%c0] : memref<4xi8>, vector<4xi8>
  func.return
}
