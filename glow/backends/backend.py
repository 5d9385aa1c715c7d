"""What a backend is: answers to what the rest of the compiler asks, and a `compile`.

Everything outside of a backend's own folder or package knows it by this class only. A
package adds a backend by an entry point in the group `glow.backends` that names a class
derived from `Backend`; `docs/add-a-backend.md` builds one. Ours stand in a table: reading
the entry points of all packages takes longer than to compile a small network's graph.

This module stands below the passes and lowerings, which ask a backend by its name.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from glow.backends.device import NO_DEVICE
from glow.backends.device import Device as Device
from glow.backends.device import find_device as _find_device
from glow.dialects.errors import GlowError
from glow.sources import package_digest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect, Operation
    from xdsl.passes import ModulePass

    from glow.backends.bundle_program import (
        BundleProgram,
        BundleRequest,
        LoopProgram,
    )
    from glow.backends.inspection import Inspection
    from glow.backends.pipeline import Pipeline
    from glow.dialects.node import NodeOp
    from glow.dialects.weight_table import Array
    from glow.options import CompileOptions
    from glow.runtime.native_program import NativeProgram
    from glow.tuning.search import Job, Subject

DialectFactory: TypeAlias = "Callable[[], Dialect]"
PassFactory: TypeAlias = "Callable[[], type[ModulePass]]"
ReferenceFunction: TypeAlias = Callable[..., Any]
"""A node and the arrays of its operands to the array, or arrays, of its results."""

Rewrite: TypeAlias = "Callable[[Operation], bool]"
"""Replaces an operation; returns whether it did."""

GROUP = "glow.backends"
"""The group of entry points."""

DEFAULT_BACKEND = "cpu"

SHARED_NODES = ("glow", "quant", "scf")
"""The dialects of what a backend may refuse, beside its own."""

EARLIER_NAMES = {"keeps": "is_legal", "supports": "refuses"}
"""Of methods that classes of packages may still define."""


class CompiledFunction(Protocol):
    """Native (or interpreted) code of one network.

    It may have more, of which `CompiledModel` makes use: `run_into(inputs, outputs)`, which
    writes into arrays without copies, and the text `details` for people to read. One on a
    device with memory of its own has what `glow.backends.device.DeviceFunction` says.
    """

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes; thread-safe."""
        ...


