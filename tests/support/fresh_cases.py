"""Digests of the predictions of the models and cascades in a folder; a test runs it in a new process.

    python fresh_cases.py FOLDER N_JOBS

The script imports little, uses one core, and prints one JSON object.
"""

import hashlib
import importlib.util
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np

import hedgerow
from hedgerow.threads import resolve_n_jobs
from hedgerow.vision import load_cascade
from predictions import all_predictions

IMAGE = "image.npy"


def digest(found):
    """Hash arrays, or dicts and lists of arrays: their dtypes, shapes and bytes."""
    total = hashlib.sha256()

    def add(value):
        if isinstance(value, dict):
            for name in sorted(value):
                total.update(name.encode())
                add(value[name])
        elif isinstance(value, list | tuple):
            for one in value:
                add(one)
        else:
            array = np.asarray(value)
            content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
            total.update(f"{array.dtype} {array.shape}".encode() + content)

    add(found)
    return total.hexdigest()


def of_model(model, X, n_jobs):
    """The predictions of a model for few rows, and for enough that several threads predict."""
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    many = X.iloc[np.arange(9000) % len(X)] if hasattr(X, "iloc") else np.resize(X, (20_000, X.shape[1]))
    if type(model).__name__.startswith("Bagging") and not hasattr(X, "iloc"):
        many = many[:9000]  # the members predict one by one
    return digest([all_predictions(model, X), model.predict(many)])


def of_cascade(cascade, image, n_jobs):
    """The detections of a cascade."""
    return [
        digest([found.rectangles, found.scores, found.neighbors])
        for found in (cascade.detect(image, 1.2, neighbors, n_jobs=n_jobs) for neighbors in (0, 3))
    ]


def of_folder(folder, n_jobs):
    """Digests of all models and cascades in the folder; the rows of a model are in a file beside it."""
    image, digests = np.load(folder / IMAGE), {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".model":
            X = pickle.loads(path.with_suffix(".rows").read_bytes())  # noqa: S301 - written by the test
            digests[path.stem] = of_model(hedgerow.load(path), X, n_jobs)
        elif path.suffix in {".cascade", ".xml"}:
            digests[path.name] = of_cascade(load_cascade(path), image, n_jobs)
    return digests


def windows(rectangles):
    """Rectangles in sorted order."""
    return sorted([int(number) for number in one] for one in rectangles)


def opencv_windows(path, image):
    """The detections of OpenCV with a cascade file; None if it is not installed."""
    if importlib.util.find_spec("cv2") is None:
        return None
    import cv2  # noqa: PLC0415 - optional

    return windows(cv2.CascadeClassifier(str(path)).detectMultiScale(image, 1.2, 0))


def main(folder, n_jobs):
    """Print the digests, and the default number of threads of this process."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    digests = of_folder(folder, n_jobs)
    for path in sorted(folder.glob("*.xml")):
        load_cascade(path).save(folder / "again.xml")  # read and written once more
        digests[f"{path.name} again"] = (folder / "again.xml").read_bytes() == path.read_bytes()
        digests[f"{path.name} of OpenCV"] = opencv_windows(path, np.load(folder / IMAGE))
    sys.stdout.write(json.dumps({"threads": resolve_n_jobs(None), "digests": digests}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
