// RUN: glow-opt --separate-rows --split-input-file %s | filecheck %s

// A negative number is one of the row before.
// CHECK-LABEL: @any_place
// CHECK-NOT: gather_nd
// CHECK: func.return
func.func @any_place(%x: tensor<2x16x8xf32>, %place: tensor<2xi64>) -> tensor<2x8xf32> {
  %flat = glow.reshape %x : tensor<32x8xf32>
  %begin = glow.constant dense<[0, 16]> : tensor<2xi64>
  %number = glow.add %place, %begin : tensor<2xi64>
  %y = glow.gather %flat, %number : tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// -----

// Places of longer rows, and rows that begin elsewhere.
// CHECK-LABEL: @other_rows
// CHECK-NOT: gather_nd
// CHECK: func.return
func.func @other_rows(%x: tensor<2x16x8xf32>, %ids: tensor<2x20xi32>, %short: tensor<2x12xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %flat = glow.reshape %x : tensor<32x8xf32>
  %place = glow.arg_max %ids axis 1 : tensor<2xi64>
  %begin = glow.constant dense<[0, 12]> : tensor<2xi64>
  %number = glow.add %place, %begin : tensor<2xi64>
  %y = glow.gather %flat, %number : tensor<2x8xf32>
  %other = glow.arg_max %short axis 1 : tensor<2xi64>
  %second = glow.add %other, %begin : tensor<2xi64>
  %z = glow.gather %flat, %second : tensor<2x8xf32>
  func.return %y, %z : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Bytes cannot hold all places.
// CHECK-LABEL: @bytes
// CHECK-NOT: gather_nd
// CHECK: func.return
func.func @bytes(%x: tensor<2x200x8xf32>, %ids: tensor<2x200xi32>) -> tensor<2x8xf32> {
  %flat = glow.reshape %x : tensor<400x8xf32>
  %place = glow.arg_max %ids axis 1 : tensor<2xi64>
  %byte = glow.convert %place : tensor<2xi8>
  %wide = glow.convert %byte : tensor<2xi64>
  %begin = glow.constant dense<[0, 200]> : tensor<2xi64>
  %number = glow.add %wide, %begin : tensor<2xi64>
  %y = glow.gather %flat, %number : tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
