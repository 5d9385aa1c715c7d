// RUN: glow-opt %s --passes=canonicalize,merge-weights,fold-constants,optimize-graph,cse,dce,verify-graph | filecheck %s

// Saves and variables stay, also those that are only read, only saved, or not used at all.
// CHECK-LABEL: func.func @effects(
// CHECK-NEXT: %w = glow.variable @w initial dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %v = glow.variable @v : tensor<2xf32>
// CHECK-NEXT: %u = glow.variable @u : tensor<2xf32>
// CHECK-NEXT: %0 = glow.add %x, %w : tensor<2xf32>
// CHECK-NEXT: glow.save %0, @w
// CHECK-NEXT: glow.save %w, @v
// CHECK-NEXT: func.return %w : tensor<2xf32>
func.func @effects(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = glow.variable @w initial dense<[1.0, 2.0]> : tensor<2xf32>
  %v = glow.variable @v : tensor<2xf32>
  %u = glow.variable @u : tensor<2xf32>
  %unused = glow.neg %v : tensor<2xf32>
  %0 = glow.add %x, %w : tensor<2xf32>
  glow.save %0, @w
  // A read below a save gives the value from before the call.
  %again = glow.variable @w initial dense<[1.0, 2.0]> : tensor<2xf32>
  glow.save %again, @v
  func.return %again : tensor<2xf32>
}

// Equal saves of equal values are two.
// CHECK-LABEL: func.func @exchanged(
// CHECK-DAG: glow.save %a, @b
// CHECK-DAG: glow.save %b, @a
func.func @exchanged() -> tensor<2xf32> {
  %a = glow.variable @a initial dense<[1.0, 2.0]> : tensor<2xf32>
  %b = glow.variable @b initial dense<[1.0, 3.0]> : tensor<2xf32>
  glow.save %a, @b
  glow.save %b, @a
  %0 = glow.add %a, %b : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
