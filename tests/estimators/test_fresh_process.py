"""Saved models of every kind and cascades predict the same in a new process, which reads their files.

One process loads all of them, with one core and another number of threads than in this process.
"""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fresh_cases
import hedgerow
from cascade_files import make_model
from hedgerow.vision import Cascade, load_cascade
from model_cases import KINDS, fitted, reweighted

pytestmark = pytest.mark.filterwarnings("ignore:boosting stopped")

CASCADES = {
    "frontalface": lambda: load_cascade("frontalface"),
    "haar": lambda: Cascade(make_model("HAAR", stages=1)),
    "tilted": lambda: Cascade(make_model("HAAR", stages=1, tilted=True, nodes=2)),
    "lbp": lambda: Cascade(make_model("LBP", stages=1)),
}


def file_name(kind):
    return re.sub(r"\W+", "-", kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of all models and cascades, with the rows and the image of the predictions."""
    folder = tmp_path_factory.mktemp("fresh")
    models = {kind: fitted(kind)[:2] for kind in KINDS} | {"reweighted": reweighted()[:2]}
    for kind, (model, X) in models.items():
        hedgerow.save(model, folder / f"{file_name(kind)}.model")
        (folder / f"{file_name(kind)}.rows").write_bytes(pickle.dumps(X))
    image = np.random.default_rng(0).integers(0, 256, (120, 150), np.uint8)
    photograph = np.ascontiguousarray(pytest.importorskip("skimage.data").astronaut()[60:200, 160:300, 1])
    np.save(folder / fresh_cases.IMAGE, np.hstack([image, photograph[:120]]))
    for name, make in CASCADES.items():
        cascade = make()
        hedgerow.save(cascade, folder / f"{name}.cascade")
        cascade.save(folder / f"{name}.xml")
    return folder


@pytest.fixture(scope="module")
def printed(folder):
    """The output of the new process."""
    paths = os.pathsep.join([str(Path(fresh_cases.__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_NUM_THREADS": "1", "PYTHONPATH": paths}
    program = [sys.executable, fresh_cases.__file__, str(folder), "3"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_process_predicts_the_same_with_every_model(printed):
    assert printed["threads"] == 1
    for kind in KINDS:
        model, X, _ = fitted(kind)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 - its n_jobs is changed
        assert printed["digests"][file_name(kind)] == fresh_cases.of_model(again, X, 2), kind
    model, X, _ = reweighted()
    assert printed["digests"]["reweighted"] == fresh_cases.of_model(model, X, 1)


def test_a_new_process_finds_the_same_with_every_cascade_and_after_opencvs_xml(folder, printed):
    image = np.load(folder / fresh_cases.IMAGE)
    for name, make in CASCADES.items():
        found = fresh_cases.of_cascade(make(), image, 2)
        assert printed["digests"][f"{name}.cascade"] == found
        assert printed["digests"][f"{name}.xml"] == found
        assert printed["digests"][f"{name}.xml again"] is True
    nothing = fresh_cases.of_cascade(make(), image[:9, :9], 1)
    assert all(
        printed["digests"][f"{name}.cascade"][0] != nothing[0] for name in CASCADES
    )  # they find something


def test_opencv_reads_what_we_write_and_finds_the_same(folder, printed):
    pytest.importorskip("cv2")
    image = np.load(folder / fresh_cases.IMAGE)
    for name, make in CASCADES.items():
        mine = fresh_cases.windows(make().detect(image, 1.2, 0).rectangles)
        assert printed["digests"][f"{name}.xml of OpenCV"] == mine
