"""load_accidents: the file of a package or a folder, without the columns that determine the class."""

import gzip
import os
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from hedgerow.datafiles import DataFileError
from hedgerow.datasets import accidents, load_accidents

HEAD = "SPD_LIM,WEATHER_R,INJURY_CRASH,NO_INJ_I,PRPTYDMG_CRASH,FATALITIES,MAX_SEV_IR"
ROWS = ["40,1,1,2,0,0,1", "70,2,0,0,1,0,0", "55,1,0,1,0,1,2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data, and no package."""

    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(accidents.metadata, "distribution", not_installed)
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    (tmp_path / "tabular").mkdir()
    return tmp_path


def write(folder, head=HEAD):
    text = "\r".join([head, *ROWS]) + "\r"  # as the file of the package: a mark at the start, and \r
    path = folder / "tabular" / "us_accidents.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    return path


def test_leaking_columns_and_the_target_are_dropped(folder):
    write(folder)
    X, y, names = load_accidents()
    assert names == ["SPD_LIM", "WEATHER_R"]
    np.testing.assert_array_equal(X, [[40, 1], [70, 2], [55, 1]])
    assert X.dtype == np.float64
    np.testing.assert_array_equal(y, [1, 0, 1])  # injury, neither, death
    assert y.dtype == np.int64


def test_leaking_columns_are_kept_on_request(folder):
    write(folder)
    X, _, names = load_accidents(drop_leaks=False)
    assert X.shape == (3, 6)
    assert set(accidents.LEAKS) < set(names)
    assert "MAX_SEV_IR" not in names


@pytest.mark.usefixtures("folder")
def test_a_missing_file_names_the_package_to_install(monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"us_accidents.*pip install dmba$"):
        load_accidents()
    monkeypatch.delenv("HEDGEROW_DATA")
    with pytest.raises(FileNotFoundError, match=r"^the file of accidents does not exist: pip install dmba$"):
        load_accidents()


def test_another_file_of_that_name_is_refused(folder):
    path = write(folder, HEAD.replace("MAX_SEV_IR", "SEVERITY"))
    with pytest.raises(DataFileError, match="no column 'MAX_SEV_IR'") as caught:
        load_accidents()
    assert str(path) in str(caught.value)


def test_the_package_has_42183_accidents():
    try:
        metadata.distribution("dmba")
    except metadata.PackageNotFoundError:
        pytest.skip("the package dmba is not installed")
    assert "dmba" in str(accidents.find_accidents())
    X, y, names = load_accidents()
    assert X.shape == (42183, 19) == (len(y), len(names))
    assert names[0] == "HOUR_I_R"  # no mark before it
    assert np.isfinite(X).all()
    assert y.sum() == 21462
    leaking, _, all_names = load_accidents(drop_leaks=False)
    damage_only = leaking[:, all_names.index("PRPTYDMG_CRASH")]
    np.testing.assert_array_equal(damage_only == 0, y == 1)


@pytest.mark.data
def test_the_folder_has_the_same_file(monkeypatch):
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder or not (Path(folder) / "tabular" / "us_accidents.csv.gz").is_file():
        pytest.skip("HEDGEROW_DATA does not name a folder with the accidents")
    monkeypatch.setattr(accidents, "_IN_DMBA", "no/such/file")
    assert folder in str(accidents.find_accidents())
    assert load_accidents()[0].shape == (42183, 19)
