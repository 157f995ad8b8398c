"""Processes that are killed while they save: the file must be the old model or the new one, whole.

    python tests/support/kill_saves.py --kills 100 --seed 0

A child saves two models of very different size over and over onto one path, and is killed at a random moment;
every second kill is aimed at the short time between the end of writing and the renaming. The child tells when
it begins a save and when it has ended one. Hence it is known what must be in the file after the
kill: between two saves the model of the last one; within a save that one, or the one of the save. Either way
the file must hold it byte for byte, and `hedgerow.load` must give a model that predicts the same bits.

Where the system has unnamed files (Linux), a killed save leaves a temporary file only in the moment of the
renaming. Such a file must not be taken for the model, nor disturb later saves to the same folder. The exit
code is 1 if anything was lost.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hedgerow
from cascade_files import make_model
from hedgerow import DecisionStump, GradientBoostingRegressor, RandomForestClassifier
from hedgerow.vision import Cascade
from kill_children import run_and_kill

BEGIN, WRITTEN, END = b"(", b"w", b")"
RENAMING = 0.002  # seconds around which a written file is brought to the disk and renamed


class Pair(NamedTuple):
    """Two models that take turns on one path, the bytes of their files, and how both are asked."""

    name: str
    models: tuple[Any, Any]
    files: tuple[bytes, bytes]
    ask: Any
    seconds: float  # that a save of both takes


def make_pairs(folder):
    """A pair of models of different kinds, two of one kind, and two cascades."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X)) > 1).astype(int)
    stump, forest = DecisionStump().fit(X[:50], y[:50]), RandomForestClassifier(250, random_state=0).fit(X, y)
    few, many = (GradientBoostingRegressor(n_estimators=n).fit(X, X[:, 0]) for n in (1, 600))
    cascades = [Cascade(make_model(stages=n, trees=20 * n), {"stages": n}) for n in (1, 25)]
    return [
        measured(folder, "a stump and a forest", (stump, forest), lambda model: model.predict_proba(X[:99])),
        measured(folder, "few trees and many", (few, many), lambda model: model.predict(X[:99])),
        measured(folder, "cascades", cascades, arrays_of),
    ]


def arrays_of(cascade):
    return np.concatenate([array.ravel().astype(np.float64) for array in cascade.model.arrays().values()])


def measured(folder, name, models, ask):
    """The pair, saved once each in peace."""
    path, files, start = Path(folder) / "in peace", [], time.perf_counter()
    for model in models:
        hedgerow.save(model, path)
        files.append(path.read_bytes())
    seconds = time.perf_counter() - start
    path.unlink()
    assert files[0] != files[1]
    return Pair(name, tuple(models), tuple(files), ask, seconds)


def save_for_ever(pair, path, first):
    """What the child does; saves number `first`, `first` + 1, ... are of one model and the other in turn."""

    def work(tell):
        number, bring_to_disk = first, os.fsync

        def fsync(handle):
            tell(WRITTEN)
            bring_to_disk(handle)

        os.fsync = fsync  # of this process alone, which is killed
        while True:
            tell(BEGIN)
            hedgerow.save(pair.models[number % 2], path)
            tell(END)
            number += 1

    return work


def kill_once(pair, path, held, rng, *, aimed):
    """Kill a child in its saves; the file held model `held` before. What was found: in words, and which."""
    seconds = rng.uniform(0, RENAMING if aimed else 6 * pair.seconds)
    ended = run_and_kill(save_for_ever(pair, path, held + 1), seconds, WRITTEN if aimed else BEGIN)
    assert ended.killed
    begun, done = ended.told.count(BEGIN), ended.told.count(END)
    assert begun - done in (0, 1), ended.told
    last = (held + done) % 2
    found = path.read_bytes()
    within = begun > done
    allowed = {"old": last, "new": 1 - last} if within else {"between saves": last}
    kinds = [kind for kind, which in allowed.items() if found == pair.files[which]]
    assert kinds, f"{pair.name}: the file is neither model, or a lost one ({len(found)} bytes)"
    return kinds[0], allowed[kinds[0]]


def check_loads(pair, path, which):
    """The file as users read it."""
    said = pair.ask(hedgerow.load(path))
    np.testing.assert_array_equal(said, pair.ask(pair.models[which]))


def kill_saves(kills, seed, folder, say=lambda _: None):
    """Counts of what the kills found."""
    rng, counts = random.Random(f"saves {seed}"), Counter()
    pairs = make_pairs(folder)
    held = {}
    for pair in pairs:
        sizes = " and ".join(f"{len(data):,}" for data in pair.files)
        say(f"{pair.name}: {sizes} bytes, saved in {1000 * pair.seconds:.0f} ms")
        hedgerow.save(pair.models[0], folder / pair.name)
        held[pair.name] = 0
    before = set()
    for number in range(kills):
        pair = rng.choice(pairs)
        path = folder / pair.name
        kind, held[pair.name] = kill_once(pair, path, held[pair.name], rng, aimed=number % 2 == 1)
        check_loads(pair, path, held[pair.name])
        left = {one.name for one in folder.iterdir()} - {one.name for one in pairs}
        counts["kills"] += 1
        counts[kind] += 1
        counts["temporary"] += len(left) > len(before)
        before = left
    for pair in pairs:  # beside what was left, a save is what it always was
        for model, data in zip(pair.models, pair.files, strict=True):
            hedgerow.save(model, folder / pair.name)
            assert (folder / pair.name).read_bytes() == data
    assert before == {one.name for one in folder.iterdir()} - {one.name for one in pairs}
    assert all(name.startswith(".") for name in before)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="where the files are; a temporary folder if not given")
    given = parser.parse_args()

    def say(text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        try:
            counts = kill_saves(given.kills, given.seed, Path(folder), say)
        except AssertionError as error:
            say(f"LOST: {error}")
            return 1
    within = counts["old"] + counts["new"]
    say(
        f"{counts['kills']} kills in {time.perf_counter() - start:.0f} s: {within} within a save "
        f"({counts['old']} left the old file, {counts['new']} the new one; {counts['temporary']} also a "
        f"temporary one), {counts['between saves']} between saves; nothing was lost"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
