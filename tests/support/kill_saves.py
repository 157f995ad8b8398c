"""Processes that are killed while they save: the file must be the complete old model or the complete new one.

    python tests/support/kill_saves.py --kills 100 --seed 0

A child saves two models of very different size alternately to one path, and is killed at a random moment;
every second kill is timed between the end of writing and the renaming. The child reports the start and the
end of each save, which determines the expected file: between two saves the model of the last one; during a
save the old model or the new one. The file must be equal byte for byte, and `hedgerow.load` must return a
model that predicts the same bits.

On systems with unnamed files (Linux) a killed save leaves a temporary file only during the renaming. Such a
file must not replace the model or affect later saves to the same folder. The exit code is 1 if a model was
lost.
"""

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
from kill_children import argument_parser, log, run_and_kill

BEGIN, WRITTEN, END = b"(", b"w", b")"
RENAMING = 0.002  # seconds after writing in which the file is flushed to the disk and renamed


class Pair(NamedTuple):
    """Two models that are saved alternately to one path, the bytes of their files, and how they predict."""

    name: str
    models: tuple[Any, Any]
    files: tuple[bytes, bytes]
    predict: Any
    seconds: float  # to save both


def make_pairs(folder):
    """Two models of different kinds, two of the same kind, and two cascades."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X)) > 1).astype(int)
    stump, forest = DecisionStump().fit(X[:50], y[:50]), RandomForestClassifier(80, random_state=0).fit(X, y)
    few, many = (GradientBoostingRegressor(n_estimators=n).fit(X, X[:, 0]) for n in (1, 200))
    cascades = [Cascade(make_model(stages=n, trees=20 * n), {"stages": n}) for n in (1, 10)]
    return [
        measured(folder, "a stump and a forest", (stump, forest), lambda model: model.predict_proba(X[:99])),
        measured(folder, "few trees and many", (few, many), lambda model: model.predict(X[:99])),
        measured(folder, "cascades", cascades, arrays_of),
    ]


def arrays_of(cascade):
    return np.concatenate([array.ravel().astype(np.float64) for array in cascade.model.arrays().values()])


def measured(folder, name, models, predict):
    """Save both models once without a kill; return the pair."""
    path, files, start = Path(folder) / "uninterrupted", [], time.perf_counter()
    for model in models:
        hedgerow.save(model, path)
        files.append(path.read_bytes())
    seconds = time.perf_counter() - start
    path.unlink()
    assert files[0] != files[1]
    return Pair(name, tuple(models), tuple(files), predict, seconds)


def save_forever(pair, path, first):
    """The work of the child: save number k is of model k modulo 2; k starts at `first`."""

    def work(send):
        number, original = first, os.fsync

        def fsync(handle):
            send(WRITTEN)
            original(handle)

        os.fsync = fsync  # only in this process, which is killed
        while True:
            send(BEGIN)
            hedgerow.save(pair.models[number % 2], path)
            send(END)
            number += 1

    return work


def kill_once(pair, path, saved, rng, *, at_renaming):
    """Kill a child that saves; the file holds model `saved` before. Return the result and the model."""
    seconds = rng.uniform(0, RENAMING if at_renaming else 6 * pair.seconds)
    ended = run_and_kill(save_forever(pair, path, saved + 1), seconds, WRITTEN if at_renaming else BEGIN)
    assert ended.killed
    begun, done = ended.sent.count(BEGIN), ended.sent.count(END)
    assert begun - done in (0, 1), ended.sent
    last = (saved + done) % 2
    found = path.read_bytes()
    within = begun > done
    allowed = {"old": last, "new": 1 - last} if within else {"between saves": last}
    kinds = [kind for kind, which in allowed.items() if found == pair.files[which]]
    assert kinds, f"{pair.name}: the file is not an expected model ({len(found)} bytes)"
    return kinds[0], allowed[kinds[0]]


def check_loads(pair, path, which):
    """The loaded model predicts the same bits."""
    np.testing.assert_array_equal(pair.predict(hedgerow.load(path)), pair.predict(pair.models[which]))


def kill_saves(kills, seed, folder, log=log):
    """Count the results of the kills."""
    rng, counts = random.Random(f"saves {seed}"), Counter()
    pairs = make_pairs(folder)
    saved = {}
    for pair in pairs:
        sizes = " and ".join(f"{len(data):,}" for data in pair.files)
        log(f"{pair.name}: {sizes} bytes, saved in {1000 * pair.seconds:.0f} ms")
        hedgerow.save(pair.models[0], folder / pair.name)
        saved[pair.name] = 0
    before = set()
    for number in range(kills):
        pair = rng.choice(pairs)
        path = folder / pair.name
        kind, saved[pair.name] = kill_once(pair, path, saved[pair.name], rng, at_renaming=number % 2 == 1)
        check_loads(pair, path, saved[pair.name])
        left = {one.name for one in folder.iterdir()} - {one.name for one in pairs}
        counts["kills"] += 1
        counts[kind] += 1
        counts["temporary"] += len(left) > len(before)
        before = left
    for pair in pairs:  # files that killed saves left do not affect later saves
        for model, data in zip(pair.models, pair.files, strict=True):
            hedgerow.save(model, folder / pair.name)
            assert (folder / pair.name).read_bytes() == data
    assert before == {one.name for one in folder.iterdir()} - {one.name for one in pairs}
    assert all(name.startswith(".") for name in before)
    return counts


def main():
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--folder", help="folder of the temporary files")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        try:
            counts = kill_saves(options.kills, options.seed, Path(folder))
        except AssertionError as error:
            log(f"LOST: {error}")
            return 1
    within = counts["old"] + counts["new"]
    log(
        f"{counts['kills']} kills in {time.perf_counter() - start:.0f} s: {within} within a save "
        f"({counts['old']} left the old file, {counts['new']} the new one; {counts['temporary']} also a "
        f"temporary one), {counts['between saves']} between saves; nothing was lost"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
