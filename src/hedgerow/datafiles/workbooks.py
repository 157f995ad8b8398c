"""Read a sheet of an Excel workbook (.xlsx) as an Arrow table.

Cells have types of their own. A column of one type keeps it; a column of several (numbers and n/a) becomes
text, whose type is inferred as that of a text file.
"""

import datetime as dt
import io
import warnings
from typing import Any

import pyarrow as pa

from hedgerow.datafiles.errors import DataFileError, one_line, unknown_name
from hedgerow.datafiles.findings import ACCEPT_LAYOUT, Finding
from hedgerow.datafiles.frames import values_to_arrow
from hedgerow.datafiles.layout import MAX_FOOTERS, find_layout, footer_finding, is_footer
from hedgerow.optional import require_extra

_FIRST_ROWS = 51


def read_workbook(data: bytes, sheet: str | None = None) -> tuple[pa.Table, list[Finding]]:
    """Return the table of a sheet, by default the first, and the findings about it.

    Parameters
    ----------
    data : bytes
        The content of a file.
    sheet : str, optional
        The name of a sheet.
    """
    rows, gaps, findings = _rows(data, sheet)
    if not rows:
        raise DataFileError("the sheet is empty")
    layout = find_layout([[_text(cell) for cell in row] for row in rows[:_FIRST_ROWS]], gaps)
    body = rows[layout.first :]
    footers = 0
    width = len(layout.names)
    while footers < MAX_FOOTERS and len(body) > 1 and is_footer(_row_texts(body[-1]), width):
        footers += 1
        last = " ".join(filter(None, map(_text, body.pop())))
    if footers:
        findings.append(footer_finding("row", footers, last))
    if not body:
        raise DataFileError(f"it holds a header of {len(layout.names)} names but no rows")
    columns = [
        values_to_arrow([_value(row[number]) for row in body], name)
        for number, name in enumerate(layout.names)
    ]
    return pa.table(columns, names=list(layout.names)), [*findings, *layout.findings]


def _rows(data: bytes, sheet: str | None) -> tuple[list[tuple[Any, ...]], set[int], list[Finding]]:
    """Return the rows of a sheet that are not empty, equally wide, and the positions below empty ones."""
    openpyxl = require_extra("openpyxl", extra="cli")
    findings: list[Finding] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and rules of validation
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            names = [one.title for one in book.worksheets]
            _check_sheet(sheet, names)
            if sheet is None and len(names) > 1:
                others = ", ".join(map(repr, names[1:4])) + (", ..." if len(names) > 4 else "")
                text = f"The sheet {names[0]!r} is read; FILE.xlsx::NAME reads another one: {others}."
                findings.append(Finding(text, option=ACCEPT_LAYOUT))
            page = book[sheet or names[0]]
            page.reset_dimensions()  # those that a file states may be wrong
            rows: list[tuple[Any, ...]] = []
            gaps = set()
            for row in page.iter_rows(values_only=True):
                if any(map(_text, row)):
                    rows.append(row)
                else:
                    gaps.add(len(rows))
    except DataFileError:
        raise
    except Exception as error:  # damaged files make openpyxl raise errors of many kinds
        raise DataFileError(f"it begins as a workbook but is damaged ({one_line(error, 80)})") from error
    width = max((1 + number for row in rows for number, cell in enumerate(row) if _text(cell)), default=0)
    return [(*row, *[None] * (width - len(row)))[:width] for row in rows], gaps, findings


def _check_sheet(sheet: str | None, names: list[str]) -> None:
    if sheet is not None and sheet not in names:
        raise DataFileError(unknown_name(sheet, names, "sheet"))
    if not names:
        raise DataFileError("it is a workbook without sheets of cells")


def _row_texts(row: tuple[Any, ...]) -> list[str]:
    """Return the texts of a row up to its last one."""
    texts = [_text(cell) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _value(cell: Any) -> Any:
    """Return a cell without outer spaces; a moment without time of day as a date."""
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        return cell.date()
    return cell
