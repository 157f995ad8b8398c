"""Parameters of two estimators compared: that of a file, or of the fit before, and the one that is given.

A file gives values back in plain types, so lists and tuples are the same here, and dicts have no order.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

_NO_INFLUENCE = frozenset({"n_jobs", "verbose"})  # on a model
_MAY_CHANGE = frozenset({"n_estimators", "warm_start"}) | _NO_INFLUENCE  # while a fit is under way


def different_parameters(
    held: Any, given: Any, may_change: frozenset[str] = _MAY_CHANGE
) -> list[tuple[str, Any, Any]]:
    """Name, and both values, of the parameters that differ and may not.

    >>> from hedgerow import RandomForestClassifier
    >>> a, b = RandomForestClassifier(max_depth=3), RandomForestClassifier(max_depth=4, n_estimators=9)
    >>> different_parameters(a, b)
    [('max_depth', 3, 4)]
    """
    old, new = held.get_params(deep=True), given.get_params(deep=True)
    names = [name for name in dict.fromkeys([*new, *old]) if not _may_change(name, may_change)]
    values = [(name, old.get(name), new.get(name)) for name in names]
    return [one for one in values if not _is_left_out(*one) and not _same(*one[1:])]


def _may_change(name: str, may_change: frozenset[str]) -> bool:
    """Whether it is such a parameter; of a learner, only one without influence is."""
    owner, _, own = name.rpartition("__")
    return own in (_NO_INFLUENCE if owner else may_change)


def same_learner(one: Any, other: Any) -> bool:
    """Whether two estimators, not fitted, learn the same.

    >>> from hedgerow import DecisionStump
    >>> same_learner(DecisionStump(n_jobs=1), DecisionStump()), same_learner(DecisionStump(max_bins=9), None)
    (True, False)
    """
    return type(one) is type(other) and not different_parameters(one, other, _NO_INFLUENCE)


def _is_left_out(name: str, old: Any, new: Any) -> bool:
    """Whether a file does not hold such a value: the seed of a generator is in the notes."""
    if name.rpartition("__")[2] == "random_state":
        return not isinstance(old, int | np.integer) and not isinstance(new, int | np.integer)
    return name == "oob_score" and callable(new)


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "get_params") and hasattr(b, "get_params"):
        return type(a) is type(b)  # their own parameters are compared, too
    return repr(_in_plain_types(a)) == repr(_in_plain_types(b))


def _in_plain_types(value: Any) -> Any:
    """A parameter as a file gives it back: without NumPy's types, lists for tuples, dicts in one order.

    >>> _in_plain_types([{"b": np.int8(1), "a": (2, 3)}, {10, 9}])
    [[('a', [2, 3]), ('b', 1)], [9, 10]]
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        items = [(_in_plain_types(key), _in_plain_types(one)) for key, one in value.items()]
        return sorted(items, key=lambda item: repr(item[0]))
    if isinstance(value, AbstractSet):
        return sorted(map(_in_plain_types, value), key=lambda one: (type(one).__name__, one))
    return [_in_plain_types(one) for one in value] if isinstance(value, list | tuple | range) else value
