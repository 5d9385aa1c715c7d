"""A process that makes PTX of LLVM IR, for `code_generator.py`: texts come in, PTX goes out.

    in:   bytes of the rest | JSON: triple, CPU, features, text
    out:  0 or 1 | bytes of the rest | PTX, or for 1 what LLVM says is wrong

It imports nothing of Glow, so that it starts in the time that LLVM takes to load.
"""

from __future__ import annotations

import json
import sys

import llvmlite.binding as llvm

PASSES = 1
"""The level of LLVM's passes. Of what those of level 2 make of kernels for many threads, `ptxas`
makes as many instructions, with more registers."""
GENERATION_LEVEL = 2
OPTIONS = ("-disable-lsr",)
"""Addresses that loops count up beside each other take registers and instructions that `ptxas`
does not give back: without loop strength reduction its code is a ninth smaller, and generating
PTX takes half the time."""


def generated(triple: str, cpu: str, features: str, text: str) -> str:
    """The PTX of LLVM IR; raises RuntimeError for text that LLVM rejects."""
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=GENERATION_LEVEL
    )
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=PASSES)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def main() -> None:
    """Answer until there are no more texts."""
    for option in OPTIONS:
        llvm.set_option("", option)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Not `sys.stdout.buffer`: with PYTHONUNBUFFERED it writes a part where a signal arrives.
    with open(1, "wb") as sink:
        while head := sys.stdin.buffer.read(8):
            size = int.from_bytes(head, "little")
            request = json.loads(sys.stdin.buffer.read(size))
            try:
                status, said = 0, generated(*request)
            except RuntimeError as error:
                status, said = 1, str(error)
            answer = said.encode()
            sink.write(bytes([status]) + len(answer).to_bytes(8, "little") + answer)
            sink.flush()


if __name__ == "__main__":
    main()
