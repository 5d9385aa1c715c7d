"""What `glow-opt` knows of dialects, passes and targets: those of all packages that work."""

from __future__ import annotations

from functools import cached_property

from xdsl.universe import Universe
from xdsl.xdsl_opt_main import xDSLOptMain

from glow.tools.opt.target_names import OWN_TARGETS
from glow.universe import installed_universe, register_dialects


class RegisteringMain(xDSLOptMain):
    """xDSL's driver, but that a package which cannot be loaded is a warning."""

    @cached_property
    def universe(self) -> Universe:
        """What packages give, looked for once."""
        return installed_universe()

    def register_all_dialects(self) -> None:
        register_dialects(self.ctx, self.universe)

    def register_all_passes(self) -> None:
        for name, factory in self.universe.all_passes.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        self.available_targets.update(self.universe.all_targets)
        self.available_targets.update(OWN_TARGETS)
