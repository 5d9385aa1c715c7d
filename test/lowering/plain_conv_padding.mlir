// RUN: glow-opt --assign-layout='target=avx2' %s | filecheck %s

// Columns in the padding go pixel by pixel in the plain layout, each as long as a tile of a row: of
// seven taps they take as long as all others, so that a copy with their padding is faster. Rows
// keep theirs, whose taps are skipped.
// CHECK-LABEL: func.func @wide(
// CHECK:         glow.pad %x {{.*}}pads [0, 0, 0, 3, 0, 0, 0, 3] : tensor<1x64x128x134xf32>
// CHECK:         cpu.plain_conv2d {{.*}} pads [3, 0, 3, 0]
func.func @wide(%x: tensor<1x64x128x128xf32>) -> tensor<1x3x128x128xf32> {
  %w = glow.constant dense<0.5> : tensor<3x64x7x7xf32>
  %0 = glow.conv2d %x, %w pads [3, 3, 3, 3] : tensor<1x3x128x128xf32>
  func.return %0 : tensor<1x3x128x128xf32>
}

// One tap in a few rows of many channels is less work than the copy.
// CHECK-LABEL: func.func @little(
// CHECK-NOT:     glow.pad
// CHECK:         cpu.plain_conv2d {{.*}} pads [0, 1, 0, 1]
func.func @little(%x: tensor<1x64x8x64xf32>) -> tensor<1x1x8x66xf32> {
  %w = glow.constant dense<0.5> : tensor<1x64x1x1xf32>
  %0 = glow.conv2d %x, %w pads [0, 1, 0, 1] : tensor<1x1x8x66xf32>
  func.return %0 : tensor<1x1x8x66xf32>
}
