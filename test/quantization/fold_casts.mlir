// RUN: glow-opt --fold-casts %s | filecheck %s

// CHECK-LABEL: func.func @cancel(
// CHECK-NEXT: func.return %x : tensor<4x!quant.uniform<u8:f32, 5.000000e-01>>
func.func @cancel(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: func.func @rescale(
// CHECK-NEXT: %{{.*}} = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
func.func @rescale(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// A constant is quantized at compile time.
// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %{{.*}} = glow.constant dense<[3, 1]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 5.000000e-01:1>>
func.func @constant() -> tensor<2x!quant.uniform<i8:f32, 0.5:1>> {
  %0 = glow.constant dense<[1.0, 0.1]> : tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5:1>>
  func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5:1>>
}

// Layers share weights that were quantized once, with a scale for each channel and with one, and
// quantize them again.
// CHECK-LABEL: func.func @constant_again(
// CHECK-NEXT: glow.constant dense<{{.*}}[6, 8], [4, -4]{{.*}}> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT: glow.constant dense<{{.*}}[3, 4], [4, -4]{{.*}}> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT: func.return
func.func @constant_again() -> (tensor<2x2x!quant.uniform<i8:f32, 0.25>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %c = glow.constant dense<[[3, 4], [1, -1]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
  %0 = quant.dcast %c : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>> to tensor<2x2xf32>
  %1 = quant.qcast %0 : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %2 = quant.qcast %0 : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return %1, %2 : tensor<2x2x!quant.uniform<i8:f32, 0.25>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}

// The range of the result starts at 0: it is the ReLU.
// CHECK-LABEL: func.func @relu_in_range(
// CHECK-NEXT: %{{.*}} = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: func.return
func.func @relu_in_range(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.relu %x : tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: func.func @clip(
// CHECK-NEXT: %[[Q:.*]] = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>
// CHECK-NEXT: %{{.*}} = glow.clip %[[Q]] low 0.000000e+00 high 6.000000e+00 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>
func.func @clip(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {
  %0 = glow.clip %x low 0.0 high 6.0 : tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return %1 : tensor<4x!quant.uniform<i8:f32, 0.5>>
}

// Both parts of a concatenation are cast, one of them is rescaled.
// CHECK-LABEL: func.func @concat(
// CHECK-NEXT: %[[A:.*]] = quant.qcast %x
// CHECK-NEXT: %[[B:.*]] = glow.rescale %y : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK-NEXT: %{{.*}} = glow.concat %[[A]], %[[B]] axis 0 : tensor<8x!quant.uniform<u8:f32, 2.500000e-01>>
func.func @concat(%x: tensor<4xf32>, %y: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<8x!quant.uniform<u8:f32, 0.25>> {
  %0 = quant.dcast %y : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>
  %1 = glow.concat %x, %0 axis 0 : tensor<8xf32>
  %2 = quant.qcast %1 : tensor<8xf32> to tensor<8x!quant.uniform<u8:f32, 0.25>>
  func.return %2 : tensor<8x!quant.uniform<u8:f32, 0.25>>
}

// CHECK-LABEL: func.func @sink(
// CHECK-NEXT: %[[M:.*]] = glow.max_pool2d %x kernel [2, 2] : tensor<1x1x1x1x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: %{{.*}} = quant.dcast %[[M]]
func.func @sink(%x: tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x1x1x1xf32> {
  %0 = quant.dcast %x : tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>> to tensor<1x1x2x2xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] : tensor<1x1x1x1xf32>
  func.return %1 : tensor<1x1x1x1xf32>
}

// Someone reads the float value: it stays.
// CHECK-LABEL: func.func @other_reader(
// CHECK-NEXT: %0 = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: %1 = quant.qcast %0
func.func @other_reader(%x: tensor<4xf32>) -> (tensor<4x!quant.uniform<u8:f32, 0.5>>, tensor<4xf32>) {
  %0 = glow.relu %x : tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %1, %0 : tensor<4x!quant.uniform<u8:f32, 0.5>>, tensor<4xf32>
}

// All that reads the value casts it to one type.
// CHECK-LABEL: func.func @slices_of_one_scale(
// CHECK-NEXT: %[[A:.*]] = quant.qcast %x : tensor<4xf32>
// CHECK-NEXT: glow.slice %[[A]] starts [0]
// CHECK-NEXT: %[[B:.*]] = quant.qcast %x : tensor<4xf32>
// CHECK-NEXT: glow.slice %[[B]] starts [2]
func.func @slices_of_one_scale(%x: tensor<4xf32>) -> (tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<2x!quant.uniform<u8:f32, 0.5>>) {
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2xf32>
  %1 = glow.slice %x starts [2] sizes [2] steps [1] : tensor<2xf32>
  %2 = quant.qcast %0 : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.5>>
  %3 = quant.qcast %1 : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.5>>
  func.return %2, %3 : tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<2x!quant.uniform<u8:f32, 0.5>>
}

// Each step of a sequence has a scale of its own: one of two numbers is cast twice elsewise.
// CHECK-LABEL: func.func @slices_of_two_scales(
// CHECK-NEXT: %[[A:.*]] = glow.slice %x starts [0]
// CHECK-NEXT: %[[B:.*]] = glow.slice %x starts [2]
// CHECK-NEXT: quant.qcast %[[A]] : tensor<2xf32>
// CHECK-NEXT: quant.qcast %[[B]] : tensor<2xf32>
func.func @slices_of_two_scales(%x: tensor<4xf32>) -> (tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<2x!quant.uniform<u8:f32, 0.25>>) {
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2xf32>
  %1 = glow.slice %x starts [2] sizes [2] steps [1] : tensor<2xf32>
  %2 = quant.qcast %0 : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.5>>
  %3 = quant.qcast %1 : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.25>>
  func.return %2, %3 : tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<2x!quant.uniform<u8:f32, 0.25>>
}

// The other elements are read as floats.
// CHECK-LABEL: func.func @slice_of_floats(
// CHECK-NEXT: %[[A:.*]] = glow.slice %x
// CHECK-NEXT: quant.qcast %[[A]]
func.func @slice_of_floats(%x: tensor<4xf32>) -> (tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<4xf32>) {
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.5>>
  func.return %1, %x : tensor<2x!quant.uniform<u8:f32, 0.5>>, tensor<4xf32>
}

// A constant is cast at compile time, whoever else reads it.
// CHECK-LABEL: func.func @row_of_a_table(
// CHECK-NEXT: glow.constant {{.*}} : tensor<8xf32>
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} as tensor<8x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: glow.gather %[[T]]
func.func @row_of_a_table(%i: tensor<1xi64>) -> (tensor<1x!quant.uniform<u8:f32, 0.5>>, tensor<8xf32>) {
  %0 = glow.constant dense<2.0> : tensor<8xf32>
  %1 = glow.gather %0, %i axis 0 : tensor<1xf32>
  %2 = quant.qcast %1 : tensor<1xf32> to tensor<1x!quant.uniform<u8:f32, 0.5>>
  func.return %2, %0 : tensor<1x!quant.uniform<u8:f32, 0.5>>, tensor<8xf32>
}
