"""Prints the shape of the tree and holds it to bounds: `make house`.

Import contracts by folder do not see circles of files inside of one, nor corridors of
forty files. Exit code 1 when a bound is broken; `--quiet` prints broken bounds alone.
"""

from __future__ import annotations

import argparse
import ast
import gc
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER_FILES, FILE_LINES, FUNCTION_LINES, PARAMETERS = 25, 400, 60, 6
MEDIAN, NINTH_DECILE = 7, 18
ALIKE = {
    "glow/frontends/onnx/operators": "the handlers of a theme of operators a file",
    "glow_dialects/glow": "the nodes of a theme a file",
    "passes/graph": "a pass a file",
}
"""Folders that may hold more files than the bound, since these are alike; and what they are."""
PUBLIC = {"glow/compilation.py:compile": "the options of users, by keyword"}
"""Functions that may have more parameters than the bound, and why."""

Edge = tuple[str, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Imports:
    """Which module imports which: when it is loaded, in functions, for type checkers."""

    loaded: set[Edge] = field(default_factory=set[Edge])
    inside: set[Edge] = field(default_factory=set[Edge])
    typing: set[Edge] = field(default_factory=set[Edge])


@cache
def tree_of(file: Path) -> ast.Module:
    """The syntax of a file."""
    return ast.parse(file.read_bytes())


def source_files() -> list[Path]:
    """The Python files of the tree, those not yet committed among them."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.py"]
    listed = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [path for name in listed.stdout.split() if (path := ROOT / name).exists()]


def module_names(files: Iterable[Path]) -> dict[str, Path]:
    """The installed files by the names of their modules."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "setuptools"
    ]
    folders = {ROOT / path: name for name, path in setuptools["package-dir"].items()}
    found: dict[str, Path] = {}
    for file in files:
        for parent in file.parents:
            if parent in folders:
                parts = file.relative_to(parent).with_suffix("").parts
                name = ".".join((folders[parent], *parts))
                found[name.removesuffix(".__init__")] = file
    return found


def read_imports(modules: Mapping[str, Path]) -> Imports:
    """The imports between modules."""
    imports = Imports()
    for name, file in modules.items():
        collect(tree_of(file), name, modules, imports.loaded, imports)
    return imports


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that may have statements: most of a tree is expressions."""
    return (
        each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)
    )


def collect(
    node: ast.AST,
    name: str,
    modules: Mapping[str, Path],
    edges: set[Edge],
    imports: Imports,
) -> None:
    """Add the imports below a node, by where they stand."""
    for child in statements_in(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            edges |= {(name, to) for to in targets(child, modules) if to != name}
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            collect(child, name, modules, imports.typing, imports)
        elif isinstance(child, Function):
            collect(child, name, modules, imports.inside, imports)
        else:
            collect(child, name, modules, edges, imports)


def targets(
    node: ast.Import | ast.ImportFrom, known: Mapping[str, Path]
) -> Iterator[str]:
    """The modules of ours that a statement names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
        return
    for alias in node.names:
        if (name := f"{node.module}.{alias.name}") in known:
            yield name
        elif node.module in known:
            yield node.module


def circles(edges: Iterable[Edge]) -> list[list[str]]:
    """The modules that reach themselves, in groups that reach each other."""
    after: dict[str, set[str]] = defaultdict(set)
    for origin, target in edges:
        after[origin].add(target)
    reach = {name: reachable(name, after) for name in tuple(after)}
    groups = {
        frozenset(other for other in reach[name] if name in reach.get(other, ()))
        for name in reach
        if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


def reachable(name: str, after: Mapping[str, set[str]]) -> set[str]:
    """What a module imports, and what that imports, and so on."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = after.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def arrows_up(edges: Iterable[Edge]) -> list[Edge]:
    """Imports of what a layer of `pyproject.toml` above holds."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]
    (layers,) = [c["layers"] for c in linter["contracts"] if c["type"] == "layers"]
    depths = {
        part.strip(" ()"): depth
        for depth, layer in enumerate(layers)
        for part in layer.split(" : ")
    }
    placed = [
        (depth_of(origin, depths), depth_of(to, depths), origin, to)
        for origin, to in edges
    ]
    return sorted((origin, to) for here, there, origin, to in placed if there < here)


def depth_of(module: str, depths: Mapping[str, int]) -> float:
    """The layer of the longest prefix that has one; NaN, which is nowhere, for others."""
    while module not in depths and "." in module:
        module = module.rpartition(".")[0]
    return depths.get(module, float("nan"))


DERIVED = {
    "glow.backends.cuda": "glow.backends.cpu",
    "glow.backends.opencl": "glow.backends.cpu",
}
"""Backends of ours that are made of another one."""


def edges_into_backends(edges: Iterable[Edge]) -> list[Edge]:
    """Imports from the folder of a backend by what is outside of it."""
    found: list[Edge] = []
    for origin, target in edges:
        parts = target.split(".")[:3]
        inside = parts[:2] == ["glow", "backends"] and len(parts) == 3
        folder = ROOT.joinpath(*parts).is_dir()
        own = ".".join(origin.split(".")[:3])
        if inside and folder and ".".join(parts) not in (own, DERIVED.get(own)):
            found.append((origin, target))
    return sorted(found)


def functions(file: Path) -> Iterator[Function]:
    """All functions of a file, also those in others."""
    waiting: list[ast.AST] = [tree_of(file)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            yield node
        waiting += statements_in(node)


def length(function: Function) -> int:
    """Its lines, from `def` to the end."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def parameters(function: Function) -> int:
    """How many a caller may give, apart from `self`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([one for one in named if one.arg not in ("self", "cls")])


@dataclass
class House:
    """What is printed, and the bounds that are broken."""

    lines: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])

    def hold(self, what: str, wrong: Iterable[str]) -> None:
        """Print what breaks a bound, or that nothing does."""
        found = list(wrong)
        self.lines += [f"{what}: {len(found)}", *(f"  {one}" for one in found)]
        self.broken += [f"{what}: {one}" for one in found]