class Backend(ABC):
    """A way to run networks.

    The first group of methods describes the backend's own part of the IR, the second what it
    wants of the shared lowerings, the third turns a network into something that runs.
    """

    name: str
    caches_models: bool = False
    """Whether compiled networks are kept on disk: then `stored_program` and `load_program`
    are its own."""

    def __init_subclass__(cls) -> None:
        """Let a class answer by earlier names of methods."""
        super().__init_subclass__()
        for earlier, now in EARLIER_NAMES.items():
            if earlier in cls.__dict__ and now not in cls.__dict__:
                message = f"{cls.__name__}.{earlier} is now {now}"
                warnings.warn(message, FutureWarning, stacklevel=2)
                setattr(cls, now, cls.__dict__[earlier])

    def version(self) -> str:
        """What differs where its code does: caches know by it what they hold.

        It is empty for ours, whose sources the caches look at themselves, and else the
        hash of all packages that the class is made from.
        """
        packages = (base.__module__.partition(".")[0] for base in type(self).__mro__)
        others = sorted({*packages} - {"glow", "abc", "builtins"})
        return " ".join(f"{name} {package_digest(name)}" for name in others)

    # Its part of the IR

    def dialects(self) -> Mapping[str, DialectFactory]:
        """The dialects that it reads by name; their nodes get instructions `instr.<node>`.

        A backend that derives from another one has those of the other too.
        """
        return {}

    def passes(self) -> Mapping[str, PassFactory]:
        """Passes by name, those of a backend that it derives from among them."""
        return {}

    def reference_functions(
        self, module: ModuleOp
    ) -> Mapping[type[Operation], ReferenceFunction]:
        """What its own nodes compute, for the interpreter; those of the module's target."""
        return {}

    # What it wants of shared passes

    @abstractmethod
    def is_legal(self, op: NodeOp) -> bool:
        """Whether `lower-nodes` leaves this node as it is."""

    def refuses(self, op: Operation) -> str | None:
        """Why it does not run a node of an optimized graph, lowered or not; None if it does.

        A node that it refuses runs on the next backend of a list (`--backend=npu,cpu`), or
        on another device of a divided network. It is asked about casts of quantized values
        (`quant`) and about loops and branches (`scf`) too. By default it runs all but the
        nodes of other backends.
        """
        dialect = op.name.partition(".")[0]
        if dialect not in SHARED_NODES and dialect not in self.dialects():
            return f"it is none of the nodes of backend '{self.name}'"
        return None

    def quantized_rewrites(self) -> Mapping[type[Operation], Rewrite]:
        """Forms of its own of nodes on integers, tried before the shared lowerings."""
        return {}

    def prefers_f32(self, op: Operation, options: CompileOptions) -> bool:
        """Whether a product of f32 is not faster in bf16."""
        return False

    def estimate_cost(
        self, op: Operation, options: CompileOptions | None = None
    ) -> float | None:
        """The seconds that a node of an optimized graph should take; None where unknown.

        It is asked before anything is compiled, by who divides a network between devices. Of
        the options the target, the threads and the numerics count; without options it is one
        thread of this machine.
        """
        return None

    # From a graph to something that runs

    @abstractmethod
    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The phases from a network's graph to what `compile` takes, and what is behind.

        Raises GlowError for options that the backend does not know, such as a target. Phases
        make their passes when they run, so that this costs next to nothing.
        """

    @abstractmethod
    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """The runnable function of a module behind the pipeline's `compile_from`."""

    def export(
        self, module: ModuleOp, phase: str, options: CompileOptions
    ) -> str | bytes:
        """Text, or the bytes of a file: a phase of the pipeline that is an export.

        The module has all passes of the phases before behind it.
        """
        raise GlowError(f"backend '{self.name}' has no phase {phase}")

    def bundle_program(
        self, modules: Mapping[str, ModuleOp], request: BundleRequest
    ) -> BundleProgram:
        """The functions of planned modules, by name, as one program that an object is made of.

        Equal kernels and equal weights are there once.
        """
        raise GlowError(f"backend '{self.name}' makes no bundles")

    def loop_program(
        self, modules: Mapping[str, ModuleOp], request: BundleRequest
    ) -> LoopProgram:
        """The same as loops of upstream's dialects."""
        raise GlowError(f"backend '{self.name}' makes no loops")

    def verify(self, module: ModuleOp) -> None:
        """Raise GlowError for a module with nodes of its own that it cannot take further.

        It is asked behind the phase `lowered` (`verify-lowered` has checked that every node is
        legal for it), and for programs that come from outside at that level or below.
        """
        return

    # What outlives a process, and what is there before a network is

    def prepare(self) -> None:
        """Begin what its functions need to run, while a graph is read by another thread.

        Nobody sees what it raises: that comes again where it is needed.
        """
        return

    def stored_program(self, function: CompiledFunction) -> NativeProgram | None:
        """What is kept of a function that it made; None where that cannot be kept."""
        return None

    def load_program(
        self, program: NativeProgram, threads: int | None, device: str | None = None
    ) -> CompiledFunction:
        """The function of a program that `stored_program` gave, in another process.

        `threads` and `device` are those of `CompileOptions`.
        """
        raise GlowError(f"backend '{self.name}' stores no programs")

    def devices(self) -> Sequence[Device]:
        """What it runs on here, with the memory that there is; those with a problem too."""
        return ()

    def why_no_device(self) -> str:
        """What is missing where there is no device: a driver, a library."""
        return NO_DEVICE

    def find_device(self, wanted: str | None) -> Device:
        """The device of `CompileOptions.device`, by default the first that can be used.

        Raises GlowError, which lists those there are or says why there is none.
        """
        return _find_device(self.name, self.devices(), wanted, self.why_no_device())

    def inspection(self) -> Inspection:
        """What tools show of its kernels; raises GlowError for a backend that tells nothing."""
        raise GlowError(f"backend '{self.name}' does not tell about its kernels")

    def subject(self, job: Job) -> Subject:
        """A network as `glow tune` searches it: here, or on a board."""
        raise GlowError(f"backend '{self.name}' has nothing to tune")

    def tuning_features(self) -> Sequence[str]:
        """The names of what a learned model sees of its kernels."""
        raise GlowError(f"backend '{self.name}' has nothing to tune")


