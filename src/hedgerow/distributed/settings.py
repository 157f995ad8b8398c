"""Settings of fits on a cluster: hedgerow.timeout, patience, fan-out and direct in the configuration of Dask.

They are read at the start of a fit. All ways to configure Dask work: `dask.config.set`, a file, or
environment variables such as DASK_HEDGEROW__TIMEOUT.
"""

from dataclasses import dataclass
from typing import Any

from hedgerow.optional import require_extra


@dataclass(frozen=True)
class Settings:
    """Settings of a fit on a cluster.

    Parameters
    ----------
    timeout : float
        Seconds without a heartbeat of a worker, or a reply of the scheduler, after which a fit ends with an
        error; also how long it waits for a first worker.
    patience : float
        Seconds that one task or one call of a worker may take.
    fan_out : int
        How many workers one process calls; with more, workers call other workers.
    direct : bool or None
        Whether this process connects to the workers, or the scheduler forwards calls; None to test whether
        it can connect.

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
    """Read the settings from the configuration of Dask.

    Returns
    -------
    Settings

    Examples
    --------
    >>> settings().timeout
    60.0
    """
    config = require_extra("dask", extra="dask").config
    direct = config.get("hedgerow.direct", None)
    if direct is not None and not isinstance(direct, bool):
        raise ValueError(f"hedgerow.direct must be true, false or null; got {direct!r}")
    fan_out = _positive("fan-out", config.get("hedgerow.fan-out", 8))
    if fan_out < 2 or fan_out != int(fan_out):
        raise ValueError(f"hedgerow.fan-out must be a whole number of at least 2; got {fan_out:g}")
    return Settings(
        _positive("timeout", config.get("hedgerow.timeout", 60.0)),
        _positive("patience", config.get("hedgerow.patience", 1800.0)),
        int(fan_out),
        direct,
    )


def _positive(name: str, value: Any) -> float:
    try:
        number = float(require_extra("dask.utils", extra="dask").parse_timedelta(value, default="s"))
    except (TypeError, ValueError, KeyError):
        number = -1.0
    if not 0 < number < float("inf"):
        raise ValueError(f"hedgerow.{name} must be a number above 0; got {value!r}")
    return number
