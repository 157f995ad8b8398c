"""Fits that are killed and resumed from their checkpoint: the model is the same as without kills.

    python tests/support/kill_fits.py --kills 100 --seed 0

A child fits with a checkpoint and is killed at a random moment; another one resumes with the same call, and
so on until one finishes. The bytes of its model must be those of an uninterrupted fit without checkpoint.
After every kill the checkpoint, if there is one, must load as a model with at least as many rounds as after
the previous kill. The exit code is 1 if anything differs.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import hedgerow as hr
import trainer_cases
from hedgerow.container import ModelFileError
from hedgerow.io.checkpoints import ModelStore
from hedgerow.io.models import from_bytes, to_bytes
from kill_children import argument_parser, log, run_and_kill

PER_CASE = 3  # kills per case, approximately
MOST = 40  # kills of one fit; then it may finish


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.02] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=n) / 2
    return X, signal


X, SIGNAL = table()
TWO, THREE = (SIGNAL > 1).astype(int), np.digitize(SIGNAL, [0.3, 1.5])
NO_GAPS = np.nan_to_num(X)  # for learners that refuse missing values


class Case(NamedTuple):
    """A fit: a function that makes the estimator, its data, and the arguments of `Checkpoint` and `fit`."""

    make: Any
    y: Any
    X: Any = X
    frequency: dict = {"rounds": 1}  # noqa: RUF012 - arguments of hr.Checkpoint; empty for a plain path
    fit_arguments: dict = {}  # noqa: RUF012

    def fit(self, path=None):
        """Return the bytes of the fitted model."""
        model = self.make()
        checkpoint = None
        if path is not None:
            checkpoint = hr.Checkpoint(path, **self.frequency) if self.frequency else path
        return to_bytes(model.fit(self.X, self.y, checkpoint=checkpoint, **self.fit_arguments))


class Training(NamedTuple):
    """The training of a cascade, whose checkpoint is a parameter."""

    parameters: dict

    def fit(self, path=None):
        return trainer_cases.packed(trainer_cases.fitted(checkpoint=path, **self.parameters))


def warm_started(model, y, n_rounds):
    """Return a function that creates a fitted model with `warm_start` and more rounds."""
    data = cache(lambda: to_bytes(model.fit(X, y)))
    return lambda: from_bytes(data()).set_params(n_estimators=n_rounds, warm_start=True)


def make_cases():
    """Return a case for each kind of fit and each use of random numbers."""
    rounds, drawn = {"n_estimators": 40}, {"n_estimators": 40, "random_state": 3}
    stopping = {"early_stopping": True, "n_iter_no_change": 15}
    trees = {"n_estimators": 25, "random_state": 1}
    half = X[:500], X[500:]
    return {
        "gradient boosting of classes": Case(lambda: hr.GradientBoostingClassifier(**rounds), THREE),
        "gradient boosting, subsample, early stopping": Case(
            lambda: hr.GradientBoostingRegressor(
                n_estimators=200, subsample=0.6, max_features=0.5, random_state=2, **stopping
            ),
            SIGNAL,
        ),
        "gradient boosting, eval_set, huber, plain path": Case(
            lambda: hr.GradientBoostingRegressor(loss="huber", early_stopping=True, **drawn),
            SIGNAL[:500],
            half[0],
            {},
            {"eval_set": [(half[1], SIGNAL[500:])]},
        ),
        "gradient boosting, every 0.02 s, weighted": Case(
            lambda: hr.GradientBoostingClassifier(n_jobs=2, n_estimators=150),
            TWO,
            X,
            {"seconds": 0.02},
            {"sample_weight": np.arange(len(X)) % 5},
        ),
        "gradient boosting, warm start": Case(
            warm_started(
                hr.GradientBoostingRegressor(n_estimators=10, subsample=0.5, random_state=5), SIGNAL, 40
            ),
            SIGNAL,
        ),
        "gradient boosting of learners": Case(
            lambda: hr.GradientBoostingRegressor(estimator=hr.DecisionTreeRegressor(max_depth=2), **drawn),
            SIGNAL,
        ),
        "adaboost": Case(lambda: hr.AdaBoostClassifier(**rounds), TWO),
        "adaboost samme, resample": Case(
            lambda: hr.AdaBoostClassifier(
                hr.DecisionTreeClassifier(max_depth=2), algorithm="samme", resample=True, **drawn
            ),
            THREE,
        ),
        "adaboost m1, restart": Case(
            lambda: hr.AdaBoostClassifier(
                algorithm="m1", on_chance="restart", n_estimators=25, random_state=3
            ),
            THREE,
        ),
        "adaboost real": Case(
            lambda: hr.AdaBoostClassifier(algorithm="real", **rounds), TWO, X, {"rounds": 7}
        ),
        "adaboost gentle, early stopping": Case(
            lambda: hr.AdaBoostClassifier(algorithm="gentle", early_stopping=True, **drawn), THREE
        ),
        "adaboost, warm start": Case(
            warm_started(hr.AdaBoostClassifier(n_estimators=10, resample=True, random_state=5), TWO, 40), TWO
        ),
        "adaboost of another library's learners": Case(
            lambda: hr.AdaBoostClassifier(GaussianNB(), resample=True, on_chance="restart", **drawn),
            TWO,
            NO_GAPS,
        ),
        "adaboost.r2": Case(
            lambda: hr.AdaBoostRegressor(hr.DecisionTreeRegressor(max_depth=3), loss="square", **rounds),
            SIGNAL,
        ),
        "logitboost": Case(lambda: hr.LogitBoostClassifier(**rounds), THREE),
        "anyboost": Case(lambda: hr.AnyBoostClassifier(cost="sigmoid", **rounds), TWO),
        "Schapire": Case(lambda: hr.SchapireBoostClassifier(depth=3, random_state=0), TWO),
        "random forest, out of bag": Case(
            lambda: hr.RandomForestClassifier(oob_score=True, n_jobs=2, **trees), THREE
        ),
        "random forest of numbers": Case(
            lambda: hr.RandomForestRegressor(oob_score=True, **trees), SIGNAL, X, {"rounds": 4}
        ),
        "random forest, warm start": Case(
            warm_started(hr.RandomForestClassifier(n_estimators=5, random_state=5), TWO, 25), TWO
        ),
        "extra trees, out of bag": Case(
            lambda: hr.ExtraTreesClassifier(bootstrap=True, oob_score=True, **trees), TWO
        ),
        "extra trees of numbers": Case(lambda: hr.ExtraTreesRegressor(**trees), SIGNAL, X, {"seconds": 0.01}),
        "bag": Case(lambda: hr.BaggingClassifier(oob_score=True, **trees), THREE),
        "bag of numbers": Case(
            lambda: hr.BaggingRegressor(max_features=0.5, **trees), SIGNAL, X, {"rounds": 3}
        ),
        "bag of boosters": Case(
            lambda: hr.BaggingClassifier(
                hr.AdaBoostClassifier(hr.DecisionStump(), n_estimators=5), n_jobs=2, **trees
            ),
            TWO,
        ),
        "gradient boosting of another library's learners": Case(
            lambda: hr.GradientBoostingRegressor(estimator=Ridge(), **drawn), SIGNAL, NO_GAPS
        ),
        "bag of another library's learners": Case(
            lambda: hr.BaggingClassifier(LogisticRegression(), n_estimators=15, random_state=1), TWO, NO_GAPS
        ),
        "cascade": Training({"n_stages": 4}),
    }


def rounds_in(path):
    """The number of rounds, trees or stages of a checkpoint; 1 if it does not have one."""
    if not path.exists():
        return 0
    try:
        model = hr.load(path)
    except ModelFileError:  # an incomplete vote of three hypotheses cannot predict
        model, _ = ModelStore().read(path, ())
    for name in ("n_stages", "n_estimators_"):
        if hasattr(model, name):
            return int(getattr(model, name))
    return len(getattr(model, "estimators_", ())) or 1


def measured(case, folder):
    """The seconds of an uninterrupted fit with checkpoints, and the bytes of its model."""
    expected = case.fit()  # loads the kernels, before the time is measured
    start, path, result = time.perf_counter(), folder / "uninterrupted", folder / "uninterrupted bytes"
    run_and_kill(fitting(case, path, result), None)
    seconds = time.perf_counter() - start
    assert result.read_bytes() == expected, "the bytes of a fit with a checkpoint differ from those without"
    return seconds, expected


def fitting(case, path, result):
    """The work of a child."""

    def work(send):
        send(b"(")
        result.write_bytes(case.fit(path))
        send(b")")

    return work


def kill_case(case, folder, rng, share):
    """Kill a fit repeatedly until it finishes; return counts of the events."""
    counts, (seconds, expected) = Counter(), measured(case, folder)
    path, result = folder / "checkpoint", folder / "bytes"
    before = 0
    for turn in range(MOST + 1):
        counts["resumed after round 0"] += before > 0
        limit = None if turn == MOST else rng.uniform(0, share * seconds)
        if not run_and_kill(fitting(case, path, result), limit).killed:
            break
        counts["kills"] += 1
        now = rounds_in(path)
        assert now >= before, f"the checkpoint had {before} rounds, and now it has {now}"
        before = now
    assert result.read_bytes() == expected, f"the bytes differ after {counts['kills']} kills"
    fitted_again = folder / "bytes of a finished fit"
    run_and_kill(fitting(case, path, fitted_again), None)
    assert fitted_again.read_bytes() == expected, "the bytes of a resumed finished fit differ"
    counts["temporary files left"] += sum(one.name.startswith(".") for one in folder.iterdir())
    counts["fits"] += 1
    return counts


def kill_fits(kills, seed, folder, log=log, only=None):
    """Return counts over all cases, or over a sample of them for few kills, and the names of failed cases."""
    rng, total, failed = random.Random(f"fits {seed}"), Counter(), []
    cases = make_cases()
    names = [name for name in cases if only is None or only in name]
    if kills < PER_CASE * len(names):
        names = rng.sample(names, max(1, kills // PER_CASE))
    turn = 0
    while total["kills"] < kills or turn < len(names):
        name, turn = names[turn % len(names)], turn + 1
        inner = folder / str(turn)
        inner.mkdir()
        try:
            counts = kill_case(cases[name], inner, rng, 2 / (PER_CASE + 1))
        except Exception as error:  # noqa: BLE001 - the other cases are still run
            failed.append(name)
            log(f"{name}: FAILED: {error}")
            if len(failed) >= len(names):
                break
            continue
        total += counts
        log(f"{name}: {counts['kills']} kills, {counts['resumed after round 0']} resumed after round 0")
    return total, failed


def main():
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--only", help="run only cases whose name contains this")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        total, failed = kill_fits(options.kills, options.seed, Path(folder), only=options.only)
    log(
        f"{total['kills']} kills of {total['fits']} fits in {time.perf_counter() - start:.0f} s, "
        f"{total['resumed after round 0']} of them resumed after round 0, {total['temporary files left']} "
        f"temporary files left: "
        + (f"{len(failed)} fits FAILED" if failed else "the bytes of all models are the same")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
