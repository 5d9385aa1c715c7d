"""`main` for one thread: it makes all work items of every kernel, and waits for nobody.

The function has the parameters of that for several threads, of which it reads the three
memory spaces only.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.backends.cpu.program.call_order import SharedCall
from glow.backends.cpu.program.main_function import MainBuilder


class SerialMainBuilder(MainBuilder):
    """Builds the function; see the module's docstring."""

    def _synchronize(self, *, must: bool = False) -> None:
        """One thread sees what it has written."""

    def _wait_for_earlier(self, call: SharedCall) -> None:
        """One thread makes the calls in their order."""

    def _thread_items(self, work_items: int, shared: bool) -> tuple[SSAValue, SSAValue]:
        return self._constant(0), self._constant(work_items)
