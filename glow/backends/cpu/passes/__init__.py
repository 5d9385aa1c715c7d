"""The CPU backend's passes; each is imported when it is used."""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_pass, lazy_passes

PASSES = {
    **lazy_passes(
        "glow.backends.cpu",
        "passes.absorb_transposes",
        "layout.assign_layout",
        "passes.cancel_packs",
        "passes.choose_configs",
        "passes.fuse_epilogue",
        "passes.fuse_pool",
        "passes.fuse_rows",
        "passes.instr_to_loops",
        "passes.repeat_constants",
        "passes.share_kernels",
        "passes.split_batch",
        "passes.split_channels",
        "passes.fp16_storage",
        "passes.phases_first",
        "passes.promote_types",
    ),
    "record-kernels": lazy_pass(
        "glow.backends.cpu.report.kernel_log", "RecordKernelsPass"
    ),
}
"""Pass name to factory."""
