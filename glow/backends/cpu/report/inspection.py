"""What the CPU backend tells about its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.report.costs import kernel_costs
from glow.backends.cpu.report.kernel_log import kernel_log, log_lines
from glow.backends.cpu.report.kernel_profile import KernelProfile, TracedModel
from glow.backends.cpu.report.timed_function import timed_model
from glow.backends.inspection import (
    Cost,
    KernelEntry,
    Profile,
    ProfiledModel,
    TellKernels,
)
from glow.lowering.target.program_target import settle_target
from glow.options import CompileOptions
from glow.signature import main_function


@dataclass(frozen=True)
class CpuInspection:
    """Asks the builders of the kernels what they chose, and looks at the clock."""

    table: KernelTable

    def kernels(
        self, module: ModuleOp, target: str
    ) -> Mapping[Operation, Sequence[KernelEntry]]:
        """The kernels of each instruction; those of a loop once."""
        machine = settle_target(module, target)
        log = kernel_log(main_function(module), machine, self.table)
        return {op: entries for op, entries in log.items()}

    def log_lines(self, module: ModuleOp, target: str) -> Iterator[str]:
        """A line for each kernel of each instruction."""
        machine = settle_target(module, target)
        return log_lines(main_function(module), machine, self.table)

    def costs(
        self, module: ModuleOp, target: str, profile: Profile | None = None
    ) -> Mapping[Operation, Cost]:
        """The cost of each instruction, with times if there is a profile."""
        assert profile is None or isinstance(profile, KernelProfile)
        function, machine = main_function(module), settle_target(module, target)
        costs = kernel_costs(function, machine, self.table, profile)
        return {op: cost for op, cost in costs.items()}

    def profiled(self, model: Any, options: CompileOptions) -> ProfiledModel:
        """A model with a look at the clock around each kernel."""
        return TracedModel(model, options)

    def timed(self, model: Any, options: CompileOptions, tell: TellKernels) -> Any:
        """A model that tells when its kernels ran."""
        return timed_model(model, options, tell)
