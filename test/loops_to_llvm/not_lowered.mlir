// RUN: glow-opt -p loops-to-llvm --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: loops-to-llvm: no lowering for memref.alloc (in @f)
func.func @f() {
  %x = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK: loops-to-llvm: @g has more than one result
func.func private @g() -> (f32, f32)
