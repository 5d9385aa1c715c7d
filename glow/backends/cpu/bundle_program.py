"""From planned modules to the program of a bundle: one text of kernels and mains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from glow.backends.bundle_program import (
    BundleFunction,
    BundleProgram,
    BundleRequest,
    Largest,
    LoopProgram,
    Place,
    StatePlace,
)
from glow.backends.cpu.native_code import function_text
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.debug_main import DebugMainBuilder
from glow.backends.cpu.program.externals import barrier_declaration
from glow.backends.cpu.program.fixed_places import ConstantPool, with_fixed_places
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.program.main_function import MainBuilder
from glow.backends.cpu.program.program import Program
from glow.backends.cpu.program.serial_main import SerialMainBuilder
from glow.dialects import instr
from glow.dialects.glow.state import variables_of
from glow.dialects.locations import node_name
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.passes.instr.buffers import byte_size, root_of
from glow.signature import main_function, signature_of

LEAST_ALIGNMENT = 8
"""Of memory regions: what the C compilers of 32-bit machines give any object."""


def build_bundle_program(
    modules: Mapping[str, ModuleOp], request: BundleRequest, table: KernelTable
) -> BundleProgram:
    """The functions of planned modules by name; see `Backend.bundle_program`."""
    program = build_loop_program(modules, request, table)
    text = function_text(
        list(program.parts), Target.from_string(request.options.target)
    )
    return BundleProgram(
        text, program.functions, program.constants, program.kernels, program.alignment
    )


def build_loop_program(
    modules: Mapping[str, ModuleOp], request: BundleRequest, table: KernelTable
) -> LoopProgram:
    """The functions of planned modules as loops; see `Backend.loop_program`."""
    target = Target.from_string(request.options.target)
    alignment = max(LEAST_ALIGNMENT, target.vector_bytes)
    pool = ConstantPool(alignment)
    placed = [
        placed_program(name, module, pool, target, table)
        for name, module in modules.items()
    ]
    programs = {function.name: program for function, program in placed}
    sizes = {"constants": pool.size, "activations": most_activations(programs)}
    kernels: dict[str, Kernel] = {}
    for name, program in programs.items():
        programs[name] = replace(program, name=name, sizes={**program.sizes, **sizes})
        for label, kernel in program.requests().items():
            if label not in kernels:
                kernels[label] = kernel.build(label, target)
    functions = [function for function, _ in placed]
    functions, mains = with_mains(functions, programs, kernels, request)
    parts = [barrier_declaration(), *(each.function for each in kernels.values())]
    return LoopProgram(
        [*parts, *mains], functions, pool.content(), nodes_of(programs), alignment
    )


def nodes_of(programs: Mapping[str, Program]) -> Mapping[str, str]:
    """The kernels of programs, each with the first node that calls it."""
    nodes: dict[str, str] = {}
    for program in programs.values():
        for call in program.calls():
            nodes.setdefault(call.kernel.name, call.node)
    return nodes


def placed_program(
    name: str, module: ModuleOp, pool: ConstantPool, target: Target, table: KernelTable
) -> tuple[BundleFunction, Program]:
    """A planned module as a program whose weights are in a pool."""
    source = main_function(module)
    program = build_program(source, target, table)
    program, reports = with_fixed_places(program, pool, pool.alignment)
    function = bundle_function(name, source, program, reports)
    return replace(function, variables=state_places(source, program, pool)), program


def state_places(
    source: func.FuncOp, program: Program, pool: ConstantPool
) -> Sequence[StatePlace]:
    """The variables of a program, with their first values among the weights."""
    values = {name: op.results[0] for name, op in variables_of(source).items()}
    return [
        StatePlace(
            variable.name,
            variable.binding.offset,
            tuple(shape_of(values[variable.name])),
            dtype_of(element_of(values[variable.name])),
            None if variable.value is None else pool.add(variable.value),
        )
        for variable in program.variables
    ]


def with_mains(
    functions: Sequence[BundleFunction],
    programs: Mapping[str, Program],
    kernels: Mapping[str, Kernel],
    request: BundleRequest,
) -> tuple[list[BundleFunction], list[func.FuncOp]]:
    """The functions with the calls that are told, and their mains with what those declare."""
    core = Target.from_string(request.options.target).core
    debug = DebugMainBuilder if request.debug else SerialMainBuilder
    kind = MainBuilder if request.threaded else debug
    told: list[BundleFunction] = []
    mains: list[func.FuncOp] = []
    for function in functions:
        builder = kind(programs[function.name], kernels, core)
        main = builder.run()
        main.sym_name = StringAttr(f"main_{function.name}")
        if isinstance(builder, DebugMainBuilder):
            function = replace(function, calls=builder.told)
            mains += builder.declarations
        told.append(function)
        mains.append(main)
    return told, mains


def most_activations(programs: Mapping[str, Program]) -> int:
    """The bytes of the arena that all programs share."""
    return max(program.sizes["activations"] for program in programs.values())


def bundle_function(
    name: str, source: func.FuncOp, program: Program, reports_offset: int
) -> BundleFunction:
    """Where the arguments of a program are, as its function of instructions names them."""
    inputs, outputs = places_of(source, program)
    return BundleFunction(
        name,
        inputs,
        outputs,
        program.sizes["mutables"],
        program.sizes["activations"],
        program.reports,
        reports_offset,
        largest_weight=largest_of(weight_sizes(source)),
        largest_buffer=largest_of(buffer_sizes(source)),
    )


def places_of(
    source: func.FuncOp, program: Program
) -> tuple[Sequence[Place], Sequence[Place]]:
    """The inputs and the outputs."""
    signature = signature_of(source)
    infos = (*signature.inputs, *signature.outputs)
    places = [
        Place(info.name, argument.offset, info.shape, info.dtype)
        for info, argument in zip(infos, program.arguments, strict=True)
    ]
    count = len(signature.inputs)
    return places[:count], places[count:]


def largest_of(sizes: Iterable[Largest]) -> Largest:
    """The one of most bytes."""
    return max(sizes, key=lambda each: each.nbytes, default=Largest("none", 0))


def weight_sizes(source: func.FuncOp) -> Iterator[Largest]:
    """The weights of a function of instructions."""
    for op in source.walk():
        if isinstance(op, instr.WeightOp):
            yield Largest(op.weight_name or "a constant", byte_size(op.result))


def buffer_sizes(source: func.FuncOp) -> Iterator[Largest]:
    """The buffers in the arena, by the nodes that write them."""
    for op in source.walk():
        if isinstance(op, instr.InstructionOp):
            for written in op.outs:
                if isinstance(root_of(written).owner, instr.AllocOp):
                    name = node_name(op) or op.name
                    yield Largest(name, byte_size(root_of(written)))
