"""Results as a Markdown table."""

from collections.abc import Sequence

from benchmarks.result import Result


def table(results: Sequence[Result]) -> str:
    """Returns the results as a Markdown table, its columns padded to be read as it is."""
    columns = dict.fromkeys(name for result in results for name in result.milliseconds)
    peers = [name for name in columns if name != "glow"]
    header = ["model", "threads", "glow ms", *(f"{peer} ms" for peer in peers), "ratio"]
    if "glow exact" in columns:
        header.append("exact ratio")
    header += ["cold s", "optimizer", "warm s", "cold MB", "MB"]
    header += [*(f"{peer} MB" for peer in peers), "error"]
    rows = [header, *(cells(result, peers) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, [f"{'-' * (width - 1)}:" for width in widths])
    return "\n".join(f"| {' | '.join(map(str.rjust, row, widths))} |" for row in rows)


def cells(result: Result, peers: Sequence[str]) -> list[str]:
    """Returns a row of the table, in the order of its header."""
    runtimes = ["glow", *peers]
    return [
        result.network,
        result.threads_and_state,
        *(time(result, name) for name in runtimes),
        f"{result.ratio:.2f}",
        *([exact_ratio(result)] if "glow exact" in peers else []),
        f"{result.cold_seconds:.2f}",
        f"{result.optimizer_share:.0%}",
        f"{result.load_seconds['glow']:.2f}",
        f"{result.cold_megabytes:.0f}",
        *(number(result.peak_megabytes, name, ".0f") for name in runtimes),
        f"{result.error:.0e}",
    ]


def exact_ratio(result: Result) -> str:
    """Returns the ratio of `numerics=exact`, a dash where it did not run."""
    exact = "glow exact"
    return f"{result.ratio_of(exact):.2f}" if exact in result.milliseconds else "-"


def time(result: Result, name: str) -> str:
    """Returns a runtime's median and its spread, a dash where it has none."""
    if name not in result.milliseconds:
        return "-"
    return f"{result.milliseconds[name]:.2f} ±{result.spread[name]:.0%}"


def number(values: dict[str, float], name: str, form: str) -> str:
    """Returns the value of a runtime as text, a dash where it has none."""
    return format(values[name], form) if name in values else "-"
