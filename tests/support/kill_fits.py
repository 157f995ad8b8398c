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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import hedgerow as hr
import trainer_cases
from checkpoint_cases import Case, cases, rows
from hedgerow.container import ModelFileError
from hedgerow.io.checkpoints import ModelStore
from hedgerow.io.models import to_bytes
from kill_children import argument_parser, log, run_and_kill

PER_CASE = 3  # kills per case, approximately
MAX_KILLS = 40  # of one fit; then it may finish
N_ROUNDS = 40  # at least


@dataclass
class Fit:
    """A fit of a case, and the arguments of `Checkpoint`; none for a plain path."""

    case: Case
    frequency: dict[str, Any] = field(default_factory=lambda: {"rounds": 1})

    def fit(self, path=None):
        """Return the bytes of the fitted model."""
        checkpoint = path if path is None or not self.frequency else hr.Checkpoint(path, **self.frequency)
        return to_bytes(self.case.fit(checkpoint=checkpoint))


class WarmStarted(Case):
    """The fit of a fitted model with `warm_start` and 30 more rounds."""

    def fit(self, **more):
        model, (X, targets) = super().fit(), rows()
        model.set_params(n_estimators=model.n_estimators + 30, warm_start=True)
        return model.fit(X, targets[self.target], **more)


class Training(NamedTuple):
    """The training of a cascade, whose checkpoint is a parameter."""

    parameters: dict

    def fit(self, path=None):
        return trainer_cases.packed(trainer_cases.fitted(checkpoint=path, **self.parameters))


def make_cases():
    """Return the cases of `checkpoint_cases` with more rounds, warm starts, and other frequencies."""
    found, left_out = {}, ("foreign gradient", "foreign votes")  # these need `trusted`, or stop early
    for name, case in cases().items():
        if name in left_out:
            continue
        n_rounds = getattr(case.model, "n_estimators", None)
        longer = {} if n_rounds is None else {"n_estimators": max(N_ROUNDS, n_rounds)}
        found[name] = Fit(replace(case, model=clone(case.model).set_params(**longer)))
    few, rounds = {"n_estimators": 10, "random_state": 5}, {"n_estimators": N_ROUNDS, "random_state": 3}
    two_trees = hr.DecisionTreeClassifier(max_depth=2)
    boosters = hr.BaggingClassifier(hr.AdaBoostClassifier(hr.DecisionStump(), n_estimators=5), n_jobs=2)
    weighted = {"sample_weight": np.arange(len(rows()[0])) % 5}
    return found | {
        "plain path": Fit(Case(hr.GradientBoostingRegressor(loss="huber", **rounds), "numbers"), {}),
        "every 0.02 s, weighted": Fit(
            Case(hr.GradientBoostingClassifier(n_jobs=2, n_estimators=150), "two", weighted),
            {"seconds": 0.02},
        ),
        "every 7 rounds": Fit(Case(hr.AdaBoostClassifier(algorithm="real", **rounds)), {"rounds": 7}),
        "forest, every 0.01 s": Fit(Case(hr.ExtraTreesRegressor(**rounds), "numbers"), {"seconds": 0.01}),
        "gradient, warm start": Fit(
            WarmStarted(hr.GradientBoostingRegressor(subsample=0.5, **few), "numbers")
        ),
        "resampled, warm start": Fit(
            WarmStarted(hr.AdaBoostClassifier(resample=True, on_chance="restart", **few))
        ),
        "forest, warm start": Fit(WarmStarted(hr.RandomForestClassifier(**few))),
        "gradient of learners": Fit(
            Case(
                hr.GradientBoostingRegressor(estimator=hr.DecisionTreeRegressor(max_depth=2), **rounds),
                "numbers",
            )
        ),
        "samme, resampled": Fit(
            Case(hr.AdaBoostClassifier(two_trees, algorithm="samme", resample=True, **rounds), "three")
        ),
        "ridge": Fit(Case(hr.GradientBoostingRegressor(estimator=Ridge(), **rounds), "numbers", clean=True)),
        "m1, restart": Fit(
            Case(hr.AdaBoostClassifier(algorithm="m1", on_chance="restart", **rounds), "three")
        ),
        "foreign, resampled, restart": Fit(
            Case(
                hr.AdaBoostClassifier(GaussianNB(), resample=True, on_chance="restart", **rounds), clean=True
            )
        ),
        "bag of boosters": Fit(Case(boosters.set_params(n_estimators=25, random_state=1))),
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
    for turn in range(MAX_KILLS + 1):
        counts["resumed after round 0"] += before > 0
        limit = None if turn == MAX_KILLS else rng.uniform(0, share * seconds)
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
    parser.add_argument("--folder", help="folder of the temporary files")
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
