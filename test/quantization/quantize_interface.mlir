// RUN: glow-opt --quantize='interface=integer' --split-input-file %s 2>/dev/null | filecheck %s

// The caller has the casts.
// CHECK-LABEL: func.func @main(%x: tensor<2x2xui8>) -> tensor<2x3xui8>
// CHECK-NOT: quant.qcast
// CHECK: %[[X:.*]] = glow.scast %x : tensor<2x2xui8> to tensor<2x2x!quant.uniform<u8:f32,
// CHECK: %[[Y:.*]] = glow.fully_connected %[[X]], %{{.*}} : tensor<2x3x!quant.uniform<u8:f32,
// CHECK: %[[S:.*]] = glow.scast %[[Y]] : tensor<2x3x!quant.uniform<u8:f32, {{.*}} to tensor<2x3xui8>
// CHECK: func.return %[[S]] : tensor<2x3xui8>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %m = glow.constant dense<[[0.5, 1.0, 2.0], [0.25, -1.0, 0.5]]> : tensor<2x3xf32>
  %y = glow.fully_connected %x, %m : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// An output of floats, and an input that floats need.
// CHECK-LABEL: func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %m = glow.constant dense<[[0.5, 1.0, 2.0], [0.25, -1.0, 0.5]]> : tensor<2x3xf32>
  %n = glow.constant dense<[[0.5, 1.0], [0.25, -1.0], [0.125, 1.0]]> : tensor<3x2xf32>
  %y = glow.fully_connected %x, %m : tensor<2x3xf32>
  %z = glow.softmax %y axis 1 : tensor<2x3xf32>
  %a = glow.matmul %z, %n : tensor<2x2xf32>
  %b = glow.sigmoid %x : tensor<2x2xf32>
  %c = glow.mul %a, %b : tensor<2x2xf32>
  %d = glow.softmax %c axis 1 : tensor<2x2xf32>
  %e = glow.matmul %d, %m : tensor<2x3xf32>
  %f = glow.softmax %e axis 1 : tensor<2x3xf32>
  func.return %f : tensor<2x3xf32>
}

// -----

// A network that comes quantized.
// CHECK-LABEL: func.func @main(%x: tensor<2x2xi8>) -> tensor<2x2xi8>
// CHECK: quant.scast %x : tensor<2x2xi8>
// CHECK: func.return %{{.*}} : tensor<2x2xi8>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %q = quant.qcast %x : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>
  %f = quant.dcast %q : tensor<2x2x!quant.uniform<i8:f32, 0.5:3>> to tensor<2x2xf32>
  %r = glow.relu %f : tensor<2x2xf32>
  %p = quant.qcast %r : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %y = quant.dcast %p : tensor<2x2x!quant.uniform<i8:f32, 0.25>> to tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
