"""Mutated model files: each must load and then answer, or be refused with ModelFileError.

    python tests/support/fuzz_models.py --mutants 200000 --format 1 --seed 0

Files of a format (or of every one, `--format all`) are changed at random: bytes, the table of arrays, the
description with knowledge of its types, the arrays; mostly with a checksum that fits. They are read by two
processes that may take only so much time and memory. Mutant `number` of a seed is always the same:

    python tests/support/fuzz_models.py --format 1 --seed 0 --only 1234 --keep folder

The last lines give the counts by outcome, the slowest file and the memory; the exit code is 1 if any file
ended in another way than it may. With `--keep`, the files that did are left in a folder.
"""

import argparse
import contextlib
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import InconsistentVersionWarning

import fuzz_cascades
import fuzz_seeds
from cascade_files import large_seeds, small_seeds
from fuzz_archives import changed_archive, is_archive
from fuzz_changes import changed_array, changed_file, opened
from fuzz_running import run
from hedgerow.container import ModelFileError
from hedgerow.io import load, load_card, load_certificate
from hedgerow.io.models import to_bytes
from hedgerow.theory import certify

QUESTIONS = (
    *("predict_proba", "decision_function", "apply", "staged_predict", "staged_predict_proba"),
    *("predict_interval", "predict_quantiles"),
)
KNOWN = ("estimators_", "estimators_samples_", "feature_importances_")
THOROUGH = 3  # of the models that load, one in so many is asked all questions: that takes much longer
MOST_COLUMNS = 10_000  # of rows made for a model with other columns


# --- mutants


class Mutant(NamedTuple):
    """A file, as bytes and perhaps on the disk, and the good one that it was made from."""

    data: bytes
    seed: Any
    path: Path | None = None


class Models:
    """The mutated files of a format: what they are made from, taken apart once."""

    def __init__(self, name, seed, seeds):
        self.name, self.seed, self.seeds = name, seed, seeds
        self.files = [opened(one.data) for one in seeds]
        self.folder = None

    def make(self, number):
        """The mutant of a number; one in `THOROUGH` is also put into a file."""
        rng = random.Random(f"{self.name} {self.seed} {number}")
        place = rng.randrange(len(self.files))
        data = changed_file(self.files[place], rng, rng.choice(self.files), changed)
        path = None
        if self.folder is not None and number % THOROUGH == 0:
            path = Path(self.folder) / f"{os.getpid()}.safetensors"
            path.write_bytes(data)
        return Mutant(data, self.seeds[place], path)

    def outcome(self, mutant):
        return outcome(mutant)

    def warm_up(self):
        """Compile and import what is needed, and see that the files are good."""
        for seed in self.seeds:
            path = Path(self.folder) / "good.safetensors"
            path.write_bytes(seed.data)
            assert outcome(Mutant(seed.data, seed, path)) in ("loaded", "resumed"), seed.name


class Cascades:
    """The same for cascades, in OpenCV's form or in ours."""

    folder = None

    def __init__(self, seed, *, packed):
        self.seed, self.judge = seed, None
        self.small = [one for one in small_seeds() if one.packed == packed]
        self.large = [] if packed else large_seeds()

    def make(self, number):
        data, read = fuzz_cascades.mutated(self.small, self.large, self.seed, number)
        return Mutant(data, fuzz_seeds.Seed("a cascade", data, None, read))

    def outcome(self, mutant):
        return fuzz_cascades.outcome(mutant.data, mutant.seed.read, self.judge)

    def warm_up(self):
        self.judge = fuzz_cascades.find_judge()


def changed(array, rng):
    """An array changed; one that is an archive mostly with regard to what it holds."""
    if is_archive(array) and rng.random() < 0.9:
        return changed_archive(array, rng)
    return changed_array(array, rng)


FORMATS = {
    "1": lambda seed: Models("1", seed, [*fuzz_seeds.stored(), *fuzz_seeds.current()]),
    "foreign": lambda seed: Models("foreign", seed, fuzz_seeds.foreign()),
    "checkpoint": lambda seed: Models("checkpoint", seed, fuzz_seeds.checkpoints()),
    "cascade": lambda seed: Cascades(seed, packed=True),
    "opencv": lambda seed: Cascades(seed, packed=False),
}


# --- what may come of a file


def outcome(mutant):
    """What came of a file, in a word; whatever else happens goes on.

    With a path all that can be asked is asked, and the file is read from there.
    """
    seed, path = mutant.seed, mutant.path
    try:
        with warnings.catch_warnings(record=seed.foreign) as told:
            warnings.simplefilter("always" if seed.foreign else "error")
            model = seed.read(mutant.data) if path is None or seed.resume else read_all(path)
        for one in told or ():  # members of another version of scikit-learn, which has its own words too
            if not issubclass(one.category, InconsistentVersionWarning):
                check_message(str(one.message))
    except ModelFileError as error:
        check_message(str(error))
        return "refused"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if seed.resume is not None and path is not None:
            return resumed(seed, path)
        if not hasattr(model, "n_features_in_"):  # of a fit that is not finished
            return "loaded"
        if not any(answers(model, rows, path is not None) for rows in (seed.rows, other_rows(model))):
            return "declined"  # predictions that overflow, or columns that no rows have
        if path is not None:
            know_itself(model, Exception if seed.foreign else ValueError)
    return "loaded"


