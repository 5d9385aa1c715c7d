"""Translation validation: what a pass makes of a program computes what it computed before.

Every lit test goes through here (`validated_format.py`): each pass of each of its RUN
lines runs on the file's programs, one at a time, and the interpreter runs them before and
after. A wrong rewrite thus fails although its CHECK lines say that it is right. The
verifier and the pass's own conditions (`glow.passes.rewriting.contract`) are checked as well.

`PYTHONPATH=test/python python test/python/support/programs/validation.py` lists what
cannot run, with the reason.
"""

from __future__ import annotations

import shlex
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from places import TESTS
from support.nodes.differential import Array, random_array
from support.programs.results import ROUNDED, check_results, rounds_rows
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp, ShapedType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.dialects.errors import GlowError
from glow.dialects.glow import ConstantOp, VariableOp
from glow.dialects.node import element_of
from glow.dialects.quantized import is_quantized, stored_type
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.frontends.sidecar import attach_sidecar
from glow.interpreter import FUNCTIONS, run
from glow.interpreter.instructions import written_arguments
from glow.interpreter.interpreter import NO_FUNCTIONS, Functions
from glow.lowering.target.target import Target, host_target
from glow.passes.graph.convert_constants_to_variables import (
    ConvertConstantsToVariablesPass,
)
from glow.passes.rewriting.contract import (
    MEANING,
    VALUES,
    check_ensures,
    check_requires,
    preserved_by,
)
from glow.tools.opt.pass_flags import fold_pipeline, parse_passes
from glow.universe import PASS_GROUPS, get_glow_passes, new_context
from glow.verification import verify_module

EXPECTS_ERROR = "an error is expected"
NO_PASSES = "no passes"
OTHER_INPUT = "the program is in another file"
NO_FUNCTION = "no function that computes something"
BELOW = "below the levels that the interpreter knows"
DECLARED = "declared only"
ON_PURPOSE = "results change on purpose (quantization)"
MADE_UP = "packed weights of a made-up size"
INLINED = "a private function that is inlined"

REASONS = frozenset(
    (
        EXPECTS_ERROR, NO_PASSES, OTHER_INPUT, NO_FUNCTION, BELOW, DECLARED, ON_PURPOSE,
        MADE_UP, INLINED,
    )
)  # fmt: skip
"""Why a program may go unchecked; anything else fails the test."""

PACKED = ("cpu.", "instr.cpu.")
"""How names of operations begin that may read packed weights."""

BLOCKED_RANK = 5
INTERPRETED = frozenset("glow cpu instr arith math func scf builtin quant".split())


@dataclass
class Report:
    """What was compared, what was not and why, and what is wrong."""

    compared: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    wrong: list[str] = field(default_factory=list[str])

    def skip(self, what: str, reason: str) -> None:
        """Note what cannot be compared; an unknown reason is wrong."""
        self.skipped.append((what, reason))
        if reason not in REASONS:
            self.wrong.append(f"{what}: cannot run: {reason}")


@cache
def context() -> Context:
    """One context for all programs."""
    return new_context()


