"""Choosing: the best of the families for a table, by validation and under a budget of seconds.

warm up -> small fits -> sample -> first setting of every family -> second settings -> ... -> last fit
(compile)  (how long?)  (if needed)    |_______ judged by the same validation rows _______|  (all rows)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators import inputs
from hedgerow.selection.budgeting import (
    FINAL_SHARE,
    LARGE,
    PILOT_ROUNDS,
    PILOT_ROWS,
    SELECTION_SHARE,
    Clock,
    Cost,
    sample_size,
)
from hedgerow.selection.explaining import explain, guesses, validation_words
from hedgerow.selection.given import Given
from hedgerow.selection.methods import AUTO, METHODS
from hedgerow.selection.metrics import Metric, find_metric
from hedgerow.selection.results import Choice, Trial
from hedgerow.selection.settings import Setting, settings_for
from hedgerow.selection.splits import first_rows, fold_rows, hold_out, sample_rows, take_rows
from hedgerow.selection.trying import (
    Problem,
    Split,
    Told,
    Tried,
    fit_whole,
    try_setting,
)

_SMALL = 2_000  # rows below which there are folds instead of one split
_FOLDS = 5
_FRACTION = 0.2  # of the rows, for validation
_LEAST_ROUNDS = 10


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
    told: Told | None = None,
) -> Choice:
    """Try the families of the library on a table and fit the best of them to all of it.

    Every family gets its first, cheapest setting before any gets a second one; after that, families that do
    better come first. All are judged by the same rows: 5 folds below 2,000 rows, else one validation split of
    a fifth, the same share of every class. The number of rounds of boosting is found on these rows too, so
    the scores are a little too good: keep other rows for the final word.

    Parameters
    ----------
    X : array, data frame, Arrow table or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}
    methods : sequence of str
        Names of `METHODS`.
    metric : str, optional
        A name of `METRICS`; by default "log-loss" for classes and "rmse" for numbers.
    budget : float or None
        Seconds for everything, the last fit included. They count from after a first fit of each family to
        some 50 rows, which compiles its kernels and may take half a minute on a new machine. The first trial
        is always finished. None for no clock: all settings are tried.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads of the fits; None for all cores.
    told : callable, optional
        Called as told(done, total, words) before every step and at the end.

    Returns
    -------
    Choice
        Its `model` is fitted to all rows with the parameters of `best`: when 137 rounds were best on four
        fifths of the rows, 137 rounds on all of them.

    Notes
    -----
    With many rows, and a budget, small fits tell how long larger ones will take; if the first trials on all
    rows would take more than a third of the budget, all trials are made on a sample of the rows. No trial has
    more rounds than half of the budget is enough for on all rows.

    The trials and the choice are the same for any `n_jobs`, to the bit, except where the clock decides: what
    is skipped, cut short or sampled depends on the speed of the machine. With ``budget=None`` nothing does.

    An interrupt (Ctrl-C) ends the trials; the best so far is fitted to all rows and handed back. Without a
    finished trial, and during the last fit of a method that cannot stop half-way, it is raised.

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
    given = Given.of(X, y, task, "choose")
    usable, others = given.methods(methods)
    if not usable:
        raise ValueError(f"methods={list(methods)!r} is not allowed: none of them is for this target")
    refused = [
        Trial(one.name, one.title_of(task), {}, status="skipped", note=reason) for one, reason in others
    ]
    decides, seed = find_metric(metric, task, given.n_classes), inputs.read_seed(random_state)
    families = [one.name for one in usable]
    search = _Search(given, decides, families, refused, budget, seed, n_jobs, told)
    search.warm_up()
    search.start_clock()
    search.plan_rows()
    search.try_all()
    return search.finish()


