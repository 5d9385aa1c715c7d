"""The ways in which a module can be made smaller.

| kind       | what goes, of each thing that it takes                                        |
|------------|-------------------------------------------------------------------------------|
| functions  | a private function that nothing calls                                         |
| outputs    | an output of a function that nothing calls, and what only it needed           |
| inputs     | a computation: its results become inputs of the function, weights too         |
| operations | an operation whose results nothing uses, such as an instruction               |
| bypasses   | an operation with an operand of its result's type, which takes its place      |
| attributes | an attribute that its operation need not have                                 |
| locations  | where operations came from                                                    |

    %0 = glow.constant @w : tensor<8x8xf32>
    %1 = glow.matmul %x, %0 : tensor<8x8xf32>
    %2 = glow.relu %1 : tensor<8x8xf32>
  becomes, where the test is about glow.relu,
    %2 = glow.relu %1 : tensor<8x8xf32>       with %1 an input
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from glow.dialects.function_attributes import INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.text import unused_name
from glow.dialects.weights import ATTRIBUTE

Reduction = Callable[[ModuleOp, Collection[int] | None], int]
"""Removes the things of those numbers from a module; None: none. How many things there are."""


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.walk() if isinstance(op, func.FuncOp)]


def _called(module: ModuleOp) -> set[str]:
    return {
        op.callee.root_reference.data
        for op in module.walk()
        if isinstance(op, func.CallOp)
    }


def _free_functions(module: ModuleOp) -> Iterable[tuple[func.FuncOp, Block, Operation]]:
    """The functions of one block that nothing calls, so that their types may change."""
    called = _called(module)
    for function in _functions(module):
        if function.sym_name.data in called or len(function.body.blocks) != 1:
            continue
        block = function.body.block
        if isinstance(block.last_op, func.ReturnOp):
            yield function, block, block.last_op


def functions(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Functions that nothing calls, but for the only one."""
    called = _called(module)
    found = [one for one in _functions(module) if one.sym_name.data not in called]
    for number in sorted(chosen or ()):
        if len(_functions(module)) > 1:
            found[number].detach()
            found[number].erase()
    return len(found) if len(_functions(module)) > 1 else 0


def outputs(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Outputs of functions."""
    count = 0
    for function, _, last in _free_functions(module):
        numbers = range(count, count + len(last.operands))
        count += len(last.operands)
        if chosen is not None:
            kept = [at for at, number in enumerate(numbers) if number not in chosen]
            last.operands = [last.operands[at] for at in kept]
            _keep_names(function, OUTPUT_NAMES, kept)
            function.update_function_type()
    return count


def inputs(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Operations with results at the top of functions, which become inputs."""
    count = 0
    for function, block, _ in _free_functions(module):
        producers = [op for op in block.ops if any(one.uses for one in op.results)]
        numbers = range(count, count + len(producers))
        count += len(producers)
        for number, op in zip(numbers, producers, strict=True):
            if chosen is not None and number in chosen:
                _make_inputs(function, block, op)
    return count


def _make_inputs(function: func.FuncOp, block: Block, op: Operation) -> None:
    for result in op.results:
        if not result.uses:
            continue
        argument = block.insert_arg(result.type, len(block.args))
        argument.name_hint = result.name_hint
        result.replace_all_uses_with(argument)
        names = _names(function, INPUT_NAMES)
        if names is not None:
            name = unused_name(result.name_hint or "value", names)
            _set_names(function, INPUT_NAMES, [*names, name])
    function.update_function_type()
    op.detach()
    op.erase()


def operations(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Operations without a result that is used, the innermost first."""
    found = [
        op
        for op in _bodies(module)
        if not any(one.uses for one in op.results) and not op.has_trait(IsTerminator)
    ]
    for number in sorted(chosen or (), reverse=True):
        found[number].detach()
        found[number].erase()
    return len(found)


def bypasses(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Operations with one result and an operand of the same type."""
    found = [
        (op, same)
        for op in _bodies(module)
        if len(op.results) == 1
        and op.results[0].uses
        and (same := _same_type(op)) is not None
    ]
    for number in sorted(chosen or (), reverse=True):
        op, same = found[number]
        op.results[0].replace_all_uses_with(same)
        op.detach()
        op.erase()
    return len(found)


def _same_type(op: Operation) -> SSAValue | None:
    kind = op.results[0].type
    return next((one for one in op.operands if one.type == kind), None)


def attributes(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Attributes and optional properties; the verifier says which are needed."""
    found = [
        (place, name)
        for op in module.walk()
        for place in (op.attributes, op.properties)
        for name in place
        if name not in _KEPT
    ]
    for number in chosen or ():
        place, name = found[number]
        del place[name]
    return len(found)


_KEPT = ("sym_name", "function_type", ATTRIBUTE, INPUT_NAMES, OUTPUT_NAMES)


def locations(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """All locations at once."""
    found = [op for op in module.walk() if not isinstance(op.location, UnknownLoc)]
    if chosen:
        for op in found:
            op.location = UnknownLoc()
    return min(1, len(found))


def unused_inputs(module: ModuleOp, chosen: Collection[int] | None) -> int:
    """Inputs that nothing reads."""
    count = 0
    for function, block, _ in _free_functions(module):
        unused = [at for at, one in enumerate(block.args) if not one.uses]
        numbers = dict(zip(unused, range(count, count + len(unused)), strict=True))
        count += len(unused)
        if chosen is None:
            continue
        gone = [at for at, number in numbers.items() if number in chosen]
        kept = [at for at in range(len(block.args)) if at not in gone]
        for at in reversed(gone):
            block.erase_arg(block.args[at])
        _keep_names(function, INPUT_NAMES, kept)
        function.update_function_type()
    return count


def _keep_names(function: func.FuncOp, attribute: str, kept: Sequence[int]) -> None:
    names = _names(function, attribute)
    if names is not None:
        _set_names(function, attribute, [names[at] for at in kept])


def _names(function: func.FuncOp, attribute: str) -> list[str] | None:
    names = function.attributes.get(attribute)
    return [name.data for name in names] if isa(names, ArrayAttr[StringAttr]) else None


def _set_names(function: func.FuncOp, attribute: str, names: Iterable[str]) -> None:
    function.attributes[attribute] = ArrayAttr(map(StringAttr, names))


def _bodies(module: ModuleOp) -> Iterable[Operation]:
    """The operations inside of functions."""
    for function in _functions(module):
        for op in function.walk():
            if op is not function:
                yield op


REDUCTIONS: Sequence[Reduction] = (
    functions,
    outputs,
    inputs,
    operations,
    bypasses,
    unused_inputs,
    locations,
    attributes,
)
"""In the order in which they are tried: what removes most comes first."""
