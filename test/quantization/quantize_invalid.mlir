// RUN: ! glow-opt --quantize='schema=round' %s 2>&1 | filecheck %s --check-prefix=SCHEMA
// RUN: ! glow-opt --quantize='calibration=luck' %s 2>&1 | filecheck %s --check-prefix=CALIBRATION
// RUN: ! glow-opt --quantize='interface=bytes' %s 2>&1 | filecheck %s --check-prefix=INTERFACE
// RUN: ! glow-opt --quantize='profile=%S/inputs/none.yaml' %s 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: ! glow-opt --quantize='profile=%S/inputs/damaged.yaml' %s 2>&1 | filecheck %s --check-prefix=DAMAGED
// RUN: ! glow-opt --quantize='profile=%S/inputs/other.yaml' %s 2>&1 | filecheck %s --check-prefix=OTHER

// SCHEMA: error: pass 'quantize': unknown schema 'round'; one of asymmetric, symmetric, symmetric-uint8, power-of-two
// CALIBRATION: error: pass 'quantize': unknown calibration 'luck'; one of minmax, mse, percentile, entropy
// INTERFACE: error: pass 'quantize': unknown interface 'bytes'; one of float, integer
// MISSING: error: {{.*}}cannot read the profile '{{.*}}none.yaml': no such file or directory
// DAMAGED: {{.*}}damaged.yaml:5:1: error: {{.*}}profile: 'low' must be a finite number
// OTHER: error: {{.*}}the profile does not fit the network: it lacks 'x'; profile this network with glow profile
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %m = glow.constant dense<[[0.5, 1.0, 2.0], [0.25, -1.0, 0.5]]> : tensor<2x3xf32>
  %y = glow.fully_connected %x, %m : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
