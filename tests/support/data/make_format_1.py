"""How the files of format 1 in this folder were made. They stay as they are: later versions must read them.

Each model comes with a JSON file of a few rows, their scores and their predictions.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.io import save

FOLDER = Path(__file__).parent


def note(name, model, rows, scores, predictions):
    """Write a model and what it says of some rows."""
    save(model, FOLDER / f"format_1_{name}.safetensors")
    said = {"X": rows, "scores": scores.tolist(), "predictions": predictions.tolist()}
    text = json.dumps(said, indent=1, allow_nan=False) + "\n"
    (FOLDER / f"format_1_{name}.json").write_text(text, encoding="utf-8")


def main():
    """Make both files."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)).round(2), columns=["height", "width"])
    X.loc[::9, "width"] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], 200))
    score = X["height"] + (X["colour"] == "red") + X["width"].isna()
    y = np.array(["low", "middle", "top"])[np.digitize(score, [0.0, 1.0])]
    model = GradientBoostingClassifier(
        n_estimators=3, learning_rate=0.25, max_leaf_nodes=5, max_bins=16, random_state=1
    ).fit(X, y)
    rows = X.iloc[:12].astype(object)
    rows.loc[3, "colour"] = "violet"  # unseen
    rows = rows.where(rows.notna(), None).to_dict("list")
    seen = pd.DataFrame(rows).astype({"width": float})
    note("classifier", model, rows, model.decision_function(seen), model.predict(seen))

    numbers = rng.normal(size=(200, 3)).round(2)
    target = np.abs(numbers[:, 0]) + numbers[:, 1] + rng.standard_cauchy(200) / 50
    model = GradientBoostingRegressor(
        "huber", n_estimators=4, learning_rate=0.25, max_leaf_nodes=6, max_bins=16, early_stopping=True,
        random_state=2, monotonic_cst=[0, 1, 0],
    ).fit(numbers, target)  # fmt: skip
    given = numbers[:12]
    note("regressor", model, given.tolist(), model.predict(given), model.predict(given))


if __name__ == "__main__":
    main()
