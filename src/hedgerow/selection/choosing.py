"""Choose the best method for a table by validation, within a budget of seconds.

warm-up -> pilot fits -> sample -> first setting of every method -> second settings -> ... -> final fit
(compile)  (measure time)  (if needed)    |____ scored on the same validation rows ____|     (all rows)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.estimators import validation
from hedgerow.progress import ProgressCallback
from hedgerow.selection.comparing import warm_up
from hedgerow.selection.final_fit import finish, fit_final, fit_members, make_ensemble
from hedgerow.selection.limits import FitLimits
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.methods import (
    AUTO,
    Method,
    check_method_parameters,
    check_rounds_are_chosen,
    find_method,
    fit_parameters,
    usable_methods,
)
from hedgerow.selection.metrics import find_metric
from hedgerow.selection.results import Choice, Trial
from hedgerow.selection.search import MethodSearch
from hedgerow.selection.splits import TrainingData
from hedgerow.selection.threshold import FixedThresholdClassifier, check_threshold, positive_number
from hedgerow.selection.weighted_ensemble import ordered_sum


def choose(
    X: Any,
    y: Any,
    task: str,
    *,
    methods: Sequence[str] = AUTO,
    metric: str | None = None,
    budget: float | None = 60.0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    options: MethodOptions | None = None,
    ensemble: bool = True,
) -> Choice:
    """Try several methods on a table, and fit the best one, or an ensemble of the best, to all rows.

    Every method is tried with its first, cheapest setting before any other setting; after that, better
    methods come first. All are scored on the same rows. From 50 to 20,000 rows these are all rows, out of
    fold: gradient boosting is the mean of models of folds, and each row is predicted by the model that was
    not fitted to its fold; forests and bagging predict out of bag; other methods have 5 folds. For more or
    fewer rows see the notes. The number of boosting rounds is found on these rows too, so the scores are
    slightly optimistic: use other rows for the final evaluation.

    Parameters
    ----------
    X : array, data frame, Arrow table or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}
    methods : sequence of str
        Names of `METHODS`.
    metric : str, optional
        A name of `METRICS`; by default "log-loss" for classification and "rmse" for regression. For "pinball"
        and "pinball:0.9" gradient boosting is fitted to the quantile, and other methods are not used.
    budget : float or None
        Seconds for all steps, including the final fit; the steps exceed it by at most a fifth and 5 seconds.
        The time starts after a first fit of each method to about 50 rows, which compiles its kernels and may
        take half a minute on a new machine. None for no limit: all settings are tried.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads of the fits; None for all cores.
    progress : callable, optional
        Called as progress(done, total, text) before every step and at the end.
    options : MethodOptions, optional
        Fixed parameters, weights, groups or times of the rows, a decision threshold, a size limit.
    ensemble : bool
        Whether the model may be a weighted ensemble of several trials; False for a single one.

    Returns
    -------
    Choice
        Its `model` is fitted to all rows with the parameters of `best`: if 137 rounds were best on four
        fifths of the rows, it has 137 rounds. Models that were scored out of fold are fitted to all rows
        already, and are not fitted again. The model may also be a
        `WeightedEnsembleClassifier` or `WeightedEnsembleRegressor` of the `members`.

    Notes
    -----
    An ensemble has at most 5 members and weights that are chosen greedily (Caruana et al. 2004), by the
    predictions of the validation rows. Its score is cross-fitted: every fold of these rows is predicted with
    weights that were chosen on the other folds. The ensemble is the model if this score is better than that
    of single trials that are chosen in the same way, by more than half a standard error of the difference.
    Each member is fitted to all rows; those that exceed the time or `max_size` are left out.

    Fits to all rows that are scored out of fold need all of these: 50 to 20,000 rows, no groups or times, no
    `max_size` below 20 MB, no weight of 0, no class of a single row, at most 400,000 rows times classes, and
    no fixed parameters except the loss "quantile". Otherwise there are 5 folds below 2,000 rows, and one
    validation split of a fifth, stratified by class, from 2,000 rows on; the best trials are then fitted
    to all rows.

    With many rows and a budget, pilot fits measure the time of larger ones; if the first trials on all rows
    would take more than a third of the budget, all trials use a sample of the rows. No trial has more rounds
    than a fit to all rows can have in half of the budget.

    With groups or times, gradient boosting has no setting that finds its number of rounds itself: its folds
    would divide the groups and ignore the times.

    The trials and the choice are the same for any `n_jobs`, to the bit, except where time decides: what is
    skipped, cut short or sampled depends on the speed of the machine. With ``budget=None`` nothing depends on
    it.

    An interrupt (Ctrl-C) ends the trials; the best method so far is fitted to all rows and returned.
    KeyboardInterrupt is raised if no trial is finished, or during the final fit of a method that cannot stop
    early.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = choose(X, y, "classification", methods=["logitboost", "bagging"], budget=None)
    >>> choice.best.title
    'bagging of trees'
    >>> choice.model.predict(X[:2]).tolist()
    [0, 0]
    """
    _check_budget(budget)
    if not isinstance(ensemble, bool | np.bool_):
        raise ValueError(f"ensemble={ensemble!r} is not allowed: it must be True or False")  # noqa: TRY004
    options = options or MethodOptions()
    data = _training_data(X, y, task, options, "choose")
    weighted = data.weights is not None
    usable, others = usable_methods(methods, task, data.n_classes, weighted=weighted)
    if not usable:
        raise ValueError(f"methods={list(methods)!r} is not allowed: none of them supports this target")
    ranking = find_metric(metric, task, data.n_classes, data.encoded)
    if ranking.level is not None:
        usable, means = _for_quantiles(usable)
        others += means
        if usable[0].name == "gradient":
            options = replace(options, parameters=_quantile_parameters(ranking.level, options.parameters))
    refused = [
        Trial(one.name, one.title_for(task), {}, status="skipped", note=reason) for one, reason in others
    ]
    seed = validation.make_seed(random_state)
    names = [one.name for one in usable]
    for name in names:
        check_method_parameters(name, task, options.parameters)
        fit_parameters(name, options.parameters, has_order=data.order is not None)
    check_rounds_are_chosen(options.parameters)
    search = MethodSearch(
        data, ranking, names, refused, budget, seed, n_jobs, progress, options, ensemble=ensemble
    )
    search.warm_up()
    search.start_clock()
    search.plan_rows()
    search.try_all()
    return finish(search)


def _for_quantiles(usable: list[Method]) -> tuple[list[Method], list[tuple[Method, str]]]:
    """Return the methods that fit quantiles, and the others with the reason; all methods if none does."""
    fitting = [one for one in usable if one.name == "gradient"]
    if not fitting:
        return usable, []
    reason = "it is not fitted to quantiles"
    return fitting, [(one, reason) for one in usable if one not in fitting]


def _quantile_parameters(level: float, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the loss of a quantile, unless they have another loss.

    >>> _quantile_parameters(0.9, {"max_depth": 3})
    {'loss': 'quantile', 'quantile': 0.9, 'max_depth': 3}
    """
    if parameters.get("loss", "quantile") != "quantile":
        return dict(parameters)
    return {"loss": "quantile", "quantile": level, **parameters}


