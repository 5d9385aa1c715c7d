// RUN: glow-opt -p loops-to-llvm{target=cortex-m4} %s | filecheck %s --check-prefix=SUMS
// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=NEAREST
// RUN: glow-opt -p loops-to-llvm{target=wasm-simd} %s | filecheck %s --check-prefix=ROUND

// A target without an instruction rounds by sums with 2^23, which IEEE addition rounds; where LLVM
// would call `lrintf`, the rounded number is converted. AArch64 has one instruction for both.
// SUMS-LABEL:    llvm.func @nearest
// SUMS:          "llvm.copysign.v4f32"
// SUMS-NEXT:     llvm.fadd
// SUMS-NEXT:     llvm.fsub
// SUMS-NEXT:     "llvm.copysign.v4f32"
// SUMS-NEXT:     "llvm.fabs.v4f32"
// SUMS-NEXT:     llvm.fcmp "olt"
// SUMS-NEXT:     llvm.select
// SUMS-NEXT:     llvm.fptosi
// NEAREST-LABEL: llvm.func @nearest
// NEAREST-NOT:   roundeven
// NEAREST:       "llvm.aarch64.neon.fcvtns.v4i32.v4f32"
// NEAREST-NOT:   fptosi
// ROUND-LABEL:   llvm.func @nearest
// ROUND:         "llvm.roundeven.v4f32"
// ROUND-NEXT:    llvm.fptosi
func.func @nearest(%x: memref<4xf32>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
  %r = math.roundeven %v : vector<4xf32>
  %i = arith.fptosi %r : vector<4xf32> to vector<4xi32>
  vector.store %i, %y[%c0] : memref<4xi32>, vector<4xi32>
  func.return
}

// Downwards it is the nearest integer, less one where that is above the number.
// SUMS-LABEL:    llvm.func @downwards
// SUMS:          %[[NEAR:[0-9]+]] = llvm.select
// SUMS-NEXT:     %[[BELOW:[0-9]+]] = llvm.fadd %[[NEAR]]
// SUMS-NEXT:     llvm.fcmp "ogt" %[[NEAR]]
// SUMS-NEXT:     llvm.select {{.*}}, %[[BELOW]], %[[NEAR]]
// SUMS-NEXT:     "llvm.copysign.v4f32"
// ROUND-LABEL:   llvm.func @downwards
// ROUND:         "llvm.floor.v4f32"
func.func @downwards(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
  %r = math.floor %v : vector<4xf32>
  vector.store %r, %x[%c0] : memref<4xf32>, vector<4xf32>
  func.return
}

// Wider vectors are made of registers.
// NEAREST-LABEL:   llvm.func @wide
// NEAREST-COUNT-2: "llvm.aarch64.neon.fcvtns.v4i32.v4f32"
// NEAREST-NOT:     lrint
func.func @wide(%x: vector<8xf32>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %r = math.roundeven %x : vector<8xf32>
  %i = arith.fptosi %r : vector<8xf32> to vector<8xi32>
  vector.store %i, %y[%c0] : memref<8xi32>, vector<8xi32>
  func.return
}

// A vector of one, as the rest of a row of three is, is no scalar, whose instruction it lacks.
// NEAREST-LABEL: llvm.func @one
// NEAREST-NOT:   fcvtns
// NEAREST:       -> vector<1xi32>
// NEAREST-LABEL: llvm.func @scalar
// NEAREST:       "llvm.aarch64.neon.fcvtns.i32.f32"
func.func @one(%x: vector<1xf32>, %y: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %r = math.roundeven %x : vector<1xf32>
  %i = arith.fptosi %r : vector<1xf32> to vector<1xi32>
  vector.store %i, %y[%c0] : memref<1xi32>, vector<1xi32>
  func.return
}

func.func @scalar(%x: f32, %y: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %r = math.roundeven %x : f32
  %i = arith.fptosi %r : f32 to i32
  memref.store %i, %y[%c0] : memref<1xi32>
  func.return
}
