// RUN: glow-opt -t llvm %s | filecheck %s --check-prefix=LLVM
// RUN: glow-opt --loops-to-llvm -t llvm %s | filecheck %s --check-prefix=LLVM
// RUN: glow-opt -t 'asm{machine=avx2}' %s | filecheck %s --check-prefix=ASM
// RUN: glow-opt -t asm %s | filecheck %s --check-prefix=HOST
// RUN: not glow-opt -t 'asm{machine=abacus}' %s 2>&1 | filecheck %s --check-prefix=MACHINE
// RUN: not glow-opt -t 'asm{size=3}' %s 2>&1 | filecheck %s --check-prefix=OPTION

// LLVM:    define {{.*}}@fill
// LLVM:    store <8 x float>
// ASM:     fill:
// ASM:     vmovups %ymm0
// HOST:    fill:
// MACHINE: glow-opt: error: unknown target 'abacus'; glow compile --list-targets lists them
// OPTION:  glow-opt: error: unknown option 'size' of target 'asm' (it takes machine, backend)
func.func @fill(%out: memref<8xf32>, %x: f32) {
  %zero = arith.constant 0 : index
  %v = vector.broadcast %x : f32 to vector<8xf32>
  vector.store %v, %out[%zero] : memref<8xf32>, vector<8xf32>
  func.return
}
