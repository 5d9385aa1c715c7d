"""Records of tuning: what is written is read, and nothing else is taken for it."""

from __future__ import annotations

import lzma
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from glow.dialects.errors import GlowError
from glow.lowering.target.target import PRESETS
from glow.tuning.records import (
    VERSION,
    Record,
    append_records,
    kernel_key,
    merge_records,
    read_records,
    target_key,
)

TARGET = PRESETS["avx2"]
KEY = target_key(TARGET)


def record(number: int, **changes: object) -> Record:
    spec = f"MatmulSpec(rows={number})"
    usual = Record(
        VERSION, KEY, kernel_key(spec), "MatmulSpec", spec, {"rows": 4}, 1e-5, 2e-5
    )
    return replace(usual, **changes)


def test_records_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "tuning" / "measured.jsonl"
    first, second = record(1), record(2, config={"rows": 2, "blocks": 3}, gain=0.1)
    append_records(path, [first])
    append_records(path, [second, replace(first, warm=3e-5)])
    records = read_records(path, TARGET)
    found = [*records.of(first.kernel), *records.of(second.kernel)]
    assert [each for _, each in found] == [first, replace(first, warm=3e-5), second]
    assert [records.line_number(start) for start, _ in found] == [1, 3, 2]
    assert records.of(kernel_key("other")) == []


def test_records_of_all_targets_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    elsewhere, old = record(1, target="0" * 12), record(1, version="0.0.1-1")
    append_records(path, [record(1), elsewhere, old, record(2)])
    records = read_records(path, None)
    assert list(records.all()) == [record(1), elsewhere, record(2)]
    assert (records.other_versions, records.other_targets) == (1, 0)


def test_compressed_records_are_merged(tmp_path: Path) -> None:
    folder, shared = tmp_path / "tuning", tmp_path / "shared.jsonl.xz"
    shared.write_bytes(lzma.compress(record(1).line() + record(2).line()))
    merged = merge_records(folder / "measured", folder / "chosen", [shared])
    assert merged.added == 2
    assert list(read_records(folder / "measured", TARGET).all()) == [
        record(1),
        record(2),
    ]
    shared.write_bytes(shared.read_bytes()[:40])
    with pytest.raises(GlowError, match=r"shared\.jsonl\.xz: "):
        merge_records(folder / "measured", folder / "chosen", [shared])


def test_a_missing_file_has_no_records(tmp_path: Path) -> None:
    assert read_records(tmp_path / "none.jsonl", TARGET).starts == {}


def test_damaged_lines_are_skipped_with_one_warning(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    good = record(1)
    whole = good.line()
    cut = whole[:-20]
    strange = whole.replace(b'"family"', b'"what"')
    path.write_bytes(b"\n".join([b"no json", whole[:-1], b"", b"{}", cut]))
    append_records(path, [good])  # Behind a line that was never finished.
    path.write_bytes(path.read_bytes() + strange)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        records = read_records(path, TARGET)
        starts = [start for start, _ in records.of(good.kernel)]
        assert list(map(records.line_number, starts)) == [2, 6]
        records.of(good.kernel)
    assert "measured.jsonl:1: no record of tuning" in str(told[0].message)
    assert len(told) == 1
    assert {1, 4, 5, 7} == set(records.damaged)


def test_other_versions_and_targets_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    other = target_key(PRESETS["avx512"])
    older = [record(n, version="0.0.1-1") for n in range(3)]
    append_records(path, [record(1), record(1, target=other), *older])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = read_records(path, TARGET)
    assert (records.other_versions, records.other_targets) == (3, 1)
    assert len(records.of(record(1).kernel)) == 1


def test_files_are_merged_without_repetition(tmp_path: Path) -> None:
    measured, chosen, other = (tmp_path / f"{n}.jsonl" for n in ("m", "c", "other"))
    append_records(measured, [record(1)])
    append_records(other, [record(1), record(2), record(2), record(3, gain=0.05)])
    other.write_bytes(other.read_bytes() + b"damaged\n")
    merged = merge_records(measured, chosen, [other])
    assert (merged.added, merged.known, merged.damaged) == (2, 2, 1)
    assert len(measured.read_bytes().splitlines()) == 2
    assert read_records(chosen, TARGET).of(record(3).kernel)
    assert merge_records(measured, chosen, [other]).added == 0


def test_a_missing_file_is_not_merged(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match=r"none\.jsonl: no file with records"):
        merge_records(tmp_path / "m", tmp_path / "c", [tmp_path / "none.jsonl"])


def test_searches_at_the_same_time_write_whole_lines(tmp_path: Path) -> None:
    """Each opens the file anew, as two processes do, and adds many lines at once."""
    path = tmp_path / "tuning" / "measured.jsonl"
    batches = [[record(n, target=KEY) for n in range(s, s + 300)] for s in range(8)]
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(lambda batch: append_records(path, batch), batches))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = read_records(path, TARGET)
    assert records.damaged == []
    written = Counter(one.kernel for batch in batches for one in batch)
    assert {kernel: len(records.of(kernel)) for kernel in written} == written
