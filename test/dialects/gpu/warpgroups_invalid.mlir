// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: no row of 256 bytes with swizzle_128b
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<64x128xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// CHECK: a tile has 1 to 5 axes of at most 256
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<512x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// CHECK: no swizzle 'swizzle_8b'
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_8b, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @f(%m: !map, %b: !barriers, %t: memref<32x64xbf16, 3>, %i: index) {
  // CHECK: the target is no tile of memref<64x64xbf16, 3
  nvgpu.tma.async.load %m[%i, %i], %b[%i] to %t : !map, !barriers -> memref<32x64xbf16, 3>
  func.return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @f(%m: !map, %b: !barriers, %t: memref<64x64xbf16, 3>, %i: index) {
  // CHECK: expected 2 coordinates
  nvgpu.tma.async.load %m[%i], %b[%i] to %t : !map, !barriers -> memref<64x64xbf16, 3>
  func.return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x32xbf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
func.func @f(%m: !map, %t: memref<64x32xbf16, 3>) {
  // CHECK: tensor cores read swizzle_128b alone
  %d = nvgpu.warpgroup.generate.descriptor %t, %m : memref<64x32xbf16, 3>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x32xbf16, 3>>
  func.return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @f(%a: !a, %b: !b, %c: !sums) {
  // CHECK: is not vector<64x64xf32>
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !sums -> !sums
  func.return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<32x64xf32>>
func.func @f(%a: !a, %b: !b, %c: !sums) {
  // CHECK: multiplies 64 rows by 8, 16, ..., 256 columns
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !sums -> !sums
  func.return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x64xbf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @f(%a: !a, %b: !b, %c: !sums) {
  // CHECK: multiplies 32 bytes of the depth at a time
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !sums -> !sums
  func.return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xbf16>>
func.func @f(%a: !a, %c: !sums) {
  // CHECK: the sums are of f32
  %d = nvgpu.warpgroup.mma %a, %a, %c : !a, !a, !sums -> !sums
  func.return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
func.func @f(%m: !map, %t: memref<64x32xf32, 3>) {
  // CHECK: tensor cores read it as tf32
  %d = nvgpu.warpgroup.generate.descriptor %t, %m : memref<64x32xf32, 3>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
  func.return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<2x64x64xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @f(%a: !a, %b: !b, %c: !sums) {
  // CHECK: no product of memref<2x64x64xbf16, 3
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !sums -> !sums
  func.return
}
