// RUN: not glow-opt --convert-stablehlo-to-glow %s 2>&1 | filecheck %s

// Programs that StableHLO does not allow: no property is guessed, and no shape.
// CHECK: error: convert-stablehlo-to-glow: 10 operations are not converted:
// CHECK-SAME: 'stablehlo.transpose' at {{.*}}:18:3 (the property 'permutation' is missing)
// CHECK-SAME: 'stablehlo.iota' at {{.*}}:19:3 (the property 'iota_dimension' is missing)
// CHECK-SAME: 'stablehlo.add' at {{.*}}:20:3 (its operands, properties or regions do not fit together)
// CHECK-SAME: 'stablehlo.abs' at {{.*}}:21:3 (glow.abs has 2 operands, too many)
// CHECK-SAME: 'stablehlo.reshape' at {{.*}}:22:3 (tensor<3xf32> and tensor<4xf32> differ in size)
// CHECK-SAME: 'stablehlo.compare' at {{.*}}:23:3 (its operands, properties or regions do not fit together)
// CHECK-SAME: 'stablehlo.if' at {{.*}}:24:3 (a region returns tensor<i1>, not tensor<3xf32>)
// CHECK-SAME: 'stablehlo.while' at {{.*}}:29:3 (a region's arguments are not the states of the loop)
// CHECK-SAME: 'stablehlo.custom_call' at {{.*}}:36:3 (not supported "lapack")
// CHECK-SAME: 'stablehlo.reduce' at {{.*}}:37:3 (its operands, properties or regions do not fit together)
// CHECK-NOT: error:
func.func @main(%x: tensor<3xf32>, %p: tensor<i1>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.transpose"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "stablehlo.iota"() : () -> tensor<12xf32>
  %2 = "stablehlo.add"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = "stablehlo.abs"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = stablehlo.reshape %x : (tensor<3xf32>) -> tensor<4xf32>
  %5 = stablehlo.compare FOO, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %6 = "stablehlo.if"(%p) ({
    stablehlo.return %p : tensor<i1>
  }, {
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  %7 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %8 = stablehlo.custom_call @lapack(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %9 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %x : tensor<3xf32>
}
