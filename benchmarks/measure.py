"""One library measured in one process: the child that `gradient_boosting.py` starts.

Reads a job as JSON from its first argument and prints a `Measurement` as JSON on its last line.
The order matters: import the library, load the training arrays, record the memory, fit once on a
few rows (so that compiling and loading are not timed), measure fits, record the peak, and only
then load the test rows.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peers import LIBRARIES, Library, Task

WARM_ROWS = 1000  # rows of the fit before timing: enough to use every kernel
PREDICT_REPEATS = 3
ONE_ROW_CALLS = 200


@dataclass(frozen=True)
class Job:
    """The work of the child process."""

    library: str  # a key of LIBRARIES
    folder: str  # holds X_train.npy, y_train.npy, X_test.npy, y_test.npy
    task: Task = field(default_factory=Task)
    fits: int = 1  # the best of so many fits is reported

    @staticmethod
    def from_json(text: str) -> "Job":
        """Read a job written by `to_json`."""
        fields = json.loads(text)
        return Job(**{**fields, "task": Task(**fields["task"])})

    def to_json(self) -> str:
        """Write the job for the child's command line."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Measurement:
    """The measurements of one child process."""

    fit_s: float
    predict_s: float  # all test rows
    one_row_us: float
    peak_mb: float
    extra_mb: float  # peak minus the memory after loading the library and the training rows
    accuracy: float
    log_loss: float
    auc: float | None  # two classes only


def peak_mb() -> float:
    """Return the largest resident memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes, Linux KiB


def resident_mb() -> float:
    """Return the resident memory, or the peak if the system does not report it."""
    return _status_mb("VmRSS")


def reset_peak() -> None:
    """Reset the peak of resident memory, if the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_since_mb() -> float:
    """Return the peak of resident memory since `reset_peak`, or of the whole process."""
    return _status_mb("VmHWM")


def _status_mb(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return peak_mb()
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 2**10


def best_of(repeats: int, function: Callable[..., object], *arguments: object) -> float:
    """Return the shortest of `repeats` timings of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def warm_up(library: Library, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
    """Fit on a few rows with every class, and predict many rows and one."""
    _, first = np.unique(y, return_index=True)
    rows = np.union1d(first, np.arange(min(WARM_ROWS, len(y))))
    library.fit(X[rows], y[rows])
    library.predict_proba(X[rows])
    library.predict_proba(X[:1])


def one_row_us(library: Library, X: NDArray[np.float32]) -> float:
    """Return the median time to predict one row, over many different rows."""
    times = []
    for i in range(ONE_ROW_CALLS):
        row = X[i % len(X)][None, :]
        start = time.perf_counter()
        library.predict_proba(row)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def quality(probabilities: NDArray[np.floating], y: NDArray[np.int64]) -> dict[str, float | None]:
    """Score probabilities of shape (n_rows,) or (n_rows, n_classes)."""
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    p = p / p.sum(axis=1, keepdims=True)  # rows of float32 sum to one approximately
    return {
        "accuracy": float(accuracy_score(y, p.argmax(axis=1))),
        "log_loss": float(log_loss(y, p, labels=np.arange(p.shape[1]))),
        "auc": float(roc_auc_score(y, p[:, 1])) if p.shape[1] == 2 else None,
    }


def measure(job: Job) -> Measurement:
    """Run one job."""
    library = LIBRARIES[job.library](job.task)
    folder = Path(job.folder)
    X, y = np.load(folder / "X_train.npy"), np.load(folder / "y_train.npy")
    before = resident_mb()
    warm_up(library, X, y)
    fit_s = best_of(job.fits, library.fit, X, y)
    peak = peak_mb()
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    predict_s = best_of(PREDICT_REPEATS, library.predict_proba, X_test)
    return Measurement(
        fit_s=fit_s,
        predict_s=predict_s,
        one_row_us=one_row_us(library, X_test),
        peak_mb=peak,
        extra_mb=peak - before,
        **quality(library.predict_proba(X_test), y_test),
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Job.from_json(sys.argv[1])))))
