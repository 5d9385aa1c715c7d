"""The file of a run: its commit, machine and command, and the rows of each network.

    {"run": {"commit": ..., "command": ..., "machine": {...}}, "networks": {"lstm": [rows]}}

It is written anew after each network, so that a run that was ended goes on where it was: the
same command with the same file measures the networks that are missing. All rows are of one
commit, machine and command; a network that is measured again loses all its rows of before.
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.result import Result

ROOT = Path(__file__).parents[1]
RESULTS = ("benchmarks/results", "docs")
"""What a run changes itself does not make it another commit's."""
FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8")


class RecordError(Exception):
    """A file that cannot take the results of this run; carries one line."""


@dataclass(frozen=True)
class Run:
    """Where results come from."""

    commit: str
    """With `+changes` where the tree is not what was committed."""
    command: str
    """What measures these numbers again; without the names of networks."""
    machine: dict[str, str | int | list[str]]

    def difference(self, other: "Run") -> str | None:
        """Returns in which way another run is not this one, if in any."""
        for name, mine in asdict(self).items():
            if (theirs := asdict(other)[name]) != mine:
                return f"its {name} is {theirs}, not {mine}"
        return None


@dataclass
class Record:
    """The results of one run by network."""

    run: Run
    networks: dict[str, list[Result]] = field(default_factory=dict[str, list[Result]])

    @property
    def results(self) -> list[Result]:
        """Returns all rows."""
        return [result for rows in self.networks.values() for result in rows]

    def write(self, path: Path) -> None:
        """Write the file in one step: whoever reads it sees all of a network or nothing."""
        content = {
            "run": asdict(self.run),
            "networks": {
                name: [result.to_json() for result in rows]
                for name, rows in self.networks.items()
            },
        }
        temporary = path.with_name(path.name + ".new")
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)


def read_record(path: Path) -> Record:
    """Returns the record in a file; raises RecordError where it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        networks = {
            name: [Result.from_json(row) for row in rows]
            for name, rows in content["networks"].items()
        }
        return Record(Run(**content["run"]), networks)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{path}: not the file of a run: {error}") from None


def open_record(path: Path | None, run: Run) -> Record:
    """Returns what the file has of this run, an empty record where there is no file.

    Raises RecordError where the file is of another run.
    """
    if path is None or not path.exists():
        return Record(run)
    record = read_record(path)
    if difference := run.difference(record.run):
        raise RecordError(
            f"{path} is of another run ({difference}): remove it, or name another file"
        )
    return record


def this_run(options: Sequence[str]) -> Run:
    """Returns the run of `compare.py` with these options, here and now."""
    command = " ".join(["python benchmarks/compare.py", *options])
    return Run(commit(), command, machine())


def commit() -> str:
    """Returns the commit of the tree, with a mark where files differ from it."""
    try:
        head = _git("rev-parse", "HEAD")
        excluded = [f":!{folder}" for folder in RESULTS]
        changes = _git("status", "--porcelain", "-uno", "--", ".", *excluded)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+changes" if changes else head


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def machine() -> dict[str, str | int | list[str]]:
    """Returns the processor and what of it this process may use."""
    information = _first_processor()
    flags = information.get("flags", "").split()
    numbers = [information.get(key, "?") for key in ("cpu family", "model")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": information.get("model name", platform.machine()),
        "family_and_model": "/".join(numbers),
        "features": [name for name in FEATURES if name in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gigabytes": round(pages / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _first_processor() -> dict[str, str]:
    """Returns the fields of the first processor of Linux's list; none elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    return dict(re.findall(r"^([^\t:]+)\t*: (.*)$", text.partition("\n\n")[0], re.M))
