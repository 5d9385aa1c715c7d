// RUN: glow-opt %s -t dot | filecheck %s
// RUN: glow-opt %s --view-op-graph -o %t.mlir 2>&1 | filecheck %s

// CHECK:      digraph {
// CHECK:      subgraph cluster_n0 {
// CHECK-NEXT:   label="func.func";
// CHECK-NEXT:   n1 [label="x\ntensor<2xf32>", shape=ellipse];
// CHECK-NEXT:   n2 [label="glow.relu\ntensor<2xf32>"];
// CHECK-NEXT:   n1 -> n2 [label="0"];
// CHECK-NEXT:   n3 [label="glow.add\ntensor<2xf32>"];
// CHECK-NEXT:   n2 -> n3 [label="0"];
// CHECK-NEXT:   n1 -> n3 [label="1"];
// CHECK-NEXT:   n4 [label="func.return"];
// CHECK-NEXT:   n3 -> n4 [label="0"];
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = glow.relu %x : tensor<2xf32>
  %1 = glow.add %0, %x : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
