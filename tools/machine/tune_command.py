"""`glow tune`: measures the kernels of a network in other configurations, and keeps the faster."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from glow.dialects.errors import UsageError
from glow.tools.compile_options import (
    add_compile_options,
    add_input_option,
    compile_options,
)
from glow.tools.quantization_commands import at_least

if TYPE_CHECKING:
    from glow.options import CompileOptions
    from glow.tensor_info import TensorInfo
    from glow.tuning.fit import Fitted
    from glow.tuning.records import Record, Records
    from glow.tuning.remote.board import Bench
    from glow.tuning.search import Found, Subject, Tunable, Tuned

BUDGET = 120.0
MOST = 24
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """The seconds of `90`, `90s`, `2m` or `1h`, more than none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a time such as 120s, not '{text}'")
    number = float(match[1]) * UNITS[match[2]]
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"a budget of {text} measures nothing")
    return number


def add_tune_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow tune`."""
    parser.add_argument("model", type=Path, nargs="?", help=".onnx or .mlir file")
    parser.add_argument(
        "--budget",
        type=seconds,
        default=BUDGET,
        metavar="TIME",
        help=f"how long to search: 90s, 2m ({BUDGET:g}s)",
    )
    parser.add_argument(
        "--threads", type=at_least(1), help="threads of the network (all cores)"
    )
    add_input_option(parser)
    parser.add_argument(
        "--most",
        type=at_least(2),
        default=MOST,
        metavar="N",
        help=f"candidates of a kernel, by the order of the cost model ({MOST})",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where an earlier search of these kernels ended",
    )
    parser.add_argument(
        "--remote",
        metavar="ssh://BOARD",
        help="build here for the target, measure there by one thread: a machine with "
        "Python that ssh reaches without asking, or a node of the Ray cluster at "
        "ray://HEAD:PORT",
    )
    parser.add_argument(
        "--fit",
        action="store_true",
        help="fit a model of kernels to all records (needs "
        "glow-xdsl[tune]), which compilations ask for kernels that were not tuned",
    )
    parser.add_argument(
        "--merge",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.jsonl",
        help="add the records of a file, which may be an .xz one (may be repeated)",
    )
    add_compile_options(parser)
    parser.set_defaults(work=tune_command)


def tune_command(args: argparse.Namespace) -> None:
    """Run `glow tune`."""
    files = cast("list[Path]", args.merge)
    if args.model is None and not files and not args.fit:
        raise UsageError("glow tune takes a model, --merge FILE.jsonl, or --fit")
    if files:
        merge(files)
    if args.model is not None:
        settings = Settings(args.input, args.budget, args.most, args.resume)
        options = compile_options(args)
        if args.remote is None:
            tune(cast(Path, args.model), options, settings)
        else:
            tune_board(args.remote, cast(Path, args.model), options, settings)
    elif args.remote is not None:
        raise UsageError("--remote measures a model")
    if args.fit:
        fit_model(args.backend)


def fit_model(backend: str) -> None:
    """Fit a model to all records, those of other machines too, and say what it is worth."""
    from glow.backends.backend import get_backend
    from glow.tuning.choices import MEASURED, MODEL, tuning_file
    from glow.tuning.fit import fit, samples_of
    from glow.tuning.records import read_records

    names = get_backend(backend).tuning_features()
    records = read_records(tuning_file(MEASURED), None)
    fitted = fit(samples_of(records.all(), len(names)), names)
    for line in worth_table(fitted):
        print(line)
    trees = fitted.trees
    path = tuning_file(MODEL)
    if not trees.families:
        path.unlink(missing_ok=True)
        print("the cost models choose as well: nothing is learned of this machine")
        return
    trees.save(path, path.parent.parent)
    print(f"wrote {path}")


def worth_table(fitted: Fitted) -> Iterator[str]:
    """What a model is worth on kernels, and on machines, that it has not seen."""
    yield f"{'':28}{'regret':>8}{'':8}{'first 5':>9}{'':7}{'other machines':>16}"
    yield f"{'family':20}{'kernels':>8}" + 3 * f"{'model':>8}{'learned':>8}"
    for family, each in fitted.worth.items():
        first, learned = each.first
        apart = fitted.elsewhere.get(family)
        beside = f"{'-':>8}{'-':>8}"
        if apart is not None:
            beside = f"{apart.chosen:8.3f}{apart.learned:8.3f}"
        word = "used" if fitted.is_used(family) else "not used"
        yield (
            f"{family:20}{each.kernels:8}{each.chosen:8.3f}{each.learned:8.3f}"
            f"{first:8.0%}{learned:8.0%}{beside}  {word}"
        )


def merge(files: Sequence[Path]) -> None:
    """Add the records of files to those of the cache folder."""
    from glow.tuning.choices import CHOSEN, MEASURED, tuning_file
    from glow.tuning.records import merge_records

    found = merge_records(tuning_file(MEASURED), tuning_file(CHOSEN), files)
    print(f"{found.added} records added, {found.known} known, {found.damaged} damaged")


@dataclass(frozen=True)
class Settings:
    """What a search is told besides the options of the compilation."""

    inputs: Sequence[str]
    budget: float
    most: int
    resume: bool


def tune_board(
    address: str, path: Path, options: CompileOptions, settings: Settings
) -> None:
    """The same on a board."""
    from glow.tools.machine.bench import bench_at

    if options.threads not in (None, 1):
        raise UsageError("--remote measures one thread")
    bench = bench_at(address)
    try:
        tune(path, replace(options, threads=1), settings, bench)
    finally:
        bench.board.close()


def tune(
    path: Path,
    options: CompileOptions,
    settings: Settings,
    bench: Bench | None = None,
) -> None:
    """Search, print what was found, and keep what makes the network faster."""
    from glow.lowering.target.target import Target
    from glow.lowering.target.target_names import runnable_target
    from glow.tools.programs import check_program
    from glow.tuning.choices import MEASURED, refresh, tuning_file
    from glow.tuning.records import read_records
    from glow.tuning.search import Budget, Search

    check_program(path)
    refresh()
    named = Target.from_string if bench is not None else runnable_target
    target = named(options.target)
    if target.by_tables:
        raise UsageError(f"'{options.target}' goes by no record, and cannot be tuned")
    records = read_records(tuning_file(MEASURED), target)
    if ignored := records.other_versions + records.other_targets:
        print(f"{ignored} records are of another version or target")
    subject = subject_of(path, options, settings.inputs, bench)
    store = Store(subject, target)
    done = dict(known(subject, records)) if settings.resume else {}
    budget = Budget(settings.budget)  # Of the search, not of what it starts from.
    search = Search(subject, budget, print, store.note, store.keep, settings.most, done)
    print_result(search.run(), budget.spent)


def subject_of(
    path: Path, options: CompileOptions, inputs: Sequence[str], bench: Bench | None
) -> Subject:
    """The network with a value for each input."""
    from glow.backends.backend import get_backend
    from glow.tools.run_command import (
        complete_inputs,
        read_array,
        split_inputs,
        with_sizes,
    )
    from glow.tuning.search import Job

    arrays = {name: read_array(file) for name, file in split_inputs(inputs).items()}
    # For a board nothing is compiled here: open sizes are given by --input-shape.
    chosen = options if bench is not None else with_sizes(path, options, arrays)
    values = complete_inputs(inputs_of(path, chosen, bench), arrays, 0)
    return get_backend(options.backend).subject(Job(path, chosen, values, bench))


def inputs_of(
    path: Path, options: CompileOptions, bench: Bench | None
) -> Sequence[TensorInfo]:
    """The inputs of a network; of one for a board nothing is compiled for this machine."""
    from glow.compiler import load
    from glow.signature import main_function, signature_of
    from glow.tools.run_command import check_closed, compile_program

    if bench is not None:
        return signature_of(main_function(load(path, options))).inputs
    model = compile_program(path, options)
    check_closed(model)
    return cast("Sequence[TensorInfo]", model.inputs)


class Store:
    """Writes what a search finds into the cache folder, as soon as it is known."""

    def __init__(self, subject: Subject, target: Any) -> None:
        self._subject = subject
        self._kernels = {kernel.key: kernel for kernel in subject.kernels}
        self._target = target

    def note(self, found: Found) -> None:
        """The last times of each candidate."""
        from glow.tuning.choices import MEASURED, tuning_file
        from glow.tuning.records import append_records

        lines: list[Record] = []
        for config, times in dict(found.times).items():
            features = self._subject.described(found.kernel, config)
            lines.append(
                replace(
                    self._record(found.kernel, config),
                    warm=float(f"{times.warm:.4g}"),
                    cold=float(f"{times.cold:.4g}"),
                    features=features,
                )
            )
        append_records(tuning_file(MEASURED), lines)

    def keep(self, configs: dict[str, Any], ratio: float) -> None:
        """Configurations that make the network faster."""
        from glow.tuning.choices import CHOSEN, tuning_file
        from glow.tuning.records import append_records

        gain = round(1 - ratio, 4)
        lines = [
            replace(self._record(self._kernels[key], config), gain=gain)
            for key, config in configs.items()
        ]
        append_records(tuning_file(CHOSEN), lines)

    def _record(self, kernel: Tunable, config: Any) -> Record:
        from glow.tuning.records import VERSION, Record, target_key

        key, fields = target_key(self._target), asdict(config)
        return Record(VERSION, key, kernel.key, kernel.family, kernel.spec, fields)


def known(subject: Subject, records: Records) -> Iterator[tuple[str, Found]]:
    """What records say of a network's kernels that were measured before."""
    from glow.tuning.measure import Times
    from glow.tuning.search import Found, settled

    for kernel in (one for one in subject.kernels if one.alone):
        by_fields = {_text(asdict(config)): config for config in kernel.configs}
        usual = defaults(kernel.configs[0])
        last: dict[Any, Times] = {}
        for _, record in records.of(kernel.key):
            config = by_fields.get(_text({**usual, **record.config}))
            if config is not None and record.warm and record.cold:
                last[config] = Times(record.warm, record.cold)
        present = kernel.configs[0]
        if present in last and len(last) > 1:
            scores = {config: subject.score(times) for config, times in last.items()}
            best = min(scores, key=scores.__getitem__)
            gain = 1 - scores[best] / scores[present]
            yield kernel.key, settled(Found(kernel, list(last.items()), best, gain))


def defaults(config: Any) -> Mapping[str, object]:
    """The fields of a configuration that have a default: older records may not have them."""
    known = fields(config)
    return {one.name: one.default for one in known if one.default is not MISSING}


def _text(fields: Mapping[str, object]) -> str:
    """Text that is the same for fields from JSON."""
    import json

    return json.dumps(fields, sort_keys=True)


def print_result(tuned: Tuned, spent: float) -> None:
    """Say what is kept."""
    from glow.tuning.choices import CHOSEN, tuning_file

    if tuned.interrupted:
        print("interrupted: what was found until now is kept")
    measured = len(tuned.found)
    if not tuned.kept:
        print(f"{measured} kernels in {spent:.0f} s: nothing makes the network faster")
        return
    print(
        f"{measured} kernels in {spent:.0f} s: {len(tuned.kept)} choices kept in "
        f"{tuning_file(CHOSEN)}, the network takes {tuned.ratio:.3f} of its time"
    )
