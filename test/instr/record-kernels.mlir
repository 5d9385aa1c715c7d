// RUN: glow compile --emit=instr --target-cpu=x86-64-v4 %S/../../docs/small.mlir | glow-opt --record-kernels='target=x86-64-v4' | filecheck %s

// CHECK: instr.cpu.conv2d {{.*}} attributes {glow.kernels = [{kernel = "conv2d", algorithm = "direct sums", tile = "16 pixels x 1 registers", order = "rows", error = "4e-06", work_items = 1 : i64, weight_bytes = 256 : i64}]}
