"""How the files of format 3 in this folder were made. They stay as they are: later versions must read them.

Each model comes with a JSON file of a few rows, and of what it says of them. All but the cascade have the
card CARD, and `certified` has a certificate. `foreign` and `pipeline` have members of scikit-learn.

    python tests/data/make_format_3.py
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SchapireBoostClassifier,
    save,
)
from hedgerow.theory import certify
from hedgerow.vision import Cascade
from hedgerow.vision.opencv import read_opencv

FOLDER = Path(__file__).parent
CARD = {"made": "by make_format_3.py", "rows": 60}

SMALL = {"max_depth": 2, "max_bins": 8}
CLASSIFIERS = {  # of a frame with numbers, missing values and colours
    "gradient": GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=4, max_bins=8, random_state=1),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(**SMALL), n_estimators=3),
    "logitboost": LogitBoostClassifier(n_estimators=2),
    "forest": RandomForestClassifier(6, random_state=2, **SMALL),
    "certified": RandomForestClassifier(16, random_state=2, oob_score=True, **SMALL),
    "bag": BaggingClassifier(DecisionTreeClassifier(**SMALL), n_estimators=2, random_state=3, max_features=2),
    "three": SchapireBoostClassifier(random_state=4),
    "tree": DecisionTreeClassifier(**SMALL),
}
REGRESSORS = {  # of an array of numbers
    "r2": AdaBoostRegressor(n_estimators=2, loss="square"),
    "numbers": RandomForestRegressor(3, random_state=5, **SMALL),
    "pipeline": GradientBoostingRegressor(
        estimator=make_pipeline(StandardScaler(), Ridge()), n_estimators=1, random_state=7
    ),
}
FOREIGN = AdaBoostClassifier(GaussianNB(), n_estimators=1, random_state=6)

STUMP = b"""<?xml version="1.0"?>
<opencv_storage><cascade>
  <stageType>BOOST</stageType> <featureType>HAAR</featureType> <height>8</height> <width>8</width>
  <stages><_> <stageThreshold>0.5</stageThreshold>
    <weakClassifiers><_>
      <internalNodes>0 -1 0 1.5</internalNodes>
      <leafValues>-1. 1.</leafValues></_></weakClassifiers></_></stages>
  <features><_><rects><_>0 0 8 8 -1.</_> <_>0 4 8 4 2.</_></rects></_></features>
</cascade></opencv_storage>"""


def note(name, model, rows, seen, **more):
    """Write a model and what it says of some rows."""
    save(model, FOLDER / f"format_3_{name}.safetensors", card=CARD, **more)
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    told = [[one.X, one.y] for one in model.data_fingerprints_]
    said = {
        "X": rows,
        "scores": ask(seen).tolist(),
        "predictions": model.predict(seen).tolist(),
        "trained": told,
    }
    _write(name, said)


def _write(name, said):
    text = json.dumps(said, allow_nan=False) + "\n"
    (FOLDER / f"format_3_{name}.json").write_text(text, encoding="utf-8")


def make_frame(rng):
    """Rows with numbers, missing values and colours, and their classes."""
    X = pd.DataFrame(rng.normal(size=(60, 2)).round(2), columns=["height", "width"])
    X.loc[::9, "width"] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], 60))
    score = X["height"] + (X["colour"] == "red") + X["width"].isna()
    return X, np.array(["low", "middle", "top"])[np.digitize(score, [0.0, 1.0])]


def main():
    """Make all files."""
    rng = np.random.default_rng(0)
    X, y = make_frame(rng)
    rows = X.iloc[:9].astype(object)
    rows.loc[3, "colour"] = "violet"  # unseen
    rows = rows.where(rows.notna(), None).to_dict("list")
    seen = pd.DataFrame(rows).astype({"width": float})
    for name, model in CLASSIFIERS.items():
        model.fit(X, y)
        note(name, model, rows, seen, certificate=certify(model) if name == "certified" else None)
    numbers = rng.normal(size=(60, 3)).round(2)
    target = (np.abs(numbers[:, 0]) + numbers[:, 1]).round(3)
    for name, model in REGRESSORS.items():
        note(name, model.fit(numbers, target), numbers[:9].tolist(), numbers[:9])
    note("foreign", FOREIGN.fit(numbers, target > 1.0), numbers[:9].tolist(), numbers[:9])
    cascade = Cascade(read_opencv(STUMP), {"made": "by make_format_3.py"})
    save(cascade, FOLDER / "format_3_cascade.safetensors")
    windows = rng.integers(0, 50, (9, 8, 8), np.uint8)
    windows[::2, 4:] += 200  # brighter below: these pass
    scores = cascade.score_windows(windows)
    passed = [float(score) if np.isfinite(score) else None for score in scores]
    _write("cascade", {"X": windows.tolist(), "scores": passed})


if __name__ == "__main__":
    main()
