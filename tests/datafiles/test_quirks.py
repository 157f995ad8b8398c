"""Files as they are exported in practice: what is read from each, and what is stated or refused."""

import io
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.datafiles import DataFileError, Recipe, TypedTable, make_recipe, read_typed
from hedgerow.datafiles.statements import missing_statements, number_statements
from quirk_cases import CASES


def written(case, folder, monkeypatch):
    path = folder / case.name
    if callable(case.content):
        case.content(path)
    else:
        path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    if case.path == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        return "-"
    return folder / (case.path or case.name)


def statements(table):
    """What `make_recipe` would state about all columns of a table."""
    inferred = {name: found for name in table.column_names if (found := table.inferred(name)) is not None}
    findings = [*number_statements(inferred), *missing_statements(inferred, table.options.missing)]
    return [finding.text for finding in (*table.findings, *findings)]


def test_there_are_enough_cases():
    assert len(CASES) >= 60


@pytest.mark.parametrize("kind", CASES)
def test_a_file_is_read_as_expected(kind, tmp_path, monkeypatch):
    case = CASES[kind]
    path = written(case, tmp_path, monkeypatch)
    if case.error:
        with pytest.raises(DataFileError, match=case.error) as caught:
            read_typed(path, options=case.options)
        assert str(caught.value).isprintable()
        return
    table = read_typed(path, options=case.options)
    found = table.typed().to_pydict()
    assert {name: found.get(name) for name in case.columns} == case.columns
    others = found.keys() - case.columns.keys()
    assert all(text.isprintable() for text in statements(table))
    if len(case.columns) > 1:
        assert all(set(found[name]) == {None} for name in others if name.startswith("column_"))
    stated = " ".join(statements(table))
    dates = [text for text in case.says if text not in stated]
    if dates:
        stated = " ".join(recipe_of(table).notes)
    for text in dates:
        assert text in stated
    if case.silent:
        assert statements(table) == []


def recipe_of(table):
    """A recipe of all columns of a table, whose rows are repeated, for a target that is added."""
    rows = table.table
    while rows.num_rows < 40:
        rows = pa.concat_tables([rows, rows])
    rows = rows.append_column("row", pa.array(range(rows.num_rows)))
    rows = rows.append_column(
        "target", pa.array(["no" if row % 3 else "yes" for row in range(rows.num_rows)])
    )
    longer = TypedTable(
        rows, table.options, table.findings, is_text_file=table.is_text_file, comma_file=table.comma_file
    )
    recipe = make_recipe(longer, "target")
    return replace(recipe, columns=tuple(column for column in recipe.columns if column.name != "row"))


@pytest.mark.parametrize("kind", [kind for kind, case in CASES.items() if not case.error])
def test_a_recipe_reads_the_same_file_again_as_in_training(kind, tmp_path, monkeypatch):
    case = CASES[kind]
    table = read_typed(written(case, tmp_path, monkeypatch), options=case.options)
    recipe = recipe_of(table)
    again = Recipe.from_dict(recipe.to_dict()) if recipe.columns else recipe
    assert again == recipe
    expected = recipe.features(table)
    path = (
        written(case, tmp_path, monkeypatch)
        if not callable(case.content)
        else tmp_path / (case.path or case.name)
    )
    later = again.features(read_typed(path, options=recipe.read_options))  # nothing is inferred before
    assert later.schema == expected.schema
    assert later.to_pydict() == expected.to_pydict()
    assert again.apply_frame(table.table.to_pandas()).to_pydict() == expected.to_pydict()