OWN = {
    "cpu": ("glow.backends.cpu", "CpuBackend"),
    "cuda": ("glow.backends.cuda", "CudaBackend"),
    "interpreter": ("glow.backends.interpreter", "InterpreterBackend"),
    "opencl": ("glow.backends.opencl", "OpenClBackend"),
}

FALLBACK = ("glow.backends.fallback", "FallbackBackend")
"""Several backends, which are asked in their order."""

_loaded: dict[str, Backend] = {}
_rejected: dict[str, GlowError] = {}


def get_backend(name: str) -> Backend:
    """The backend of that name; raises GlowError listing those there are.

    `npu,cpu` are both as one: a node runs on the first that takes it.
    """
    if "," in name:
        return _fallback(name)
    if name in _rejected:
        raise _rejected[name]
    if name not in _loaded:
        _loaded[name] = _load(name)
    return _loaded[name]


@cache
def _fallback(name: str) -> Backend:
    module, class_name = FALLBACK
    return getattr(import_module(module), class_name)(name)


def reject_backend(name: str, error: GlowError) -> None:
    """Let go of a backend that others cannot live with; whoever asks for it gets the error."""
    _rejected[name] = error
    _loaded.pop(name, None)


def loaded_backends() -> list[Backend]:
    """Ours first, then those of other packages that somebody has asked for."""
    ours = [get_backend(name) for name in OWN]
    return [*ours, *(one for name, one in _loaded.items() if name not in OWN)]


def all_backends() -> list[Backend]:
    """Ours and those of all packages that are installed and can be loaded.

    A warning names each of the others, which nothing but a call for it needs.
    """
    for name, points in _installed().items():
        if name in _rejected:  # Somebody has told of it.
            continue
        if (problem := _clash(name, points)) is None:
            try:
                get_backend(name)
            except GlowError as error:
                problem = error
        if problem is not None:
            warnings.warn(problem.one_line(), RuntimeWarning, stacklevel=1)
    return loaded_backends()


def backends_in(module: ModuleOp) -> Iterator[Backend]:
    """The backends of which a module has nodes or instructions.

    A dialect is of the backend that was there first; others derive from that one.
    """
    names = {op.name.removeprefix("instr.").partition(".")[0] for op in module.walk()}
    seen: set[str] = set()
    for backend in loaded_backends():
        own = backend.dialects().keys() - seen
        if not names.isdisjoint(own):
            yield backend
        seen |= own


def backend_names() -> list[str]:
    """The names of ours and of those that installed packages bring."""
    return sorted({*OWN, *_installed()})


def _installed() -> Mapping[str, Sequence[EntryPoint]]:
    """The entry points of other packages by the name of the backend: one, if all is well."""
    from glow.backends.entry_points import entry_points_of

    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points_of(GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def _clash(name: str, points: Sequence[EntryPoint]) -> GlowError | None:
    """What is wrong with a name that several have; None where one has it."""
    owners = ["Glow itself"] * (name in OWN) + list(map(_described, points))
    if len(owners) < 2:
        return None
    return GlowError(
        f"two packages have a backend '{name}': {owners[0]} and {owners[1]}",
        hint="uninstall one of them",
    )


def _described(point: EntryPoint) -> str:
    """`glow_npu:NpuBackend of glow-npu`."""
    return f"{point.value} of {point.dist.name}" if point.dist else point.value


def _load(name: str) -> Backend:
    if name in OWN:
        module, class_name = OWN[name]
        return getattr(import_module(module), class_name)()
    points = _installed().get(name, ())
    if not points:
        known = ", ".join(backend_names())
        raise GlowError(f"unknown backend '{name}'", hint=f"there are {known}")
    if (clash := _clash(name, points)) is not None:
        raise clash
    return _load_point(points[0])


def _load_point(point: EntryPoint) -> Backend:
    """The backend of another package; raises GlowError for anything wrong with it."""
    subject = f"backend '{point.name}' ({_described(point)})"
    try:
        backend = point.load()()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise GlowError(f"{subject} cannot be loaded: {reason}") from error
    if not isinstance(backend, Backend):
        raise GlowError(f"{subject} is no glow.backends.backend.Backend")
    if getattr(backend, "name", None) != point.name:
        named = getattr(backend, "name", "nothing")
        raise GlowError(
            f"{subject} has the name {named!r}", hint="both names must be the same"
        )
    return backend
