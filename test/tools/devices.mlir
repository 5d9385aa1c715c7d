// RUN: glow devices | filecheck %s
// CHECK:      cpu:0           cpu {{.*}} MB  {{.*}} core
// CHECK:      interpreter:0   cpu {{.*}} MB  {{.*}} core

// RUN: glow devices --backend=interpreter | filecheck %s --check-prefix=ONE
// ONE-NOT:  cpu:0
// ONE:      interpreter:0

// RUN: not glow devices --backend=gpu 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: glow: error: unknown backend 'gpu'; there are cpu, 

// RUN: glow devices 'cpu*2:2GiB' interpreter | filecheck %s --check-prefix=HOST
// HOST:      cpu:0           cpu            2,048 MB  {{.*}} at a time
// HOST-NEXT: cpu:1           cpu            2,048 MB
// HOST-NEXT: interpreter:0   interpreter {{.*}} MB

// RUN: not glow devices 'cpu+2' 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: glow: error: 'cpu+2' is no device; for example cpu, cpu:2GiB, process*2

// RUN: glow devices --backend=cpu --json | filecheck %s --check-prefix=JSON
// JSON:      "backend": "cpu"
// JSON-NEXT: "problem": null
// JSON:      "name": "cpu:0"
// JSON:      "memory_bytes": {{[0-9]+}}

// RUN: not glow run %p/../../docs/small.mlir --device=5 2>&1 | filecheck %s --check-prefix=DEVICE
// DEVICE: glow: error: unknown device '5'; there are cpu:0 (
