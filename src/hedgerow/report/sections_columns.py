"""Sections: importance and effect of the columns."""

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from hedgerow.forest import TreeModel
from hedgerow.plots import ImportancesDisplay, PartialDependenceDisplay, ShapeFunctionDisplay
from hedgerow.report import page, text
from hedgerow.report.data import ReportData
from hedgerow.report.page import Section
from hedgerow.text_table import listed

_MAX_PERMUTED = 200  # columns up to which permutation importances are computed
_PERMUTED_ROWS = (1000, 5000)  # fewer, the more columns there are
_MAX_CELLS = 200_000
_MAX_BARS = 15
_MAX_CURVES = 6
_MAX_ROWS = 500  # of the means of partial dependence
_STUMP_NODES = 3  # the root and two leaves
_LARGE_SHARE = 0.75  # times the mean importance, from which a column is among the larger ones
_NEAR_ZERO = 0.05  # times the largest importance
_FAR = 0.25  # times the other kind's importance relative to its largest one, below which they disagree
_LOW_CORRELATION = 0.5  # of ranks, below which importances disagree
_MIN_RANKED = 4  # columns from which ranks are correlated
_MAX_NAMES = 5  # in a sentence


def importances(data: ReportData) -> Section | None:
    """Importances by splits and by permutation, and where they disagree."""
    displays: dict[str, ImportancesDisplay] = {}
    elements = []
    if data.importances is not None and data.importances.any():
        display = ImportancesDisplay.from_estimator(data.model, data.X, method="split", top=_MAX_BARS)
        displays["split"] = display
        first = data.names[display.order[0]]
        caption = "By splits: share of each column in the gain of all splits, on the training set."
        elements.append(data.draw("importances", display, caption, f"Bars: {first} has the largest share"))
    can_evaluate = data.can_evaluate and (data.is_classification or len(set(data.y.tolist())) > 1)
    if can_evaluate and data.n_columns <= _MAX_PERMUTED:
        most = min(max(_MAX_CELLS // data.n_columns, _PERMUTED_ROWS[0]), _PERMUTED_ROWS[1])
        options: dict[str, Any] = {"top": _MAX_BARS, "max_rows": most, "random_state": data.random_state}
        display = ImportancesDisplay.from_estimator(
            data.model, data.X, data.y, method="permutation", **options
        )
        displays["permutation"] = display
        first = data.names[display.order[0]]
        which = f"{most:,} random rows of the test set" if len(data.y) > most else "the test set"
        caption = (
            f"By permutation: how much worse the model is on {which} when a column is permuted; lines are "
            "standard deviations over permutations."
        )
        elements.append(
            data.draw("permutation", display, caption, f"Bars: permuting {first} has the largest effect")
        )
    if not elements:
        return None
    body = page.side_by_side(*elements)
    if len(displays) == 2:
        body += page.paragraph(compare_importances(displays["split"], displays["permutation"]))
    if data.n_columns > _MAX_PERMUTED:
        note = f"Importances by permutation are omitted: there are more than {_MAX_PERMUTED} columns."
        body += page.paragraph(note, kind="small")
    return Section("importances", "Importances", body)


def compare_importances(split: ImportancesDisplay, permutation: ImportancesDisplay) -> str:
    """Describe where the importances by splits and by permutation disagree, and why.

    They disagree if the rank correlation of the columns that the model uses is below 1/2, or if a column is
    among the larger ones of one kind and near zero in the other. If one column dominates, others are near
    zero in both kinds; so a column must also be several times smaller in the other kind, both relative to
    the largest one.

    >>> from hedgerow.plots import ImportancesDisplay
    >>> split = ImportancesDisplay(["a", "b"], np.array([0.6, 0.4]), None, "share")
    >>> permutation = ImportancesDisplay(["a", "b"], np.array([0.3, 0.0]), np.array([0.1, 0.1]), "decrease")
    >>> print(compare_importances(split, permutation)[:76])
    The two kinds disagree. Large by splits, near zero by permutation: b. Either
    """
    names = split.names
    spreads = np.zeros(len(names)) if permutation.spreads is None else permutation.spreads
    gains, decreases = split.values, np.maximum(permutation.values, 0.0)
    total = decreases.sum() or 1.0
    gain, decrease = gains / (gains.max() or 1.0), decreases / (decreases.max() or 1.0)
    large = _LARGE_SHARE / len(names)
    unused = (decreases <= spreads) | (decrease < _NEAR_ZERO)
    is_first = (gains >= large) & unused & (decrease < _FAR * gain)
    by_splits = [text.shortened(names[i]) for i in np.argsort(-gains) if is_first[i]]
    is_second = (decreases / total >= large) & (gain < _NEAR_ZERO) & ~unused & (gain < _FAR * decrease)
    by_permutation = [text.shortened(names[i]) for i in np.argsort(-decreases) if is_second[i]]
    used = (gains > 0) | (decreases > 0)
    is_ranked = used.sum() >= _MIN_RANKED and np.ptp(gains[used]) > 0 and np.ptp(decreases[used]) > 0
    correlation = float(spearmanr(gains[used], decreases[used]).statistic) if is_ranked else 1.0
    if not by_splits and not by_permutation and correlation >= _LOW_CORRELATION:
        return "The two kinds agree on the important columns."
    sentences = ["The two kinds disagree."]
    if correlation < _LOW_CORRELATION:
        shown = text.number(round(correlation, 2))
        sentences.append(f"The rank correlation of the columns is {shown}.")
    if by_splits:
        shown = listed(by_splits, _MAX_NAMES)
        sentences.append(
            f"Large by splits, near zero by permutation: {shown}. Either other columns are correlated with "
            "it and replace it when it is permuted, or the splits fit noise of the training set, which is "
            "frequent for columns with many distinct values."
        )
    if by_permutation:
        shown = listed(by_permutation, _MAX_NAMES)
        sentences.append(
            f"Large by permutation, near zero by splits: {shown}. A few splits of small gain on the training "
            "set decide many predictions of the test set, as in interactions with other columns."
        )
    if len(sentences) == 2 and correlation < _LOW_CORRELATION:
        sentences.append(
            "Gains are of the training set and shared among correlated columns; permutations are of the test "
            "set, and correlated columns replace each other."
        )
    return " ".join(sentences)


def partial_dependence(data: ReportData) -> Section | None:
    """Partial dependence on the most important columns."""
    top = data.top_features(_MAX_CURVES)
    if not top:
        return None
    display = PartialDependenceDisplay.from_estimator(
        data.model, data.X, features=top, max_rows=_MAX_ROWS, random_state=data.random_state, n_columns=2
    )
    names = ", ".join(data.names[column] for column in top)
    n = len(data.y)
    which = f"{_MAX_ROWS} random rows of the test set" if n > _MAX_ROWS else f"the {n} rows of the test set"
    caption = f"The mean prediction over {which} when one column is set to a value."
    n_classes = len(display.output_names)
    if len(display.outputs) < n_classes:
        caption += f" The {len(display.outputs)} most probable of {n_classes} classes are drawn."
    drawn = data.draw("dependence", display, caption, f"Curves of the mean prediction by {names}")
    return Section("dependence", "Partial dependence", drawn)


def shapes(data: ReportData) -> Section | None:
    """Draw the shape functions of a sum of stumps."""
    if not is_sum_of_stumps(data.model) or not data.top_features(1):
        return None
    display = ShapeFunctionDisplay.from_estimator(data.model, data.X, n_columns=2)
    about = page.paragraph(
        "Every tree of this model has one split, so the model is exactly the sum of one function per column."
    )
    names = ", ".join(str(function.name or f"column {function.feature}") for function in display.functions)
    caption = "The functions of the six columns with the largest spread. Ticks are deciles of the test set."
    drawn = data.draw("shapes", display, caption, f"Step functions of {names}")
    return Section("shapes", "Shape functions", about + drawn)


def is_sum_of_stumps(model: object) -> bool:
    """Return whether a model is a sum of trees with one split each.

    >>> from hedgerow import AdaBoostClassifier, RandomForestClassifier
    >>> from hedgerow.datasets import load_toy
    >>> is_sum_of_stumps(AdaBoostClassifier(n_estimators=3).fit(*load_toy()))
    True
    >>> is_sum_of_stumps(RandomForestClassifier(n_estimators=3).fit(*load_toy()))
    False
    """
    trees = getattr(model, "model_", None)
    if not hasattr(model, "shape_functions") or not isinstance(trees, TreeModel):
        return False
    return trees.forest.linear is None and bool(np.all(np.diff(trees.forest.starts) <= _STUMP_NODES))
