// RUN: glow-opt --mask-padding --canonicalize --split-input-file %s | filecheck %s

// A convolution sees zeros beyond the end, as it would without padding. Its result is masked again
// where a softmax would see what is there.
// CHECK-LABEL: @windows
// CHECK-SAME: %w: tensor<4x4x3x3xf32>, [[PADDING:%.*]]: tensor<1xi64>)
// CHECK-SAME: {glow.padded_axes = array<i64: 3>}
// CHECK: [[WHOLE:%.*]] = glow.splat 12 : tensor<i64>
// CHECK: [[LENGTH:%.*]] = glow.sub [[WHOLE]], [[PADDING]] : tensor<1xi64>
// CHECK: [[INSIDE:%.*]] = glow.less {{%.*}}, [[LENGTH]] : tensor<12xi1>
// CHECK: %y = glow.conv2d %x, %w pads [1, 1, 1, 1]
// CHECK: [[LOWEST:%.*]] = glow.splat 0xff800000
// CHECK: [[MASKED:%.*]] = glow.select [[INSIDE]], %y, [[LOWEST]] : tensor<1x4x8x12xf32>
// CHECK: %z = glow.softmax [[MASKED]] axis 3
func.func @windows(%x: tensor<1x4x8x12xf32> {glow.padded_axes = array<i64: 3>}, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x8x12xf32> {
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x4x8x12xf32>
  %z = glow.softmax %y axis 3 : tensor<1x4x8x12xf32>
  func.return %z : tensor<1x4x8x12xf32>
}

// -----

// Of 12 - p elements a window of 3 with a stride of 2 and pads of 1 leaves (13 - p) / 2.
// CHECK-LABEL: @strides
// CHECK: [[WHOLE:%.*]] = glow.splat 13 : tensor<i64>
// CHECK: [[REST:%.*]] = glow.sub [[WHOLE]], {{%.*}} : tensor<1xi64>
// CHECK: [[TWO:%.*]] = glow.splat 2 : tensor<i64>
// CHECK: [[LENGTH:%.*]] = glow.div [[REST]], [[TWO]] : tensor<1xi64>
// CHECK: glow.less {{%.*}}, [[LENGTH]] : tensor<6xi1>
// CHECK: %p = glow.max_pool2d %{{[0-9]+}}
// CHECK: glow.select
// CHECK: %m = glow.reduce_max
func.func @strides(%x: tensor<1x4x3x12xf32> {glow.padded_axes = array<i64: 3>}) -> tensor<1x4x3xf32> {
  %p = glow.max_pool2d %x kernel [1, 3] strides [1, 2] pads [0, 1, 0, 1] : tensor<1x4x3x6xf32>
  %m = glow.reduce_max %p axes [3] : tensor<1x4x3xf32>
  func.return %m : tensor<1x4x3xf32>
}

// -----

// A mean of zeros beyond the end is one of what is kept, times 8 over how many that are.
// CHECK-LABEL: @mean
// CHECK: %m = glow.reduce_mean %x axes [1] : tensor<2xf32>
// CHECK: [[EIGHT:%.*]] = glow.splat 8.0
// CHECK: [[KEPT:%.*]] = glow.convert {{%.*}} : tensor<1xf32>
// CHECK: [[RATIO:%.*]] = glow.div [[EIGHT]], [[KEPT]] : tensor<1xf32>
// CHECK: [[MEAN:%.*]] = glow.mul %m, [[RATIO]] : tensor<2xf32>
// CHECK: func.return [[MEAN]]
func.func @mean(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2xf32> {
  %m = glow.reduce_mean %x axes [1] : tensor<2xf32>
  func.return %m : tensor<2xf32>
}

// -----

// Steps that are padding keep the state: their update gate is open.
// CHECK-LABEL: @backwards
// CHECK: [[FLAGS:%.*]] = glow.select {{%.*}}, {{%.*}}, {{%.*}} : tensor<8x1x1xf32>
// CHECK: [[INPUT:%.*]] = glow.concat %x, [[FLAGS]] axis 2 : tensor<8x1x4xf32>
// CHECK: [[COLUMN:%.*]] = glow.constant dense<{{.*}}1.000000e+04{{.*}}> : tensor<1x6x1xf32>
// CHECK: [[WEIGHTS:%.*]] = glow.concat %w, [[COLUMN]] axis 2 : tensor<1x6x4xf32>
// CHECK: glow.gru [[INPUT]], [[WEIGHTS]], %r, %b, %h direction "reverse"
func.func @backwards(%x: tensor<8x1x3xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<1x6x3xf32>, %r: tensor<1x6x2xf32>, %b: tensor<1x12xf32>, %h: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %y, %last = glow.gru %x, %w, %r, %b, %h direction "reverse" : tensor<8x1x1x2xf32>, tensor<1x1x2xf32>
  func.return %last : tensor<1x1x2xf32>
}

// -----

// Nothing sees padding: nothing is masked.
// CHECK-LABEL: @rows
// CHECK-NOT: glow.select
// CHECK: func.return
func.func @rows(%x: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %y = glow.matmul %x, %w : tensor<8x2xf32>
  func.return %y : tensor<8x2xf32>
}

// -----

// An index from the end of a table is one from where it ends, one beyond that is beyond the padding.
// CHECK-LABEL: @lookups
// CHECK-SAME: %i: tensor<5xi64>, [[PADDING:%.*]]: tensor<1xi64>)
// CHECK: [[WHOLE:%.*]] = glow.splat 16 : tensor<i64>
// CHECK: [[LENGTH:%.*]] = glow.sub [[WHOLE]], [[PADDING]] : tensor<1xi64>
// CHECK: [[ADDED:%.*]] = glow.sub {{%.*}}, [[LENGTH]] : tensor<1xi64>
// CHECK: [[NEGATIVE:%.*]] = glow.less %i, {{%.*}} : tensor<5xi1>
// CHECK: [[INSIDE:%.*]] = glow.less %i, [[LENGTH]] : tensor<5xi1>
// CHECK: [[FURTHER:%.*]] = glow.add %i, [[ADDED]] : tensor<5xi64>
// CHECK: [[OTHER:%.*]] = glow.select [[INSIDE]], %i, [[FURTHER]] : tensor<5xi64>
// CHECK: [[BEFORE:%.*]] = glow.sub %i, [[ADDED]] : tensor<5xi64>
// CHECK: [[MOVED:%.*]] = glow.select [[NEGATIVE]], [[BEFORE]], [[OTHER]] : tensor<5xi64>
// CHECK: glow.gather %x, [[MOVED]] : tensor<5x4xf32>
func.func @lookups(%x: tensor<16x4xf32> {glow.padded_axes = array<i64: 0>}, %i: tensor<5xi64>) -> tensor<5x4xf32> {
  %y = glow.gather %x, %i : tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

// -----

// Updates that padding would add are 0.
// CHECK-LABEL: @edges
// CHECK: [[INSIDE:%.*]] = glow.less {{%.*}}, {{%.*}} : tensor<8x1xi1>
// CHECK: [[MASKED:%.*]] = glow.select [[INSIDE]], %u, {{%.*}} : tensor<8x4xf32>
// CHECK: glow.scatter %data, %i, [[MASKED]] coordinates [-1, 1] reduction "add"
func.func @edges(%data: tensor<16x4xf32>, %i: tensor<8x1xi64> {glow.padded_axes = array<i64: 0>}, %v: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<16x4xf32> {
  %u = glow.exp %v : tensor<8x4xf32>
  %y = glow.scatter %data, %i, %u coordinates [-1, 1] reduction "add" : tensor<16x4xf32>
  func.return %y : tensor<16x4xf32>
}

// -----

// A number of windows is that of a call.
// CHECK-LABEL: @count
// CHECK: [[LENGTH:%.*]] = glow.div {{%.*}}, {{%.*}} : tensor<1xi64>
// CHECK: [[COUNT:%.*]] = glow.convert [[LENGTH]] : tensor<1xf32>
// CHECK: [[NUMBER:%.*]] = glow.reshape [[COUNT]] : tensor<f32>
// CHECK: glow.div {{%.*}}, {{%.*}} : tensor<1x1x1x4xf32>
func.func @count(%x: tensor<1x1x1x9xf32> {glow.padded_axes = array<i64: 3>}, %w: tensor<1x1x1x3xf32>) -> tensor<1x1x1x4xf32> {
  %c = glow.conv2d %x, %w strides [1, 2] : tensor<1x1x1x4xf32>
  %n = glow.splat 4.0 {glow.counts = array<f32: 2.0, 4.0>} : tensor<f32>
  %y = glow.div %c, %n : tensor<1x1x1x4xf32>
  func.return %y : tensor<1x1x1x4xf32>
}

// -----

// An edge is mirrored where what is kept ends: places go back and forth, every 2 (n - 1) of them.
// CHECK-LABEL: @mirrored
// CHECK-SAME: [[PADDING:%[^ ]*]]: tensor<1xi64>)
// CHECK: [[LENGTH:%.*]] = glow.sub {{%.*}}, [[PADDING]] : tensor<1xi64>
// CHECK: [[LAST:%.*]] = glow.sub [[LENGTH]], {{%.*}} : tensor<1xi64>
// CHECK: [[TWICE:%.*]] = glow.add [[LAST]], [[LAST]] : tensor<1xi64>
// CHECK: [[PERIOD:%.*]] = glow.max [[TWICE]], {{%.*}} : tensor<1xi64>
// CHECK: [[PLACES:%.*]] = glow.mod {{%.*}}, [[PERIOD]] : tensor<11xi64>
// CHECK: [[BACK:%.*]] = glow.sub [[PERIOD]], [[PLACES]] : tensor<11xi64>
// CHECK: [[MIRRORED:%.*]] = glow.min [[PLACES]], [[BACK]] : tensor<11xi64>
// CHECK: [[MIRROR:%.*]] = glow.gather %x, [[MIRRORED]] axis 1 : tensor<2x11xf32>
// CHECK: glow.pad [[MIRROR]] pads [1, 0, 0, 0] mode "reflect" : tensor<3x11xf32>
func.func @mirrored(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<3x11xf32> {
  %y = glow.pad %x pads [1, 1, 0, 2] mode "reflect" : tensor<3x11xf32>
  func.return %y : tensor<3x11xf32>
}
