"""The ten points of Schapire's tutorials: three half-planes, one better classifier.

Draws the rounds of AdaBoost into a picture (its name may be given, toy_rounds.png otherwise) and prints for
each round the weighted error, the weight of its half-plane, the edge, the normaliser and the bound.
"""

import argparse

from rich import box
from rich.console import Console
from rich.table import Table

from hedgerow import AdaBoostClassifier
from hedgerow.datasets import load_toy
from hedgerow.plots import BoostingRoundsDisplay

COLUMNS = ("round", "half-plane", "ε", "α", "γ", "Z", "bound", "error")


def print_rounds(model: AdaBoostClassifier, console: Console) -> None:
    """Print what the model remembers of its rounds."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "half-plane" else "right", no_wrap=True)
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
    for number, (stump, *figures) in enumerate(rounds, start=1):
        table.add_row(str(number), str(stump), *(f"{figure:.2f}" for figure in figures))
    console.print(table)
    console.print(
        "ε: weighted error; α: weight of the half-plane; γ = 1/2 − ε: its edge;\n"
        "Z: what the weights sum to before they are normalised;\n"
        "bound: the product of Z so far, which the training error never exceeds.\n"
    )


def main() -> None:
    """Fit, print and draw."""
    parser = argparse.ArgumentParser(description="AdaBoost on ten points, round by round.")
    parser.add_argument("picture", nargs="?", default="toy_rounds.png", help="file to write")
    picture = parser.parse_args().picture
    console = Console()
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    print_rounds(model, console)
    display = BoostingRoundsDisplay.from_estimator(model, X, y)
    display.figure_.savefig(picture, dpi=150)
    console.print(f"The picture is in {picture}.")


if __name__ == "__main__":
    main()
