// RUN: glow-opt --merge-products %s | filecheck %s

!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 4.0:7>
!z = !quant.uniform<u8:f32, 2.0:9>

// Rows by one matrix are stacked, in the type of their results.
// CHECK-LABEL: @rows
// CHECK: %[[C:.*]] = glow.concat %a, %b axis 0 : tensor<3x2x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: %[[P:.*]] = glow.fully_connected %[[C]], %w : tensor<3x2x!quant.uniform<u8:f32, 4.000000e+00:7>>
// CHECK-NEXT: glow.slice %[[P]] starts [0, 0] sizes [1, 2]
// CHECK-NEXT: glow.slice %[[P]] starts [1, 0] sizes [2, 2]
func.func @rows(%a: tensor<1x2x!x>, %b: tensor<2x2x!x>) -> (tensor<1x2x!y>, tensor<2x2x!y>) {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %0 = glow.fully_connected %a, %w : tensor<1x2x!y>
  %1 = glow.fully_connected %b, %w : tensor<2x2x!y>
  func.return %0, %1 : tensor<1x2x!y>, tensor<2x2x!y>
}

// Other scales of inputs or results are other products.
// CHECK-LABEL: @other_scales
// CHECK-COUNT-3: glow.fully_connected
func.func @other_scales(%a: tensor<1x2x!x>, %b: tensor<2x2x!x>, %c: tensor<1x2x!z>) -> (tensor<1x2x!y>, tensor<2x2x!z>, tensor<1x2x!y>) {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %0 = glow.fully_connected %a, %w : tensor<1x2x!y>
  %1 = glow.fully_connected %b, %w : tensor<2x2x!z>
  %2 = glow.fully_connected %c, %w : tensor<1x2x!y>
  func.return %0, %1, %2 : tensor<1x2x!y>, tensor<2x2x!z>, tensor<1x2x!y>
}
