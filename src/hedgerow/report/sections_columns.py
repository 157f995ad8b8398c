"""Sections: which columns the answers come from, and how."""

import numpy as np

from hedgerow.forest import TreeModel
from hedgerow.plots import ImportancesDisplay, PartialDependenceDisplay, ShapeFunctionDisplay
from hedgerow.report import page
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section

_MOST_SHUFFLED = 200  # columns up to which each is shuffled in turn
_JUDGED = (1000, 5000)  # rows on which they are shuffled: fewer, the more columns there are
_MOST_CELLS = 200_000
_MOST_BARS = 15
_MOST_CURVES = 6
_MOST_ROWS = 500  # over which partial dependence is a mean
_STUMP_NODES = 3  # the root and two leaves


def importances(facts: Facts) -> Section | None:
    """What splits gained, and what shuffling costs."""
    parts = []
    if facts.importances is not None and facts.importances.any():
        display = ImportancesDisplay.from_estimator(facts.model, facts.X, method="split", top=_MOST_BARS)
        first = facts.names[display.order[0]]
        caption = (
            "By splits: each column's share of what the splits of the model gained, on the rows of the fit."
        )
        parts.append(facts.draw("importances", display, caption, f"Bars: {first} has the largest share"))
    can_judge = facts.can_judge and (facts.is_classification or len(set(facts.y.tolist())) > 1)
    if can_judge and facts.n_columns <= _MOST_SHUFFLED:
        most = min(max(_MOST_CELLS // facts.n_columns, _JUDGED[0]), _JUDGED[1])
        display = ImportancesDisplay.from_estimator(
            facts.model,
            facts.X,
            facts.y,
            method="permutation",
            top=_MOST_BARS,
            max_rows=most,
            random_state=facts.random_state,
        )
        first = facts.names[display.order[0]]
        is_some = len(facts.y) > most
        which = f"{most:,} rows drawn from those held out" if is_some else "rows held out"
        caption = (
            f"By permutation: how much worse the model is on {which} when a column is shuffled; lines are "
            "the spread over shuffles. Columns that tell the same can stand in for each other, and then both "
            "look small."
        )
        parts.append(facts.draw("permutation", display, caption, f"Bars: shuffling {first} costs most"))
    if not parts:
        return None
    body = page.side_by_side(*parts)
    if facts.n_columns > _MOST_SHUFFLED:
        told = f"Importances by permutation are left out: there are more than {_MOST_SHUFFLED} columns."
        body += page.paragraph(told, kind="small")
    return Section("importances", "Importances", body)


def partial_dependence(facts: Facts) -> Section | None:
    """How the answer goes with the columns that count most."""
    top = facts.top_features(_MOST_CURVES)
    if not top:
        return None
    display = PartialDependenceDisplay.from_estimator(
        facts.model, facts.X, features=top, max_rows=_MOST_ROWS, random_state=facts.random_state, n_columns=2
    )
    names = ", ".join(facts.names[column] for column in top)
    n = len(facts.y)
    which = f"{_MOST_ROWS} rows drawn from those held out" if n > _MOST_ROWS else f"the {n} rows held out"
    caption = (
        f"The mean answer of the model when a column is set to a value and the others stay, over {which}."
    )
    n_classes = len(display.output_names)
    if len(display.outputs) < n_classes:
        caption += f" The {len(display.outputs)} most probable of {n_classes} classes are drawn."
    drawn = facts.draw("dependence", display, caption, f"Curves of the mean answer by {names}")
    return Section("dependence", "Partial dependence", drawn)


def shapes(facts: Facts) -> Section | None:
    """The model itself, if it is a sum of one function of each column."""
    if not is_sum_of_stumps(facts.model):
        return None
    display = ShapeFunctionDisplay.from_estimator(facts.model, facts.X, n_columns=2)
    told = page.paragraph(
        "Every tree of this model splits once, so the model is a sum of one function of each column: these "
        "are no approximations, they are the model."
    )
    names = ", ".join(str(function.name or f"column {function.feature}") for function in display.functions)
    caption = (
        "What each column adds to the score; the six with the largest spread. Ticks are deciles of the rows."
    )
    drawn = facts.draw("shapes", display, caption, f"Step functions of {names}")
    return Section("shapes", "Shape functions", told + drawn)


def is_sum_of_stumps(model: object) -> bool:
    """Whether a model is a sum of trees with one split each.

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
    return bool(np.all(np.diff(trees.forest.starts) <= _STUMP_NODES))