def _training_data(X: Any, y: Any, task: str, options: MethodOptions, caller: str) -> TrainingData:
    """Check the table and the options."""
    data = TrainingData.of(X, y, task, caller)
    check_threshold(options.threshold, data.n_classes)
    if options.positive is not None:
        positive_number(options.positive, np.unique(data.y))
    if options.max_size is not None and not options.max_size > 0:
        raise ValueError(
            f"max_size={options.max_size!r} is not allowed: it must be a number of bytes above 0"
        )
    return replace(data, weights=options.weights(data.y, task), order=options.order)


def fit_method(
    X: Any,
    y: Any,
    task: str,
    method: str,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    budget: float | None = None,
    options: MethodOptions | None = None,
) -> Any:
    """Fit one method to all rows, with its defaults and the parameters of the options, without validation.

    Gradient boosting finds its number of rounds itself, except for rows with groups or times, which its folds
    would ignore: for these it has 100 rounds by default.

    Parameters
    ----------
    X, y, task, random_state, n_jobs
        As in `choose`.
    method : str
        A name of `METHODS`.
    budget : float or None
        Seconds after which the fit ends with fewer rounds or members.
    options : MethodOptions, optional
        The threshold must be a number, since there are no validation rows to choose it.

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> fit_method(X, y, "classification", "forest", options=MethodOptions({"n_estimators": 5}))
    RandomForestClassifier(n_estimators=5, random_state=0)
    """
    _check_budget(budget)
    options = options or MethodOptions()
    data = _training_data(X, y, task, options, "fit_method")
    usable, others = usable_methods([method], task, data.n_classes, weighted=data.weights is not None)
    if not usable:
        raise ValueError(f"method={method!r} is not allowed: {others[0][1]}")
    if isinstance(options.threshold, str | Mapping):
        raise ValueError(  # noqa: TRY004 - of another function it is allowed
            f"threshold={options.threshold!r} is not allowed: it is chosen on validation rows, by `choose`"
        )
    check_method_parameters(method, task, options.parameters)
    parameters = fit_parameters(method, options.parameters, has_order=data.order is not None)
    trial = Trial(method, find_method(method).title_for(task), parameters)
    limits = FitLimits(budget, np.inf if options.max_size is None else float(options.max_size))
    seed = validation.make_seed(random_state)
    return _with_threshold(fit_final(trial, data, seed, n_jobs, limits).model, options)


