"""The contract of the instruction level, checked at its borders.

- Functions take memrefs and return nothing; they hold instructions, `scf.for`, `scf.if` and
  `scf.while` without values of their own, the `memref.load` of a condition or of a number of
  iterations, and arithmetic on indices.
- Every allocation has one dealloc in its block, after all uses (or no dealloc at all
  once the arena is planned).
- Nobody reads an allocation before it is written (unless it has no bytes), writes a weight
  or an input, or uses a buffer after its dealloc; every output is written. Which arguments
  are inputs, `glow.input_count` says.
- Each variable has one `instr.variable`, at the top level of the function.
- Buffers of a memory plan share no bytes while they are alive (`verify_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from glow.dialects import arith, instr
from glow.dialects.function_attributes import (
    INPUT_COUNT,
    INPUT_NAMES,
    OUTPUT_NAMES,
    filled_outputs,
)
from glow.passes.instr.accesses import place_of
from glow.passes.instr.buffers import byte_size, root_of
from glow.passes.instr.lifetimes import fail, lifetimes
from glow.passes.instr.verify_plan import verify_plan
from glow.passes.rewriting.regions import (
    CONTROL_FLOW,
    TERMINATORS,
    Inner,
    alternatives,
    regions_run_by,
)

INDEX_OPS = (arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.IndexCastOp)
WORKING_OPS = (
    instr.InstructionOp,
    memref.LoadOp,
    *CONTROL_FLOW,
    *TERMINATORS,
    func.ReturnOp,
)
MEMORY_OPS = (
    instr.AllocOp,
    instr.DeallocOp,
    instr.WeightOp,
    instr.VariableOp,
    instr.TensorviewOp,
    instr.DynamicViewOp,
)


class Verifier:
    """Walks one function in program order."""

    def __init__(self, function: func.FuncOp) -> None:
        self.function = function
        self.written: set[SSAValue] = set()
        self.inputs: set[SSAValue] = set()
        self.outputs: Sequence[BlockArgument] = ()
        self.variables: set[str] = set()

    def run(self) -> None:
        """Check the signature and the body."""
        for argument in self.function.function_type.inputs:
            if not isinstance(argument, MemRefType):
                fail(self.function, f"arguments must be memrefs, not {argument}")
        if self.function.function_type.outputs:
            fail(self.function, "results must be @out arguments")
        self._read_signature()
        self._visit_block(self.function.body.block)
        self._check_outputs()
        verify_plan(self.function, lifetimes(self.function))

    def _read_signature(self) -> None:
        """Find the inputs and outputs, if the function says which they are."""
        arguments = self.function.body.block.args
        count = self.function.attributes.get(INPUT_COUNT)
        if count is None:
            return
        known = count.value.data if isinstance(count, IntegerAttr) else -1
        if not 0 <= known <= len(arguments):
            rule = f"{INPUT_COUNT} is {count} for {len(arguments)} arguments"
            fail(self.function, rule)
        self._check_names(INPUT_NAMES, known)
        self._check_names(OUTPUT_NAMES, len(arguments) - known)
        self.inputs, self.outputs = set(arguments[:known]), arguments[known:]
        filled = filled_outputs(self.function)
        self.written |= {arguments[each.output] for each in filled}

    def _check_names(self, attribute: str, count: int) -> None:
        """There are as many names as arguments that they are for."""
        names = self.function.attributes.get(attribute)
        if isa(names, ArrayAttr) and len(names) != count:
            fail(self.function, f"{attribute} has {len(names)} names for {count}")

    def _check_outputs(self) -> None:
        """Every output is written."""
        for output in self.outputs:
            if output not in self.written:
                rule = f"nothing writes argument {output.index + 1}, an output"
                fail(self.function, rule)

    def _visit_block(self, block: Block) -> None:
        for op in block.ops:
            self._check_kind(op)
            if isinstance(op, instr.VariableOp):
                self._check_variable(op)
            if isinstance(op, instr.InstructionOp):
                self._check_instruction(op)
            elif isinstance(op, memref.LoadOp):
                self._check_load(op)
            elif inner := regions_run_by(op):
                self._visit_regions(op, inner)

    def _check_kind(self, op: Operation) -> None:
        known = isinstance(op, (*WORKING_OPS, *MEMORY_OPS, *INDEX_OPS))
        if not known:
            fail(op, "does not belong to the instruction level")
        if isinstance(op, INDEX_OPS) and not isinstance(op.results[0].type, IndexType):
            fail(op, "only index arithmetic may stand between instructions")
        if isinstance(op, func.ReturnOp) and op.operands:
            fail(op, "results must be @out arguments")

    def _check_variable(self, op: instr.VariableOp) -> None:
        """Each variable has one memory, which the whole function sees."""
        name = op.variable_name
        if name in self.variables:
            fail(op, f"names the memory of variable '{name}' a second time")
        if op.parent_op() is not self.function:
            fail(op, f"names the memory of variable '{name}' in a branch or loop")
        self.variables.add(name)

    def _visit_regions(self, op: Operation, inner: Sequence[Inner]) -> None:
        """What a region that may not run writes is not written for certain."""
        carried = isinstance(op, scf.ForOp) and op.iter_args
        if op.results or carried or (isinstance(op, scf.WhileOp) and op.operands):
            fail(op, "values that regions give or carry are in buffers")
        before, paths = self.written, list[set[SSAValue]]()
        for each in inner:
            # A loop's regions follow each other, those of a branch exclude each other.
            self.written = set(before)
            self._visit_block(each.block)
            paths.append(self.written)
            if each.is_certain:
                before = self.written
        if alternatives(op):
            before = {value for value in paths[0] if all(value in p for p in paths)}
        self.written = before

    def _check_load(self, op: memref.LoadOp) -> None:
        if op.indices:
            fail(op, "reads conditions and numbers of iterations, which have no axes")
        self._check_read(op, op.memref)

    def _check_read(self, op: Operation, value: SSAValue) -> None:
        root = root_of(value)
        is_own = isinstance(root.owner, instr.AllocOp) and byte_size(root) > 0
        if is_own and root not in self.written:
            fail(op, "reads a buffer that nothing has written")

    def _check_instruction(self, op: instr.InstructionOp) -> None:
        for value in op.ins:
            self._check_read(op, value)
        for value in (*op.outs, *op.inouts):
            root = root_of(value)
            if isinstance(root.owner, instr.WeightOp):
                fail(op, "writes a weight")
            if root in self.inputs:
                fail(op, "writes an input")
            self.written.add(root)
        self._check_overlap(op)

    def _check_overlap(self, op: instr.InstructionOp) -> None:
        """What is written is nothing else, or exactly an operand of an in-place op."""
        for number, out in enumerate(op.outs):
            written = place_of(out)
            for other in op.operands[:number]:
                if written.overlaps(place_of(other)):
                    fail(op, "writes the same bytes twice")
            for value in op.ins:
                if not isinstance(value.type, MemRefType):
                    continue
                read = place_of(value)
                if written.overlaps(read) and not (
                    op.may_overwrite(value) and written == read
                ):
                    fail(op, "reads bytes that it overwrites")


@dataclass(frozen=True)
class VerifyInstrPass(ModulePass):
    """Check the contract of the instruction level."""

    name = "verify-instr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check each function; raises GlowError that names the broken rule."""
        for function in op.ops:
            if not isinstance(function, func.FuncOp):
                fail(function, "does not belong to the instruction level")
            elif function.body.blocks:
                Verifier(function).run()
