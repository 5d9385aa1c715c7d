// RUN: glow-opt --cse --dce %s | filecheck %s

// xDSL's own passes know our nodes: equal ones merge, unused ones go.
// CHECK-LABEL: func.func @equal_nodes(
// CHECK-NEXT: %c = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %a = glow.clip %x low 0.000000e+00 high 1.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %f = glow.add %a, %c : tensor<4xf32>
// CHECK-NEXT: %h = glow.mul %f, %f : tensor<4xf32>
// CHECK-NEXT: func.return %h : tensor<4xf32>
func.func @equal_nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %d = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = glow.clip %x low 0.0 high 1.0 : tensor<4xf32>
  %b = glow.clip %x low 0.0 high 1.0 : tensor<4xf32>
  %e = glow.clip %x low 0.0 high 2.0 : tensor<4xf32>
  %unused = glow.exp %e : tensor<4xf32>
  %f = glow.add %a, %c : tensor<4xf32>
  %g = glow.add %b, %d : tensor<4xf32>
  %h = glow.mul %f, %g : tensor<4xf32>
  func.return %h : tensor<4xf32>
}