def warm_up_method(
    X: Any, y: Any, task: str, method: str, *, n_jobs: int | None = None, options: MethodOptions | None = None
) -> None:
    """Fit a method to about 50 rows, so that the time of a later fit does not include compilation."""
    options = options or MethodOptions()
    data = _training_data(X, y, task, options, "warm_up_method")
    warm_up(find_method(method), data, n_jobs, options.parameters)


def fit_choice(
    choice: Choice,
    X: Any,
    y: Any,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    budget: float | None = None,
    options: MethodOptions | None = None,
) -> Any:
    """Fit what `choose` has chosen to other rows: the best trial, or the members of the ensemble.

    Parameters
    ----------
    choice : Choice
    X, y, random_state, n_jobs
        As in `choose`.
    budget : float or None
        Seconds after which the fits end with fewer rounds or members.
    options : MethodOptions, optional
        Parameters and threshold are those of the choice.

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = choose(X, y, "classification", methods=["bagging"], budget=None, ensemble=False)
    >>> type(fit_choice(choice, X[::2], y[::2])).__name__
    'RandomForestClassifier'
    """
    _check_budget(budget)
    options = options or MethodOptions()
    options = replace(options, parameters=choice.best.parameters, threshold=choice.threshold)
    data = _training_data(X, y, choice.task, options, "fit_choice")
    limits = FitLimits(budget, np.inf if options.max_size is None else float(options.max_size))
    seed = validation.make_seed(random_state)
    trials = [trial for trial, _ in choice.members]
    seconds = [trial.fit_seconds or 0.0 for trial in trials]
    fits = fit_members(trials, seconds, data, seed, n_jobs, limits)
    weights = np.array([choice.members[number][1] for number in fits.kept])
    model = make_ensemble(fits.models, (weights / ordered_sum(weights)).tolist(), choice.task)
    return _with_threshold(model, options)


def _with_threshold(model: Any, options: MethodOptions) -> Any:
    """Return the model with the threshold of the options, a number, if there is one."""
    if options.threshold is None:
        return model
    assert isinstance(options.threshold, int | float)  # noqa: S101 - checked before the fit
    number = positive_number(options.positive, np.asarray(model.classes_))
    return FixedThresholdClassifier.of(model, float(options.threshold), model.classes_[number])


def _check_budget(budget: Any) -> None:
    is_number = isinstance(budget, int | float | np.number) and not isinstance(budget, bool)
    if budget is not None and not (is_number and 0 < budget < np.inf):
        raise ValueError(f"budget={budget!r} is not allowed: it must be a number above 0, or None")
