"""Compiling the kernels before anything is timed.

On a fresh machine that takes most of a quick run. A process compiles one kernel at a time, so a second one
compiles those of the forests meanwhile and leaves them in Numba's cache, where the first finds them. When
that does not work (one core, no cache that can be written) the first compiles them itself.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from hedgerow.experiments.methods import VOTING, Maker
from hedgerow.experiments.problems import Problem

_ROWS = 600  # more than 255 values a column, so that wide and narrow codes are both met
_OTHER = (
    "import numpy as np; from hedgerow import RandomForestClassifier as F; "
    "X = np.arange(60.0).reshape(20, 3); y = np.arange(20) % 2; "
    "F(n_estimators=2, random_state=0, n_jobs=1).fit(X, y).predict(X)"
)


class SecondProcess:
    """Compiles the kernels of forests while the body of a `with` compiles others; the end waits for it."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.wanted = wanted and (os.cpu_count() or 1) > 1
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if self.wanted:
            quiet = subprocess.DEVNULL
            command = [sys.executable, "-c", _OTHER]
            try:
                self.process = subprocess.Popen(  # noqa: S603 - this Python, on the text above
                    command, stdin=quiet, stdout=quiet, stderr=quiet
                )
            except OSError:  # no second process: slower, and no worse
                self.process = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is None:
            return
        if error is not None:
            self.process.kill()
        self.process.wait()


def compile_kernels(problems: Sequence[Problem], names: Sequence[str], maker: Maker) -> None:
    """Fit and ask every method once, on a few rows of every problem."""
    small = Maker(learners=2, trees=2, members=2, random_state=maker.random_state, n_jobs=maker.n_jobs)
    voting = [name for name in names if name in VOTING]
    with SecondProcess(wanted=bool(voting)):
        for name in names:
            if name not in VOTING:
                _try(problems, name, small)
    for name in voting:
        _try(problems, name, small)


def _try(problems: Sequence[Problem], name: str, maker: Maker) -> None:
    for problem in problems:
        rows = np.arange(min(_ROWS, len(problem.y)))
        if len(np.unique(problem.y[rows])) > 1:
            model = maker.make(name).fit(problem.X[rows], problem.y[rows])
            model.predict(problem.X[rows])
            if hasattr(model, "staged_predict"):
                list(model.staged_predict(problem.X[rows]))
