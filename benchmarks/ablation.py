"""The effect of every ingredient of gradient boosting, each changed alone, on the development tables.

    python benchmarks/ablation.py run --out ablation.json
    python benchmarks/ablation.py report ablation.json

Tables, splits and losses are those of accuracy.py; the tables that are held back are never read. A variant of
`VARIANTS` switches off one ingredient of the defaults, or switches on one that they do not have; add a line
to try another, or pass `--parameters '{"max_leaf_nodes": 8}'`. A run adds to the file what it does not have
yet. Models and splits of repeat r have the seed r.

effect    mean over tables of log2(loss / loss of the reference), ± its standard error over tables; below 0
          the variant is better. The loss of a table is the mean over repeats; the reference is the default,
          or what stands in parentheses
median    of the same; some tables have losses near 0, whose logarithms vary much
better    tables on which the mean over repeats of log2(loss / loss) is below 0 by more than twice its
          standard error; worse: above 0. Nothing if there is one repeat
seconds   of CPU for fits and predictions on the same tables, relative to the reference
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import accuracy_contenders
from accuracy import split, test_loss
from accuracy_tables import CASES, Case
from hedgerow.text_table import format_table

Shape = dict[str, int]  # rows, columns, classes (0 for numbers) and the categories of the largest column
Parameters = dict[str, Any]


def _always(_: Shape) -> bool:
    return True


def _two_classes(shape: Shape) -> bool:
    return shape["classes"] == 2


def _several_classes(shape: Shape) -> bool:
    return shape["classes"] > 2


def _under_ten_classes(shape: Shape) -> bool:
    return shape["classes"] < 10


def _many_categories(shape: Shape) -> bool:
    return shape["categories"] > 32


@dataclass(frozen=True)
class Variant:
    """Parameters that differ from those of the reference, and the tables on which they can change a model.

    `several` are the parameters for three or more classes, if they differ.
    """

    name: str
    parameters: Parameters
    several: Parameters | None = None
    reference: Parameters = field(default_factory=dict)
    applies: Callable[[Shape], bool] = _always

    def for_table(self, shape: Shape) -> Parameters:
        """Return the parameters for a table."""
        return self.parameters if self.several is None or shape["classes"] < 3 else self.several


ALL_COLUMNS = {"colsample_bytree": 1.0, "max_features": 1.0}
VARIANTS = (
    Variant("all columns", ALL_COLUMNS),
    Variant("no folds, a tenth of the rows for validation", {"n_folds": None}),
    Variant("one model of 100 rounds", {"n_estimators": 100}),
    Variant("16 leaves", {"max_leaf_nodes": 16}),
    Variant(
        "target statistics above 32 categories",
        {"max_categories_for_sets": 32},
        reference={"max_categories_for_sets": None},
        applies=_many_categories,
    ),
    Variant("4 folds", {"n_folds": 4}),
    Variant("all rows in every round", {"subsample": 1.0}),
    Variant("random_strength=1", {"random_strength": 1.0}),
    Variant("at least 20 rows in a leaf", {"min_samples_leaf": 20}),
    Variant("l2_regularization=3", {"l2_regularization": 3.0}, applies=_two_classes),
    Variant("64 leaves", {"max_leaf_nodes": 64}),
    Variant(
        "twice the learning rate",
        {"learning_rate": 0.2},
        {"learning_rate": 0.4},
        applies=_under_ten_classes,
    ),
    Variant("all columns for each tree", {"colsample_bytree": 1.0}),
    Variant("all columns for each node", {"max_features": 1.0}),
    Variant("symmetric trees", {"growth_policy": "symmetric"}),
    Variant("max_leaf_step=2", {"max_leaf_step": 2.0}, applies=_several_classes),
    Variant("sampling='gradient'", {"sampling": "gradient"}),
    Variant("sampling='bayesian'", {"sampling": "bayesian"}),
    Variant("another seed", {"random_state": 1000}),
    Variant("learning_rate_decay=0.998", {"learning_rate_decay": 0.998}),
    Variant(
        "half the learning rate",
        {"learning_rate": 0.05},
        {"learning_rate": 0.1},
        applies=_under_ten_classes,
    ),
    Variant("200 rounds", {"n_estimators": 200}),
    Variant("drop_rate=0.1", {"n_estimators": 200, "drop_rate": 0.1}, reference={"n_estimators": 200}),
)


# --- runs


@cache
def shape_of(case: Case) -> Shape:
    """Return the numbers that `Variant.applies` decides by, of a training split."""
    X, _, y, _ = split(case, 0)
    kinds = [X[name].dtype for name in X]
    categories = [len(kind.categories) for kind in kinds if isinstance(kind, pd.CategoricalDtype)]
    classes = int(y.nunique()) if case.task == "classification" else 0
    return {
        "rows": len(y),
        "columns": X.shape[1],
        "classes": classes,
        "categories": max(categories, default=0),
    }


def key_of(parameters: Parameters, case: Case, repeat: int, max_rows: int | None) -> str:
    """Return the key of a run in the file."""
    return f"{json.dumps(parameters, sort_keys=True)} | {case.name} | {repeat} | {max_rows}"


def measure(parameters: Parameters, case: Case, repeat: int, max_rows: int | None) -> dict[str, float]:
    """Fit and evaluate one variant on one repeat of at most `max_rows` rows times trees of a round."""
    if max_rows is not None:
        classes = shape_of(case)["classes"]
        max_rows //= classes if classes > 2 else 1
    X_train, X_test, y_train, y_test = split(case, repeat, max_rows)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = accuracy_contenders.CONTENDERS["Hedgerow"](case, repeat, **parameters).fit(X_train, y_train)
        loss = test_loss(model, case.task, X_test, y_test)
    return {"loss": loss, "seconds": time.process_time() - start, "rounds": model.n_estimators_}


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have yet: all variants on a repeat, then the next repeat."""
    accuracy_contenders.THREADS = options.threads
    path = Path(options.out)
    runs = json.loads(path.read_text()) if path.exists() else {}
    cases = _chosen(options)
    shapes = {case.name: shape_of(case) for case in cases}
    for repeat in range(options.repeats):
        for variant in (Variant("defaults", {}), *_variants(options)):
            for case in cases:
                if not variant.applies(shapes[case.name]):
                    continue
                for parameters in (variant.reference, variant.for_table(shapes[case.name])):
                    key = key_of(parameters, case, repeat, options.max_rows)
                    if key not in runs:
                        runs[key] = measure(parameters, case, repeat, options.max_rows)
            partial = path.with_suffix(".part")
            partial.write_text(json.dumps(runs, indent=0))
            partial.replace(path)
            print(f"{variant.name}, repeat {repeat}", flush=True)