@dataclass(eq=False)
class _Search:
    """The state of a search; its methods run once each, in their order."""

    given: Given
    metric: Metric
    families: list[str]
    refused: list[Trial]
    budget: float | None
    seed: int
    n_jobs: int | None
    told: Told | None
    clock: Clock = field(default_factory=lambda: Clock(None))
    costs: dict[str, Cost] = field(default_factory=dict)
    queue: dict[str, list[Setting]] = field(default_factory=dict)
    tried: list[Tried] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    n_sample: int = 0
    n_done: int = 0
    interrupted: bool = False

    @property
    def task(self) -> str:
        return self.given.task

    def problem(self, splits: Sequence[Split]) -> Problem:
        """What trials are made on."""
        return Problem(self.task, self.metric, splits, self.seed, self.n_jobs)

    # --- telling

    @property
    def n_steps(self) -> int:
        """All steps there may be: a warm-up a family, the settings, the last fit."""
        return len(self.families) + sum(map(len, self.queue.values())) + 1

    def tell(self, words: str) -> None:
        """Say what is done next."""
        if self.told is not None:
            self.told(self.n_done, self.n_steps, words)

    # --- before the clock runs

    def warm_up(self) -> None:
        """Fit every family to a few rows, so that everything is compiled; a failure will be seen later."""
        self.queue = {name: settings_for(name, self.task, self.given.n_rows) for name in self.families}
        splits = [self._few_rows()]
        for name, settings in self.queue.items():
            title = METHODS[name].title_of(self.task)
            self.tell(f"{title}: a first small fit, which compiles its kernels (not part of the budget)")
            for setting in settings:
                try_setting(self.problem(splits), setting.shortened(2), None)
            self.n_done += 1

    def _few_rows(self, rows: NDArray[np.int64] | None = None) -> Split:
        """A few rows to learn from, and to be judged by: only the time counts."""
        if rows is None:
            rows = first_rows(self.given.numbers, self.task)
        X, y = take_rows(self.given.X, rows), self.given.numbers[rows]
        return Split(X, y, X, y)

    def start_clock(self) -> None:
        """From here on the budget counts."""
        self.clock = Clock(self.budget)

    # --- how many rows

    def plan_rows(self) -> None:
        """Take a sample if all rows would be too many for the budget; then split."""
        X, y, n = self.given.X, self.given.numbers, self.given.n_rows
        self.n_sample = n
        if self.budget is not None and n > LARGE:
            self._measure()
            seconds = max(SELECTION_SHARE * self.budget - self.clock.spent(), 0.05 * self.budget)
            self.n_sample = sample_size(n, seconds, self._first_trials)
        if self.n_sample < n:
            rows = sample_rows(y, self.task, self.n_sample, self.seed)
            X, y = take_rows(X, rows), y[rows]
            self.n_sample = len(rows)
        if n < _SMALL:
            pairs = fold_rows(y, self.task, min(_FOLDS, n // 2), self.seed)
        else:
            pairs = [hold_out(y, self.task, _FRACTION, self.seed, draw=1)]
        self.splits = [Split(take_rows(X, a), y[a], take_rows(X, b), y[b]) for a, b in pairs]

    def _measure(self) -> None:
        """Small fits, to know what larger ones take."""
        self.tell("small fits, to know how long larger ones take")
        sizes = [min(max(self.given.n_rows // share, least), most) for share, least, most in PILOT_ROWS]
        rows = sample_rows(self.given.numbers, self.task, sizes[1], self.seed)
        few = rows[sample_rows(self.given.numbers[rows], self.task, sizes[0], self.seed)]
        parts = [self._few_rows(few), self._few_rows(rows)]
        for name in self.families:
            setting = self.queue[name][0].shortened(PILOT_ROUNDS[METHODS[name].rounds])
            tried = [(len(part.y), try_setting(self.problem([part]), setting, None)) for part in parts]
            pilots = [(n_rows, one.round_seconds) for n_rows, one in tried if one.round_seconds > 0]
            if pilots:
                self.costs[name] = Cost.from_pilots(pilots)

    def _first_trials(self, n_rows: int) -> float:
        """Seconds of the first setting of every family on so many rows.

        Forests and bags count by a quarter, and never much: with fewer members they are nearly as good, so
        that they can be cut short, while all other methods would suffer from fewer rows.
        """
        most = 0.1 * (self.budget or 0.0)
        guesses = {name: self._guess(self.queue[name][0], n_rows) for name in self.families}
        of_members = {name for name in self.families if METHODS[name].rounds == "members"}
        return sum(
            min(0.25 * seconds, most) if name in of_members else seconds for name, seconds in guesses.items()
        )

    def _guess(self, setting: Setting, n_rows: int) -> float:
        """Seconds of a trial: from smaller fits, or else as long as the last of its family."""
        cost = self.costs.get(setting.method)
        if cost is not None:
            return 1.3 * cost.of(n_rows, setting.likely_rounds)  # 1.3: with reading and asking
        last = [one.seconds for one in self.tried if one.trial.method == setting.method]
        return last[-1] if last else 0.0

    # --- trials

    def try_all(self) -> None:
        """All settings in rounds, until the clock or an interrupt ends it."""
        try:
            for number in range(max(map(len, self.queue.values()))):
                waiting = [name for name in self._order(number) if number < len(self.queue[name])]
                for place, name in enumerate(waiting):
                    self._try(self.queue[name][number], len(waiting) - place if number == 0 else 1)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
        if self.best is None:
            failed = [f"{one.trial.title}: {one.trial.note}" for one in self.tried]
            raise ValueError("no method could be fitted: " + "; ".join(dict.fromkeys(failed)))

    def _order(self, number: int) -> list[str]:
        """Families as they were given; after the first round, the better ones first."""
        if number == 0:
            return self.families
        losses = dict.fromkeys(self.families, np.inf)
        for one in self.tried:
            if one.trial.counts:
                losses[one.trial.method] = min(losses[one.trial.method], self._loss_of(one))
        return sorted(self.families, key=lambda name: losses[name])  # a stable sort

    def _try(self, setting: Setting, n_waiting: int) -> None:
        """Try a setting, or skip it if it would take too long.

        In the first round the families that wait share what is left, each half as much again as its part: the
        quick ones leave time over. A fit that needs more is cut short.
        """
        title = METHODS[setting.method].title_of(self.task)
        wanted = Trial(setting.method, title, dict(setting.parameters), status="skipped")
        self.tell(wanted.words)
        left, guess = self._left_for_trials(), self._guess(setting, self.n_sample)
        must = self.best is None  # something has to be found, whatever the budget
        first_round = n_waiting > 1 or not any(one.trial.method == setting.method for one in self.tried)
        if left is not None and not must and (left <= 0 or guess > (3.0 if first_round else 1.0) * left):
            note = (
                f"about {guess:.2g} s, and {max(left, 0.0):.2g} s were left" if guess else "no time was left"
            )
            self.tried.append(Tried(replace(wanted, note=note)))
        else:
            limit = None if left is None else max(min(left, 1.5 * left / n_waiting), 1.0 if must else 0.1)
            capped = self._capped(setting)
            tried = try_setting(self.problem(self.splits), capped, limit)
            if must and tried.trial.status == "skipped":  # the first is always finished
                tried = try_setting(self.problem(self.splits), capped, None)
            self.tried.append(_marked(tried, setting, capped))
            self._learn_cost(tried)
        self.n_done += 1

    def _capped(self, setting: Setting) -> Setting:
        """The setting with no more rounds than there will be time for on all rows.

        Else a slow learner could win by rounds that the last fit cannot have.
        """
        cost, most = self.costs.get(setting.method), setting.parameters.get("n_estimators")
        if cost is None or most is None or self.budget is None:
            return setting
        affordable = int(FINAL_SHARE * self.budget / cost.of(self.given.n_rows, 1))
        return setting if affordable >= most else setting.shortened(max(affordable, _LEAST_ROUNDS))

    def _learn_cost(self, tried: Tried) -> None:
        cost = self.costs.get(tried.trial.method)
        if cost is not None and tried.round_seconds > 0:
            cost.learn(len(self.splits[0].y), tried.round_seconds)

    def _left_for_trials(self) -> float | None:
        """Seconds until the last fit must begin."""
        left = self.clock.left()
        if left is None or self.budget is None:
            return None
        return left - min(FINAL_SHARE * self.budget, self._last_fit_seconds())

    def _last_fit_seconds(self) -> float:
        """What fitting the best so far to all rows will take; before there is one, what there is for it."""
        if self.best is None or self.best.trial.fit_seconds is None:
            return 0.0 if self.given.n_rows < LARGE else FINAL_SHARE * (self.budget or 0.0)
        n_fitted = sum(len(split.y) for split in self.splits)
        return 1.2 * self.best.trial.fit_seconds * self.given.n_rows / n_fitted

    def _loss_of(self, tried: Tried) -> float:
        return self.metric.loss(tried.trial.scores[self.metric.name])

    @property
    def best(self) -> Tried | None:
        """The trial of the best score, the first of equal ones."""
        return min((one for one in self.tried if one.trial.counts), key=self._loss_of, default=None)

    # --- the last fit

    def finish(self) -> Choice:
        """Fit the best setting to all rows, and say everything."""
        best = self.best
        assert best is not None  # noqa: S101 - try_all raises without one
        self.n_done = self.n_steps - 1
        self.tell(f"{best.trial.words}, fitted to all {self.given.n_rows:,} rows")
        left = self.clock.left()
        limit = None if left is None or self.budget is None else max(left, 0.25 * self.budget)
        model, note = fit_whole(best.trial, self.given, self.seed, self.n_jobs, limit)
        seconds = self.clock.spent()
        self.n_done += 1
        self.tell("done")
        n_valid = sum(len(split.y_valid) for split in self.splits)
        words = validation_words(len(self.splits), n_valid, self.n_sample, self.given.n_rows)
        n_left = sum(map(len, self.queue.values())) - len(self.tried)
        guess = guesses(self.task, self.splits)
        untried = n_left if self.interrupted else None
        reason = explain(self.metric, self.tried, self.refused, best, guess, untried)
        return Choice(
            self.task,
            self.metric.name,
            words,
            (*(one.trial for one in self.tried), *self.refused),
            best.trial,
            " ".join(part for part in (reason, note) if part),
            model,
            seconds,
            self.budget,
        )


# --- small things


def _check_budget(budget: Any) -> None:
    is_number = isinstance(budget, int | float | np.number) and not isinstance(budget, bool)
    if budget is not None and not (is_number and 0 < budget < np.inf):
        raise ValueError(f"budget={budget!r} is not allowed: it must be a number above 0, or None")


def _marked(tried: Tried, setting: Setting, capped: Setting) -> Tried:
    """Say so if a trial had fewer rounds than its setting asks for, because of the last fit."""
    if capped is setting or not tried.trial.counts or tried.n_rounds < capped.parameters["n_estimators"]:
        return tried
    most, cap = setting.parameters["n_estimators"], capped.parameters["n_estimators"]
    note = f"{cap} of {most}, for more would take too long on all rows"
    return replace(tried, trial=replace(tried.trial, status="cut short", note=note))
