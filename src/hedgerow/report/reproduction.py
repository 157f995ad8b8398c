"""Python code that computes the key figures of a report again.

The code loads the model file and the rows of the data file. If the report was not made from files, it fits
the model to X_train and y_train and evaluates it on X_test and y_test. It prints the figures without
rounding.
"""

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import hedgerow
from hedgerow.container import ModelFileError
from hedgerow.datafiles.files import split_source
from hedgerow.io import load_card
from hedgerow.report.data import ReportData
from hedgerow.selection import (
    FixedThresholdClassifier,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from hedgerow.theory.certificate import HOLD_OUT

_LINE = 88  # letters


def evaluation_code(data: ReportData) -> list[str]:
    """Lines that print the key figures of `model` on `X_test` and `y_test`."""
    positive = "" if data.positive is None else f", positive={data.positive!r}"
    lines = [
        f'for name, value in score_model(model, X_test, y_test, "{data.task}"{positive}).items():',
        "    print(name, value)",
        "predicted = model.predict(X_test)",
    ]
    imports = ["import numpy as np", "from hedgerow.selection import score_model"]
    if not data.is_classification:
        lines += [
            'print("median absolute error", np.median(np.abs(y_test - predicted)))',
            'print("standard deviation of the target", np.std(y_test))',
        ]
        return [*imports, "", *lines]
    lines += [
        'print("errors", np.sum(predicted != y_test), "of", len(y_test))',
        'print("most frequent class", np.unique(y_test, return_counts=True)[1].max() / len(y_test))',
    ]
    found_class = data.ranked_class
    if data.average_precision is not None and found_class is not None:
        imports.append("from sklearn.metrics import average_precision_score")
        lines += [
            f"is_positive = y_test == {data.classes[found_class]!r}",
            f"probability = model.predict_proba(X_test)[:, {found_class}]",
            'print("average precision", average_precision_score(is_positive, probability))',
        ]
    found = data.certificate
    if found is not None and any(
        bound.name.startswith(HOLD_OUT) and bound.n == len(data.y) for bound in found
    ):
        imports.append("from hedgerow.theory import certify")
        lines.append(
            f'print("error bound", certify(model, X_test, y_test, delta={found.delta!r}).error_bound)'
        )
    return [*imports, "", *lines]


def file_card(data: ReportData) -> dict[str, Any] | None:
    """Return the card of the model file; None without a file, or if it is not one of `hedgerow train`."""
    if data.model_file is None or data.recipe is None:
        return None
    try:
        card = load_card(data.model_file)
    except (ModelFileError, OSError):
        return None
    return card if card is not None and "recipe" in card and "hold_out" in card else None


def is_standard_input(data: ReportData) -> bool:
    """Return whether the rows are from standard input, which cannot be read again."""
    return data.data_file == "-"


def file_code(data: ReportData, card: dict[str, Any] | None) -> list[str] | None:
    """Lines that read the training and test rows from the files of a report; None without files.

    After a refit the file holds another model than the one that was evaluated: only its recipe is used.
    """
    if card is None or data.model_file is None or data.data_file is None or is_standard_input(data):
        return None
    path, inner = split_source(data.data_file)
    source = path.name if inner is None else f"{path.name}::{inner}"
    model = Path(data.model_file).name
    split = card["hold_out"]
    columns = {name: split[name] for name in ("group", "time") if split.get(name) is not None}
    imports = ["from hedgerow import load", "from hedgerow.datafiles import read_typed"]
    rows = ["X_test, y_test = X, y"]
    if data.n_train:
        imports.append("from hedgerow.selection import hold_out, take_rows")
        order = ", order=order" if columns else ""
        rows = [
            f'train, test = hold_out(y, "{data.task}", {split["share"]!r}, {split["seed"]!r}{order})',
            "X_train, y_train = take_rows(X, train), y[train]",
            "X_test, y_test = take_rows(X, test), y[test]",
        ]
        if columns:
            imports.append("from hedgerow.cli.row_columns import RowColumns")
            arguments = ", ".join(f"{name}={column!r}" for name, column in columns.items())
            rows.insert(0, f"order = RowColumns({arguments}).order(table)")
    models = [f"loaded = load({model!r})", "model, recipe = loaded.estimator, loaded.recipe"]
    return [
        *imports,
        "",
        *([f"recipe = load({model!r}).recipe"] if card.get("refit") else models),
        f"table = read_typed({source!r}, options=recipe.read_options)",
        "table = table.filter(recipe.has_label(table))",
        "X, y = recipe.features(table), recipe.labels(table)",
        *rows,
    ]


def weight_code(data: ReportData, card: dict[str, Any] | None) -> list[str]:
    """Lines that make `sample_weight`, the weights of the training rows; empty if there are none.

    Without a file to read, a column of weights must be `sample_weight` already.
    """
    split = {} if card is None else card["hold_out"]
    column, by_class = split.get("weight"), split.get("class_weight")
    imports, lines, arguments = [], [], []
    if column is not None:
        if not is_standard_input(data):
            imports.append("from hedgerow.cli.row_columns import RowColumns")
            lines.append(f"sample_weight = RowColumns(weight={column!r}).weights(table)[train]")
        arguments.append("sample_weight=sample_weight")
    if by_class is not None:
        if isinstance(by_class, dict):  # by the texts of the classes
            by_class = {label: by_class[str(label)] for label in data.classes if str(label) in by_class}
        imports.append("from hedgerow.selection import MethodOptions")
        arguments.append(f"class_weight={by_class!r}")
        options = f"MethodOptions({', '.join(arguments)})"
        lines.append(f'sample_weight = {options}.weights(y_train, "{data.task}")')
    elif column is not None and not lines:
        lines.append("# sample_weight: the weights of the training rows")
    return [*imports, *lines]


def fit_code(model: Any, weights: Sequence[str] = ()) -> list[str]:
    r"""Lines that fit a model with the same parameters to `X_train` and `y_train`.

    weights : lines of `weight_code`

    >>> from hedgerow import AdaBoostClassifier, DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_depth=2)
    >>> print("\n".join(fit_code(AdaBoostClassifier(tree, n_estimators=10))))
    from hedgerow import AdaBoostClassifier, DecisionTreeClassifier
    <BLANKLINE>
    model = AdaBoostClassifier(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=10)
    model.fit(X_train, y_train)
    """
    model = _as_fitted(model)
    modules: dict[str, set[str]] = {}
    left_out: list[str] = []
    shown = _expression(model, modules, left_out)
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in modules.items()]
    if "np.array(" in shown:
        imports.insert(0, "import numpy as np")
    notes = [f"# {name} is left out: it has no code" for name in left_out]
    arguments = "X_train, y_train, sample_weight=sample_weight" if weights else "X_train, y_train"
    lines = [*imports, "", *weights, *notes, *f"model = {shown}".split("\n"), f"model.fit({arguments})"]
    return with_imports_first(lines) if weights else lines


