"""Random schedules of a host, with quick networks in the caller's thread and without.

python test/fuzz/host_schedules.py [count] [first seed]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test/python")]
os.environ |= {"GLOW_MODEL_CACHE_MB": "0", "GLOW_TUNING": "off"}


def main(count: int = 2000, first: int = 0) -> None:
    """Run schedules; the first that fails raises, and its seed is told."""
    from support.runtime.host_schedules import run_schedule

    from glow.host.devices import local

    for seed in range(first, first + count):
        local.QUICK_SECONDS = float(seed % 2)
        try:
            run_schedule(seed)
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
    print(f"{count} schedules of a host: all right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
