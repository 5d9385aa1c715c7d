// A string literal that does not end must not hang the lexer.
// RUN: not glow-opt %S/inputs/unterminated_string.txt -f mlir 2>&1 | filecheck %s --check-prefix=STRING
// STRING: unterminated_string.txt:2:20: error: string literal is not closed on its line

// RUN: not glow-opt %S/inputs/unknown_escape.txt -f mlir 2>&1 | filecheck %s --check-prefix=ESCAPE
// ESCAPE: unknown_escape.txt:1:32: error: unknown escape '\q' in a string literal

// RUN: not glow-opt %S/inputs/truncated.txt -f mlir 2>&1 | filecheck %s --check-prefix=TRUNCATED
// TRUNCATED: truncated.txt:3:1: error:

// RUN: not glow-opt %S/inputs/unknown_op.txt -f mlir 2>&1 | filecheck %s --check-prefix=OP
// OP: unknown_op.txt:2:8: error: unknown operation 'glow.no_such_node'

// RUN: not glow-opt %S/inputs/not_utf8.txt -f mlir 2>&1 | filecheck %s --check-prefix=UTF
// UTF: not_utf8.txt:2: error: not UTF-8 text
