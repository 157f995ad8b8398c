"""Road accidents in the United States, and whether anyone was hurt.

A row is an accident of the year 2001 reported by the police: hour, light, surface, speed limit, kind of
collision and so on, all as small integer codes. The file is part of the Python package `dmba`, which is not a
dependency of this library. The file is read; the package is not imported.
"""

import contextlib
import os
from importlib import metadata
from pathlib import Path

import numpy as np

from hedgerow._typing import Floats, Integers

SEVERITY = "MAX_SEV_IR"  # 0 no injury, 1 injury, 2 death
LEAKS = ("INJURY_CRASH", "NO_INJ_I", "PRPTYDMG_CRASH", "FATALITIES")
_IN_DMBA = "dmba/csvFiles/accidentsFull.csv.gz"
_IN_FOLDER = "tabular/us_accidents.csv.gz"

Data = tuple[Floats, Integers, list[str]]


def load_accidents(*, drop_leaks: bool = True) -> Data:
    """Load 42,183 road accidents; the class is whether anyone was injured or killed.

    The file is that of the package `dmba` if it is installed, otherwise `tabular/us_accidents.csv.gz` in the
    folder of the environment variable HEDGEROW_DATA.

    Parameters
    ----------
    drop_leaks : bool
        Drop four columns that determine the class: INJURY_CRASH and PRPTYDMG_CRASH (accident with injuries,
        or with damage only), NO_INJ_I (number of injured persons) and FATALITIES. They are known only when
        the class is known. With them a single split has no error, and all methods are equal.

    Returns
    -------
    X : float64 array of shape (n_samples, 19), or 23 with the leaks
        Codes; most columns have 2 or 3 values.
    y : int64 array of shape (n_samples,)
        1 for injury or death (MAX_SEV_IR above 0), 0 for neither: about half each.
    names : list of str
        Names of the columns.

    Raises
    ------
    FileNotFoundError
        If neither file exists.

    Examples
    --------
    >>> X, y, names = load_accidents()
    >>> X.shape, names[:3]
    ((42183, 19), ['HOUR_I_R', 'ALCHL_I', 'ALIGN_I'])
    """
    from hedgerow.datafiles import DataFileError, read_data  # noqa: PLC0415 - requires PyArrow

    path = find_accidents()
    table = read_data(path)
    missing = [name for name in (SEVERITY, *LEAKS) if name not in table.column_names]
    if missing:
        raise DataFileError(f"{path}: no column {missing[0]!r}; this is not the file of accidents")
    dropped = {SEVERITY, *(LEAKS if drop_leaks else ())}
    names = [name for name in table.column_names if name not in dropped]
    X = np.column_stack([table.column(name).to_numpy().astype(np.float64) for name in names])
    return X, (table.column(SEVERITY).to_numpy() > 0).astype(np.int64), names


def find_accidents() -> Path:
    """Return the path of the file.

    >>> find_accidents().suffix
    '.gz'
    """
    paths = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        paths.append(Path(str(metadata.distribution("dmba").locate_file(_IN_DMBA))))
    if folder := os.environ.get("HEDGEROW_DATA"):
        paths.append(Path(folder) / _IN_FOLDER)
    for path in paths:
        if path.is_file():
            return path
    tried = f" (tried {', '.join(str(path) for path in paths)})" if paths else ""
    raise FileNotFoundError(f"the file of accidents does not exist{tried}: pip install dmba")
