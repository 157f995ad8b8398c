"""Mutated model files: each must load and predict, or be refused with ModelFileError.

    python tests/support/fuzz_models.py --mutants 200000 --format 1 --seed 0

Files of one format (or of all, `--format all`) are changed at random: bytes, the table of arrays, values of
the description, the arrays; mostly with a correct checksum. Two processes with limits of time and memory
read them. A mutant is determined by the seed and its number:

    python tests/support/fuzz_models.py --format 1 --seed 0 --only 1234 --keep folder

The last lines are the counts by outcome, the slowest file and the memory. The exit code is 1 if a file
failed. With `--keep`, the failed files are left in a folder.
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

import fuzz_seeds
from fuzz_archives import changed_archive, is_archive
from fuzz_cascades import changed_xml
from fuzz_changes import changed_array, changed_file, opened
from fuzz_runner import run
from hedgerow.container import ModelFileError
from hedgerow.io import load, load_card, load_certificate
from hedgerow.io.models import to_bytes
from hedgerow.theory import certify
from kill_children import log

METHODS = (
    *("predict_proba", "decision_function", "apply", "staged_predict", "staged_predict_proba"),
    *("predict_interval", "predict_quantiles"),
)
ATTRIBUTES = ("estimators_", "estimators_samples_", "feature_importances_")
THOROUGH = 3  # every third model is checked with all methods, which is much slower
LARGE = 100  # every hundredth file is made from a large one
MAX_COLUMNS = 10_000  # of rows for a model whose number of columns was changed


# --- mutants


class Mutant(NamedTuple):
    """A changed file, as bytes and possibly on the disk, and the valid file that it was made from."""

    data: bytes
    seed: Any
    path: Path | None = None


class Mutants:
    """The mutated files of a format; `change` mutates an unpacked file, with contents of another one."""

    def __init__(self, name, seed, seeds, unpack=opened, change=None):
        self.name, self.seed, self.change = name, seed, change or changed_model
        self.small = [(one, unpack(one.data)) for one in seeds if not one.large]
        self.large = [(one, unpack(one.data)) for one in seeds if one.large]
        self.folder = None

    def make(self, number):
        """Return a mutant by its number; one model in `THOROUGH` is also written to a file."""
        rng = random.Random(f"{self.name} {self.seed} {number}")
        is_large = self.large and number % LARGE == 0
        origin, file = rng.choice(self.large if is_large else self.small)
        data = self.change(file, rng, rng.choice(self.small)[1])
        path = None
        if self.folder is not None and origin.rows is not None and number % THOROUGH == 0:
            path = self.write(data)
        return Mutant(data, origin, path)

    def write(self, data):
        path = Path(self.folder) / f"{os.getpid()}.safetensors"
        path.write_bytes(data)
        return path

    def warm_up(self):
        """Import and compile everything, and check that the valid files load."""
        for seed, _ in self.small + self.large:
            path = None if seed.rows is None else self.write(seed.data)
            assert outcome(Mutant(seed.data, seed, path)) in ("loaded", "resumed"), seed.name


def changed_model(file, rng, other):
    """Mutate a model file; most archives of other libraries are changed by their contents."""

    def changed(array, rng):
        if is_archive(array) and rng.random() < 0.9:
            return changed_archive(array, rng)
        return changed_array(array, rng)

    return changed_file(file, rng, other, changed)


FORMATS = {
    "1": lambda seed: Mutants("1", seed, [*fuzz_seeds.stored(), *fuzz_seeds.current()]),
    "foreign": lambda seed: Mutants("foreign", seed, fuzz_seeds.foreign()),
    "checkpoint": lambda seed: Mutants("checkpoint", seed, fuzz_seeds.checkpoints()),
    "cascade": lambda seed: Mutants("cascade", seed, fuzz_seeds.cascades(packed=True)),
    "opencv": lambda seed: Mutants("opencv", seed, fuzz_seeds.cascades(packed=False), bytes, changed_xml),
}


# --- outcomes


def outcome(mutant):
    """Read a file and return the outcome; errors other than a refusal are raised.

    A mutant with a path is read from the disk and checked with all methods.
    """
    seed, path = mutant.seed, mutant.path
    try:
        with warnings.catch_warnings(record=seed.foreign) as caught:
            warnings.simplefilter("always" if seed.foreign else "error")
            model = seed.read(mutant.data) if path is None or seed.resume else read_all(path)
        for one in caught or ():  # also warnings of scikit-learn about members of another version
            if not issubclass(one.category, InconsistentVersionWarning):
                check_message(str(one.message))
    except ModelFileError as error:
        check_message(str(error))
        return "refused"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if seed.resume is not None and path is not None:
            return resumed(seed, path)
        if not hasattr(model, "n_features_in_"):  # a cascade, or the checkpoint of an unfinished fit
            return "loaded"
        if not any(predicts(model, rows, path is not None) for rows in (seed.rows, other_rows(model))):
            return "declined"  # predictions overflow, or the number of columns is too large
        if path is not None:
            check_attributes(model, Exception if seed.foreign else ValueError)
    return "loaded"


def check_message(message):
    assert 0 < len(message) < 1000, f"a message of {len(message)} characters"
    assert message.isprintable(), f"a message that is not printable: {message!r:.300}"


def resumed(seed, path):
    """Resume a fit from the checkpoint; a ValueError is a refusal."""
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
    """Rows with as many columns as the model has."""
    n = min(model.n_features_in_, MAX_COLUMNS)
    rows = np.random.default_rng(n).normal(size=(4, n)) * [[1.0], [1e-3], [1e6], [1.0]]
    rows[3] = np.nan
    return rows


def predicts(model, rows, thorough):
    """Whether the model predicts; all predictions must be finite, one per row."""
    try:
        predicted = model.predict(rows)
    except ValueError:
        return False
    check("predict", predicted, rows)
    for name in METHODS if thorough else ():
        method = getattr(model, name, None)
        if method is not None:
            with contextlib.suppress(ValueError, AttributeError):  # apply requires trees
                result = method(rows)
                for one in [result] if isinstance(result, np.ndarray) else result:
                    check(name, one, rows)
    return True


def check(name, result, rows):
    assert len(result) == len(rows), name
    if result.dtype.kind == "f":  # intervals may be infinite if there are few training rows
        valid = ~np.isnan(result) if name == "predict_interval" else np.isfinite(result)
        assert valid.all(), f"{name} is not finite"


def check_attributes(model, allowed):
    """Read attributes, certify, and save the loaded model; errors of the type `allowed` are accepted."""
    for name in ATTRIBUTES:
        with contextlib.suppress(allowed):
            getattr(model, name, None)
    if is_classifier(model):
        with contextlib.suppress(allowed):
            certify(model)
    with contextlib.suppress(*([] if allowed is ValueError else [allowed])):
        assert len(repr(model)) > 0
        to_bytes(model)


# --- running


def fuzz(name, seed, n_mutants, folder, **limits):
    """Run the trials of a format; write the files of failures to the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        mutants = FORMATS[name](seed)
        mutants.folder = scratch
        mutants.warm_up()
        may_write = name == "checkpoint"
        result = run(mutants.make, outcome, n_mutants, folder, may_write=may_write, **limits)
        for failure in result.failures:
            mutant = mutants.make(failure["number"])
            failure["from"] = mutant.seed.name
            (Path(folder) / f"format-{name}-seed-{seed}-number-{failure['number']}").write_bytes(mutant.data)
    return result


