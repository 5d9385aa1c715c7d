// RUN: glow-opt --lower-nodes='backend=none' --verify-lowered='backend=none' %s | filecheck %s

// What the CPU has kernels for, as the fewest primitives.

// CHECK-LABEL: func.func @pad(
// CHECK-NEXT: %0 = glow.slice %x starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %1 = glow.splat 1.500000e+00 : tensor<1x3xf32>
// CHECK-NEXT: %2 = glow.concat %1, %0 axis 0 : tensor<2x3xf32>
// CHECK-NEXT: %3 = glow.splat 1.500000e+00 : tensor<2x2xf32>
// CHECK-NEXT: %4 = glow.concat %3, %2 axis 1 : tensor<2x5xf32>
// CHECK-NEXT: func.return %4 : tensor<2x5xf32>
func.func @pad(%x: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %0 = glow.pad %x pads [1, 2, -1, 0] value 1.5 : tensor<2x5xf32>
  func.return %0 : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK-NEXT: %0 = glow.reshape %x : tensor<1x3x1xf32>
// CHECK-NEXT: %1 = glow.concat %0, %0 axis 2 : tensor<1x3x2xf32>
// CHECK-NEXT: %2 = glow.concat %1, %1 axis 0 : tensor<2x3x2xf32>
// CHECK-NEXT: func.return %2 : tensor<2x3x2xf32>
func.func @broadcast(%x: tensor<3x1xf32>) -> tensor<2x3x2xf32> {
  %0 = glow.broadcast %x : tensor<2x3x2xf32>
  func.return %0 : tensor<2x3x2xf32>
}

// CHECK-LABEL: func.func @batched_product(
// CHECK-NEXT: %0 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 1, 3, 4] steps [1, 1, 1, 1] : tensor<1x1x3x4xf32>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<3x4xf32>
// CHECK-NEXT: %2 = glow.slice %y starts [0, 0, 0] sizes [1, 5, 4] steps [1, 1, 1] : tensor<1x5x4xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<5x4xf32>
// CHECK-NEXT: %4 = glow.matmul %1, %3 transpose_rhs : tensor<3x5xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<1x3x5xf32>
// CHECK-NEXT: %6 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 1, 3, 4] steps [1, 1, 1, 1] : tensor<1x1x3x4xf32>
// CHECK-NEXT: %7 = glow.reshape %6 : tensor<3x4xf32>
// CHECK-NEXT: %8 = glow.slice %y starts [1, 0, 0] sizes [1, 5, 4] steps [1, 1, 1] : tensor<1x5x4xf32>
// CHECK-NEXT: %9 = glow.reshape %8 : tensor<5x4xf32>
// CHECK-NEXT: %10 = glow.matmul %7, %9 transpose_rhs : tensor<3x5xf32>
// CHECK-NEXT: %11 = glow.reshape %10 : tensor<1x3x5xf32>
// CHECK-NEXT: %12 = glow.slice %x starts [1, 0, 0, 0] sizes [1, 1, 3, 4] steps [1, 1, 1, 1] : tensor<1x1x3x4xf32>
// CHECK-NEXT: %13 = glow.reshape %12 : tensor<3x4xf32>
// CHECK-NEXT: %14 = glow.slice %y starts [0, 0, 0] sizes [1, 5, 4] steps [1, 1, 1] : tensor<1x5x4xf32>
// CHECK-NEXT: %15 = glow.reshape %14 : tensor<5x4xf32>
// CHECK-NEXT: %16 = glow.matmul %13, %15 transpose_rhs : tensor<3x5xf32>
// CHECK-NEXT: %17 = glow.reshape %16 : tensor<1x3x5xf32>
// CHECK-NEXT: %18 = glow.slice %x starts [1, 0, 0, 0] sizes [1, 1, 3, 4] steps [1, 1, 1, 1] : tensor<1x1x3x4xf32>
// CHECK-NEXT: %19 = glow.reshape %18 : tensor<3x4xf32>
// CHECK-NEXT: %20 = glow.slice %y starts [1, 0, 0] sizes [1, 5, 4] steps [1, 1, 1] : tensor<1x5x4xf32>
// CHECK-NEXT: %21 = glow.reshape %20 : tensor<5x4xf32>
// CHECK-NEXT: %22 = glow.matmul %19, %21 transpose_rhs : tensor<3x5xf32>
// CHECK-NEXT: %23 = glow.reshape %22 : tensor<1x3x5xf32>
// CHECK-NEXT: %24 = glow.concat %5, %11, %17, %23 axis 0 : tensor<4x3x5xf32>
// CHECK-NEXT: %25 = glow.reshape %24 : tensor<2x2x3x5xf32>
// CHECK-NEXT: func.return %25 : tensor<2x2x3x5xf32>
func.func @batched_product(%x: tensor<2x1x3x4xf32>, %y: tensor<2x5x4xf32>) -> tensor<2x2x3x5xf32> {
  %0 = glow.matmul %x, %y transpose_rhs : tensor<2x2x3x5xf32>
  func.return %0 : tensor<2x2x3x5xf32>
}

// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %0 = glow.reshape %w : tensor<4x2xf32>
// CHECK-NEXT: %1 = glow.reshape %x : tensor<1x2x9xf32>
// CHECK-NEXT: %2 = glow.slice %1 starts [0, 0, 0] sizes [1, 2, 9] steps [1, 1, 1] : tensor<1x2x9xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<2x9xf32>
// CHECK-NEXT: %4 = glow.matmul %0, %3 : tensor<4x9xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<1x4x9xf32>
// CHECK-NEXT: %6 = glow.reshape %b : tensor<4x1xf32>
// CHECK-NEXT: %7 = glow.add %5, %6 : tensor<1x4x9xf32>
// CHECK-NEXT: %8 = glow.reshape %7 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %9 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %10 = glow.max %8, %9 : tensor<1x4x3x3xf32>
// CHECK-NEXT: func.return %10 : tensor<1x4x3x3xf32>
func.func @pointwise(%x: tensor<1x2x3x3xf32>, %w: tensor<4x2x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x3x3xf32> {
  %0 = glow.conv2d %x, %w, %b activation "relu" : tensor<1x4x3x3xf32>
  func.return %0 : tensor<1x4x3x3xf32>
}

// A window is a primitive.
// CHECK-LABEL: func.func @window(
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x4x1x1xf32>
// CHECK-NEXT: func.return %0 : tensor<1x4x1x1xf32>
func.func @window(%x: tensor<1x2x3x3xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x1x1xf32> {
  %0 = glow.conv2d %x, %w : tensor<1x4x1x1xf32>
  func.return %0 : tensor<1x4x1x1xf32>
}

// Places outside of the axis count as elements 0.
// CHECK-LABEL: func.func @sample(
// CHECK: %3 = glow.min %2, %0 : tensor<4x2xi64>
// CHECK-NEXT: %4 = glow.reshape %3 : tensor<8xi64>
// CHECK-NEXT: %5 = glow.gather %x, %4 axis 1 : tensor<2x8x5xf32>
// CHECK: glow.select
// CHECK: glow.mul
// CHECK: glow.reduce_sum %{{.*}} axes [2] : tensor<2x4x5xf32>
func.func @sample(%x: tensor<2x3x5xf32>, %i: tensor<4x2xi64>, %w: tensor<4x2xf32>) -> tensor<2x4x5xf32> {
  %y = glow.sample %x, %i, %w axis 1 : tensor<2x4x5xf32>
  func.return %y : tensor<2x4x5xf32>
}

// Each part of the input has a table of its own, and sums are those of f32.
// CHECK-LABEL: func.func @sample_by_tables(
// CHECK: glow.gather_nd %{{.*}}, %{{.*}} batch_dims 1 : tensor<2x6x1xf16>
// CHECK: glow.convert %{{.*}} : tensor<2x2x3x1xf32>
// CHECK: glow.reduce_max %{{.*}} axes [2] : tensor<2x2x1xf32>
// CHECK-NEXT: glow.convert %{{.*}} : tensor<2x2x1xf16>
func.func @sample_by_tables(%x: tensor<2x3xf16>, %i: tensor<2x2x3xi32>, %w: tensor<2x2x3xf32>) -> tensor<2x2xf16> {
  %y = glow.sample %x, %i, %w axis 1 largest : tensor<2x2xf16>
  func.return %y : tensor<2x2xf16>
}
