// RUN: not glow-opt %s 2>&1 | filecheck %s

// CHECK: {{.*}}:6:{{[0-9]+}}: error: unknown operation 'vhlo.func_v1'; convert the program with stablehlo-opt --vhlo-legalize-to-stablehlo
// CHECK-NOT: {{.}}
module {
  vhlo.func_v1 @main() {
  }
}
