"""The options of `glow-opt` that list what there is."""

from __future__ import annotations

import sys

from glow.backends.backend import backend_names
from glow.options import CompileOptions
from glow.tools.opt import listings
from glow.tools.opt.verify_diagnostics import VerifyDiagnosticsMain
from glow.tools.target_options import target_of
from glow.universe import PASS_GROUPS


class ListingMain(VerifyDiagnosticsMain):
    """The driver of a run that may only list."""

    def show_information(self) -> bool:
        """Print what the listing options ask for; whether that was all."""
        if self.args.dump_pass_pipeline:
            passes = ",".join(map(str, self.pipeline.passes))
            print(
                f"Pass Manager with {len(self.pipeline.passes)} passes:\n"
                f"builtin.module({passes})",
                file=sys.stderr,
            )
        if self.args.list_passes:
            listings.list_passes(self.available_passes, PASS_GROUPS)
        if self.args.show_dialects:
            listings.list_dialects(self.ctx)
        if self.args.list_pipelines:
            listings.list_pipelines(self.options_of_pipelines())
        if self.args.emit_irdl:
            text = listings.irdl_of(self.ctx, self.args.emit_irdl)
            listings.write(text, self.args.output_file)
            return True
        return (
            self.args.list_passes or self.args.list_pipelines or self.args.show_dialects
        )

    def options_of_pipelines(self) -> list[CompileOptions]:
        """What pipelines are listed for: the backend that is named, or each."""
        args = self.args
        names = [args.backend] if args.backend else backend_names()
        limit, target = args.memory_limit, target_of(args)
        return [CompileOptions(name, target, memory_limit=limit) for name in names]
