// RUN: glow-opt --simplify-bounds %s | filecheck %s

// CHECK-LABEL: func.func @relu(
// CHECK-NEXT: func.return %x
func.func @relu(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: func.func @relu_needed(
// CHECK-NEXT: %0 = glow.relu %x
func.func @relu_needed(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {
  %0 = glow.relu %x : tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return %0 : tensor<4x!quant.uniform<i8:f32, 0.5>>
}

// 255 * 0.02 is less than 6.
// CHECK-LABEL: func.func @clip(
// CHECK-NEXT: func.return %x
func.func @clip(%x: tensor<4x!quant.uniform<u8:f32, 0.02>>) -> tensor<4x!quant.uniform<u8:f32, 0.02>> {
  %0 = glow.clip %x low 0.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.02>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.02>>
}

// CHECK-LABEL: func.func @clip_needed(
// CHECK-NEXT: %0 = glow.clip %x
func.func @clip_needed(%x: tensor<4x!quant.uniform<u8:f32, 0.03>>) -> tensor<4x!quant.uniform<u8:f32, 0.03>> {
  %0 = glow.clip %x low 0.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.03>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.03>>
}

// CHECK-LABEL: func.func @absorbed(
// CHECK-NEXT: %0 = glow.matmul
// CHECK-NEXT: %1 = glow.fully_connected %x, %w : tensor<2x2x!quant.uniform<u8:f32, 5.000000e-01>>
func.func @absorbed(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> (tensor<2x2x!quant.uniform<u8:f32, 0.5>>, tensor<2x2xf32>) {
  %0 = glow.matmul %x, %w : tensor<2x2xf32>
  %1 = glow.fully_connected %x, %w activation "relu" : tensor<2x2x!quant.uniform<u8:f32, 0.5>>
  func.return %1, %0 : tensor<2x2x!quant.uniform<u8:f32, 0.5>>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @max(
// CHECK-NOT: glow.max
// CHECK: func.return %x
func.func @max(%x: tensor<4x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<4x!quant.uniform<u8:f32, 0.5:10>> {
  %c = glow.constant dense<-6> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 1.0>>
  %0 = glow.max %x, %c : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
}

// CHECK-LABEL: func.func @min(
// CHECK-NEXT: func.return %x
func.func @min(%x: tensor<4x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<4x!quant.uniform<u8:f32, 0.5:10>> {
  %c = glow.constant dense<[123, 124, 125, 127]> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 1.0>>
  %0 = glow.min %c, %x : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
}

// Numbers from -5 to 122.5: one element of each constant is among them.
// CHECK-LABEL: func.func @partly_beyond(
// CHECK: %[[M:.*]] = glow.max %x
// CHECK: glow.min %[[M]]
func.func @partly_beyond(%x: tensor<4x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<4x!quant.uniform<u8:f32, 0.5:10>> {
  %c = glow.constant dense<[-6, -4, -6, -6]> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 1.0>>
  %d = glow.constant dense<[123, 123, 122, 123]> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 1.0>>
  %0 = glow.max %x, %c : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
  %1 = glow.min %0, %d : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.5:10>>
}

// CHECK-LABEL: func.func @split(
// CHECK-NEXT: %[[A:.*]] = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK-NEXT: %[[B:.*]] = glow.rescale %y : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK-NEXT: %{{.*}} = glow.max %[[A]], %[[B]] : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
func.func @split(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>, %y: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.max %x, %y : tensor<4x!quant.uniform<u8:f32, 0.5>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// CHECK-LABEL: func.func @sink(
// CHECK-NEXT: %[[R:.*]] = glow.reshape %x : tensor<2x2x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: %{{.*}} = glow.rescale %[[R]] : tensor<2x2x!quant.uniform<u8:f32, 2.500000e-01>>
func.func @sink(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 0.25>>
  %1 = glow.reshape %0 : tensor<2x2x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<2x2x!quant.uniform<u8:f32, 0.25>>
}

// What a rescaling adds lies along its own shape.
// CHECK-LABEL: func.func @stay(
// CHECK-NEXT: %[[R:.*]] = glow.rescale %x, %m, %a
// CHECK-NEXT: %{{.*}} = glow.reshape %[[R]]
// CHECK-NEXT: func.return
func.func @stay(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>, %m: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<2x2x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.rescale %x, %m, %a : tensor<4x!quant.uniform<u8:f32, 0.25>>
  %1 = glow.reshape %0 : tensor<2x2x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<2x2x!quant.uniform<u8:f32, 0.25>>
}

// A clip between casts is the saturation of the node before it.
// CHECK-LABEL: func.func @clip_of_sum(
// CHECK-NEXT: %[[S:.*]] = glow.add %x, %x : tensor<4x!quant.uniform<u8<3:123>:f32, 5.000000e-02:3>>
// CHECK-NEXT: glow.mul %[[S]], %[[S]] : tensor<4x!quant.uniform<u8:f32, 5.000000e-01>>
func.func @clip_of_sum(%x: tensor<4x!quant.uniform<u8:f32, 0.03>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.add %x, %x : tensor<4x!quant.uniform<u8:f32, 0.05:3>>
  %1 = glow.clip %0 low 0.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.05:3>>
  %2 = glow.mul %1, %1 : tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %2 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: func.func @relu_of_cast(
// CHECK-NEXT: %[[Q:.*]] = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8<-5:127>:f32, 5.000000e-01:-5>>
// CHECK-NEXT: quant.dcast %[[Q]]
func.func @relu_of_cast(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:-5>>
  %1 = glow.relu %0 : tensor<4x!quant.uniform<i8:f32, 0.5:-5>>
  %2 = quant.dcast %1 : tensor<4x!quant.uniform<i8:f32, 0.5:-5>> to tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// What moves or leaves has a type that others share; 0 must be stored.
// CHECK-LABEL: func.func @clip_stays(
// CHECK-COUNT-2: glow.clip
func.func @clip_stays(%x: tensor<4x!quant.uniform<u8:f32, 0.03>>) -> (tensor<2x2x!quant.uniform<u8:f32, 0.05>>, tensor<4x!quant.uniform<u8:f32, 0.5>>) {
  %0 = glow.add %x, %x : tensor<4x!quant.uniform<u8:f32, 0.05>>
  %1 = glow.clip %0 low 0.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.05>>
  %2 = glow.reshape %1 : tensor<2x2x!quant.uniform<u8:f32, 0.05>>
  %3 = glow.add %x, %x : tensor<4x!quant.uniform<u8:f32, 0.05>>
  %4 = glow.clip %3 low 1.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.05>>
  %5 = glow.mul %4, %4 : tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %2, %5 : tensor<2x2x!quant.uniform<u8:f32, 0.05>>, tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// 255 * 0.0235294122 is a bit more than 6, which rounds to it.
// CHECK-LABEL: func.func @clip_of_whole_range(
// CHECK-NEXT: func.return %x
func.func @clip_of_whole_range(%x: tensor<4x!quant.uniform<u8:f32, 0.02352941222488880>>) -> tensor<4x!quant.uniform<u8:f32, 0.02352941222488880>> {
  %0 = glow.clip %x low 0.0 high 6.0 : tensor<4x!quant.uniform<u8:f32, 0.02352941222488880>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.02352941222488880>>
}
