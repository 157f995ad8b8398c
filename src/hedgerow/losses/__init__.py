"""A loss says what a prediction costs: one small class each, with its link, and a table of names.

y is (n,), raw scores are (K, n), one row of scores for each output; see `Loss` for the interface.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hedgerow.losses.base import Loss
from hedgerow.losses.classification import BinaryLogLoss, Exponential, MultinomialLogLoss
from hedgerow.losses.custom import CustomLoss
from hedgerow.losses.links import IdentityLink, Link, LogitLink, LogLink, SoftmaxLink
from hedgerow.losses.regression import (
    AbsoluteError,
    Gamma,
    Huber,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "BinaryLogLoss",
    "CustomLoss",
    "Exponential",
    "Gamma",
    "Huber",
    "IdentityLink",
    "Link",
    "LogLink",
    "LogitLink",
    "Loss",
    "MultinomialLogLoss",
    "Poisson",
    "Quantile",
    "SoftmaxLink",
    "SquaredError",
    "Tweedie",
    "make_loss",
]


class _Settings(NamedTuple):
    n_classes: int
    quantile: float
    alpha: float
    power: float


def _log_loss(settings: _Settings) -> Loss:
    if settings.n_classes <= 2:  # one class: the start alone decides
        return BinaryLogLoss()
    return MultinomialLogLoss(settings.n_classes)


def _exponential(settings: _Settings) -> Loss:
    if settings.n_classes > 2:
        raise ValueError(
            f"loss='exponential' is for two classes and y has {settings.n_classes}; use loss='log_loss'"
        )
    return Exponential()


def make_loss(
    loss: Any,
    *,
    task: str,
    n_classes: int | None = None,
    quantile: float = 0.5,
    alpha: float = 0.9,
    power: float = 1.5,
) -> Loss:
    """Make a loss from its name or from the user's object.

    Parameters
    ----------
    loss : str or object
        A name in `LOSSES`, a `Loss`, or an object with ``loss`` and ``gradient_hessian``, see
        `CustomLoss`.
    task : {"regression", "classification"}
        What y holds.
    n_classes : int, optional
        The number of classes; needed for classification.
    quantile, alpha, power : float
        Parameters of the losses "quantile", "huber" and "tweedie".

    Returns
    -------
    Loss

    Examples
    --------
    >>> make_loss("log_loss", task="classification", n_classes=3)
    MultinomialLogLoss(3)
    """
    if task not in LOSSES:
        raise ValueError(f"task={task!r} is not known; allowed are {sorted(LOSSES)}")
    if task == "classification" and n_classes is None:
        raise ValueError("n_classes=None: classification needs the number of classes")
    if isinstance(loss, str):
        if loss not in LOSSES[task]:
            raise ValueError(
                f"loss={loss!r} is not known for {task}; allowed are {sorted(LOSSES[task])} and "
                "an object with loss(y, raw) and gradient_hessian(y, raw)"
            )
        return LOSSES[task][loss](_Settings(n_classes or 2, quantile, alpha, power))
    if isinstance(loss, Loss):
        return loss
    if n_classes is not None and n_classes > 2:
        raise ValueError(f"loss={loss!r}: a custom loss is for two classes and y has {n_classes}")
    return CustomLoss(loss, task=task)


LOSSES: dict[str, dict[str, Callable[[_Settings], Loss]]] = {
    "regression": {
        "squared_error": lambda _: SquaredError(),
        "absolute_error": lambda _: AbsoluteError(),
        "huber": lambda settings: Huber(settings.alpha),
        "quantile": lambda settings: Quantile(settings.quantile),
        "poisson": lambda _: Poisson(),
        "gamma": lambda _: Gamma(),
        "tweedie": lambda settings: Tweedie(settings.power),
    },
    "classification": {
        "log_loss": _log_loss,
        "exponential": _exponential,
    },
}