def survey_folders(house: House, files: Iterable[Path]) -> None:
    """Files and lines of each folder; corridors and long files break the bounds."""
    count, lines = Counter[str](), Counter[str]()
    long: list[str] = []
    for file in files:
        folder, length = (
            str(file.parent.relative_to(ROOT)),
            len(file.read_bytes().splitlines()),
        )
        count[folder] += 1
        lines[folder] += length
        if length > FILE_LINES:
            long.append(f"{file.relative_to(ROOT)} has {length}")
    house.lines += [
        f"{count[one]:4} files {lines[one]:6} lines  {one}" for one in sorted(count)
    ]
    crowded = (one for one in sorted(count) if count[one] > FOLDER_FILES)
    house.hold(
        f"folders of more than {FOLDER_FILES} files that are not alike",
        (f"{one} has {count[one]}" for one in crowded if one not in ALIKE),
    )
    house.hold(f"files of more than {FILE_LINES} lines", long)


def survey_imports(house: House, files: Iterable[Path]) -> None:
    """Circles, arrows up, and edges into backends."""
    imports = read_imports(module_names(files))
    run = imports.loaded | imports.inside
    everything = run | imports.typing
    house.hold("circles of files", (" ".join(one) for one in circles(run)))
    typed = [one for one in circles(everything) if one not in circles(run)]
    house.lines += [
        f"more circles, for type checkers only: {len(typed)}",
        *(f"  {' '.join(one)}" for one in typed),
    ]
    for what, edges in (
        ("imports that point up", arrows_up(run)),
        ("imports from a backend's folder", edges_into_backends(everything)),
    ):
        house.hold(what, (f"{origin} -> {target}" for origin, target in edges))


def survey_functions(house: House, files: Iterable[Path]) -> None:
    """Lengths and parameters."""
    found = [(file.relative_to(ROOT), one) for file in files for one in functions(file)]
    lengths = sorted(length(one) for _, one in found)
    median, decile = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]
    house.lines.append(f"functions: {len(found)}, the longest of {lengths[-1]} lines")
    for what, value, bound in (
        ("median", median, MEDIAN),
        ("ninth decile", decile, NINTH_DECILE),
    ):
        wrong = [f"{value}, not {bound}"] if value > bound else []
        house.lines.append(f"  {what} of their lines: {value}")
        house.broken += [f"{what} of the lines of functions: {one}" for one in wrong]
    for what, measure, bound in (
        ("lines", length, FUNCTION_LINES),
        ("parameters", parameters, PARAMETERS),
    ):
        house.hold(
            f"functions of more than {bound} {what}",
            (
                f"{file}:{one.name} has {measure(one)}"
                for file, one in found
                if measure(one) > bound and f"{file}:{one.name}" not in PUBLIC
            ),
        )


def main() -> int:
    """Survey the tree; 1 when a bound is broken."""
    gc.disable()  # The trees of all files live on: to visit them takes most of the time.
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quiet", action="store_true", help="print broken bounds alone"
    )
    quiet: bool = parser.parse_args().quiet
    house, files = House(), source_files()
    for survey in (survey_folders, survey_imports, survey_functions):
        survey(house, files)
    print("\n".join(house.broken if quiet else house.lines))
    return 1 if house.broken else 0


if __name__ == "__main__":
    sys.exit(main())
