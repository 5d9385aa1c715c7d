"""The table of docs/interop.md has every row, and a row that is measured takes its place there."""

from pathlib import Path

from interop.table import PAGE, keys_of_rows, rows_of_page, write_row


def test_the_page_has_all_rows_and_all_work() -> None:
    _, rows, _ = rows_of_page(PAGE.read_text("utf-8"))
    assert list(rows) == keys_of_rows()
    assert [row for row in rows.values() if "| works: " not in row] == []


def test_a_row_replaces_the_one_of_before_and_the_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    before, rows, after = rows_of_page(page.read_text("utf-8"))
    row = "| linalg | in | lstm | works: Glow, 0.0e+00 | 7 nodes of 6, 9.9 s |"
    write_row(row, page)
    assert rows_of_page(page.read_text("utf-8")) == (
        before,
        {**rows, ("linalg", "in", "lstm"): row},
        after,
    )


def test_rows_come_in_the_order_of_the_measurements(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- interop table -->\n<!-- end of the table -->\nend\n", "utf-8")
    found = "works: Glow, 0.0e+00 | 1 nodes of 1, 0.1 s |"
    gone = f"| tosa | out | alexnet | {found}"
    last = f"| onnx in torch | in | lstm | {found}"
    first = f"| stablehlo | out | squeezenet | {found}"
    for row in (gone, last, first):
        write_row(row, page)
    _, rows, after = rows_of_page(page.read_text("utf-8"))
    assert list(rows.values()) == [first, last]
    assert after == "\nend\n"
