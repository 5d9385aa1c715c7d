// RUN: not glow-opt --canonicalise %s 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: glow-opt: error: unknown option or pass '--canonicalise'; did you mean '--canonicalize'?

// RUN: not glow-opt -p canonicalise %s 2>&1 | filecheck %s --check-prefix=NAME
// NAME: glow-opt: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?

// RUN: not glow-opt --convert-memref-to-ptr='lower_fun=true' %s 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: glow-opt: error: unknown option 'lower_fun' of pass 'convert-memref-to-ptr'; did you mean 'lower_func'? (it takes lower_func)

// RUN: not glow-opt --convert-memref-to-ptr='lower_func=3' %s 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: glow-opt: error: pass 'convert-memref-to-ptr': Incompatible types: given (3,), expected <class 'bool'>

// RUN: not glow-opt --pass-pipeline='scf.for(cse)' %s 2>&1 | filecheck %s --check-prefix=ANCHOR
// ANCHOR: glow-opt: error: pass pipelines nest in builtin.module, func.func, any, not in 'scf.for'

// RUN: not glow-opt --pass-pipeline='builtin.module(cse' %s 2>&1 | filecheck %s --check-prefix=PARENTHESES
// PARENTHESES: glow-opt: error: unbalanced parentheses in the pass pipeline 'builtin.module(cse'

// RUN: not glow-opt -p 'cse{a' %s 2>&1 | filecheck %s --check-prefix=SYNTAX
// SYNTAX: glow-opt: error: cannot parse 'cse{a': Expected equals, space or end of arguments here

// RUN: not glow-opt -t nothing %s 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: glow-opt: error: argument -t/--target: invalid choice: 'nothing'

// RUN: not glow-opt --emit-bytecode %s 2>&1 | filecheck %s --check-prefix=BYTECODE
// BYTECODE: glow-opt: error: --emit-bytecode: glow-opt writes no bytecode; pass its text to mlir-opt --emit-bytecode

// RUN: not glow-opt --irdl-file=x.irdl %s 2>&1 | filecheck %s --check-prefix=IRDL
// IRDL: glow-opt: error: --irdl-file: glow-opt loads no dialects from IRDL files

// RUN: not glow-opt %s %s 2>&1 | filecheck %s --check-prefix=INPUTS
// INPUTS: glow-opt: error: one input at a time, but there is also
