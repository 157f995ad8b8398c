"""Tables and parameters of results as text."""

from typing import Any

from hedgerow.selection.methods import AUTO_ROUNDS
from hedgerow.text_table import fitting_columns, format_page


def format_columns(
    paragraphs: list[str],
    heads: list[str],
    rows: list[list[str]],
    order: list[int],
    text: tuple[int, ...],
    width: int,
) -> str:
    """Format the columns that fit a page; `order` lists them by importance, `text` names the text columns."""
    columns = [[heads[column], *(row[column] for row in rows)] for column in order]
    wrapped = [number for number, column in enumerate(order) if column in text and column > 0]
    shown = sorted(order[number] for number in fitting_columns(columns, wrapped, width))
    left = [number for number, column in enumerate(shown) if column in text]
    body = [[row[column] for column in shown] for row in rows]
    return format_page(paragraphs, [heads[column] for column in shown], body, left, width)


def format_metric(name: str) -> str:
    """Return the head of a column of scores.

    >>> format_metric("r2"), format_metric("log-loss")
    ('R²', 'log-loss')
    """
    return "R²" if name == "r2" else name


_COUNTED = {"gradient": "rounds", "forest": "trees", "extra-trees": "trees", "bagging": "trees"}
_FORMATS = {
    "learning_rate": "learning rate {}",
    "max_leaf_nodes": "{} leaves",
    "max_depth": "depth {}",
    "min_samples_leaf": "at least {} rows per leaf",
    "max_features": "{} of the columns",
    "subsample": "{} of the rows per round",
    "max_samples": "{} of the rows",
    "colsample_bytree": "{} of the columns per tree",
    "l2_regularization": "penalty {}",
    "max_categories_for_sets": "target statistics for more than {} categories",
    "algorithm": "{}",
    "loss": "{} loss",
}


def format_parameters(method: str, parameters: dict[str, Any]) -> str:
    """Format parameters as text.

    Examples
    --------
    >>> format_parameters("gradient", {"n_estimators": 137, "learning_rate": 0.1, "max_leaf_nodes": 31})
    '137 rounds, learning rate 0.1, 31 leaves'
    """
    texts = []
    for name, value in parameters.items():
        if name == "n_estimators" and value == AUTO_ROUNDS:
            texts.append("automatic sizes")
        elif name == "n_estimators":
            unit = _COUNTED.get(method, "rounds")
            texts.append(f"{value} {unit[:-1] if value == 1 else unit}")
        elif value == AUTO_ROUNDS:
            continue
        elif name == "max_depth" and value in (1, None):
            texts.append("stumps" if value == 1 else "any depth")
        else:
            texts.append(_FORMATS.get(name, f"{name}={{}}").format(value))
    return ", ".join(texts)