def with_imports_first(lines: Sequence[str]) -> list[str]:
    """Return code with its imports at the top, one for each module.

    >>> with_imports_first(["from a import y", "", "x = y", "", "import b", "from a import z", "", "z(x)"])
    ['import b', 'from a import y, z', '', 'x = y', '', 'z(x)']
    """
    modules: dict[str, set[str]] = {}
    plain: set[str] = set()
    kept: list[str] = []
    for line in lines:
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            modules.setdefault(module, set()).update(names.split(", "))
        elif line.startswith("import "):
            plain.add(line)
        elif line or (kept and kept[-1]):
            kept.append(line)
    found = [f"from {module} import {', '.join(sorted(modules[module]))}" for module in sorted(modules)]
    return [*sorted(plain), *found, "", *kept]


def _as_fitted(model: Any) -> Any:
    """Return the unfitted model with the number of members of the fit, if it stopped early."""
    if isinstance(model, FixedThresholdClassifier):
        return type(model)(_as_fitted(model.estimator_), model.threshold, pos_label=model.pos_label)
    if isinstance(model, WeightedEnsembleClassifier | WeightedEnsembleRegressor):
        members = [_as_fitted(member) for member in model.estimators_]
        return type(model)(members, weights=model.weights_.tolist())
    if getattr(model, "n_estimators", 0) == "auto":  # with a number, the other sizes would differ
        return model
    requested = int(getattr(model, "n_estimators", 0))
    fitted = int(getattr(model, "n_estimators_", requested))
    return clone(model).set_params(n_estimators=fitted) if 0 < fitted < requested else model


def _expression(value: Any, modules: dict[str, set[str]], left_out: list[str]) -> str:
    """Return the Python expression of an estimator or a parameter; collect its imports."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list) and value and all(hasattr(one, "get_params") for one in value):
        return f"[{', '.join(_expression(one, modules, left_out) for one in value)}]"
    if not hasattr(value, "get_params") or isinstance(value, type):
        return repr(value)
    kind = type(value)
    modules.setdefault(_public_module(kind), set()).add(kind.__name__)
    defaults = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    arguments = []
    for name, one in value.get_params(deep=False).items():
        if name in defaults and repr(one) == repr(defaults[name]):
            continue
        shown = _expression(one, modules, left_out)
        if _is_expression(shown):
            arguments.append(f"{name}={shown}")
        else:
            left_out.append(name)
    whole = f"{kind.__name__}({', '.join(arguments)})"
    if len(whole) <= _LINE:
        return whole
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{kind.__name__}(\n{lines})"


def _is_expression(shown: str) -> bool:
    try:
        ast.parse(shown, mode="eval")
    except SyntaxError:
        return False
    return True


def _public_module(kind: type) -> str:
    """Return the module that a class is imported from.

    >>> from sklearn.linear_model import LogisticRegression
    >>> _public_module(LogisticRegression), _public_module(hedgerow.AdaBoostClassifier)
    ('sklearn.linear_model', 'hedgerow')
    """
    if getattr(hedgerow, kind.__name__, None) is kind:
        return "hedgerow"
    names = kind.__module__.split(".")
    private = next((number for number, name in enumerate(names) if name.startswith("_")), len(names))
    return ".".join(names[: max(private, 1)])
