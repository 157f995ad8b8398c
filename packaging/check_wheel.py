"""Check an installed package: fit a model of every family and print the checksum of all predictions.

The argument says where the kernels must come from, a library or the cache.
"""

import hashlib
import importlib.util
import sys

import numpy as np

import hedgerow
from hedgerow.kernels.native import code
from hedgerow.vision import load_cascade

FAMILIES = (
    hedgerow.GradientBoostingClassifier,
    hedgerow.AdaBoostClassifier,
    hedgerow.RandomForestClassifier,
    hedgerow.BaggingClassifier,
    hedgerow.ExtraTreesClassifier,
    hedgerow.LogitBoostClassifier,
    hedgerow.DecisionTreeClassifier,
)


def main() -> None:
    """Fit, predict, and report."""
    digest = hashlib.sha256()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    for family in FAMILIES:
        model = family()
        few = {"n_estimators": 10, "random_state": 0}
        model.set_params(**{name: value for name, value in few.items() if name in model.get_params()}).fit(
            X, y
        )
        score = model.score(X, y)
        assert score > 0.8, f"{family.__name__} has an accuracy of {score} on its training rows"
        digest.update(np.ascontiguousarray(model.predict_proba(X)).tobytes())
    image = rng.integers(0, 256, (60, 60)).astype(np.uint8)
    assert len(load_cascade("frontalface").detect(image)) == 0
    wanted = sys.argv[1]
    found = "library" if code().library else "cache"
    assert found == wanted, f"kernels come from {code().describe()}"
    if found == "library":
        assert importlib.util.find_spec("numba") is None, "the platform wheel installed Numba"
        assert "llvmlite" not in sys.modules
    print(f"{len(FAMILIES)} families fitted; kernels {code().describe()}", file=sys.stderr)
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
