// RUN: glow-opt --choose-configs='target=neon_with-size' %s | filecheck %s
// RUN: glow-opt --choose-configs='target=neon' %s | filecheck %s --check-prefix=FAST
// RUN: glow-opt --choose-configs='target=neon_with-size' --glow-to-instr --plan-memory --instr-to-loops='target=neon_with-size' %s | filecheck %s --check-prefix=LOOPS

// For size one loop body takes every pixel, with its taps inside as bounds.
// CHECK: cpu.depthwise_conv2d {{.*}}config #cpu.depthwise_config<pixels = 1, by_pixel = true>
// FAST: cpu.depthwise_conv2d {{.*}}config #cpu.depthwise_config<pixels = 4
// LOOPS-LABEL: func.func private @depthwise
// LOOPS-COUNT-1: vector.fma
// LOOPS-NOT: vector.fma
func.func @main(%x: tensor<1x4x14x14x4xf32>) -> tensor<1x4x14x14x4xf32> {
  %w = glow.splat 0.5 : tensor<4x3x3x4xf32>
  %b = glow.splat 1.0 : tensor<4x4xf32>
  %y = cpu.depthwise_conv2d %x, %w, %b kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x4x14x14x4xf32>
  func.return %y : tensor<1x4x14x14x4xf32>
}
