// RUN: glow-opt --convert-stablehlo-to-glow %s | filecheck %s

// A logical shift of signed integers is one of the same bits without sign.
// CHECK: func.func @shift
// CHECK-NEXT: %[[x:.*]] = glow.bitcast %{{.*}} : {{.*}}tensor<4xui32>
// CHECK-NEXT: %[[n:.*]] = glow.bitcast %{{.*}} : {{.*}}tensor<4xui32>
// CHECK-NEXT: %[[r:.*]] = glow.shift_right %[[x]], %[[n]] : tensor<4xui32>
// CHECK-NEXT: glow.bitcast %[[r]] : {{.*}}tensor<4xi32>
func.func @shift(%x: tensor<4xi32>, %n: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.shift_right_logical %x, %n : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// All bits of a quotient by 0 are set; a known divisor needs nothing.
// CHECK: func.func @divide
// CHECK: %[[q:.*]] = glow.div %[[x:.*]], %[[y:.*]] : tensor<4xui8>
// CHECK: %[[z:.*]] = glow.equal %[[y]], %{{.*}} : {{.*}}
// CHECK: %[[all:.*]] = glow.splat 255 : tensor<ui8>
// CHECK-NEXT: glow.select %[[z]], %[[all]], %[[q]]
// CHECK-NOT: glow.select
func.func @divide(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<3> : tensor<4xui8>
  %0 = stablehlo.divide %x, %y : tensor<4xui8>
  %1 = stablehlo.remainder %0, %c : tensor<4xui8>
  return %1 : tensor<4xui8>
}

// A choice of three is one within another; the last is taken for numbers outside.
// CHECK: func.func @choice
// CHECK: scf.if
// CHECK: glow.sin
// CHECK: else
// CHECK: scf.if
// CHECK: glow.cos
// CHECK: else
// CHECK: glow.neg
func.func @choice(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: func.func @truth
// CHECK: %[[not:.*]] = glow.not %[[a:.*]] : tensor<4xi1>
// CHECK-NEXT: glow.and %[[not]], %{{.*}} : tensor<4xi1>
func.func @truth(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
