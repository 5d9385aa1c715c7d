"""The lit format of our suites: a test must pass, and its passes must keep results.

In the worker's own process, so that the check costs no start of Python; see `validation`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import lit.formats
import lit.Test


class ValidatedTest(lit.formats.ShTest):
    """Runs the RUN lines, then each of their passes under translation validation."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        """The result of the test; wrong results of a passed test are a failure."""
        from support.programs.validation import validate_file

        result: Any = cast("Any", super()).execute(test, litConfig)
        if result.code is not lit.Test.PASS:
            return result
        wrong = validate_file(Path(test.getSourcePath())).wrong
        if wrong:
            return lit.Test.Result(lit.Test.FAIL, "\n".join(wrong))
        return result
