"""Facts: what a report looks at, gathered once.

The model, its rows, what it says about the rows held out, and the drawings made so far. A section asks the
facts whether it applies, and says nothing if it does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_features, _num_samples, check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.base import score_margins
from hedgerow.plots.columns import as_table, is_boolean
from hedgerow.report import page
from hedgerow.selection import score_model, take_rows
from hedgerow.table import read_table
from hedgerow.theory import Certificate
from hedgerow.threads import cached_property

MOST_ROWS = 50_000  # that every round is judged by


@dataclass(eq=False)
class Facts:
    """The inputs of a report, with what follows from them.

    Parameters
    ----------
    model : fitted estimator
    X, y : table of shape (n_samples, n_features), array of shape (n_samples,)
        Rows held out.
    X_train, y_train : likewise, or None
        Rows that the model was fitted to.
    summary : TableSummary or None
        Of `hedgerow.datafiles`.
    recipe : Recipe or None
        Of `hedgerow.datafiles`.
    choice : Choice or None
        Of `hedgerow.selection`.
    certificate : Certificate or None
    reproduce : sequence of str
        Lines that make the model again.
    model_file : str or None
        Path of the model as a file.
    rows, train_rows : int arrays or None
        The numbers of the rows in the file they came from; None counts them from 0.
    random_state : int

    Attributes
    ----------
    figures : dict of displays by name

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> facts = Facts(model, X, y, reproduce=["python toy.py"])
    >>> facts.kind, facts.task, facts.classes
    ('AdaBoostClassifier', 'classification', [-1, 1])
    """

    model: Any
    X: Any
    y: NDArray[Any]
    X_train: Any = None
    y_train: NDArray[Any] | None = None
    summary: Any = None
    recipe: Any = None
    choice: Any = None
    certificate: Certificate | None = None
    reproduce: Sequence[str] = ()
    model_file: str | None = None
    rows: Integers | None = None
    train_rows: Integers | None = None
    random_state: int = 0
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_is_fitted(self.model)
        if (self.X_train is None) != (self.y_train is None):
            absent = "X_train" if self.X_train is None else "y_train"
            raise ValueError(f"{absent}=None is not allowed here: X_train and y_train go together")
        self.y = _labels("y_test", self.y, self.X)
        self.rows = _numbers("test_rows", self.rows, len(self.y))
        if self.y_train is not None:
            self.y_train = _labels("y_train", self.y_train, self.X_train)
            self.train_rows = _numbers("train_rows", self.train_rows, len(self.y_train))

    def draw(self, name: str, display: Any, caption: str, alt: str) -> Markup:
        """A display as a part of the page; it is kept in `figures`."""
        self.figures[name] = display
        return page.figure(display, caption, alt, name=f"figure-{name}")

    # --- what the model is

    @cached_property
    def kind(self) -> str:
        """The name of its class."""
        return type(self.model).__name__

    @cached_property
    def is_classification(self) -> bool:
        """Whether it tells classes, not numbers."""
        return bool(is_classifier(self.model))

    @property
    def task(self) -> str:
        """As `hedgerow.selection` calls it."""
        return "classification" if self.is_classification else "regression"

    @cached_property
    def classes(self) -> list[Any]:
        """The classes it knows; empty for regression."""
        return np.asarray(self.model.classes_).tolist() if self.is_classification else []

    @cached_property
    def knows_labels(self) -> bool:
        """Whether it tells classes, and those of all rows held out are among them."""
        return self.is_classification and set(self.y.tolist()) <= set(self.classes)

    @property
    def can_judge(self) -> bool:
        """Whether every row held out has a label that the model could answer."""
        return self.knows_labels or not self.is_classification

    @cached_property
    def n_columns(self) -> int:
        """Columns of X."""
        return int(_num_features(self.X))

    @cached_property
    def names(self) -> list[str]:
        """What the columns are called."""
        given = getattr(self.model, "feature_names_in_", None)
        return (
            [f"column {j}" for j in range(self.n_columns)] if given is None else [str(one) for one in given]
        )

    @property
    def target(self) -> str:
        """What the target is called."""
        return "the target" if self.recipe is None else str(self.recipe.target)

    @property
    def n_train(self) -> int | None:
        """Rows that it was fitted to; None if nobody said."""
        return None if self.y_train is None else len(self.y_train)

    # --- what it says about the rows held out

    @cached_property
    def scores(self) -> dict[str, float]:
        """All metrics that apply, by name."""
        return dict(score_model(self.model, self.X, self.y, self.task))

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """Its answers, (rows,)."""
        return np.asarray(self.model.predict(self.X))

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Which answers are not the label, (rows,)."""
        return np.asarray(self.predicted != self.y, dtype=np.bool_)

    @cached_property
    def probabilities(self) -> Floats | None:
        """Of the classes, (rows, classes); None if it has none."""
        if not self.is_classification or not hasattr(self.model, "predict_proba"):
            return None
        return np.asarray(self.model.predict_proba(self.X), dtype=np.float64)

    @cached_property
    def margins(self) -> Floats | None:
        """How clearly it is for the label, from -1 to 1, (rows,); None if it has no such thing."""
        if not self.knows_labels:
            return None
        if hasattr(self.model, "margins"):
            return np.asarray(self.model.margins(self.X, self.y), dtype=np.float64)
        if self.probabilities is None:
            return None
        places = {label: place for place, label in enumerate(self.classes)}
        known = np.array([places[label] for label in self.y.tolist()])
        return score_margins(np.ascontiguousarray(self.probabilities.T), known, 1.0)

    # --- rows that every round is judged by

    @cached_property
    def some_train(self) -> tuple[Any, Any]:
        """The rows of the fit, or as many of them as `MOST_ROWS`; Nones if there are none."""
        return (None, None) if self.y_train is None else self._some(self.X_train, self.y_train)

    @cached_property
    def some_test(self) -> tuple[Any, Any]:
        """The rows held out, likewise; Nones if the model does not know their classes."""
        return self._some(self.X, self.y) if self.can_judge else (None, None)

    def _some(self, X: Any, y: NDArray[Any]) -> tuple[Any, Any]:
        if len(y) <= MOST_ROWS:
            return X, y
        random = np.random.default_rng(self.random_state)
        rows = np.sort(random.choice(len(y), MOST_ROWS, replace=False)).astype(np.int64)
        return take_rows(X, rows), y[rows]

    @property
    def some_words(self) -> str:
        """A sentence on the rows that were drawn; empty if all are used."""
        is_all = max(len(self.y), self.n_train or 0) <= MOST_ROWS
        return "" if is_all else f" Of more rows than {MOST_ROWS:,}, so many are drawn by chance."

    # --- its columns

    @cached_property
    def importances(self) -> Floats | None:
        """Share of each column in what the splits gained; None if it has no such thing."""
        given = getattr(self.model, "feature_importances_", None)
        return None if given is None else np.asarray(given, dtype=np.float64)

    def top_features(self, most: int) -> list[int]:
        """The columns that count most, at most so many."""
        if self.importances is None:
            return list(range(min(most, self.n_columns)))
        order = np.argsort(-self.importances, kind="stable")[:most]
        return [int(column) for column in order if self.importances[column] > 0]


