"""Writes the tables of docs/performance.md from the files of the runs.

python benchmarks/performance_page.py            # writes the page
python benchmarks/performance_page.py --check    # fails if it says something else

What stands between `<!-- results FILE -->` and `<!-- end of results -->` is the table of that
file of `benchmarks/results`, below the run's commit, machine and command; nothing while there
is no such file.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.record import ROOT, Record, RecordError, Run, read_record
from benchmarks.table import table

PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(
    r"(<!-- results ([\w.-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="performance_page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    try:
        after = rendered(before, RESULTS)
    except (OSError, RecordError) as error:
        print(f"performance_page: {error}", file=sys.stderr)
        return 1
    if arguments.check:
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


def rendered(page: str, folder: Path) -> str:
    """Returns the page with each table as its file in `folder` has it."""

    def block(match: re.Match[str]) -> str:
        path = folder / match[2]
        text = section(read_record(path)) if path.exists() else ""
        return match[1] + text + match[3]

    return BLOCK.sub(block, page)


def section(record: Record) -> str:
    """Returns where the numbers come from, and the table."""
    return f"{origin(record.run)}\n\n{table(record.results)}\n"


def origin(run: Run) -> str:
    """Returns one paragraph on the run."""
    at = run.machine
    features = ", ".join(map(str, at["features"])) if at["features"] else "none"
    return (
        f"Commit `{run.commit}`, `{run.command}`,\n"
        f"on {at['processor']} (family and model {at['family_and_model']}; {features}), "
        f"{at['cores']} cores,\n{at['memory_gigabytes']} GB, {at['system']}, "
        f"Python {at['python']}. ± is half the distance between the quartiles."
    )


if __name__ == "__main__":
    sys.exit(main())
