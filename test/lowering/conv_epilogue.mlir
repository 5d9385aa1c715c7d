// RUN: glow-opt --assign-layout='target=znver3 numerics=exact' --fuse-epilogue %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=znver3' | filecheck %s

// The error function of GELU takes more registers than sums of a tile leave: they go to the stack, and
// two pixels at a time, of two blocks each, come back from there. Sums alone are stored at once.
// CHECK-LABEL: func.func {{.*}}@conv2d_
// CHECK:         %[[SUMS:.*]] = memref.alloca() {{.*}}: memref<[[PIXELS:[0-9]+]]x2x8xf32>
// CHECK:         vector.transfer_write {{.*}}, %[[SUMS]]{{.*}} : vector<[[PIXELS]]x2x8xf32>
// CHECK:         scf.for
// CHECK:         vector.transfer_read %[[SUMS]]{{.*}} vector<2x2x8xf32>
// CHECK:         arith.divf {{.*}} : vector<2x2x8xf32>
// CHECK-LABEL: func.func {{.*}}@conv2d_
// CHECK-NOT:     memref.alloca
// CHECK:         vector.transfer_write {{.*}} : vector<[[PIXELS]]x2x8xf32>
func.func @main(%x: tensor<1x16x12x12xf32>) -> (tensor<1x16x12x12xf32>, tensor<1x16x12x12xf32>) {
  %w = glow.constant dense<0.5> : tensor<16x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x16x12x12xf32>
  %1 = glow.gelu %0 : tensor<1x16x12x12xf32>
  %2 = glow.conv2d %x, %w : tensor<1x16x12x12xf32>
  func.return %1, %2 : tensor<1x16x12x12xf32>, tensor<1x16x12x12xf32>
}
