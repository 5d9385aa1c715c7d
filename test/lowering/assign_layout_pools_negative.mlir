// RUN: glow-opt --assign-layout='target=sm_90' --dce %s | filecheck %s

// A GPU has a thread for each number of a pool: nothing is packed.
// CHECK-NOT: cpu.pack
// CHECK: glow.max_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x16x6x6xf32>
// CHECK-NOT: cpu.unpack
func.func @plain(%x: tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32> {
  %0 = glow.max_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x16x6x6xf32>
  func.return %0 : tensor<1x16x6x6xf32>
}