def cells(X: Any, rows: NDArray[np.integer[Any]], columns: Sequence[int]) -> list[list[Any]]:
    """Values of some rows and columns of any kind of table: numbers, categories, None for missing.

    >>> cells(np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([1]), [0, 1])
    [[3.0, None]]
    """
    table = read_table(X, estimator_name="Report")
    booleans = [column for column in columns if is_boolean(as_table(X), column)]
    found = []
    for values in np.asarray(table.rows(np.asarray(rows)), dtype=np.float64)[:, list(columns)].tolist():
        row: list[Any] = []
        for column, value in zip(columns, values, strict=True):
            categories = table.schema.categories[column]
            if np.isnan(value):
                row.append(None)
            elif categories is not None:
                row.append(categories[int(value)])
            else:
                row.append(bool(value) if column in booleans else value)
        found.append(row)
    return found


def _labels(name: str, given: Any, X: Any) -> NDArray[Any]:
    labels = np.asarray(given)
    if labels.ndim != 1 or len(labels) != _num_samples(X):
        raise ValueError(
            f"{name} has shape {labels.shape}: it must have one label for each of the {_num_samples(X)} rows"
        )
    if len(labels) == 0:
        raise ValueError(f"{name} is empty: a report needs one row held out at least")
    return labels


def _numbers(name: str, given: Any, n_rows: int) -> Integers:
    if given is None:
        return np.arange(n_rows)
    numbers = np.asarray(given)
    if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(
            f"{name} is not allowed: it must hold one whole number for each of the {n_rows} rows"
        )
    return numbers.astype(np.int64)
