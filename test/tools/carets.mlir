// Errors are drawn as mlir-opt draws them: one line, the source with a caret, notes.
// RUN: not glow-opt %S/inputs/unknown_op.txt -f mlir 2>&1 | filecheck %s --check-prefix=PARSE
// PARSE:      unknown_op.txt:2:8: error: unknown operation 'glow.no_such_node'
// PARSE-NEXT: {{^}}  %y = glow.no_such_node %x : i32
// PARSE-NEXT: {{^}}       ^{{$}}

// RUN: not glow-opt %S/inputs/redefinition.txt -f mlir 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE:      redefinition.txt:3:3: error: SSA value %y is already defined
// TWICE-NEXT: {{^}}  %y = glow.tanh %x : tensor<2xf32>
// TWICE-NEXT: {{^}}  ^{{$}}
// TWICE-NEXT: redefinition.txt:2:3: note: previously defined here
// TWICE-NEXT: {{^}}  %y = glow.relu %x : tensor<2xf32>
// TWICE-NEXT: {{^}}  ^{{$}}

// RUN: not glow-opt %S/inputs/two_types.txt -f mlir 2>&1 | filecheck %s --check-prefix=TYPES
// TYPES:      two_types.txt:3:15: error: operand is used with type i64, but has been previously used or defined with type i32
// TYPES:      two_types.txt:2:3: note: prior use here
// TYPES-NEXT: {{^}}  %0 = arith.addi %x, %x : i32

// What does not verify is told in a note, under the names of the program.
// RUN: not glow-opt %S/inputs/wrong_type.txt -f mlir 2>&1 | filecheck %s --check-prefix=VERIFY
// RUN: not glow-opt < %S/inputs/wrong_type.txt 2>&1 | filecheck %s --check-prefix=VERIFY
// VERIFY:      {{wrong_type.txt|stdin}}:3:3: error: 'glow.add': result 0 has type tensor<3xf32>
// VERIFY-NEXT: {{^}}  %z = glow.add %y, %x : tensor<3xf32>
// VERIFY-NEXT: {{^}}  ^{{$}}
// VERIFY-NEXT: {{wrong_type.txt|stdin}}:3:3: note: see current operation: %z = "glow.add"(%y, %x) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>

// RUN: not glow-opt --mlir-print-op-on-diagnostic=false %S/inputs/wrong_type.txt -f mlir 2>&1 | filecheck %s --check-prefix=SILENT
// SILENT:     error: 'glow.add'
// SILENT-NOT: note

// Notes say where each operation stands that a pass does not know.
// RUN: not glow-opt --convert-stablehlo-to-glow %S/inputs/digamma.txt -f mlir 2>&1 | filecheck %s --check-prefix=PASS
// PASS:      glow-opt: error: convert-stablehlo-to-glow: 1 operation is not converted: 'chlo.digamma' at
// PASS-NEXT: digamma.txt:2:3: note: 'chlo.digamma': not supported
// PASS-NEXT: {{^}}  %0 = "chlo.digamma"(%x) : (tensor<2xf32>) -> tensor<2xf32>
// PASS-NEXT: {{^}}  ^{{$}}
