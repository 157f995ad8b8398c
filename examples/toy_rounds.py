"""AdaBoost on the ten points of Schapire's tutorials, round by round.

Writes a figure of the rounds (toy_rounds.png by default) and prints for each round the weighted error, the
weight of its half-plane, the edge, the normaliser and the bound.
"""

import argparse

from hedgerow import AdaBoostClassifier
from hedgerow.datasets import load_toy
from hedgerow.plots import BoostingRoundsDisplay
from hedgerow.text_table import format_table

COLUMNS = ("round", "half-plane", "ε", "α", "γ", "Z", "bound", "error")


def print_rounds(model: AdaBoostClassifier) -> None:
    """Print the rounds of the model."""
    rounds = zip(
        model.estimators_,
        model.estimator_errors_,
        model.estimator_weights_,
        model.edges_,
        model.normalizers_,
        model.training_error_bound_,
        model.history_["train_error"],
        strict=True,
    )
    rows = [
        (str(number), str(stump), *(f"{value:.2f}" for value in values))
        for number, (stump, *values) in enumerate(rounds, start=1)
    ]
    print(format_table(COLUMNS, rows, left=(1,)))
    print(
        "\nε: weighted error; α: weight of the half-plane; γ = 1/2 − ε: its edge;\n"
        "Z: the sum of the weights before they are normalised;\n"
        "bound: the product of Z so far, which the training error never exceeds.\n"
    )


def main() -> None:
    """Fit, print and draw."""
    parser = argparse.ArgumentParser(description="AdaBoost on ten points, round by round.")
    parser.add_argument("picture", nargs="?", default="toy_rounds.png", help="file to write")
    picture = parser.parse_args().picture
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    print_rounds(model)
    display = BoostingRoundsDisplay.from_estimator(model, X, y)
    display.figure_.savefig(picture, dpi=150)
    print(f"The figure is in {picture}.")


if __name__ == "__main__":
    main()
