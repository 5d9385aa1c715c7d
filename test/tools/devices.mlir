// RUN: glow devices | filecheck %s
// CHECK:      cpu:0           cpu {{.*}} MB  {{.*}} core
// CHECK-NEXT: interpreter:0   cpu {{.*}} MB  {{.*}} core

// RUN: glow devices --backend=interpreter | filecheck %s --check-prefix=ONE
// ONE-NOT:  cpu:0
// ONE:      interpreter:0

// RUN: not glow devices --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: glow: error: unknown backend 'gpu'; there are cpu, interpreter
