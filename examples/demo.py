"""Boosting on a small data set, beside logistic regression.

Fits one model with a progress bar and says what is proven about it, shows the ten-point example of AdaBoost,
then cross-validates all models on the same folds and prints what came out, whichever is ahead.
"""

import time
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, LogitBoostClassifier
from hedgerow.datasets import load_toy
from hedgerow.theory import certify

FOLDS, REPEATS = 5, 2


def first_fit(X: np.ndarray, y: np.ndarray, console: Console) -> None:
    """Fit one model in view: the estimator shows its own progress."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    start = time.perf_counter()
    model = GradientBoostingClassifier(random_state=0, verbose=1).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    console.print(
        f"One fit on {len(X_train)} rows took {seconds:.2f} s "
        f"(the first on a machine compiles the kernels), "
        f"and {model.score(X_test, y_test):.1%} of {len(X_test)} other rows are right."
    )
    console.print(f"{certify(model, X_test, y_test).statement}\n", highlight=False)


def toy_rounds(console: Console) -> None:
    """Print the rounds of AdaBoost on ten points: errors fall, the bound falls, all points are right."""
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    console.print("[bold]AdaBoost on ten points[/bold]: error, weight, and error of all so far")
    errors = model.history_["train_error"]
    for number, stump in enumerate(model.estimators_):
        console.print(
            f"  {stump!s:24} {model.estimator_errors_[number]:.2f}  {model.estimator_weights_[number]:.2f}"
            f"   {errors[number]:.1f}, proven <= {model.training_error_bound_[number]:.2f}",
            highlight=False,
        )
    console.print()


def cross_validate(model: Any, X: np.ndarray, y: np.ndarray, bar: Progress) -> np.ndarray:
    """Return (n_folds, 3): accuracy, log-loss and seconds to fit, on each held-out fold."""
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    task = bar.add_task("cross-validating", total=FOLDS * REPEATS)
    rows = []
    for train, test in folds.split(X, y):
        start = time.perf_counter()
        fitted = clone(model).fit(X[train], y[train])
        seconds = time.perf_counter() - start
        p = fitted.predict_proba(X[test])
        rows.append((accuracy_score(y[test], p.argmax(axis=1)), log_loss(y[test], p), seconds))
        bar.advance(task)
    bar.remove_task(task)
    return np.array(rows)


def main() -> None:
    """Run the demonstration."""
    console = Console()
    X, y = load_breast_cancer(return_X_y=True)
    console.print(f"[bold]Breast cancer[/bold]: {X.shape[0]} rows, {X.shape[1]} columns, 2 classes")
    first_fit(X, y, console)
    toy_rounds(console)
    models = {
        "Hedgerow gradient boosting": GradientBoostingClassifier(random_state=0),
        "Hedgerow AdaBoost": AdaBoostClassifier(n_estimators=100),
        "Hedgerow Gentle AdaBoost": AdaBoostClassifier(n_estimators=100, algorithm="gentle"),
        "Hedgerow LogitBoost": LogitBoostClassifier(n_estimators=100, learning_rate=0.1),
        "logistic regression, scaled": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    table = Table(
        title=f"{FOLDS} folds × {REPEATS} repeats, mean ± standard deviation over held-out folds",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("")
    for name in ("accuracy", "log-loss", "median fit"):
        table.add_column(name, justify="right")
    with Progress(console=console, transient=True) as bar:
        for name, model in models.items():
            accuracy, loss, seconds = cross_validate(model, X, y, bar).T
            table.add_row(
                name,
                f"{accuracy.mean():.4f} ± {accuracy.std():.4f}",
                f"{loss.mean():.4f} ± {loss.std():.4f}",
                f"{1000 * np.median(seconds):.1f} ms",
            )
    console.print(table)


if __name__ == "__main__":
    main()