@cache
def all_passes() -> dict[str, Any]:
    """The passes by name."""
    return {**Universe.get_multiverse().all_passes, **get_glow_passes()}


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of each `glow-opt` in the RUN lines, `%s` first; others as None."""
    joined = text.replace("\\\n", "").splitlines()
    lines = [line.partition("RUN:")[2] for line in joined if "RUN:" in line]
    for line in lines:
        for piece in line.replace("&&", "|").split("|"):
            words = shlex.split(piece)
            if words[:1] == ["glow-opt"] or words[:2] == ["not", "glow-opt"]:
                yield words


def passes_of(words: Sequence[str]) -> tuple[ModulePass, ...]:
    """The passes of a command."""
    names = {*all_passes(), *PASS_GROUPS}
    (first, *_) = [*fold_pipeline(words[1:], names), ""]
    if not first.startswith("--passes="):
        return ()
    pipeline = first.removeprefix("--passes=")
    return parse_passes(pipeline, all_passes(), PASS_GROUPS)


def validate_file(path: Path) -> Report:
    """Run each pass of a lit test on its programs, and compare."""
    report, text = Report(), path.read_text()
    for words in commands(text):
        what = f"{path.name}: {shlex.join(words)}"
        if words[0] == "not":
            report.skip(what, EXPECTS_ERROR)
        elif not (passes := passes_of(words)):
            report.skip(what, NO_PASSES)
        elif "%s" not in words:
            report.skip(what, OTHER_INPUT)
        else:
            chunks = [text]
            if "--split-input-file" in words:
                chunks = text.split("// -----")
            for chunk in chunks:
                validate_text(
                    chunk, path, passes, report, "--verify-diagnostics" in words
                )
    return report


def validate_text(
    text: str,
    path: Path,
    passes: Sequence[ModulePass],
    report: Report,
    may_fail: bool = False,
) -> None:
    """Run passes on one program, comparing after each."""
    try:
        module = parse_text(context(), text, path.name)
        verify_module(module)
        attach_sidecar(module, path)
        add_missing_weights(module)
        Validator(module, path.name, report).run(passes)
    except Exception as error:
        if not may_fail:
            report.wrong.append(f"{path.name}: {type(error).__name__}: {error}")
        report.skip(path.name, EXPECTS_ERROR)


def add_missing_weights(module: ModuleOp) -> None:
    """Random numbers for the weights that tests only name; vectors are positive."""
    table = weights_of(module)
    for op in module.walk():
        if isinstance(op, ConstantOp | VariableOp) and (name := op.weight_name):
            if name not in table:
                table[name] = random_value(op.results[0].type, name)


def random_value(value_type: Attribute, name: str) -> Array:
    """A value of a tensor, memref or index type, the same in each run.

    Vectors are positive, since they may be variances.
    """
    seed = zlib.crc32(name.encode())
    if isinstance(value_type, IndexType):
        return np.asarray(0)
    if not isinstance(value_type, ShapedType):
        return random_array((), dtype_of(value_type), seed)
    element, shape = element_of(value_type), value_type.get_shape()
    if isinstance(value_type, TensorType):
        tensor = cast("TensorType[Attribute]", value_type)
        element = element_of(stored_type(tensor) if is_quantized(tensor) else tensor)
    array = random_array(shape, dtype_of(element), seed)
    if array.ndim == 1 and array.dtype.kind not in "biu":
        array = np.abs(array) + array.dtype.type(0.1)
    return array


class Validator:
    """Runs the functions of one module before and after passes."""

    def __init__(self, module: ModuleOp, where: str, report: Report) -> None:
        self.module = module
        self.where = where
        self.report = report
        self.target = host_target()
        self.inputs: dict[str, list[Array]] = {}
        self.has_padding = self.rounds_rows = False
        self.private: set[str] = set()

    def run(self, passes: Sequence[ModulePass]) -> None:
        """Apply the passes one after the other, and compare around each."""
        named = (getattr(each, "target", None) for each in passes)
        self.target = Target.from_string(next(filter(None, named), "host"))
        expected = self.results()
        self.has_padding = any(op.name == "cpu.pack" for op in self.module.walk())
        for compiler_pass in passes:
            private = [
                one for one in self.functions() if one.sym_visibility is not None
            ]
            self.private = {function.sym_name.data for function in private}
            check_requires(compiler_pass, self.module)
            self.rounds_rows = any(map(rounds_rows, self.module.walk()))
            compiler_pass.apply(context(), self.module)
            verify_module(self.module)
            check_ensures(compiler_pass, self.module)
            actual = self.results()
            self.compare(compiler_pass, actual, expected)
            expected = actual

    def function(self, name: str) -> FuncOp:
        """The function of that name."""
        (found,) = (f for f in self.functions() if f.sym_name.data == name)
        return found

    def functions(self) -> list[FuncOp]:
        """The module's functions."""
        return [op for op in self.module.ops if isinstance(op, FuncOp)]

    def results(self) -> dict[str, list[Array] | str]:
        """What each function computes, or why it cannot run."""
        if not self.functions():
            self.report.skip(self.where, NO_FUNCTION)
        return {
            function.sym_name.data: self.result(function)
            for function in self.functions()
        }

    def result(self, function: FuncOp) -> list[Array] | str:
        """What one function computes and leaves in its variables, or why it cannot run."""
        if function.is_declaration:
            return DECLARED
        dialects = {op.name.partition(".")[0] for op in function.walk()}
        if not dialects <= INTERPRETED:
            return BELOW
        name, inputs = function.sym_name.data, self.arguments(function)
        variables: dict[str, Array] = {}
        try:
            own = self.own_functions(function)
            results = run(self.module, inputs, name, own, variables)
        except GlowError as error:
            reason = error.one_line()
            if "packed weights" in reason:
                return MADE_UP
            return BELOW if self.is_below(function) else reason
        return results + [variables[name] for name in sorted(variables)]

    def own_functions(self, function: FuncOp) -> Functions:
        """The target's order of weights; plain order where their size is made up."""
        if not any(op.name.startswith(PACKED) for op in self.module.walk()):
            return NO_FUNCTIONS
        own = cpu_functions(packings_of(TargetPacker(self.target)))
        try:
            run(self.module, self.arguments(function), function.sym_name.data, own)
        except GlowError as error:
            return NO_FUNCTIONS if "packed weights" in error.message else own
        return own

    def is_code(self) -> bool:
        """Whether there are but LLVM's functions by now, or kernels that a host calls."""
        return any(op.name == "llvm.func" for op in self.module.ops) or all(
            function.sym_visibility is not None for function in self.functions()
        )

    def is_below(self, function: FuncOp) -> bool:
        """Whether a function is one of loops."""
        types = function.function_type.inputs.data
        nodes = any(type(op) in FUNCTIONS for op in function.walk())
        instr = any(op.name.startswith("instr.") for op in function.walk())
        return not nodes and not instr and any(isinstance(t, ShapedType) for t in types)

    def arguments(self, function: FuncOp) -> list[Array]:
        """The same inputs whenever the function is run."""
        name = function.sym_name.data
        outputs = written_arguments(function)
        types = function.function_type.inputs.data
        wanted = [t for number, t in enumerate(types) if number not in outputs]
        if name not in self.inputs or len(self.inputs[name]) != len(wanted):
            self.inputs[name] = [
                random_value(value_type, f"{name}.{number}")
                for number, value_type in enumerate(wanted)
            ]
        return self.inputs[name]

    def compare(
        self,
        compiler_pass: ModulePass,
        actual: dict[str, list[Array] | str],
        expected: dict[str, list[Array] | str],
    ) -> None:
        """Note functions whose results differ."""
        for name, before in expected.items():
            what = f"{self.where}: @{name}: {compiler_pass.name}"
            gone = INLINED if name in self.private else "it is gone"
            after = actual.get(name, BELOW if self.is_code() else gone)
            reason = next((r for r in (before, after) if isinstance(r, str)), None)
            other_inputs = isinstance(after, str) and after.startswith("input ")
            if preserved_by(compiler_pass) == MEANING and (
                reason is None or other_inputs
            ):
                reason = ON_PURPOSE
            if reason is not None:
                self.report.skip(what, reason)
                continue
            assert not isinstance(before, str)
            assert not isinstance(after, str)
            if isinstance(compiler_pass, ConvertConstantsToVariablesPass):
                # The new variables are no results of the program before.
                results = len(self.function(name).function_type.outputs)
                before, after = before[:results], after[:results]
            inputs = self.inputs.get(name, [])
            try:
                if self.has_padding:
                    before, after = without_padding(before, after)
                preserved = preserved_by(compiler_pass)
                if self.rounds_rows and preserved == VALUES:
                    preserved = ROUNDED
                check_results(after, before, preserved, inputs)
            except AssertionError as error:
                self.report.wrong.append(f"{what} changes results: {error}")
            self.report.compared += 1


def without_padding(
    before: Sequence[Array], after: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Blocked results with 0 in the lanes that hold nothing before, which are NaN."""
    unused = [np.isnan(array) & (array.ndim == BLOCKED_RANK) for array in before]
    pairs = zip(before, after, unused, strict=True)
    cleaned = [(np.where(mask, 0, b), np.where(mask, 0, a)) for b, a, mask in pairs]
    return [b for b, _ in cleaned], [a for _, a in cleaned]


def main() -> int:
    """List what cannot run and why, and count what can."""
    compared, reasons, wrong = 0, Counter[str](), 0
    for path in sorted(TESTS.rglob("*.mlir")):
        if {"inputs", "Output"} & set(path.parts):
            continue
        report = validate_file(path)
        compared += report.compared
        for what, reason in dict.fromkeys(report.skipped):
            print(f"{path.parent.relative_to(TESTS)}/{what}: {reason}")
            reasons[reason] += 1
        for complaint in report.wrong:
            print("WRONG:", complaint)
            wrong += 1
    print(f"\n{compared} results compared, {wrong} wrong; not compared:")
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
