"""`--verify-diagnostics`: errors compared with the comments of the input, or printed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from io import BytesIO
from typing import IO

from xdsl.utils.exceptions import DiagnosticException, ParseError

from glow.diagnostics import Diagnosis, diagnose
from glow.dialects.errors import GlowError
from glow.tools.opt.expected_diagnostics import Expectation, compare, parse_expectations
from glow.tools.opt.registration import RegisteringMain


class VerifyDiagnosticsMain(RegisteringMain):
    """The driver of a run whose errors are what it is about."""

    chunk_line: int = 0
    """Number of lines before the chunk of the input that is being read."""

    def run_verifying_diagnostics(self) -> None:
        """Compare errors with comments, or print them if there are no comments."""
        chunks, extension = self.prepare_input()
        texts = [(chunk.read(), offset) for chunk, offset in chunks]
        for chunk, _ in chunks:
            chunk.close()
        expected = [
            parse_expectations(text.decode("utf-8", "replace"), offset)
            for text, offset in texts
        ]
        strict = any(expected)
        complaints: list[str] = []
        output = self.prepare_output()
        for index, (text, offset) in enumerate(texts):
            if index > 0:
                output.write("// -----\n")
            actual = self.run_chunk(text, extension, offset, output)
            complaints += self.judge(strict, expected[index], actual)
        output.flush()
        if complaints:
            print("\n".join(complaints), file=sys.stderr)
            raise GlowError(f"{len(complaints)} diagnostics differ from the comments")

    def judge(
        self,
        strict: bool,
        expected: Sequence[Expectation],
        actual: Sequence[Diagnosis],
    ) -> list[str]:
        """Complaints about one chunk; without comments in the file, just print."""
        if strict:
            return list(compare(self.get_input_name(), expected, actual))
        for diagnosis in actual:
            print(diagnosis.text("glow-opt"))
        return []

    def run_chunk(
        self, text: bytes, extension: str, offset: int, output: IO[str]
    ) -> list[Diagnosis]:
        """Run the pipeline on one chunk; the error that it ended with, if any."""
        try:
            module = self.parse_chunk(BytesIO(text), extension, offset)
            if module is not None:
                self.apply_passes(module)
                output.write(self.output_resulting_program(module))
        except ParseError as error:
            error.span = dataclasses.replace(error.span, line_offset=offset)
            return [diagnose(error)]
        except (DiagnosticException, GlowError) as error:
            return [diagnose(error)]
        return []
