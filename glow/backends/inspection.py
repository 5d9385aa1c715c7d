"""What a backend can tell about the code that it makes: what logs, pages and profiles show.

A backend that answers gives an `Inspection`; tools know it by this module only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from glow.dialects.weight_table import Array
    from glow.options import CompileOptions


class KernelEntry(Protocol):
    """One kernel of an instruction: its algorithm, and how it was configured."""

    @property
    def label(self) -> str:
        """The name of the kernel's family."""
        ...

    def fields(self) -> Mapping[str, str]:
        """What was chosen, by `algorithm`, `tile`, `order`, `work_items`, `error`..."""
        ...

    def line(self, node: str | None) -> str:
        """The entry as a line of a log."""
        ...


@dataclass(frozen=True)
class Cost:
    """What the kernels of one instruction do in one inference."""

    calls: int
    operations: int
    """Of the arithmetic that it stands for; a fast algorithm counts as the direct one."""
    bytes: int
    """The sizes of the buffers that its kernels name."""
    seconds: float | None = None

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes if self.bytes else 0.0


class Profile(Protocol):
    """When the kernels of a network ran."""

    def table(self) -> str:
        """The kernels as text, the longest first."""
        ...

    def chrome_trace(self) -> str:
        """The last run as JSON that chrome://tracing and Perfetto read."""
        ...


class ProfiledModel(Protocol):
    """A network that runs as it always does, and can be profiled."""

    @property
    def model(self) -> Any:
        """The network, a `glow.CompiledModel`."""
        ...

    def profile(self, inputs: Mapping[str, Array], runs: int) -> Profile:
        """The times of `runs` runs, after one that warms the caches."""
        ...


@dataclass(frozen=True, slots=True)
class KernelRun:
    """When a thread ran a kernel, in nanoseconds of `time.perf_counter_ns`."""

    name: str
    detail: str
    """The kernel with its sizes."""
    thread: int
    begin: int
    end: int


TellKernels = Callable[[Sequence[KernelRun]], None]
"""Is told the kernels of an inference, by the thread that has asked for it."""


class Inspection(Protocol):
    """The answers of one backend, about modules of planned instructions."""

    def kernels(
        self, module: ModuleOp, target: str
    ) -> Mapping[Operation, Sequence[KernelEntry]]:
        """The kernels of each instruction."""
        ...

    def log_lines(self, module: ModuleOp, target: str) -> Iterator[str]:
        """A line for each kernel of each instruction."""
        ...

    def costs(
        self, module: ModuleOp, target: str, profile: Profile | None = None
    ) -> Mapping[Operation, Cost]:
        """The cost of each instruction, with times if there is a profile."""
        ...

    def profiled(self, model: Any, options: CompileOptions) -> ProfiledModel:
        """A model, as `glow.compile` takes it, compiled for profiling."""
        ...

    def timed(self, model: Any, options: CompileOptions, tell: TellKernels) -> Any:
        """The same as a `glow.CompiledModel` that tells of each inference."""
        ...
