// RUN: glow-opt --assign-layout='target=avx512' --fuse-epilogue --dce %s | filecheck %s

// The bias takes what the zero point adds; the nodes behind go to the epilogue.
// CHECK-LABEL: func.func @convolution(
// CHECK: %[[B:.*]] = glow.constant dense<-60> : tensor<1x16xi32>
// CHECK: %[[X:.*]] = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xui8>
// CHECK: cpu.int8_conv2d %[[X]], %{{.*}}, %[[B]], %{{.*}} input_channels 16 output_channels 16{{.*}} zero_point 3 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%[[S:.*]]: i32, %{{.*}}: f32):
// CHECK-NEXT: arith.sitofp %[[S]] : i32 to f32
// CHECK: glow.yield %{{.*}}
// CHECK: } : tensor<1x1x4x4x16xui8>
func.func @convolution(%x: tensor<1x16x4x4xui8>, %r: tensor<1x16x4x4xui8>) -> tensor<1x16x4x4xui8> {
  %w = glow.constant dense<1> : tensor<16x16x1x1xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %b = glow.constant dense<-12> : tensor<1x16x1x1xi32>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x16x4x4xi32>
  %1 = glow.add %0, %b : tensor<1x16x4x4xi32>
  %2 = glow.convert %1 : tensor<1x16x4x4xf32>
  %3 = glow.convert %r : tensor<1x16x4x4xf32>
  %4 = glow.add %2, %3 : tensor<1x16x4x4xf32>
  %5 = glow.clip %4 low 0.0 high 255.0 : tensor<1x16x4x4xf32>
  %6 = glow.convert %5 : tensor<1x16x4x4xui8>
  func.return %6 : tensor<1x16x4x4xui8>
}

// The sum of two convolutions reads the bytes of the first one.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[A:.*]] = cpu.int8_conv2d
// CHECK: } : tensor<1x1x4x4x16xui8>
// CHECK: cpu.int8_conv2d %{{.*}}, %{{.*}}, %{{.*}}, %[[A]] input_channels 16
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[E:.*]]: ui8):
// CHECK: %[[BITS:.*]] = builtin.unrealized_conversion_cast %[[E]] : ui8 to i8
// CHECK-NEXT: arith.uitofp %[[BITS]] : i8 to f32
func.func @residual(%x: tensor<1x16x4x4xui8>) -> tensor<1x16x4x4xf32> {
  %w = glow.constant dense<1> : tensor<16x16x1x1xi8>
  %z = glow.constant dense<0> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %a = glow.conv2d_integer %x, %w, %z, %p : tensor<1x16x4x4xi32>
  %b = glow.convert %a : tensor<1x16x4x4xui8>
  %c = glow.conv2d_integer %x, %w, %z, %p : tensor<1x16x4x4xi32>
  %d = glow.convert %c : tensor<1x16x4x4xf32>
  %e = glow.convert %b : tensor<1x16x4x4xf32>
  %f = glow.add %d, %e : tensor<1x16x4x4xf32>
  func.return %f : tensor<1x16x4x4xf32>
}

// CHECK-LABEL: func.func @first_layer(
// CHECK: %[[X:.*]] = cpu.pack %x lanes 4 : tensor<1x1x4x4x4xui8>
// CHECK: cpu.int8_conv2d %[[X]], %{{.*}} input_channels 3 output_channels 16{{.*}} kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x4x4x16xi32>
func.func @first_layer(%x: tensor<1x3x4x4xui8>) -> tensor<1x16x4x4xi32> {
  %w = glow.constant dense<1> : tensor<16x3x3x3xi8>
  %z = glow.constant dense<0> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x16x4x4xi32>
  func.return %0 : tensor<1x16x4x4xi32>
}

// CHECK-LABEL: func.func @depthwise(
// CHECK: cpu.int8_depthwise_conv2d %{{.*}} zero_point 7 kernel [3, 3] : tensor<1x2x2x2x16xi32>
func.func @depthwise(%x: tensor<1x32x4x4xui8>) -> tensor<1x32x2x2xi32> {
  %w = glow.constant dense<1> : tensor<32x1x3x3xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 32 : tensor<1x32x2x2xi32>
  func.return %0 : tensor<1x32x2x2xi32>
}

// Many groups of few channels: exact sums of floats.
// CHECK-LABEL: func.func @groups(
// CHECK: cpu.grouped_conv2d %{{.*}} : tensor<1x2x4x4x16xf32>
func.func @groups(%x: tensor<1x32x4x4xui8>) -> tensor<1x32x4x4xi32> {
  %w = glow.constant dense<1> : tensor<32x2x1x1xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 16 : tensor<1x32x4x4xi32>
  func.return %0 : tensor<1x32x4x4xi32>
}

// CHECK-LABEL: func.func @matrix(
// CHECK: cpu.int8_matmul %x, %{{.*}} : tensor<3x2xi32>
func.func @matrix(%x: tensor<3x8xui8>) -> tensor<3x2xi32> {
  %w = glow.constant dense<1> : tensor<8x2xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<3x2xi32>
  func.return %0 : tensor<3x2xi32>
}

// An odd depth is filled up to whole words.
// CHECK-LABEL: func.func @odd_depth(
// CHECK: %[[P:.*]] = glow.pad %x {{.*}} : tensor<3x8xui8>
// CHECK: cpu.int8_matmul %[[P]], %{{.*}} : tensor<3x2xi32>
func.func @odd_depth(%x: tensor<3x5xui8>) -> tensor<3x2xi32> {
  %w = glow.constant dense<1> : tensor<5x2xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<3x2xi32>
  func.return %0 : tensor<3x2xi32>
}

// Where few windows of a row meet no padding, and weights are many, the image is padded before,
// with its zero point; with few weights it is not.
// CHECK-LABEL: func.func @padded_first(
// CHECK: %[[X:.*]] = glow.pad %{{.*}} pads [0, 0, 1, 1, 0, 0, 0, 1, 1, 0] value 7.000000e+00 : tensor<1x16x9x9x16xui8>
// CHECK: cpu.int8_conv2d %[[X]], {{.*}} zero_point 7 kernel [3, 3] strides [2, 2] : tensor<1x8x4x4x16xi32>
// CHECK: cpu.int8_conv2d %{{.*}} zero_point 7 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : tensor<1x1x4x4x16xi32>
func.func @padded_first(%x: tensor<1x256x7x7xui8>) -> (tensor<1x128x4x4xi32>, tensor<1x16x4x4xi32>) {
  %w = glow.constant dense<1> : tensor<128x256x3x3xi8>
  %v = glow.constant dense<1> : tensor<16x256x3x3xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p strides [2, 2] pads [1, 1, 1, 1] : tensor<1x128x4x4xi32>
  %1 = glow.conv2d_integer %x, %v, %z, %p strides [2, 2] pads [1, 1, 1, 1] : tensor<1x16x4x4xi32>
  func.return %0, %1 : tensor<1x128x4x4xi32>, tensor<1x16x4x4xi32>
}
