// RUN: glow-opt --lower-nodes %s | filecheck %s

// The taps along the depth are channels of one convolution of planes.
// CHECK-LABEL: func.func @volume(
// CHECK:      glow.pad {{.*}} pads [1, 0, 0, 0, 1, 0, 0, 0] : tensor<6x3x5x5xf32>
// CHECK:      glow.slice {{.*}} starts [0, 0, 0, 0] sizes [4, 3, 5, 5]
// CHECK:      glow.slice {{.*}} starts [1, 0, 0, 0] sizes [4, 3, 5, 5]
// CHECK:      glow.slice {{.*}} starts [2, 0, 0, 0] sizes [4, 3, 5, 5]
// CHECK:      glow.concat {{.*}} axis 1 : tensor<4x9x5x5xf32>
// CHECK:      glow.conv2d {{.*}}, %b pads [1, 1, 1, 1] : tensor<4x8x5x5xf32>
// CHECK-NOT:  glow.conv3d
func.func @volume(%x: tensor<1x3x4x5x5xf32>, %w: tensor<8x3x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x4x5x5xf32> {
  %y = glow.conv3d %x, %w, %b pads [1, 1, 1, 1, 1, 1] : tensor<1x8x4x5x5xf32>
  func.return %y : tensor<1x8x4x5x5xf32>
}

// Windows that are single pixels of a plane slide over a plane of depths and pixels.
// CHECK-LABEL: func.func @along_depth(
// CHECK-DAG:  [[PLANE:%.*]] = glow.reshape %x : tensor<2x4x9x35xf32>
// CHECK-DAG:  [[TAPS:%.*]] = glow.reshape %w : tensor<8x2x3x1xf32>
// CHECK:      glow.conv2d [[PLANE]], [[TAPS]] strides [2, 1] pads [2, 0, 1, 0] dilations [2, 1] group 2 : tensor<2x8x4x35xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<2x8x4x5x7xf32>
// CHECK-NEXT: func.return
func.func @along_depth(%x: tensor<2x4x9x5x7xf32>, %w: tensor<8x2x3x1x1xf32>) -> tensor<2x8x4x5x7xf32> {
  %y = glow.conv3d %x, %w strides [2, 1, 1] pads [2, 0, 0, 1, 0, 0] dilations [2, 1, 1] group 2 : tensor<2x8x4x5x7xf32>
  func.return %y : tensor<2x8x4x5x7xf32>
}

// With pads or strides over the plane, they are those of planes.
// CHECK-LABEL: func.func @not_along_depth(
// CHECK:      glow.conv2d {{.*}} pads [0, 1, 0, 0] : tensor<9x8x5x8xf32>
// CHECK:      glow.conv2d {{.*}} strides [1, 2] : tensor<9x8x5x4xf32>
func.func @not_along_depth(%x: tensor<1x4x9x5x7xf32>, %w: tensor<8x4x1x1x1xf32>) -> (tensor<1x8x9x5x8xf32>, tensor<1x8x9x5x4xf32>) {
  %y = glow.conv3d %x, %w pads [0, 0, 1, 0, 0, 0] : tensor<1x8x9x5x8xf32>
  %z = glow.conv3d %x, %w strides [1, 1, 2] : tensor<1x8x9x5x4xf32>
  func.return %y, %z : tensor<1x8x9x5x8xf32>, tensor<1x8x9x5x4xf32>
}

// Four phases are four times as many channels; nothing is multiplied by a zero between pixels.
// CHECK-LABEL: func.func @doubled(
// CHECK:      glow.slice {{.*}} starts [0, 0, 0, 1, 0, 1, 0] sizes [1, 16, 8, 2, 2, 2, 2] steps [1, 1, 1, -1, 1, -1, 1]
// CHECK:      glow.conv2d %x, {{.*}} pads [1, 1, 1, 1] : tensor<1x32x13x13xf64>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x2x2x8x13x13xf64>
// CHECK-NEXT: glow.transpose {{.*}} [0, 3, 4, 1, 5, 2] : tensor<1x8x13x2x13x2xf64>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x8x26x26xf64>
// CHECK-NEXT: glow.slice {{.*}} starts [0, 0, 1, 1] sizes [1, 8, 24, 24] steps [1, 1, 1, 1] : tensor<1x8x24x24xf64>
func.func @doubled(%x: tensor<1x16x12x12xf64>, %w: tensor<16x8x4x4xf64>) -> tensor<1x8x24x24xf64> {
  %y = glow.conv_transpose2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x8x24x24xf64>
  func.return %y : tensor<1x8x24x24xf64>
}

// Of three taps the phases have one or two an axis: each is a convolution of its own.
// CHECK-LABEL: func.func @apart(
// CHECK:      glow.slice %w starts [0, 0, 1, 1] sizes [16, 8, 1, 1] steps [1, 1, 2, 2]
// CHECK:      glow.conv2d %x, {{.*}} : tensor<1x8x12x12xf64>
// CHECK:      glow.slice %w starts [0, 0, 1, 0] sizes [16, 8, 1, 2] steps [1, 1, 2, 2]
// CHECK:      glow.conv2d %x, {{.*}} pads [0, 0, 0, 1] : tensor<1x8x12x12xf64>
// CHECK:      glow.slice %w starts [0, 0, 0, 1] sizes [16, 8, 2, 1] steps [1, 1, 2, 2]
// CHECK:      glow.conv2d %x, {{.*}} pads [0, 0, 1, 0] : tensor<1x8x12x12xf64>
// CHECK:      glow.conv2d %x, {{.*}} pads [0, 0, 1, 1] : tensor<1x8x12x12xf64>
// CHECK-NEXT: glow.concat {{.*}} axis 1 : tensor<1x32x12x12xf64>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x2x2x8x12x12xf64>
// CHECK-NEXT: glow.transpose {{.*}} [0, 3, 4, 1, 5, 2] : tensor<1x8x12x2x12x2xf64>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x8x24x24xf64>
// CHECK-NEXT: glow.slice {{.*}} sizes [1, 8, 23, 24] {{.*}} : tensor<1x8x23x24xf64>
func.func @apart(%x: tensor<1x16x12x12xf64>, %w: tensor<16x8x3x3xf64>) -> tensor<1x8x23x24xf64> {
  %y = glow.conv_transpose2d %x, %w strides [2, 2] pads [1, 1, 1, 1] output_padding [0, 1] : tensor<1x8x23x24xf64>
  func.return %y : tensor<1x8x23x24xf64>
}

// With stride 1 it is a convolution; whole rows that the pads cut off are not computed.
// CHECK-LABEL: func.func @single(
// CHECK:      glow.conv2d %x, {{.*}} pads [1, 1, 1, 1] : tensor<1x8x6x6xf64>
// CHECK-NOT:  glow.slice
// CHECK:      func.return
func.func @single(%x: tensor<1x16x6x6xf64>, %w: tensor<16x8x3x3xf64>) -> tensor<1x8x6x6xf64> {
  %y = glow.conv_transpose2d %x, %w pads [1, 1, 1, 1] : tensor<1x8x6x6xf64>
  func.return %y : tensor<1x8x6x6xf64>
}

// The gradient of a convolution's input, with weights in f32 that are computed, has a kernel.
// CHECK-LABEL: func.func @gradient(
// CHECK-NEXT: %y = glow.conv_transpose2d %x, %w pads [1, 1, 1, 1] : tensor<1x8x6x6xf32>
func.func @gradient(%x: tensor<1x16x6x6xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x8x6x6xf32> {
  %y = glow.conv_transpose2d %x, %w pads [1, 1, 1, 1] : tensor<1x8x6x6xf32>
  func.return %y : tensor<1x8x6x6xf32>
}

// Eight phases of a volume, by way of a convolution over it.
// CHECK-LABEL: func.func @upsampled(
// CHECK:      glow.conv2d {{.*}} : tensor<1x32x3x25xf32>
// CHECK-NOT:  glow.conv_transpose3d
// CHECK:      glow.reshape {{.*}} : tensor<1x2x2x2x4x3x5x5xf32>
// CHECK-NEXT: glow.transpose {{.*}} [0, 4, 5, 1, 6, 2, 7, 3] : tensor<1x4x3x2x5x2x5x2xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x4x6x10x10xf32>
// CHECK-NEXT: func.return
func.func @upsampled(%x: tensor<1x16x3x5x5xf32>, %w: tensor<16x4x2x2x2xf32>) -> tensor<1x4x6x10x10xf32> {
  %y = glow.conv_transpose3d %x, %w strides [2, 2, 2] : tensor<1x4x6x10x10xf32>
  func.return %y : tensor<1x4x6x10x10xf32>
}
