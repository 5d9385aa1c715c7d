// RUN: glow-opt --split-input-file --cse %s | filecheck %s

// CHECK-LABEL: func.func @first
// CHECK: {{/}}/ -----
// CHECK-LABEL: func.func @second
func.func @first() {
  func.return
}

// -----

func.func @second() {
  func.return
}
