// RUN: glow-opt --differentiate='wrt=x' %s | filecheck %s

// What a branch does not use has a gradient of zeros in it.
// CHECK-LABEL: func.func @branch(
// CHECK-NEXT: %go = tensor.extract %c[] : tensor<i1>
// CHECK-NEXT: %y = scf.if %go -> (tensor<4xf32>) {
// CHECK-NEXT: %p = glow.mul %x, %x : tensor<4xf32>
// CHECK-NEXT: scf.yield %p : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %z : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %loss = glow.reduce_sum %y axes [0] : tensor<f32>
// CHECK-NEXT: %x.grad = scf.if %go -> (tensor<4xf32>) {
// CHECK-NEXT: %x.grad_1 = glow.add %x, %x : tensor<4xf32>
// CHECK-NEXT: scf.yield %x.grad_1 : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %0 = glow.splat 0.000000e+00 : tensor<4xf32>
// CHECK-NEXT: scf.yield %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @branch(%x: tensor<4xf32>, %z: tensor<4xf32>, %c: tensor<i1>) -> tensor<f32> {
  %go = tensor.extract %c[] : tensor<i1>
  %y = scf.if %go -> (tensor<4xf32>) {
    %p = glow.mul %x, %x : tensor<4xf32>
    scf.yield %p : tensor<4xf32>
  } else {
    scf.yield %z : tensor<4xf32>
  }
  %loss = glow.reduce_sum %y axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// The loop saves the state that its gradient needs, and not the sequence that it only writes;
