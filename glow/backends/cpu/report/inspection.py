"""What the CPU backend tells about its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu.report.costs import kernel_costs
from glow.backends.cpu.report.kernel_log import kernel_log, log_lines
from glow.backends.cpu.report.kernel_profile import KernelProfile, TracedModel
from glow.backends.inspection import Cost, KernelEntry, Profile, ProfiledModel
from glow.lowering.target.program_target import settle_target
from glow.signature import main_function


class CpuInspection:
    """Asks the builders of the kernels what they chose, and looks at the clock."""

    def kernels(
        self, module: ModuleOp, target: str
    ) -> Mapping[Operation, Sequence[KernelEntry]]:
        """The kernels of each instruction; those of a loop once."""
        log = kernel_log(main_function(module), settle_target(module, target))
        return {op: entries for op, entries in log.items()}

    def log_lines(self, module: ModuleOp, target: str) -> Iterator[str]:
        """A line for each kernel of each instruction."""
        return log_lines(main_function(module), settle_target(module, target))

    def costs(
        self, module: ModuleOp, target: str, profile: Profile | None = None
    ) -> Mapping[Operation, Cost]:
        """The cost of each instruction, with times if there is a profile."""
        assert profile is None or isinstance(profile, KernelProfile)
        function = main_function(module)
        costs = kernel_costs(function, settle_target(module, target), profile)
        return {op: cost for op, cost in costs.items()}

    def profiled(self, model: Any, **options: Any) -> ProfiledModel:
        """A model with a look at the clock around each kernel."""
        return TracedModel(model, **options)
