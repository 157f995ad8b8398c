"""Files and frames that one call enters: how far a reader has to follow it.

A call is run twice: the first run compiles and imports what it needs, the second is traced. For each
call: the number of files of the package that were entered, and the deepest stack of frames of the package, in
any thread. scikit-learn's estimators are counted in the same way. `--files` also lists the files.
"""

import argparse
import importlib
import os
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import sklearn.ensemble
from sklearn.datasets import make_classification

import hedgerow
from hedgerow.kernels.native import NativeKernel

Call = Callable[[], Any]
ROWS, COLUMNS, ROUNDS = 2_000, 12, 5


def trace(package: str, call: Call) -> tuple[Counter[str], int]:
    """Return how often each file of a package was entered, and the deepest stack of its frames."""
    root = str(Path(str(importlib.import_module(package).__file__)).parent) + os.sep
    files: Counter[str] = Counter()
    deepest, stack = [0], threading.local()

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(root):
            return
        depth = getattr(stack, "depth", 0) + (1 if event == "call" else -1)
        stack.depth = depth
        if event == "call":
            files[path.removeprefix(root)] += 1
            kernel = frame.f_locals.get("self")  # whose body is compiled: it has no frame
            if isinstance(kernel, NativeKernel):
                files[kernel.py_func.__code__.co_filename.removeprefix(root)] += 1
            deepest[0] = max(deepest[0], depth)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, deepest[0]


def estimator_calls() -> Iterator[tuple[str, str, Call]]:
    """Yield the package, the name and the call: fit and predict of estimators on a NumPy array."""
    X, y = make_classification(ROWS, COLUMNS, random_state=0)
    common: dict[str, Any] = {"n_estimators": ROUNDS, "random_state": 0}
    ours = {
        "gradient boosting": hedgerow.GradientBoostingClassifier(**common),
        "gradient boosting, defaults,": hedgerow.GradientBoostingClassifier(random_state=0),
        "AdaBoost": hedgerow.AdaBoostClassifier(**common),
        "AdaBoost.R2": hedgerow.AdaBoostRegressor(**common),
        "random forest": hedgerow.RandomForestClassifier(**common),
        "bagging": hedgerow.BaggingClassifier(**common),
    }
    theirs = {
        "gradient boosting": sklearn.ensemble.HistGradientBoostingClassifier(max_iter=ROUNDS),
        "AdaBoost": sklearn.ensemble.AdaBoostClassifier(**common),
        "random forest": sklearn.ensemble.RandomForestClassifier(**common),
    }
    for package, models in (("hedgerow", ours), ("sklearn", theirs)):
        for name, model in models.items():
            yield package, f"{name} fit", lambda model=model: model.fit(X, y)
            yield package, f"{name} predict", lambda model=model: model.predict(X)


def file_calls(folder: Path) -> Iterator[tuple[str, str, Call]]:
    """Yield calls on files: a streamed fit, save and load, and `hedgerow train`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = make_classification(ROWS, COLUMNS, random_state=0)
    table = pa.table({f"x{i}": column for i, column in enumerate(X.T)} | {"label": y})
    pq.write_table(table, folder / "rows.parquet")
    model = hedgerow.GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0)
    yield (
        "hedgerow",
        "gradient boosting fit of a Parquet file",
        lambda: model.fit(str(folder / "rows.parquet"), target="label"),
    )
    path = folder / "model.hedgerow"
    yield "hedgerow", "save", lambda: hedgerow.save(model, path)
    yield "hedgerow", "load", lambda: hedgerow.load(path)
    command = ["train", str(folder / "rows.parquet"), "--target", "label", "--method", "gradient"]
    yield "hedgerow", "hedgerow train", lambda: _run([*command, "--out", str(path), "--force"])


def dask_calls() -> Iterator[tuple[str, str, Call]]:
    """Yield the fit of a Dask Array; frames of the workers, in other processes, are not counted."""
    import dask.array
    from distributed import Client, LocalCluster

    X, y = make_classification(ROWS, COLUMNS, random_state=0)
    rows, target = dask.array.from_array(X, chunks=(500, COLUMNS)), dask.array.from_array(y, chunks=500)
    model = hedgerow.GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield "hedgerow", "gradient boosting fit of a Dask Array", lambda: model.fit(rows, target)


def _run(arguments: list[str]) -> None:
    from hedgerow.cli import main

    try:
        main(arguments)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"hedgerow {' '.join(arguments)} ended with {end.code}") from end


def main() -> None:
    """Trace every call and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files of every call")
    parser.add_argument("--only", default="", help="trace the calls whose name contains this")
    parser.add_argument("--arrays", action="store_true", help="trace estimators on NumPy arrays only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory(prefix="hedgerow-trace-") as folder:
        more = () if options.arrays else (*file_calls(Path(folder)),)
        for calls in (estimator_calls(), more, () if options.arrays else dask_calls()):
            for package, name, call in calls:
                call()
                if options.only not in name:
                    continue
                files, deepest = trace(package, call)
                print(f"{package:9} {name:42} {len(files):3} files, {deepest:3} frames")
                if options.files:
                    print("   ", " ".join(sorted(files)))


if __name__ == "__main__":
    main()