def report(name, result, most=20):
    for failure in result.failures[:most]:
        log(f"format {name}, number {failure['number']}, made from {failure['from']!r}: {failure['text']}")
    for line in result.lines():
        log(f"format {name}: {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=10_000, help="number of files per format")
    parser.add_argument("--format", choices=[*FORMATS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="limit of CPU time per file")
    parser.add_argument("--megabytes", type=int, default=256, help="limit of memory per file")
    parser.add_argument("--only", type=int, help="read only this mutant, in this process")
    parser.add_argument("--keep", help="folder for failed files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.keep or scratch)
        folder.mkdir(exist_ok=True, parents=True)
        names = list(FORMATS) if options.format == "all" else [options.format]
        if options.only is not None:
            return only(names[0], options.seed, options.only, folder)
        n_failures = 0
        for name in names:
            limits = {"seconds": options.seconds, "megabytes": options.megabytes}
            result = fuzz(name, options.seed, options.mutants, folder, n_workers=options.workers, **limits)
            report(name, result)
            n_failures += len(result.failures)
    return 1 if n_failures else 0


def only(name, seed, number, folder):
    """Read one mutant and keep its file."""
    mutants = FORMATS[name](seed)
    mutants.folder = folder
    mutant = mutants.make(number)
    (folder / f"only-{number}").write_bytes(mutant.data)
    log(f"number {number} is made from {mutant.seed.name!r}, {len(mutant.data)} bytes")
    warnings.simplefilter("error")
    log(outcome(mutant))
    return 0


if __name__ == "__main__":
    sys.exit(main())
