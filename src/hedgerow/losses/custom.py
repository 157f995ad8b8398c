"""Custom losses: a user's object with functions of NumPy arrays, whose results are checked."""

from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.losses.base import IdentityLink, Link, LogitLink, Loss


class CustomLoss(Loss):
    """A loss made from the user's object.

    Parameters
    ----------
    user : object
        With the methods

        - ``loss(y, raw)``: the losses of the rows, (n,);
        - ``gradient_hessian(y, raw)``: dL/draw and d2L/draw2 of the rows, two arrays (n,), the
          hessian nowhere negative;
        - ``start(y, weight)``, optional: the constant raw score of the start; by default that of
          least loss;
        - ``inverse_link(raw)``, optional: predictions (n,) from raw scores; by default the score
          itself or, for classes, 1 / (1 + exp(-raw)) as the probability of class 1.

        y and raw are float64 (n,) and read-only; with two classes y is 0 or 1. weight is None or
        (n,). The number of threads does not change results, but exp and log of NumPy may differ in the
        last bit between CPUs.
    task : {"regression", "classification"}
        Classification supports two classes.

    Examples
    --------
    >>> class LogCosh:
    ...     def loss(self, y, raw):
    ...         return np.log(np.cosh(raw - y))
    ...     def gradient_hessian(self, y, raw):
    ...         slope = np.tanh(raw - y)
    ...         return slope, 1 - slope**2
    >>> loss = CustomLoss(LogCosh())
    >>> loss.start(np.array([1.0, 2.0, 3.0]), None).round(9)
    array([2.])
    """

    splittable = False  # one call for all rows: NumPy may round differently at the end of an array

    def __init__(self, user: Any, *, task: str = "regression") -> None:
        for method in ("loss", "gradient_hessian"):
            if not callable(getattr(user, method, None)):
                raise TypeError(
                    f"a custom loss must have the methods loss(y, raw) and gradient_hessian(y, raw); "
                    f"loss={user!r} has no {method!r}"
                )
        self.user = user
        self.task = task
        self.name = str(getattr(user, "name", type(user).__name__))
        self.link = _link(user, self.name, task)

    def __repr__(self) -> str:
        return f"CustomLoss({self.user!r})"

    def check_target(self, y: Floats) -> None:
        """Require finite values and, for classes, 0 or 1."""
        super().check_target(y)
        if self.task == "classification":
            self._require_target((y == 0.0) | (y == 1.0), y, "a class number from 0 to 1")

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the start of the user's object, or the best constant."""
        if not callable(getattr(self.user, "start", None)):
            return super().start(y, weight)
        value = np.asarray(self.user.start(_read_only(y), _read_only(weight)))
        if value.size != 1:
            raise ValueError(f"{self.name}.start must return one number; got shape {value.shape}")
        return _checked(value.reshape(1), f"{self.name}.start", 1)

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Write the user's gradient and hessian, checked."""
        g, h = self._gradient_hessian(y[start:stop], raw[0, start:stop])
        n = stop - start
        gradient[0, start:stop] = _checked(g, f"{self.name}.gradient_hessian: gradient", n)
        hessian[0, start:stop] = _checked(h, f"{self.name}.gradient_hessian: hessian", n)
        if n and hessian[0, start:stop].min() < 0.0:
            row = start + int(np.argmin(hessian[0, start:stop]))
            raise ValueError(
                f"{self.name}.gradient_hessian: hessian is {hessian[0, row]} at row {row}; it must "
                "be at least 0"
            )

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Return losses from the user's function, checked."""
        losses = self.user.loss(_read_only(y[start:stop]), _read_only(raw[0, start:stop]))
        return _checked(losses, f"{self.name}.loss", stop - start)

    def _derivatives(self, y: Floats, raw: Floats) -> tuple[Floats, Floats]:
        # A search may try steps that are too large; it handles results that are not finite.
        with np.errstate(all="ignore"):
            g, h = self._gradient_hessian(y, raw[0])
        gradient = _checked(g, f"{self.name}.gradient_hessian: gradient", y.size, finite=False)
        hessian = _checked(h, f"{self.name}.gradient_hessian: hessian", y.size, finite=False)
        return gradient[np.newaxis], hessian[np.newaxis]

    def _gradient_hessian(self, y: Floats, raw: Floats) -> tuple[Any, Any]:
        result = self.user.gradient_hessian(_read_only(y), _read_only(raw))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ValueError(
                f"{self.name}.gradient_hessian must return two arrays, gradient and hessian; got "
                f"{type(result).__name__}"
            )
        return result[0], result[1]


class _UserLink(Link):
    """The user's inverse link."""

    def __init__(self, user: Any, name: str, task: str) -> None:
        self.user = user
        self.name = name
        self.task = task

    def link(self, mean: Floats) -> Floats:
        raise NotImplementedError(f"{self.name} has no link(mean), only inverse_link(raw)")

    def inverse(self, raw: Floats) -> Floats:
        scores = np.asarray(raw, dtype=np.float64)
        source = f"{self.name}.inverse_link"
        mean = _checked(self.user.inverse_link(_read_only(scores.reshape(-1))), source, scores.size)
        outside = (mean < 0.0) | (mean > 1.0)
        if self.task == "classification" and outside.any():
            row = int(np.argmax(outside))
            raise ValueError(f"{source} must return probabilities; got {mean[row]} at row {row}")
        return mean.reshape(scores.shape)


def _link(user: Any, name: str, task: str) -> Link:
    if callable(getattr(user, "inverse_link", None)):
        return _UserLink(user, name, task)
    return LogitLink() if task == "classification" else IdentityLink()


def _read_only(x: Floats | None) -> Floats | None:
    if x is None:
        return None
    view = x.view()
    view.flags.writeable = False
    return view


def _checked(values: Any, source: str, n: int, *, finite: bool = True) -> Floats:
    """Return the result of a user's function as float64 (n,); raise ValueError for anything else."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{source} must be real numbers; got dtype {array.dtype}")
    if array.shape != (n,):
        raise ValueError(f"{source} must have shape ({n},), one value per row; got {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    bad = ~np.isfinite(array)
    if finite and bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{source} must be finite; got {array[row]} at row {row}")
    return array
