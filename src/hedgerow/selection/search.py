"""The search of `choose`: warm-up, pilot fits and trials, within the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.members import take_rows
from hedgerow.progress import ProgressCallback
from hedgerow.selection.ensemble_selection import MAX_CANDIDATES, EnsembleRows
from hedgerow.selection.limits import (
    FINAL_SHARE,
    LARGE,
    PILOT_ROUNDS,
    PILOT_ROWS,
    SELECTION_SHARE,
    Clock,
    FitTime,
    sample_size,
)
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.methods import METHODS
from hedgerow.selection.metrics import Metric
from hedgerow.selection.results import Trial
from hedgerow.selection.settings import Setting, settings_for
from hedgerow.selection.splits import TrainingData, first_rows, fold_rows, hold_out, sample_rows
from hedgerow.selection.threshold import positive_number
from hedgerow.selection.trials import Split, TrialContext, TrialResult, run_trial

_SMALL = 2_000  # rows below which there are folds instead of one split
_FOLDS = 5
_FRACTION = 0.2  # of the rows, for validation
_MIN_ROUNDS = 10
_RESERVED_FITS = 3  # of the best trials: time is reserved for the final fits of an ensemble of that many
_ONE_ROUND = 1e-6  # seconds


@dataclass(eq=False)
class MethodSearch:
    """The state of a search; `choose` calls its methods in this order."""

    data: TrainingData
    metric: Metric
    methods: list[str]
    refused: list[Trial]
    budget: float | None
    seed: int
    n_jobs: int | None
    progress: ProgressCallback | None
    options: MethodOptions = field(default_factory=MethodOptions)
    clock: Clock = field(default_factory=lambda: Clock(None))
    fit_times: dict[str, FitTime] = field(default_factory=dict)
    queue: dict[str, list[Setting]] = field(default_factory=dict)
    results: list[TrialResult] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    n_sample: int = 0
    n_done: int = 0
    interrupted: bool = False
    ensemble: bool = True  # whether the model may be an ensemble
    ensemble_rows: EnsembleRows | None = None

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.data.task

    def context(self, splits: Sequence[Split]) -> TrialContext:
        """Return the context of trials on these splits."""
        threshold = self.options.threshold if isinstance(self.options.threshold, int | float) else None
        return TrialContext(
            self.task, self.metric, splits, self.seed, self.n_jobs, self.data.n_classes,
            positive=self.positive,
            threshold=threshold,
            max_bytes=self.max_bytes,
            n_rows=self.data.n_rows,
        )  # fmt: skip

    @property
    def positive(self) -> int:
        """Number of the positive class."""
        if self.options.positive is None:
            return 1
        return positive_number(self.options.positive, np.unique(self.data.y))

    @property
    def max_bytes(self) -> float:
        """Maximum size of the saved model."""
        return np.inf if self.options.max_size is None else float(self.options.max_size)

    # --- progress

    @property
    def n_steps(self) -> int:
        """Maximum number of steps: a warm-up of each method, the settings, the final fit."""
        return len(self.methods) + sum(map(len, self.queue.values())) + 1

    def report(self, text: str) -> None:
        """Call the progress callback before the next step."""
        if self.progress is not None:
            self.progress(self.n_done, self.n_steps, text)

    # --- before the budget starts

    def warm_up(self) -> None:
        """Fit every method to a few rows to compile its kernels; failures are reported by the trials."""
        fixed = self.options.parameters
        n_rows, n_classes = self.data.n_rows, self.data.n_classes
        for name in self.methods:
            settings = settings_for(name, self.task, n_rows, fixed, n_classes, self.data.n_categories)
            # The folds of automatic settings divide groups and ignore times.
            is_excluded = self.data.order is not None
            self.queue[name] = [one for one in settings if not (is_excluded and one.is_automatic)]
        splits = [self._same_rows(first_rows(self.data.encoded, self.task))]
        for name, settings in self.queue.items():
            title = METHODS[name].title_for(self.task)
            self.report(f"{title}: a first small fit, which compiles its kernels (not part of the budget)")
            for setting in settings:
                limit = _ONE_ROUND if setting.is_automatic else None
                run_trial(self.context(splits), setting.shortened(2), limit)
            self.n_done += 1

    def _same_rows(self, rows: NDArray[np.int64]) -> Split:
        """Return a split that trains and validates on the same rows, to measure the time."""
        X, y = take_rows(self.data.X, rows), self.data.encoded[rows]
        return Split(X, y, X, y, self.data.weights_of(rows, positive=True).get("sample_weight"))

    def start_clock(self) -> None:
        """Start the budget."""
        self.clock = Clock(self.budget)

    # --- number of rows

    def plan_rows(self) -> None:
        """Sample the rows if all of them would exceed the budget; then split them."""
        X, y, n, order = self.data.X, self.data.encoded, self.data.n_rows, self.data.order
        weights = self.data.weights
        self.n_sample = n
        if self.budget is not None and n > LARGE:
            self._run_pilots()
            seconds = max(SELECTION_SHARE * self.budget - self.clock.elapsed(), 0.05 * self.budget)
            self.n_sample = sample_size(n, seconds, self._estimate_first_trials)
        if self.n_sample < n:
            rows = sample_rows(y, self.task, self.n_sample, self.seed)
            X, y = take_rows(X, rows), y[rows]
            order = None if order is None else order.take(rows)
            weights = None if weights is None else weights[rows]
            self.n_sample = len(rows)
        if n < _SMALL:
            pairs = fold_rows(y, self.task, min(_FOLDS, n // 2), self.seed, order=order)
        else:
            pairs = [hold_out(y, self.task, _FRACTION, self.seed, draw=1, order=order)]
        self.splits = [
            Split(take_rows(X, a), y[a], take_rows(X, b), y[b], None if weights is None else weights[a])
            for a, b in pairs
        ]
        if self.ensemble:
            groups = None if order is None or order.groups is None else order.groups
            groups = None if groups is None else np.concatenate([groups[b] for _, b in pairs])
            y_valid = np.concatenate([split.y_valid for split in self.splits])
            self.ensemble_rows = EnsembleRows.of(y_valid, self.task, self.seed, groups)

    def _run_pilots(self) -> None:
        """Measure the time of small fits."""
        self.report("small fits that measure the time of larger ones")
        sizes = [min(max(self.data.n_rows // share, low), high) for share, low, high in PILOT_ROWS]
        rows = sample_rows(self.data.encoded, self.task, sizes[1], self.seed)
        few = rows[sample_rows(self.data.encoded[rows], self.task, sizes[0], self.seed)]
        splits = [self._same_rows(few), self._same_rows(rows)]
        for name in self.methods:
            setting = self.queue[name][0].shortened(PILOT_ROUNDS[METHODS[name].rounds])
            results = [(len(split.y), run_trial(self.context([split]), setting, None)) for split in splits]
            pilots = [(n_rows, one.round_seconds) for n_rows, one in results if one.round_seconds > 0]
            if pilots:
                self.fit_times[name] = FitTime.from_pilots(pilots)

    def _estimate_first_trials(self, n_rows: int) -> float:
        """Estimate the seconds of the first setting of every method on a number of rows.

        Forests and bagging count a quarter, at most a tenth of the budget: they are nearly as good with fewer
        members and can be cut short, while all other methods would suffer from fewer rows.
        """
        most = 0.1 * (self.budget or 0.0)
        total = 0.0
        for name in self.methods:
            seconds = self._estimate(self.queue[name][0], n_rows)
            total += min(0.25 * seconds, most) if METHODS[name].rounds == "members" else seconds
        return total

    def _estimate(self, setting: Setting, n_rows: int) -> float:
        """Estimate the seconds of a trial from the pilot fits, or by the last trial of the method."""
        fit_time = self.fit_times.get(setting.method)
        if fit_time is not None:
            return 1.3 * fit_time.seconds(n_rows, setting.likely_rounds)  # 1.3: with validation and predict
        same = [result for result in self.results if result.trial.method == setting.method and result.seconds]
        last = [result for result in same if result.is_automatic == setting.is_automatic]
        if last or not same:
            return last[-1].seconds if last else 0.0
        return same[-1].seconds * setting.likely_rounds / max(same[-1].n_rounds, 1)

    # --- trials

    def try_all(self) -> None:
        """Try the first setting of every method, then the second ones and so on, until the time is over."""
        try:
            for number in range(max(map(len, self.queue.values()))):
                waiting = [name for name in self._order(number) if number < len(self.queue[name])]
                for position, name in enumerate(waiting):
                    self._try(self.queue[name][number], len(waiting) - position if number == 0 else 1)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
        if self.best is None:
            failed = [f"{result.trial.title}: {result.trial.note}" for result in self.results]
            raise ValueError("no method could be fitted: " + "; ".join(dict.fromkeys(failed)))

    def _order(self, number: int) -> list[str]:
        """Return the methods in the order of the caller; after the first settings, better ones first."""
        if number == 0:
            return self.methods
        losses = dict.fromkeys(self.methods, np.inf)
        for result in self.results:
            if result.trial.has_scores:
                losses[result.trial.method] = min(losses[result.trial.method], self._loss(result))
        return sorted(self.methods, key=lambda name: losses[name])  # a stable sort

    def _try(self, setting: Setting, n_waiting: int) -> None:
        """Try a setting, or skip it if it would take too long.

        The methods that wait for their first setting share the remaining time. Each may use 1.5 times an
        equal share, because fast methods use less. A fit that needs more is cut short.
        """
        title = METHODS[setting.method].title_for(self.task)
        skipped = Trial(setting.method, title, dict(setting.parameters), status="skipped")
        self.report(skipped.description)
        remaining, estimate = self._time_for_trials(), self._estimate(setting, self.n_sample)
        required = self.best is None  # one trial must succeed, whatever the budget
        first = n_waiting > 1 or not any(earlier.trial.method == setting.method for earlier in self.results)
        too_long = remaining is not None and (
            remaining <= 0
            or estimate > (3.0 if first else 1.0) * remaining
            or (setting.is_automatic and self._on_all_rows(estimate) > FINAL_SHARE * (self.budget or 0.0))
        )
        if remaining is not None and too_long and not required:
            note = f"about {estimate:.2g} s, and {max(remaining, 0.0):.2g} s were left"
            note = note if estimate else "no time was left"
            self.results.append(TrialResult(replace(skipped, note=note)))
        else:
            limit = None
            if remaining is not None:
                limit = max(min(remaining, 1.5 * remaining / n_waiting), 1.0 if required else 0.1)
            capped = self._cap_rounds(setting)
            result = run_trial(self.context(self.splits), capped, limit)
            if required and result.trial.status == "skipped":  # the first trial is always finished
                result = run_trial(self.context(self.splits), capped, None)
            self.results.append(_note_cap(self._without_predictions(result), setting, capped))
            self._keep_candidates()
            fit_time = self.fit_times.get(setting.method)
            if fit_time is not None and result.round_seconds > 0 and not result.is_automatic:
                fit_time.update(len(self.splits[0].y), result.round_seconds)
        self.n_done += 1

    def _without_predictions(self, result: TrialResult) -> TrialResult:
        """Discard the predictions that are not used later, since each has the size of the validation rows."""
        if self.ensemble_rows is not None and result.predictions is not None:
            result = replace(result, sample=result.predictions.take(self.ensemble_rows.rows))
        is_chosen_later = isinstance(self.options.threshold, str | Mapping)
        return result if is_chosen_later else replace(result, predictions=None)

    def _keep_candidates(self) -> None:
        """Drop the predictions of trials that are too bad for an ensemble."""
        best = {id(result) for result in self.candidates()}
        for number, result in enumerate(self.results):
            if result.sample is not None and id(result) not in best:
                self.results[number] = replace(result, sample=None)

    def candidates(self) -> list[TrialResult]:
        """Return the best trials, the best first."""
        scored = [result for result in self.results if result.trial.has_scores]
        return sorted(scored, key=self._loss)[:MAX_CANDIDATES]  # a stable sort

    def _cap_rounds(self, setting: Setting) -> Setting:
        """Limit the rounds to the number for which the final fit on all rows has time.

        Otherwise a slow method could win by rounds that the final fit cannot have.
        """
        fit_time, most = self.fit_times.get(setting.method), setting.parameters.get("n_estimators")
        if fit_time is None or most is None or self.budget is None or setting.is_automatic:
            return setting
        affordable = int(FINAL_SHARE * self.budget / fit_time.seconds(self.data.n_rows, 1))
        return setting if affordable >= most else setting.shortened(max(affordable, _MIN_ROUNDS))

    def _time_for_trials(self) -> float | None:
        """Return the seconds until the final fit must start."""
        remaining = self.clock.remaining()
        if remaining is None or self.budget is None:
            return None
        return remaining - min(FINAL_SHARE * self.budget, self._final_fit_seconds())

    def _final_fit_seconds(self) -> float:
        """Estimate the seconds of the final fits; without a result yet, the maximum reserved for them."""
        if self.best is None or self.best.trial.fit_seconds is None:
            return 0.0 if self.data.n_rows < LARGE else FINAL_SHARE * (self.budget or 0.0)
        n_fits = 1 if self.ensemble_rows is None else _RESERVED_FITS
        return sum(map(self.final_seconds, self.candidates()[:n_fits]))

    def final_seconds(self, result: TrialResult) -> float:
        """Estimate the seconds of the final fit of a trial."""
        return 1.2 * self._on_all_rows(result.trial.fit_seconds or 0.0)

    def _on_all_rows(self, seconds: float) -> float:
        """Return the seconds of a fit to all rows, from those of the fits of a trial."""
        return seconds * self.data.n_rows / sum(len(split.y) for split in self.splits)

    def _loss(self, result: TrialResult) -> float:
        return self.metric.loss(result.trial.scores[self.metric.name])

    @property
    def best(self) -> TrialResult | None:
        """The result with the best score, the first of equal ones."""
        return next(iter(self.candidates()), None)


def _note_cap(result: TrialResult, setting: Setting, capped: Setting) -> TrialResult:
    """Mark a trial that used all rounds of a capped setting as cut short."""
    if (
        capped is setting
        or not result.trial.has_scores
        or result.n_rounds < capped.parameters["n_estimators"]
    ):
        return result
    most, cap = setting.parameters["n_estimators"], capped.parameters["n_estimators"]
    note = f"{cap} of {most}, because more would take too long on all rows"
    return replace(result, trial=replace(result.trial, status="cut short", note=note))