def _chosen(options: argparse.Namespace) -> list[Case]:
    found = [case for case in CASES if not case.held_back and case.name not in options.without]
    return [case for case in found if not options.only or case.name in options.only]


def _variants(options: argparse.Namespace) -> list[Variant]:
    if options.parameters:
        return [Variant(text, json.loads(text)) for text in options.parameters]
    return [one for one in VARIANTS if not options.variant or one.name in options.variant]


# --- report


def report(options: argparse.Namespace) -> None:
    """Print the effect of every variant."""
    runs = json.loads(Path(options.file).read_text())
    cases = _chosen(options)
    shapes = {case.name: shape_of(case) for case in cases}
    rows, by_table = [], []
    for variant in _variants(options):
        effects, signs, seconds = [], [], np.zeros(2)
        for case in cases:
            if not variant.applies(shapes[case.name]):
                continue
            pair = variant.reference, variant.for_table(shapes[case.name])
            found = _repeats(runs, pair, case, options)
            if not found:
                continue
            losses = np.array([[one["loss"] for one in repeat] for repeat in found])
            seconds += np.sum([[one["seconds"] for one in repeat] for repeat in found], axis=0)
            effects.append(float(np.log2(losses[:, 1].mean() / losses[:, 0].mean())))
            mean, error = mean_and_error(np.log2(losses[:, 1] / losses[:, 0]))
            if len(found) > 1:
                signs.append(0.0 if abs(mean) <= 2 * error else math.copysign(1, mean))
            by_table.append([variant.name, case.name, f"{mean:+.3f} ± {error:.3f}", str(len(found))])
        if effects:
            mean, error = mean_and_error(np.array(effects))
            rows.append([
                _title(variant), f"{mean:+.3f} ± {error:.3f}", f"{np.median(effects):+.3f}",
                *(str(signs.count(sign)) if signs else "" for sign in (-1, 1)), str(len(effects)),
                f"{seconds[1] / seconds[0]:.2f}",
            ])  # fmt: skip
    print(format_table(["ingredient", "effect", "median", "better", "worse", "tables", "seconds"], rows))
    if options.by_table:
        print(format_table(["ingredient", "table", "effect", "repeats"], by_table))


def _title(variant: Variant) -> str:
    reference = ", ".join(f"{name}={value!r}" for name, value in variant.reference.items())
    return f"{variant.name} ({reference})" if reference else variant.name


def _repeats(
    runs: dict[str, dict[str, float]], pair: Sequence[Parameters], case: Case, options: argparse.Namespace
) -> list[list[dict[str, float]]]:
    """Return the runs of the reference and the variant for each repeat that has both."""
    found = []
    for repeat in range(options.repeats):
        keys = [key_of(parameters, case, repeat, options.max_rows) for parameters in pair]
        if all(key in runs for key in keys):
            found.append([runs[key] for key in keys])
    return found


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, infinite for one value."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return float(values.mean()), float(error)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, action in (("run", run), ("report", report)):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        command.add_argument("--only", nargs="*", default=[], metavar="TABLE")
        command.add_argument("--without", nargs="*", default=[], metavar="TABLE")
        command.add_argument("--variant", action="append", default=[], help="the name of one; all by default")
        command.add_argument("--parameters", action="append", help="a variant as a JSON object")
        command.add_argument("--repeats", type=int, default=3)
        command.add_argument(
            "--max-rows",
            type=int,
            help="limit of the rows of a table, training and test, times classes if there are three or more",
        )
    commands.choices["run"].add_argument("--threads", type=int, default=1)
    commands.choices["run"].add_argument("--out", required=True)
    commands.choices["report"].add_argument("file")
    commands.choices["report"].add_argument("--by-table", action="store_true")
    options = parser.parse_args(arguments)
    options.action(options)


if __name__ == "__main__":
    main()
