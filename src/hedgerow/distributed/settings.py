"""How long to wait for a cluster, and how to talk to it: settings that are kept in Dask's configuration.

    hedgerow.timeout        60    seconds without a word from a worker or the scheduler, or any worker
    hedgerow.patience       1800  seconds that one task, or one answer of a worker, may take
    hedgerow.fan-out        8     workers that are asked by one; with more, workers ask one another
    hedgerow.direct         null  whether this process talks to workers itself, true, or through the
                                  scheduler, false; null finds out

They are read when a fit begins, so that any of the ways to set Dask's configuration works: `dask.config.set`,
a file, or environment variables such as DASK_HEDGEROW__TIMEOUT.
"""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """The settings of a fit on a cluster.

    Parameters
    ----------
    timeout : float
        Seconds without a word from a worker or from the scheduler after which a fit gives up; also how long
        it waits for a worker if there is none.
    patience : float
        Seconds that one task or one answer of a worker may take.
    fan_out : int
        How many workers are asked by one: by this process, and, if there are more, by workers.
    direct : bool or None
        Whether this process connects to the workers; None for: if it can.

    Examples
    --------
    >>> import dask
    >>> from hedgerow.distributed import settings
    >>> with dask.config.set({"hedgerow.timeout": 10}):
    ...     settings()
    Settings(timeout=10.0, patience=1800.0, fan_out=8, direct=None)
    """

    timeout: float = 60.0
    patience: float = 1800.0
    fan_out: int = 8
    direct: bool | None = None


def settings() -> Settings:
    """The settings in force, from Dask's configuration.

    Returns
    -------
    Settings

    Examples
    --------
    >>> settings().timeout
    60.0
    """
    config = importlib.import_module("dask").config  # optional, and so not imported with this package
    direct = config.get("hedgerow.direct", None)
    if direct is not None and not isinstance(direct, bool):
        raise ValueError(f"hedgerow.direct={direct!r} is not allowed: it must be true, false or null")
    fan_out = _above_zero("fan-out", config.get("hedgerow.fan-out", 8))
    if fan_out < 2 or fan_out != int(fan_out):
        raise ValueError(
            f"hedgerow.fan-out={fan_out:g} is not allowed: it must be a whole number of at least 2"
        )
    return Settings(
        _above_zero("timeout", config.get("hedgerow.timeout", 60.0)),
        _above_zero("patience", config.get("hedgerow.patience", 1800.0)),
        int(fan_out),
        direct,
    )


def _above_zero(name: str, value: Any) -> float:
    try:
        seconds = float(importlib.import_module("dask.utils").parse_timedelta(value, default="s"))
    except (TypeError, ValueError, KeyError):
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"hedgerow.{name}={value!r} is not allowed: it must be a number above 0")
    return seconds
