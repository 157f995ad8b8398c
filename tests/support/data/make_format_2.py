"""How the files of format 2 in this folder were made. They stay as they are: later versions must read them.

Each model comes with a JSON file of a few rows, and of what it says of them. All have the card CARD.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SchapireBoostClassifier,
)
from hedgerow.io import save

FOLDER = Path(__file__).parent
CARD = {"made": "by make_format_2.py", "rows": 120}

CLASSIFIERS = {
    "gradient": GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=4, max_bins=8, random_state=1),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, max_bins=8), n_estimators=3),
    "logitboost": LogitBoostClassifier(n_estimators=2),
    "forest": RandomForestClassifier(24, max_depth=2, max_bins=8, random_state=2, oob_score=True),
    "bag": BaggingClassifier(
        DecisionTreeClassifier(max_depth=2, max_bins=8), n_estimators=2, random_state=3, max_features=2
    ),
    "three": SchapireBoostClassifier(random_state=4),
}
REGRESSORS = {
    "r2": AdaBoostRegressor(n_estimators=2, loss="square"),
    "numbers": RandomForestRegressor(3, max_depth=3, max_bins=8, random_state=5),
}


def note(name, model, rows, seen):
    """Write a model and what it says of some rows."""
    save(model, FOLDER / f"format_2_{name}.safetensors", card=CARD)
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    said = {"X": rows, "scores": ask(seen).tolist(), "predictions": model.predict(seen).tolist()}
    text = json.dumps(said, allow_nan=False) + "\n"
    (FOLDER / f"format_2_{name}.json").write_text(text, encoding="utf-8")


def main():
    """Make all files."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)).round(2), columns=["height", "width"])
    X.loc[::9, "width"] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], 120))
    score = X["height"] + (X["colour"] == "red") + X["width"].isna()
    y = np.array(["low", "middle", "top"])[np.digitize(score, [0.0, 1.0])]
    rows = X.iloc[:9].astype(object)
    rows.loc[3, "colour"] = "violet"  # unseen
    rows = rows.where(rows.notna(), None).to_dict("list")
    seen = pd.DataFrame(rows).astype({"width": float})
    for name, model in CLASSIFIERS.items():
        note(name, model.fit(X, y), rows, seen)
    numbers = rng.normal(size=(120, 3)).round(2)
    target = (np.abs(numbers[:, 0]) + numbers[:, 1]).round(3)
    for name, model in REGRESSORS.items():
        note(name, model.fit(numbers, target), numbers[:9].tolist(), numbers[:9])


if __name__ == "__main__":
    main()
