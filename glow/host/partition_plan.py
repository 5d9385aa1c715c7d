"""The plan of a divided network: its parts as modules, and the values that they pass on.

    plan = split_module("partitioned.mlir")         # text of glow-opt --partition
    plan = plan_model("net.onnx", "cpu*2", "strategy=balance", options)
    for part in plan.parts:                         # each behind those that it takes from
        print(part.name, part.device, part.takes, part.gives)
        model = glow.compile(part.module, backend=part.backend, numerics=...)

Values have names: those of the network's inputs and outputs, and others between parts. A part
takes values by their names in order, and gives values that no other part gives. Every output of
the network is given by a part, also one that is an input or a constant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.dialects.numerics import SCARCE_FREE_BYTES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import CallOp, FuncOp
    from xdsl.ir import SSAValue

    from glow.compiler import Model
    from glow.dialects.weight_table import WeightTable
    from glow.options import CompileOptions
    from glow.passes.graph.partition.devices import PartitionDevice
    from glow.tensor_info import Signature


KERNEL_SHARE = 0.05
"""Of a device's memory, what is left to kernels: padded inputs, and what they need themselves."""


@dataclass(frozen=True)
class Part:
    """A part of a network: a module of its own, whose `main` has the part's inputs."""

    name: str
    """The function's: `part0`."""
    device: str
    """Where it runs: `cpu:0`."""
    takes: tuple[str, ...]
    """The values that it reads, in the order of its inputs."""
    gives: tuple[str, ...]
    """The values that it computes, in the order of its outputs."""
    module: ModuleOp
    """What is compiled: `takes` and `gives` are the names of inputs and outputs of `main`."""
    replicas: tuple[str, ...] = ()
    """More devices that have a copy of it."""
    constant_bytes: int = 0
    """Those of its constants."""
    needed_bytes: int = 0
    """Those, what it takes, and what is alive at once between its nodes."""
    spare_bytes: int | None = None
    """Its share of what its device has beside; None where memory has no limit."""

    @property
    def backend(self) -> str:
        """The backend that compiles for the device."""
        from glow.passes.graph.partition.devices import backend_of

        return backend_of(self.device)


