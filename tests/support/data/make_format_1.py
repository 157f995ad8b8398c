"""Write the files of format 1 in this folder.

After the first release they are not written again: later versions must read them.

Each model has a JSON file of a few rows and its predictions for them. All but the cascade have the card CARD,
and `certified` has a certificate. `foreign` and `pipeline` have members of scikit-learn.

    python tests/support/data/make_format_1.py
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
CARD = {"made": "by make_format_1.py", "rows": 60}

SMALL = {"max_depth": 2, "max_bins": 8}
CLASSIFIERS = {  # of a frame with numbers, missing values and colours
    "gradient_boosting": GradientBoostingClassifier(
        n_estimators=2, max_leaf_nodes=4, max_bins=8, random_state=1
    ),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(**SMALL), n_estimators=3),
    "logitboost": LogitBoostClassifier(n_estimators=2),
    "forest": RandomForestClassifier(6, random_state=2, **SMALL),
    "certified": RandomForestClassifier(16, random_state=2, oob_score=True, **SMALL),
    "bagging": BaggingClassifier(
        DecisionTreeClassifier(**SMALL), n_estimators=2, random_state=3, max_features=2
    ),
    "schapire": SchapireBoostClassifier(random_state=4),
    "tree": DecisionTreeClassifier(**SMALL),
}
REGRESSORS = {  # of an array of numbers
    "adaboost_r2": AdaBoostRegressor(n_estimators=2, loss="square"),
    "regression_forest": RandomForestRegressor(3, random_state=5, **SMALL),
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


def write(name, model, rows, X, **more):
    """Write a model and its predictions for some rows."""
    save(model, FOLDER / f"format_1_{name}.safetensors", card=CARD, **more)
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    expected = {
        "X": rows,
        "scores": predict(X).tolist(),
        "predictions": model.predict(X).tolist(),
        "data_fingerprints": [[one.X, one.y] for one in model.data_fingerprints_],
    }
    _write_expected(name, expected)


def _write_expected(name, expected):
    text = json.dumps(expected, allow_nan=False) + "\n"
    (FOLDER / f"format_1_{name}.json").write_text(text, encoding="utf-8")


def make_frame(rng):
    """Return rows with numbers, missing values and colours, and their classes."""
    X = pd.DataFrame(rng.normal(size=(60, 2)).round(2), columns=["height", "width"])
    X.loc[::9, "width"] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], 60))
    score = X["height"] + (X["colour"] == "red") + X["width"].isna()
    return X, np.array(["low", "middle", "top"])[np.digitize(score, [0.0, 1.0])]


def main():
    """Write all files."""
    rng = np.random.default_rng(0)
    X, y = make_frame(rng)
    rows = X.iloc[:9].astype(object)
    rows.loc[3, "colour"] = "violet"  # not among the training rows
    rows = rows.where(rows.notna(), None).to_dict("list")
    frame = pd.DataFrame(rows).astype({"width": float})
    for name, model in CLASSIFIERS.items():
        model.fit(X, y)
        write(name, model, rows, frame, certificate=certify(model) if name == "certified" else None)
    numbers = rng.normal(size=(60, 3)).round(2)
    target = (np.abs(numbers[:, 0]) + numbers[:, 1]).round(3)
    for name, model in REGRESSORS.items():
        write(name, model.fit(numbers, target), numbers[:9].tolist(), numbers[:9])
    write("foreign", FOREIGN.fit(numbers, target > 1.0), numbers[:9].tolist(), numbers[:9])
    cascade = Cascade(read_opencv(STUMP), {"made": "by make_format_1.py"})
    save(cascade, FOLDER / "format_1_cascade.safetensors")
    windows = rng.integers(0, 50, (9, 8, 8), np.uint8)
    windows[::2, 4:] += 200  # brighter below: these pass
    scores = cascade.score_windows(windows)
    passed = [float(score) if np.isfinite(score) else None for score in scores]
    _write_expected("cascade", {"X": windows.tolist(), "scores": passed})


if __name__ == "__main__":
    main()