// the gradient of a row is added to that row.
// CHECK-LABEL: func.func @counted(
// CHECK-NEXT: %first = arith.constant 0 : index
// CHECK-NEXT: %end = arith.constant 9 : index
// CHECK-NEXT: %step = arith.constant 1 : index
// CHECK-NEXT: %empty = glow.splat 0.000000e+00 : tensor<9x4xf32>
// CHECK-NEXT: %0 = glow.splat 0.000000e+00 : tensor<9x4xf32>
// CHECK-NEXT: %ys, %last, %1 = scf.for %i = %first to %end step %step iter_args(%a = %empty, %s = %h, %2 = %0) -> (tensor<9x4xf32>, tensor<4xf32>, tensor<9x4xf32>) {
// CHECK-NEXT: %row = glow.dynamic_slice %x, %i : tensor<4xf32>
// CHECK-NEXT: %next = glow.mul %row, %s : tensor<4xf32>
// CHECK-NEXT: %b = glow.dynamic_update %a, %next, %i : tensor<9x4xf32>
// CHECK-NEXT: %3 = glow.dynamic_update %2, %s, %i : tensor<9x4xf32>
// CHECK-NEXT: scf.yield %b, %next, %3 : tensor<9x4xf32>, tensor<4xf32>, tensor<9x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %loss = glow.reduce_sum %ys axes [0, 1] : tensor<f32>
// CHECK-NEXT: %4 = glow.splat 1.000000e+00 : tensor<9x4xf32>
// CHECK-NEXT: %5 = arith.constant 8 : index
// CHECK-NEXT: %6 = glow.splat 0.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %7 = glow.splat 0.000000e+00 : tensor<9x4xf32>
// CHECK-NEXT: %8, %9, %x.grad = scf.for %10 = %first to %end step %step iter_args(%11 = %4, %12 = %6, %13 = %7) -> (tensor<9x4xf32>, tensor<4xf32>, tensor<9x4xf32>) {
// CHECK-NEXT: %14 = arith.subi %5, %10 : index
// CHECK-NEXT: %15 = glow.dynamic_slice %1, %14 : tensor<4xf32>
// CHECK-NEXT: %row_1 = glow.dynamic_slice %x, %14 : tensor<4xf32>
// CHECK-NEXT: %16 = glow.splat 0.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %17 = glow.dynamic_update %11, %16, %14 : tensor<9x4xf32>
// CHECK-NEXT: %18 = glow.dynamic_slice %11, %14 : tensor<4xf32>
// CHECK-NEXT: %next.grad = glow.add %12, %18 : tensor<4xf32>
// CHECK-NEXT: %row.grad = glow.mul %next.grad, %15 : tensor<4xf32>
// CHECK-NEXT: %19 = glow.mul %next.grad, %row_1 : tensor<4xf32>
// CHECK-NEXT: %20 = glow.dynamic_slice %13, %14 : tensor<4xf32>
// CHECK-NEXT: %21 = glow.add %20, %row.grad : tensor<4xf32>
// CHECK-NEXT: %x.grad_1 = glow.dynamic_update %13, %21, %14 : tensor<9x4xf32>
// CHECK-NEXT: scf.yield %17, %19, %x.grad_1 : tensor<9x4xf32>, tensor<4xf32>, tensor<9x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<9x4xf32>
func.func @counted(%x: tensor<9x4xf32>, %h: tensor<4xf32>) -> tensor<f32> {
  %first = arith.constant 0 : index
  %end = arith.constant 9 : index
  %step = arith.constant 1 : index
  %empty = glow.splat 0.0 : tensor<9x4xf32>
  %ys, %last = scf.for %i = %first to %end step %step iter_args(%a = %empty, %s = %h) -> (tensor<9x4xf32>, tensor<4xf32>) {
    %row = glow.dynamic_slice %x, %i : tensor<4xf32>
    %next = glow.mul %row, %s : tensor<4xf32>
    %b = glow.dynamic_update %a, %next, %i : tensor<9x4xf32>
    scf.yield %b, %next : tensor<9x4xf32>, tensor<4xf32>
  }
  %loss = glow.reduce_sum %ys axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// A number of iterations that is data: each runs the loop again as far as itself.
// CHECK-LABEL: func.func @by_data(
// CHECK-NEXT: %first = arith.constant 0 : index
// CHECK-NEXT: %step = arith.constant 1 : index
// CHECK-NEXT: %count = tensor.extract %n[] : tensor<i64>
// CHECK-NEXT: %end = arith.index_cast %count : i64 to index
// CHECK-NEXT: %y = scf.for %i = %first to %end step %step iter_args(%s = %x) -> (tensor<4xf32>) {
// CHECK-NEXT: %next = glow.mul %s, %s : tensor<4xf32>
// CHECK-NEXT: scf.yield %next : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %loss = glow.reduce_sum %y axes [0] : tensor<f32>
// CHECK-NEXT: %0 = glow.splat 1.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %1 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %2 = glow.sub %n, %1 : tensor<i64>
// CHECK-NEXT: %3, %x.grad = scf.for %4 = %first to %end step %step iter_args(%5 = %2, %6 = %0) -> (tensor<i64>, tensor<4xf32>) {
// CHECK-NEXT: %7 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %8 = glow.sub %5, %7 : tensor<i64>
// CHECK-NEXT: %9 = tensor.extract %5[] : tensor<i64>
// CHECK-NEXT: %10 = arith.index_cast %9 : i64 to index
// CHECK-NEXT: %y_1 = scf.for %i_1 = %first to %10 step %step iter_args(%s_1 = %x) -> (tensor<4xf32>) {
// CHECK-NEXT: %next_1 = glow.mul %s_1, %s_1 : tensor<4xf32>
// CHECK-NEXT: scf.yield %next_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %11 = glow.mul %6, %y_1 : tensor<4xf32>
// CHECK-NEXT: %12 = glow.mul %6, %y_1 : tensor<4xf32>
// CHECK-NEXT: %13 = glow.add %11, %12 : tensor<4xf32>
// CHECK-NEXT: scf.yield %8, %13 : tensor<i64>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @by_data(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<f32> {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index
  %y = scf.for %i = %first to %end step %step iter_args(%s = %x) -> (tensor<4xf32>) {
    %next = glow.mul %s, %s : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  %loss = glow.reduce_sum %y axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// A loop by a condition counts its iterations.
// CHECK-LABEL: func.func @while(
// CHECK-NEXT: %limit = glow.splat 1.000000e+02 : tensor<f32>
// CHECK-NEXT: %0 = glow.splat 0 : tensor<i64>
// CHECK-NEXT: %y, %1 = scf.while (%a = %x, %2 = %0) : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
// CHECK-NEXT: %sum = glow.reduce_sum %a axes [0] : tensor<f32>
// CHECK-NEXT: %less = glow.less %sum, %limit : tensor<i1>
// CHECK-NEXT: %go = tensor.extract %less[] : tensor<i1>
// CHECK-NEXT: scf.condition(%go) %a, %2 : tensor<4xf32>, tensor<i64>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%b: tensor<4xf32>, %3: tensor<i64>):
// CHECK-NEXT: %next = glow.mul %b, %b : tensor<4xf32>
// CHECK-NEXT: %4 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %5 = glow.add %3, %4 : tensor<i64>
// CHECK-NEXT: scf.yield %next, %5 : tensor<4xf32>, tensor<i64>
// CHECK-NEXT: }
// CHECK-NEXT: %loss = glow.reduce_sum %y axes [0] : tensor<f32>
// CHECK-NEXT: %6 = tensor.extract %1[] : tensor<i64>
// CHECK-NEXT: %7 = arith.index_cast %6 : i64 to index
// CHECK-NEXT: %8 = glow.splat 1.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %9 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %10 = glow.sub %1, %9 : tensor<i64>
// CHECK-NEXT: %11 = arith.constant 0 : index
// CHECK-NEXT: %12 = arith.constant 1 : index
// CHECK-NEXT: %13, %x.grad = scf.for %14 = %11 to %7 step %12 iter_args(%15 = %10, %16 = %8) -> (tensor<i64>, tensor<4xf32>) {
// CHECK-NEXT: %17 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %18 = glow.sub %15, %17 : tensor<i64>
// CHECK-NEXT: %19 = tensor.extract %15[] : tensor<i64>
// CHECK-NEXT: %20 = arith.index_cast %19 : i64 to index
// CHECK-NEXT: %21 = arith.constant 0 : index
// CHECK-NEXT: %22 = arith.constant 1 : index
// CHECK-NEXT: %23, %24 = scf.for %25 = %21 to %20 step %22 iter_args(%26 = %x, %27 = %0) -> (tensor<4xf32>, tensor<i64>) {
// CHECK-NEXT: %sum_1 = glow.reduce_sum %26 axes [0] : tensor<f32>
// CHECK-NEXT: %less_1 = glow.less %sum_1, %limit : tensor<i1>
// CHECK-NEXT: %go_1 = tensor.extract %less_1[] : tensor<i1>
// CHECK-NEXT: %next_1 = glow.mul %26, %26 : tensor<4xf32>
// CHECK-NEXT: %28 = glow.splat 1 : tensor<i64>
// CHECK-NEXT: %29 = glow.add %27, %28 : tensor<i64>
// CHECK-NEXT: scf.yield %next_1, %29 : tensor<4xf32>, tensor<i64>
// CHECK-NEXT: }
// CHECK-NEXT: %30 = glow.mul %16, %23 : tensor<4xf32>
// CHECK-NEXT: %31 = glow.mul %16, %23 : tensor<4xf32>
// CHECK-NEXT: %32 = glow.add %30, %31 : tensor<4xf32>
// CHECK-NEXT: scf.yield %18, %32 : tensor<i64>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @while(%x: tensor<4xf32>) -> tensor<f32> {
  %limit = glow.splat 100.0 : tensor<f32>
  %y = scf.while (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %sum = glow.reduce_sum %a axes [0] : tensor<f32>
    %less = glow.less %sum, %limit : tensor<i1>
    %go = tensor.extract %less[] : tensor<i1>
    scf.condition(%go) %a : tensor<4xf32>
  } do {
  ^bb0(%b: tensor<4xf32>):
    %next = glow.mul %b, %b : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  %loss = glow.reduce_sum %y axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}