@dataclass(frozen=True)
class PartitionPlan:
    """The parts of a network, each behind those that it takes values from."""

    signature: Signature
    """Names, shapes and dtypes of the network's inputs and outputs."""
    parts: tuple[Part, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The values that the caller gives."""
        return tuple(info.name for info in self.signature.inputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The values that the caller gets."""
        return tuple(info.name for info in self.signature.outputs)


def plan_model(
    model: Model,
    devices: str | Sequence[PartitionDevice],
    choice: str,
    options: CompileOptions,
) -> PartitionPlan:
    """The plan of a model that is divided between devices.

    `devices` are text (`cpu:2GiB,interpreter`) or those of a host, `choice` the other options
    of `--partition` (`strategy=balance tolerance=0.05`). The graph is optimized, quantized and
    brought to the precision that the options say as a whole, by their backend; `part_options`
    says with what its parts are then compiled. Raises GlowError, also for open sizes.
    """
    from glow.backends.pipeline import GRAPH
    from glow.compiler import load, run_phases
    from glow.passes.graph.partition.cost import seconds_with
    from glow.passes.graph.partition.devices import parse_devices
    from glow.passes.graph.partition.divide import divide
    from glow.passes.graph.partition.options import parse_division

    if isinstance(devices, str):
        devices = parse_devices(devices.split(","))
    division = replace(parse_division(choice, devices), spare=KERNEL_SHARE)
    module = load(model, options)
    run_phases(module, GRAPH, options)
    divide(module, division, seconds_with(replace(options, threads=1)))
    return split_module(module, devices)


def part_options(options: CompileOptions, part: Part) -> CompileOptions:
    """The options that a part of a model is compiled with, behind those of the whole.

    Where its device may lack the memory for weights that are transformed for an algorithm, less
    of it is free for them; where it lacks that too, numerics are exact, which transform none.
    """
    more = part.constant_bytes * (1 + options.weight_growth)
    free = options.free_weight_bytes
    spare = inf if part.spare_bytes is None else part.spare_bytes
    if spare < more + free:
        free = min(free, SCARCE_FREE_BYTES)
    return replace(
        options,
        backend=part.backend,
        numerics="exact" if spare < more + free else options.numerics,
        free_weight_bytes=free,
        input_shapes=None,
        input_values=None,
        quantize=False,
        quantization=None,
        precision="f32",
    )


def split_module(
    model: str | os.PathLike[str] | ModuleOp,
    devices: Sequence[PartitionDevice] | None = None,
) -> PartitionPlan:
    """The plan of a file or module that `--partition` has divided; a module stays as it is.

    The memory of devices is what the module says, unless they are given. Arrays of weights are
    shared with it. Raises GlowError in one line for what is not divided, and for parts that do
    not fit together. (`glow.compiler.load` makes it one graph again.)
    """
    from glow.passes.graph.partition.calls import called_parts, is_divided
    from glow.passes.graph.partition.verify_partition import (
        listed_devices,
        verify_parts,
    )
    from glow.signature import main_function, signature_of

    module = _read(model) if isinstance(model, str | os.PathLike) else model
    if not is_divided(module):
        raise GlowError(
            "the module is not divided into parts", hint="glow-opt --partition does it"
        )
    verify_parts(module)
    main = main_function(module)
    signature = signature_of(main)
    values = _Values(main, signature)
    parts = [_part(call, function, values) for call, function in called_parts(module)]
    values.check_outputs()
    limits = {one.name: one.memory_bytes for one in devices or listed_devices(module)}
    return PartitionPlan(
        signature, tuple(with_spare(part, parts, limits) for part in parts)
    )


def with_spare(
    part: Part, parts: Sequence[Part], limits: Mapping[str, int | None]
) -> Part:
    """A part with what is left of the memory of its device, in the share of its constants."""
    limit = limits.get(part.device)
    if limit is None:
        return part
    beside = [one for one in parts if part.device in (one.device, *one.replicas)]
    left = max(limit - sum(one.needed_bytes for one in beside), 0)
    total = sum(one.constant_bytes for one in beside)
    share = part.constant_bytes / total if total else 1.0
    return replace(part, spare_bytes=int(left * share))


def _read(path: str | os.PathLike[str]) -> ModuleOp:
    """The module of a text as it is."""
    from glow.frontends.mlir import read_mlir
    from glow.universe import new_context

    return read_mlir(path, new_context())


def _part(call: CallOp, function: FuncOp, values: _Values) -> Part:
    """The part that a call stands for."""
    from glow.dialects.function_attributes import DEVICE, REPLICAS
    from glow.passes.graph.partition.graph import UnitGraph, strings
    from glow.passes.graph.partition.memory_use import MemoryUse

    takes = tuple(values.name(value) for value in call.operands)
    gives = tuple(values.give(value) for value in call.results)
    graph = UnitGraph(function)
    use = MemoryUse(graph, range(len(graph)))
    return Part(
        function.sym_name.data,
        strings(function, DEVICE)[0],
        takes,
        gives,
        _module_of(function, takes, gives),
        tuple(strings(function, REPLICAS)),
        use.constants,
        use.nbytes,
    )


class _Values:
    """The names of the values in a `main` of calls."""

    def __init__(self, main: FuncOp, signature: Signature) -> None:
        arguments = main.body.block.args
        last = main.body.block.last_op
        assert last is not None
        self.names: dict[SSAValue, str] = {
            value: info.name
            for value, info in zip(arguments, signature.inputs, strict=True)
        }
        self.outputs = dict(
            zip((info.name for info in signature.outputs), last.operands, strict=True)
        )
        if len(self.outputs) < len(last.operands):
            raise GlowError("two outputs have one name", hint="values pass on by name")
        for name, value in self.outputs.items():
            self.names.setdefault(value, name)
        self.taken = {*self.names.values(), *self.outputs}
        self.given: set[SSAValue] = set()

    def name(self, value: SSAValue) -> str:
        """The name of a value, which no other has."""
        if value not in self.names:
            base = value.name_hint or "value"
            name, number = base, 0
            while name in self.taken:
                number += 1
                name = f"{base}_{number}"
            self.taken.add(name)
            self.names[value] = name
        return self.names[value]

    def give(self, value: SSAValue) -> str:
        """The name of a value that a part gives."""
        self.given.add(value)
        return self.name(value)

    def check_outputs(self) -> None:
        """Raise GlowError for an output that is not a part's own."""
        for name, value in self.outputs.items():
            if value not in self.given or self.names[value] != name:
                raise GlowError(
                    f"output '{name}' is no result of a part of its own",
                    hint="divide the network with --partition",
                )


def _module_of(
    function: FuncOp, takes: Sequence[str], gives: Sequence[str]
) -> ModuleOp:
    """A module with a function as its `main`, and the weights that it reads."""
    from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

    from glow.dialects.function_attributes import DEVICES, INPUT_NAMES, OUTPUT_NAMES
    from glow.dialects.weight_table import WeightsAttr
    from glow.dialects.weights import ATTRIBUTE, module_of, weights_of

    main = function.clone()
    main.sym_name = StringAttr("main")
    main.properties.pop("sym_visibility", None)
    for name in [name for name in main.attributes if name.startswith("glow.")]:
        del main.attributes[name]
    main.attributes[INPUT_NAMES] = ArrayAttr([StringAttr(name) for name in takes])
    main.attributes[OUTPUT_NAMES] = ArrayAttr([StringAttr(name) for name in gives])
    whole = module_of(function)
    part = ModuleOp([main])
    part.attributes.update(whole.attributes)
    part.attributes.pop(DEVICES, None)
    part.attributes[ATTRIBUTE] = WeightsAttr(_entries(weights_of(whole), part))
    return part


def _entries(table: WeightTable, part: ModuleOp) -> WeightTable:
    """The entries of a table that a part reads; arrays are shared."""
    from glow.dialects.weight_table import DeferredArray, WeightTable
    from glow.dialects.weights import used_weights

    own = WeightTable()
    for name in used_weights(part):
        entry = table.entry(name)
        if isinstance(entry, DeferredArray):
            own.defer(name, entry)
        else:
            own[name] = entry
    return own