def check_message(said):
    assert 0 < len(said) < 1000, f"a message of {len(said)} characters"
    assert said.isprintable(), f"a message with signs that are not for reading: {said!r:.300}"


def resumed(seed, path):
    """A fit goes on from the checkpoint, or says in a ValueError why it does not."""
    try:
        model = seed.resume(path)
    except ValueError:
        return "not resumed"
    check("predict", model.predict(seed.rows), seed.rows)
    return "resumed"


def read_all(path):
    load_card(path)
    load_certificate(path)
    return load(path)


def other_rows(model):
    """Rows for a model that may have other columns than its file had."""
    n = min(model.n_features_in_, MOST_COLUMNS)
    rows = np.random.default_rng(n).normal(size=(4, n)) * [[1.0], [1e-3], [1e6], [1.0]]
    rows[3] = np.nan
    return rows


def answers(model, rows, thorough):
    """Whether the model predicts; all predictions must be finite, one per row."""
    try:
        predicted = model.predict(rows)
    except ValueError:
        return False
    check("predict", predicted, rows)
    for name in QUESTIONS if thorough else ():
        ask = getattr(model, name, None)
        if ask is not None:
            with contextlib.suppress(ValueError, AttributeError):  # apply requires trees
                said = ask(rows)
                for one in [said] if isinstance(said, np.ndarray) else said:
                    check(name, one, rows)
    return True


def check(name, said, rows):
    assert len(said) == len(rows), name
    if said.dtype.kind == "f":  # of few rows, an interval may reach to infinity
        fine = ~np.isnan(said) if name == "predict_interval" else np.isfinite(said)
        assert fine.all(), f"{name} is not finite"


def know_itself(model, clear):
    """What needs no rows; and what could be loaded can be saved."""
    for name in KNOWN:
        with contextlib.suppress(clear):
            getattr(model, name, None)
    if is_classifier(model):
        with contextlib.suppress(clear):
            certify(model)
    with contextlib.suppress(*([] if clear is ValueError else [clear])):
        assert len(repr(model)) > 0
        to_bytes(model)


# --- running


def fuzz(name, seed, n_mutants, folder, **how):
    """The result for a format; the files of failures are put into the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        mutants = FORMATS[name](seed)
        mutants.folder = scratch
        mutants.warm_up()
        may_write = name == "checkpoint"
        result = run(mutants.make, mutants.outcome, n_mutants, folder, may_write=may_write, **how)
        for failure in result.failures:
            mutant = mutants.make(failure["number"])
            failure["from"] = mutant.seed.name
            (Path(folder) / f"format-{name}-seed-{seed}-number-{failure['number']}").write_bytes(mutant.data)
    return result


def report(name, result, say, most=20):
    for failure in result.failures[:most]:
        say(f"format {name}, number {failure['number']}, made from {failure['from']!r}: {failure['text']}")
    for line in result.lines():
        say(f"format {name}: {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=10_000, help="of each format")
    parser.add_argument("--format", choices=[*FORMATS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="that a file may take")
    parser.add_argument("--megabytes", type=int, default=256, help="that a file may take")
    parser.add_argument("--only", type=int, help="one mutant, in this process")
    parser.add_argument("--keep", help="a folder for files that failed")
    given = parser.parse_args()

    def say(text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given.keep or scratch)
        folder.mkdir(exist_ok=True, parents=True)
        names = list(FORMATS) if given.format == "all" else [given.format]
        if given.only is not None:
            return only(names[0], given.seed, given.only, folder, say)
        n_failures = 0
        for name in names:
            how = {"n_workers": given.workers, "seconds": given.seconds, "megabytes": given.megabytes}
            result = fuzz(name, given.seed, given.mutants, folder, **how)
            report(name, result, say)
            n_failures += len(result.failures)
    return 1 if n_failures else 0


def only(name, seed, number, folder, say):
    """One mutant again, with its bytes kept."""
    mutants = FORMATS[name](seed)
    mutants.folder = folder
    mutant = mutants.make(number)
    (folder / f"only-{number}").write_bytes(mutant.data)
    say(f"number {number} is made from {mutant.seed.name!r}, {len(mutant.data)} bytes")
    warnings.simplefilter("error")
    say(mutants.outcome(mutant))
    return 0


if __name__ == "__main__":
    sys.exit(main())
