"""The inputs of a report: the model, its data and its predictions, and the figures made so far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import average_precision_score
from sklearn.utils.validation import _num_features, _num_samples, check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.base import score_margins
from hedgerow.plots.inputs import as_table, encode_labels, is_boolean, names_of, sample_rows
from hedgerow.report import page
from hedgerow.selection import score_model, take_rows
from hedgerow.table import read_table
from hedgerow.theory import Certificate
from hedgerow.threads import cached_property

RARE = 0.1  # share of the labels below which a class is rare
MAX_ROWS = 50_000  # on which every round is evaluated


@dataclass(eq=False)
class ReportData:
    """The inputs of a report, and values computed from them.

    Parameters
    ----------
    model : fitted estimator
    X, y : table of shape (n_samples, n_features), array of shape (n_samples,)
        Test rows.
    X_train, y_train : likewise, or None
        Training rows.
    summary : hedgerow.datafiles.TableSummary or None
    recipe : hedgerow.datafiles.Recipe or None
    choice : hedgerow.selection.Choice or None
    certificate : Certificate or None
    reproduce : sequence of str
        Commands that reproduce the model.
    model_file : str or None
        Path of the model file.
    data_file : str or None
        Path of the file that the rows are from.
    rows, train_rows : int arrays or None
        Numbers of the rows in the input file; None for 0, 1, ...
    random_state : int
    positive : label or None
        The positive class of F1, average precision and curves, of two.

    Attributes
    ----------
    figures : dict of displays by name

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> data = ReportData(model, X, y, reproduce=["python toy.py"])
    >>> data.kind, data.task, data.classes
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
    data_file: str | None = None
    rows: Integers | None = None
    train_rows: Integers | None = None
    random_state: int = 0
    positive: Any = None
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_is_fitted(self.model)
        if (self.X_train is None) != (self.y_train is None):
            absent = "X_train" if self.X_train is None else "y_train"
            raise ValueError(f"{absent}=None is not allowed: X_train and y_train must be passed together")
        self.y = _labels("y_test", self.y, self.X)
        self.rows = _numbers("test_rows", self.rows, len(self.y))
        if self.y_train is not None:
            self.y_train = _labels("y_train", self.y_train, self.X_train)
            self.train_rows = _numbers("train_rows", self.train_rows, len(self.y_train))

    def draw(self, name: str, display: Any, caption: str, alt: str) -> Markup:
        """Render a display as HTML, and store it in `figures`."""
        self.figures[name] = display
        return page.figure(display, caption, alt, name=f"figure-{name}")

    # --- the model

    @cached_property
    def kind(self) -> str:
        """The name of the model's class."""
        return type(self.model).__name__

    @cached_property
    def is_classification(self) -> bool:
        """Whether the model is a classifier."""
        return bool(is_classifier(self.model))

    @property
    def task(self) -> str:
        """Classification or regression, as in `hedgerow.selection`."""
        return "classification" if self.is_classification else "regression"

    @cached_property
    def classes(self) -> list[Any]:
        """The classes of the model; empty for regression."""
        return np.asarray(self.model.classes_).tolist() if self.is_classification else []

    @cached_property
    def has_known_labels(self) -> bool:
        """Whether the model is a classifier, and all test labels are among its classes."""
        return self.is_classification and set(self.y.tolist()) <= set(self.classes)

    @cached_property
    def rare_class(self) -> int | None:
        """Number of the smallest class, if it has less than `RARE` of all labels; None for regression."""
        if not self.is_classification:
            return None
        train = [] if self.y_train is None else self.y_train.tolist()
        counts = Counter([*self.y.tolist(), *train])
        n_rows, (size, number) = counts.total(), min((counts[c], i) for i, c in enumerate(self.classes))
        return number if size < RARE * n_rows else None

    @property
    def can_evaluate(self) -> bool:
        """Whether the model could predict every test label."""
        return self.has_known_labels or not self.is_classification

    @cached_property
    def n_columns(self) -> int:
        """Columns of X."""
        return int(_num_features(self.X))

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        return names_of(self.model, None, self.n_columns)

    @property
    def target(self) -> str:
        """Name of the target."""
        return "the target" if self.recipe is None else str(self.recipe.target)

    @property
    def n_train(self) -> int | None:
        """Number of training rows; None if it is not known."""
        return None if self.y_train is None else len(self.y_train)

    # --- predictions for the test rows

    @cached_property
    def scores(self) -> dict[str, float]:
        """All metrics that apply, by name."""
        return dict(score_model(self.model, self.X, self.y, self.task, positive=self.positive))

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """The predictions, (rows,)."""
        return np.asarray(self.model.predict(self.X))

    @cached_property
    def residuals(self) -> Floats:
        """Actual minus predicted numbers, (rows,)."""
        return self.y.astype(np.float64) - self.predicted.astype(np.float64)

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether the prediction is not the label, (rows,)."""
        return np.asarray(self.predicted != self.y, dtype=np.bool_)

    @cached_property
    def probabilities(self) -> Floats | None:
        """Predicted probabilities, (rows, classes); None if the model has none."""
        if not self.is_classification or not hasattr(self.model, "predict_proba"):
            return None
        return np.asarray(self.model.predict_proba(self.X), dtype=np.float64)

    @cached_property
    def margins(self) -> Floats | None:
        """Margins of the test rows, from -1 to 1, (rows,); None if the model has none."""
        if not self.has_known_labels:
            return None
        if hasattr(self.model, "margins"):
            return np.asarray(self.model.margins(self.X, self.y), dtype=np.float64)
        if self.probabilities is None:
            return None
        codes = encode_labels(self.y, self.classes)
        return score_margins(np.ascontiguousarray(self.probabilities.T), codes, 1.0)

    @property
    def ranked_class(self) -> int | None:
        """Number of the class whose average precision is a key figure: the positive one, or a rare one."""
        return self.rare_class if self.positive is None else self.classes.index(self.positive)

    @cached_property
    def average_precision(self) -> float | None:
        """Average precision of `ranked_class`; None without one, or without test rows of it."""
        if self.ranked_class is None or self.probabilities is None:
            return None
        is_positive = self.y == self.classes[self.ranked_class]
        if not 0 < np.sum(is_positive) < len(self.y):
            return None
        return float(average_precision_score(is_positive, self.probabilities[:, self.ranked_class]))

    @property
    def class_order(self) -> list[int]:
        """Numbers of the classes; curves of two classes show the second: the positive or rare one."""
        order = list(range(len(self.classes)))
        return order[::-1] if len(order) == 2 and self.ranked_class == 0 else order

    # --- rows on which every round is evaluated

    @cached_property
    def some_train(self) -> tuple[Any, Any]:
        """At most `MAX_ROWS` training rows; Nones if there are none."""
        return (None, None) if self.y_train is None else self._some(self.X_train, self.y_train)

    @cached_property
    def some_test(self) -> tuple[Any, Any]:
        """At most `MAX_ROWS` test rows; Nones if the model does not have their classes."""
        return self._some(self.X, self.y) if self.can_evaluate else (None, None)

    def _some(self, X: Any, y: NDArray[Any]) -> tuple[Any, Any]:
        if len(y) <= MAX_ROWS:
            return X, y
        rows = sample_rows(len(y), MAX_ROWS, self.random_state)
        return take_rows(X, rows), y[rows]

    @property
    def sample_note(self) -> str:
        """A sentence on the sample of rows; empty if all rows are used."""
        is_all = max(len(self.y), self.n_train or 0) <= MAX_ROWS
        return "" if is_all else f" Computed on a random sample of at most {MAX_ROWS:,} rows."

    # --- columns

    @cached_property
    def importances(self) -> Floats | None:
        """Share of each column in the gain of the splits; None if the model has none."""
        found = getattr(self.model, "feature_importances_", None)
        return None if found is None else np.asarray(found, dtype=np.float64)

    def top_features(self, most: int) -> list[int]:
        """Return the most important columns."""
        if self.importances is None:
            return list(range(min(most, self.n_columns)))
        order = np.argsort(-self.importances, kind="stable")[:most]
        return [int(column) for column in order if self.importances[column] > 0]


def table_values(X: Any, rows: NDArray[np.integer[Any]], columns: Sequence[int]) -> list[list[Any]]:
    """Return values of some rows and columns of a table: numbers, booleans, categories, None for missing.

    >>> table_values(np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([1]), [0, 1])
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


def _labels(name: str, values: Any, X: Any) -> NDArray[Any]:
    labels = np.asarray(values)
    if labels.ndim != 1 or len(labels) != _num_samples(X):
        raise ValueError(
            f"{name} has shape {labels.shape}: it must have one label for each of the {_num_samples(X)} rows"
        )
    if len(labels) == 0:
        raise ValueError(f"{name} is empty: a report requires at least one test row")
    return labels


def _numbers(name: str, values: Any, n_rows: int) -> Integers:
    if values is None:
        return np.arange(n_rows)
    numbers = np.asarray(values)
    if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"{name} is not allowed: it must hold one integer for each of the {n_rows} rows")
    return numbers.astype(np.int64)
