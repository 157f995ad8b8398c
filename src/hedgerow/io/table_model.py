"""TableModel: a model of `hedgerow train` that predicts from raw data frames.

The card of such a model has the recipe that makes the columns of the model from those of a table: dates
become numbers, and texts become categories.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.container import ModelFileError
from hedgerow.datafiles import Recipe
from hedgerow.datafiles.frames import frame_to_arrow
from hedgerow.selection import score_model

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.theory import Certificate


class TableModel:
    """A model of a table with the recipe of its columns, which `hedgerow.load` returns for such files.

    Parameters
    ----------
    estimator : fitted estimator
        It predicts from the columns that the recipe makes, which `features` returns.
    recipe : hedgerow.datafiles.Recipe
    card : dict
        What `hedgerow train` stored: the training file, the held-out rows, scores, the command.
    certificate : hedgerow.theory.Certificate or None

    Examples
    --------
    >>> import pandas as pd
    >>> import pyarrow as pa
    >>> from hedgerow import DecisionTreeRegressor
    >>> from hedgerow.datafiles import make_recipe
    >>> table = pa.table({"born": ["2001-05-17", "1990-01-02"] * 3, "height": [1.8, 1.7] * 3})
    >>> recipe = make_recipe(table, "height")
    >>> tree = DecisionTreeRegressor(max_depth=1).fit(recipe.features(table), recipe.labels(table))
    >>> model = TableModel(tree, recipe, {"kind": "hedgerow table model 1", "recipe": recipe.to_dict()})
    >>> model.predict(pd.DataFrame({"name": ["Ann", "Bob"], "born": ["2001-06-01", "1990-03-01"]}))
    array([1.8, 1.7])
    """

    def __init__(
        self, estimator: Any, recipe: Recipe, card: dict[str, Any], certificate: "Certificate | None" = None
    ) -> None:
        self.estimator, self.recipe, self.card, self.certificate = estimator, recipe, card, certificate

    @classmethod
    def from_card(
        cls, estimator: Any, card: dict[str, Any], certificate: "Certificate | None"
    ) -> "TableModel":
        """Return the model of a file; its recipe is checked, and must be that of the estimator."""
        try:
            recipe = Recipe.from_dict(card.get("recipe"))
            _check_recipe(recipe, estimator)
        except ValueError as error:
            raise ModelFileError(f"the card of the model is damaged: {error}") from error
        return cls(estimator, recipe, card, certificate)

    def __repr__(self) -> str:
        return f"TableModel({' '.join(repr(self.estimator).split())}, target={self.recipe.target!r})"

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.recipe.task

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of a classifier."""
        labels: NDArray[Any] = self.estimator.classes_
        return labels

    @property
    def columns(self) -> list[str]:
        """The columns that a data frame must have, in any order."""
        return [column.name for column in self.recipe.columns]

    def features(self, X: Any) -> "pa.Table":
        """Return the columns of the model, made from a raw table.

        Parameters
        ----------
        X : pandas or polars DataFrame, or pyarrow Table
            A table with the columns of the training file, in any order. Other columns are ignored, and the
            target is not needed. Dates and numbers may be texts.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        hedgerow.datafiles.DataFileError
            If a column is missing or its values have another kind than in training.
        """
        return self.recipe.apply_frame(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels, by the threshold of the model if it has one, or numbers; X is that of `features`."""
        return np.asarray(self.estimator.predict(self.features(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, (n_samples, n_classes); X is that of `features`."""
        if self.task == "regression":
            raise AttributeError("a regression model has no probabilities")
        return np.asarray(self.estimator.predict_proba(self.features(X)), np.float64)

    def score(self, X: Any) -> dict[str, float]:
        """Score the model on a raw table with the target, by the names of `hedgerow.selection.METRICS`."""
        table = frame_to_arrow(X, set(self.columns) | {self.recipe.target})
        labelled = table.filter(self.recipe.has_label(table))
        return score_model(
            self.estimator, self.recipe.features(labelled), self.recipe.labels(labelled), self.task
        )


def _check_recipe(recipe: Recipe, model: Any) -> None:
    """Raise ValueError if a recipe belongs to another model."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and tuple(names) != recipe.feature_names:
        raise ValueError("its recipe makes other columns than those of the model")
    if (recipe.task == "classification") != hasattr(model, "classes_"):
        raise ValueError(f"its recipe is for {recipe.task}, and the model is not")
