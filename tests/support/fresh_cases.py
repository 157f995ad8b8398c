"""What the models and cascades in a folder say, as digests; run as a script it tells those of a new process.

    python fresh_cases.py FOLDER N_JOBS

The script imports no more than it needs, keeps itself to one core, and prints one JSON object.
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
from answers import answers
from hedgerow.threads import resolve_n_jobs
from hedgerow.vision import load_cascade

IMAGE = "image.npy"


def digest(found):
    """Of arrays, by name, in lists or alone: their dtypes, shapes and bytes."""
    sum_of_all = hashlib.sha256()

    def add(value):
        if isinstance(value, dict):
            for name in sorted(value):
                sum_of_all.update(name.encode())
                add(value[name])
        elif isinstance(value, list | tuple):
            for one in value:
                add(one)
        else:
            array = np.asarray(value)
            content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
            sum_of_all.update(f"{array.dtype} {array.shape}".encode() + content)

    add(found)
    return sum_of_all.hexdigest()


def of_model(model, X, n_jobs):
    """What a model says of some rows, and of so many that threads share them."""
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    many = X.iloc[np.arange(9000) % len(X)] if hasattr(X, "iloc") else np.resize(X, (70_000, X.shape[1]))
    if type(model).__name__.startswith("Bagging") and not hasattr(X, "iloc"):
        many = many[:9000]  # the members are asked one by one
    return digest([answers(model, X), model.predict(many)])


def of_cascade(cascade, image, n_jobs):
    """What a cascade finds."""
    return [
        digest([found.rectangles, found.scores, found.neighbors])
        for found in (cascade.detect(image, 1.2, neighbors, n_jobs=n_jobs) for neighbors in (0, 3))
    ]


def of_folder(folder, n_jobs):
    """Of the models, beside which their rows are, and the cascades, all read from their files."""
    image, said = np.load(folder / IMAGE), {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".model":
            X = pickle.loads(path.with_suffix(".rows").read_bytes())  # noqa: S301 - written by the test
            said[path.stem] = of_model(hedgerow.load(path), X, n_jobs)
        elif path.suffix in {".cascade", ".xml"}:
            said[path.name] = of_cascade(load_cascade(path), image, n_jobs)
    return said


def windows(rectangles):
    """Rectangles in an order of their own."""
    return sorted([int(number) for number in one] for one in rectangles)


def opencv_windows(path, image):
    """What OpenCV finds with a file; None if it is not installed."""
    if importlib.util.find_spec("cv2") is None:
        return None
    import cv2  # noqa: PLC0415 - where it is

    return windows(cv2.CascadeClassifier(str(path)).detectMultiScale(image, 1.2, 0))


def main(folder, n_jobs):
    """Print what this process finds, and how many threads it takes if it is not told."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    said = of_folder(folder, n_jobs)
    for path in sorted(folder.glob("*.xml")):
        load_cascade(path).save(folder / "again.xml")  # read and written once more
        said[f"{path.name} again"] = (folder / "again.xml").read_bytes() == path.read_bytes()
        said[f"{path.name} of OpenCV"] = opencv_windows(path, np.load(folder / IMAGE))
    sys.stdout.write(json.dumps({"threads": resolve_n_jobs(None), "said": said}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
