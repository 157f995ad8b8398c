"""Road accidents in the United States, and whether anyone was hurt.

One row is an accident of the year 2001 that the police reported: hour, light, surface, speed limit, kind of
collision and so on, all as small whole numbers (codes). The file comes with the Python package `dmba`, which
belongs to a book and is not a dependency of this library; it is read, never imported.
"""

import contextlib
import os
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.datafiles import DataFileError, read_data

SEVERITY = "MAX_SEV_IR"  # 0 no injury, 1 injury, 2 death
LEAKS = ("INJURY_CRASH", "NO_INJ_I", "PRPTYDMG_CRASH", "FATALITIES")
_IN_DMBA = "dmba/csvFiles/accidentsFull.csv.gz"
_IN_FOLDER = "tabular/us_accidents.csv.gz"

Data = tuple[NDArray[np.float64], NDArray[np.int64], list[str]]


def load_accidents(*, drop_leaks: bool = True) -> Data:
    """42,183 road accidents; the class says whether anyone was injured or killed.

    The file is that of the package `dmba`, if it is installed, else `tabular/us_accidents.csv.gz` in the
    folder that the environment variable HEDGEROW_DATA names.

    Parameters
    ----------
    drop_leaks : bool
        Leave out four columns that say the outcome: INJURY_CRASH and PRPTYDMG_CRASH (accident with injuries,
        or with damage only), NO_INJ_I (number of people injured) and FATALITIES. They are known only when
        the class is known; with them a single split is always right, and no method can be told from another.

    Returns
    -------
    X : float64 array of shape (n_samples, 19), or 23 with the leaks
        Codes; most columns have 2 or 3 values.
    y : int64 array of shape (n_samples,)
        1 for injury or death (MAX_SEV_IR above 0), 0 for neither: about half each.
    names : list of str
        Of the columns.

    Raises
    ------
    FileNotFoundError
        If the file is in neither place.

    Examples
    --------
    >>> X, y, names = load_accidents()
    >>> X.shape, names[:3]
    ((42183, 19), ['HOUR_I_R', 'ALCHL_I', 'ALIGN_I'])
    """
    path = find_accidents()
    table = read_data(path)
    missing = [name for name in (SEVERITY, *LEAKS) if name not in table.column_names]
    if missing:
        raise DataFileError(f"{path}: there is no column {missing[0]!r}: it is not the file of accidents")
    hidden = {SEVERITY, *(LEAKS if drop_leaks else ())}
    names = [name for name in table.column_names if name not in hidden]
    X = np.column_stack([table.column(name).to_numpy().astype(np.float64) for name in names])
    return X, (table.column(SEVERITY).to_numpy() > 0).astype(np.int64), names


def find_accidents() -> Path:
    """Where the file is; FileNotFoundError says how to get it.

    >>> find_accidents().suffix
    '.gz'
    """
    places = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        places.append(Path(str(metadata.distribution("dmba").locate_file(_IN_DMBA))))
    if folder := os.environ.get("HEDGEROW_DATA"):
        places.append(Path(folder) / _IN_FOLDER)
    for path in places:
        if path.is_file():
            return path
    tried = f" (looked for {', '.join(str(path) for path in places)})" if places else ""
    raise FileNotFoundError(f"the file of accidents is not here{tried}: pip install dmba")
