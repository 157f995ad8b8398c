"""Python code that computes the key figures of a report again.

The code loads the model file and the rows of the data file. If the report is not of files, it fits the model
to X_train and y_train and evaluates it on X_test and y_test. It prints the figures without rounding.
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
from hedgerow.io import load_card
from hedgerow.report.data import ReportData
from hedgerow.selection import WeightedEnsembleClassifier, WeightedEnsembleRegressor
from hedgerow.theory.certificate import HOLD_OUT

_LINE = 88  # letters


def evaluation_code(data: ReportData) -> list[str]:
    """Lines that print the key figures of `model` on `X_test` and `y_test`."""
    lines = [
        f'for name, value in score_model(model, X_test, y_test, "{data.task}").items():',
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
    rare = data.rare_class
    if data.rare_precision is not None and rare is not None:
        imports.append("from sklearn.metrics import average_precision_score")
        lines += [
            f"is_rare = y_test == {data.classes[rare]!r}",
            f"probability = model.predict_proba(X_test)[:, {rare}]",
            'print("average precision", average_precision_score(is_rare, probability))',
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


def file_code(data: ReportData) -> list[str] | None:
    """Lines that make `model`, `X_test` and `y_test` from the files of a report; None without files."""
    if data.model_file is None or data.data_file is None or data.recipe is None:
        return None
    try:
        card = load_card(data.model_file)
    except (ModelFileError, OSError):
        return None
    # after a refit the file holds another model than the one that was evaluated
    if card is None or "recipe" not in card or "hold_out" not in card or card.get("refit"):
        return None
    model, data_file = (str(Path(path).name) for path in (data.model_file, data.data_file))
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
    return [
        *imports,
        "",
        f"loaded = load({model!r})",
        "model, recipe = loaded.estimator, loaded.recipe",
        f"table = read_typed({data_file!r}, options=recipe.read_options)",
        "table = table.filter(recipe.has_label(table))",
        "X, y = recipe.features(table), recipe.labels(table)",
        *rows,
    ]


def fit_code(model: Any) -> list[str]:
    r"""Lines that fit a model with the same parameters to `X_train` and `y_train`.

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
    return [*imports, "", *notes, *f"model = {shown}".split("\n"), "model.fit(X_train, y_train)"]


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
    """The unfitted model with the number of members of the fit, if it stopped early."""
    if isinstance(model, WeightedEnsembleClassifier | WeightedEnsembleRegressor):
        members = [_as_fitted(member) for member in model.estimators_]
        return type(model)(members, weights=model.weights_.tolist())
    if getattr(model, "n_estimators", 0) == "auto":  # with a number, the other sizes would be others
        return model
    requested = int(getattr(model, "n_estimators", 0))
    fitted = int(getattr(model, "n_estimators_", requested))
    return clone(model).set_params(n_estimators=fitted) if 0 < fitted < requested else model


def _expression(value: Any, modules: dict[str, set[str]], left_out: list[str]) -> str:
    """The Python expression of an estimator or a parameter; collects its imports."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r})"
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
    """The module that a class is imported from.

    >>> from sklearn.linear_model import LogisticRegression
    >>> _public_module(LogisticRegression), _public_module(hedgerow.AdaBoostClassifier)
    ('sklearn.linear_model', 'hedgerow')
    """
    if getattr(hedgerow, kind.__name__, None) is kind:
        return "hedgerow"
    names = kind.__module__.split(".")
    private = next((number for number, name in enumerate(names) if name.startswith("_")), len(names))
    return ".".join(names[: max(private, 1)])
