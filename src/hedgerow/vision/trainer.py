"""Training of a cascade, stage by stage, each on the windows that pass all earlier stages.

    positives ── split by original ──▶ training | validation ─┐
                                                              ├─▶ StageBooster ─▶ one more stage ─▶ checkpoint
    images ──▶ Miner: hard negatives ── split by image ───────┘

A stage is a pure function of the data, the parameters, the seed and the stages before it. So training that
was interrupted and resumed from its checkpoint gives the same bytes as uninterrupted training.
"""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hedgerow.container import ModelFileError, write_atomically
from hedgerow.estimators.parameters import check_parameters
from hedgerow.estimators.validation import make_seed
from hedgerow.kernels.cpu.random import FEATURE_POOL, draw_rows
from hedgerow.system_memory import available_memory, require_memory
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.vision.cascade import Cascade
from hedgerow.vision.features import Features, WindowSet
from hedgerow.vision.mining import MinedWindows, Miner
from hedgerow.vision.model import CascadeModel, pack_cascade, unpack_cascade
from hedgerow.vision.samples import Jitter
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import Stage, StageBooster, StageOptions, empty_cascade, first_stages, with_stage
from hedgerow.vision.training_data import (
    ALLOWED,
    MIN_NEGATIVES,
    CascadeData,
    StageReport,
    TrainingLog,
    log_header,
    log_line,
    read_training_data,
    stage_value,
    to_json,
)

_MIN_POSITIVES = 10
_NOT_IN_KEY = ("n_stages", "target_false_alarm", "checkpoint", "n_jobs", "verbose", "random_state")


class CascadeTrainer(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Trains a cascade of boosted features (Viola and Jones 2001).

    Parameters
    ----------
    window : (int, int), default=(24, 24)
        Width and height of the detection window.
    features : {"basic", "core", "all", "lbp"}, default="basic"
        Kind of Haar features, see `HaarFeatures`, or local binary patterns.
    algorithm : {"gentle", "real", "discrete"}, default="gentle"
        Variant of AdaBoost.
    n_stages : int, default=20
        Maximum number of stages.
    min_hit_rate : float or list of float, default=0.995
        Minimum hit rate d of a stage: the fraction of the positive validation windows that pass it, of those
        that pass all earlier stages. A list has one number per stage; its last one applies to all further
        stages.
    max_false_alarm : float or list of float, default=0.5
        Maximum false-alarm rate f of a stage: the fraction of the negative validation windows that pass it.
    target_false_alarm : float, optional
        Training ends when at most this fraction of all windows of the images passes the cascade.
    max_learners : int, default=200
        Maximum number of weak classifiers of a stage.
    max_depth : int, default=1
        Depth of the trees; 1 for stumps.
    n_negatives : int, default=5000
        Negative windows for the training of a stage; `validation_fraction` of the total are mined in
        addition.
    validation_fraction : float, default=0.2
        Share of the originals, and of the images, on which d and f are measured.
    max_features : int, optional
        Number of candidate features, sampled anew for each stage; all by default.
    weight_trim : float, default=0.0
        The lightest windows of each class, with at most this fraction of its weight, are excluded when a tree
        is grown.
    scale_factor : float, default=1.1
        Ratio of consecutive window sizes when images are searched for negatives.
    jitter : int or Jitter, default=0
        Number of randomly shifted, scaled and rotated copies of each positive.
    mirror : bool, default=False
        Add the mirror image of each positive.
    checkpoint : path, optional
        A file that is written after every stage. If it exists, training resumes from it.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Number of threads; all cores by default. The cascade does not depend on it.
    verbose : int, default=1
        0: silent; 1: progress bar on terminals, and missed targets; 2: also one line per stage.

    Attributes
    ----------
    cascade_ : Cascade
    stages_ : list of StageReport
    log_ : list of str
        The lines of the training log.
    stop_reason_ : str
    mean_positive_ : float64 (height, width)
        The mean of the positives.
    curves_ : list of list of (float, float)
        Hit rate and false-alarm rate on the validation windows after each tree of each stage; empty for
        stages from a checkpoint.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> crosses = rng.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    >>> crosses[:, 5:7, 1:11] += 100
    >>> crosses[:, 1:5, 5:7] += 100
    >>> crosses[:, 7:11, 5:7] += 100
    >>> photos = [rng.integers(0, 256, (60, 60)).astype(np.uint8) for _ in range(10)]
    >>> trainer = CascadeTrainer(
    ...     (12, 12), n_stages=2, n_negatives=100, max_features=500, random_state=0, verbose=0)
    >>> cascade = trainer.fit(crosses, photos).cascade_
    >>> cascade.n_stages <= 2, bool((cascade.score_windows(crosses) > -np.inf).mean() > 0.9)
    (True, True)
    """

    def __init__(
        self,
        window: tuple[int, int] = (24, 24),
        *,
        features: str = "basic",
        algorithm: str = "gentle",
        n_stages: int = 20,
        min_hit_rate: float | Sequence[float] = 0.995,
        max_false_alarm: float | Sequence[float] = 0.5,
        target_false_alarm: float | None = None,
        max_learners: int = 200,
        max_depth: int = 1,
        n_negatives: int = 5000,
        validation_fraction: float = 0.2,
        max_features: int | None = None,
        weight_trim: float = 0.0,
        scale_factor: float = 1.1,
        jitter: int | Jitter = 0,
        mirror: bool = False,
        checkpoint: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        self.window = window
        self.features = features
        self.algorithm = algorithm
        self.n_stages = n_stages
        self.min_hit_rate = min_hit_rate
        self.max_false_alarm = max_false_alarm
        self.target_false_alarm = target_false_alarm
        self.max_learners = max_learners
        self.max_depth = max_depth
        self.n_negatives = n_negatives
        self.validation_fraction = validation_fraction
        self.max_features = max_features
        self.weight_trim = weight_trim
        self.scale_factor = scale_factor
        self.jitter = jitter
        self.mirror = mirror
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, positives: Any, negatives: Any, *, groups: Any = None) -> Self:
        """Train a cascade.

        Parameters
        ----------
        positives : array, Samples, folder, annotation file or .vec file
            Objects; see `load_positives`.
        negatives : folder, list of paths or arrays, or file of paths
            Images without the object; see `load_negatives`.
        groups : array of int, optional
            The original of each positive of an array: copies of one original are either all training or all
            validation data.

        Returns
        -------
        CascadeTrainer
        """
        check_parameters(self.get_params(), ALLOWED)
        checkpoint = self._read_checkpoint()
        seed = make_seed(self.random_state)
        if self.random_state is None and checkpoint is not None:
            seed = checkpoint[1].get("seed", seed)  # of the interrupted training
        parameters = {**self.get_params(), "random_state": seed}
        data = read_training_data(positives, negatives, groups, parameters, self._settings())
        self.__dict__.pop("cascade_", None)  # of an earlier fit
        self.mean_positive_ = data.train.mean(axis=0)
        self.stages_: list[StageReport] = []
        self.curves_: list[list[tuple[float, float]]] = []
        self.stop_reason_, self._ended_early = "", False
        model = self._resume(checkpoint, data)
        with TrainingLog(self.verbose) as log, Team(resolve_n_jobs(self.n_jobs)) as team:
            self.log_ = log.lines
            log.write(log_header())
            for report in self.stages_:
                log.write(log_line(report))
            miner = Miner(data.images, data.features.window, self.scale_factor, data.seed, team)
            try:
                while not self.stop_reason_:
                    model = self._add_stage(model, data, miner, log, team)
            except KeyboardInterrupt:
                del self.stages_[model.n_stages :], self.curves_[model.n_stages :]  # of an unfinished stage
                if not self.stages_:
                    raise
                self.stop_reason_ = f"interrupted in stage {len(self.stages_) + 1}"
                warnings.warn(
                    f"training was {self.stop_reason_}: the cascade has the earlier stages", stacklevel=2
                )
            log.write(f"ended: {self.stop_reason_}")
        if not model.n_stages:
            raise ValueError(f"no stage was trained: {self.stop_reason_}")
        if self._ended_early:
            warnings.warn(f"training ended after {model.n_stages} stages: {self.stop_reason_}", stacklevel=2)
        self.cascade_ = Cascade(model, self._info(data))
        return self

    def _add_stage(
        self, model: CascadeModel, data: CascadeData, miner: Miner, log: TrainingLog, team: Team
    ) -> CascadeModel:
        """Return the cascade with one more stage, or set `stop_reason_` and return it unchanged."""
        began = time.perf_counter()
        number = model.n_stages
        if number >= self.n_stages:
            self.stop_reason_ = f"all {self.n_stages} stages are trained"
            return model
        train, validation = (
            windows[evaluate_windows(model, windows, team)[0] == number]
            for windows in (data.train, data.validation)
        )
        if min(len(train), len(validation)) < _MIN_POSITIVES:
            self._end_early(
                f"stage {number + 1}: of {len(data.train)} training and {len(data.validation)} validation "
                f"positives, {len(train)} and {len(validation)} pass (windows without contrast do not); at "
                f"least {_MIN_POSITIVES} are required"
            )
            return model
        mined = self._mine(miner, model, data, log)
        if mined is None:
            return model
        stage, features = self._boost((train, validation), mined, data, log, team)
        if stage.false_alarm >= 1.0:  # without trees, too
            self._end_early(f"stage {number + 1}: its trees reject no negative validation windows")
            return model
        model = with_stage(model, features, stage.trees, stage.threshold)
        report = self._report(stage, number, len(train), mined[0], time.perf_counter() - began)
        self.stages_.append(report)
        self.curves_.append(stage.curve)
        log.write(log_line(report))
        if stage.false_alarm > stage_value(self.max_false_alarm, number):
            missed = f"f is above max_false_alarm after {len(stage.trees)} trees"
            log.write(f"stage {number + 1}: {missed}", verbose=1)
        if self.checkpoint is not None:
            write_atomically(self.checkpoint, pack_cascade(model, self._info(data)))
        return model

    def _end_early(self, reason: str) -> None:
        self.stop_reason_, self._ended_early = reason, True

    def _mine(
        self, miner: Miner, model: CascadeModel, data: CascadeData, log: TrainingLog
    ) -> tuple[MinedWindows, MinedWindows] | None:
        """Mine training and validation negatives; None if there are too few, or if training is complete."""
        number = model.n_stages
        ratio = self.validation_fraction / (1.0 - self.validation_fraction)
        mined = []
        for n, numbers in (
            (self.n_negatives, data.train_images),
            (max(MIN_NEGATIVES, round(self.n_negatives * ratio)), data.validation_images),
        ):
            mined.append(miner.mine(model, n, number, numbers, log.mining(number + 1, n)))
            found = mined[-1]
            target = self.target_false_alarm
            if target is not None and found.pass_rate <= target:
                reached = f"{found.pass_rate:.1e} of the windows pass the {number} stages"
                self.stop_reason_ = f"target_false_alarm is reached: {reached}"
                return None
            if len(found.windows) < MIN_NEGATIVES:
                self._end_early(
                    f"too few negatives: of {found.n_evaluated:,} windows in {len(numbers)} images, in every "
                    f"orientation, {found.n_passed} pass the {number} stages; add more images"
                )
                return None
            if len(found.windows) < n:
                log.write(
                    f"stage {number + 1}: {len(found.windows):,} negatives instead of {n:,}, from all "
                    f"{len(numbers)} images in every orientation",
                    verbose=1,
                )
        return mined[0], mined[1]

    def _boost(
        self,
        positives: tuple[NDArray[np.uint8], NDArray[np.uint8]],
        mined: tuple[MinedWindows, MinedWindows],
        data: CascadeData,
        log: TrainingLog,
        team: Team,
    ) -> tuple[Stage, Features]:
        number = len(self.stages_)
        features = data.features
        if self.max_features is not None and self.max_features < len(features):
            keys = np.empty(len(features), np.uint64)
            draw_rows(data.seed, FEATURE_POOL, number, keys)
            features = features.take(np.sort(np.argsort(keys, kind="stable")[: self.max_features]))
        n_windows = sum(len(p) + len(m.windows) for p, m in zip(positives, mined, strict=True))
        _check_memory(len(features), n_windows)
        tilted = bool(features.tilted.any())
        sets = []
        for objects, others in zip(positives, mined, strict=True):
            windows = np.concatenate([objects, others.windows])
            classes = np.repeat(np.array([1, 0], np.uint8), [len(objects), len(others.windows)])
            sets.append((WindowSet(windows, team, tilted=tilted), classes))
        options = StageOptions(
            self.algorithm,
            stage_value(self.min_hit_rate, number),
            stage_value(self.max_false_alarm, number),
            self.max_learners,
            self.max_depth,
            self.weight_trim,
        )
        booster = StageBooster(sets[0], sets[1], features, options, team)
        return booster.boost(log.boosting(number + 1, self.max_learners)), features

    def _report(
        self, stage: Stage, number: int, n_positives: int, mined: MinedWindows, seconds: float
    ) -> StageReport:
        before = self.stages_[-1] if self.stages_ else None
        return StageReport(
            number + 1,
            len(stage.trees),
            stage.hit_rate,
            stage.false_alarm,
            stage.train_hit_rate,
            stage.train_false_alarm,
            stage.hit_rate * (before.total_hit_rate if before else 1.0),
            stage.false_alarm * (before.total_false_alarm if before else 1.0),
            n_positives,
            len(mined.windows),
            mined.pass_rate,
            mined.n_images,
            seconds,
        )

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that a stage depends on, as plain JSON."""
        values = self.get_params().items()
        return {name: to_json(value) for name, value in values if name not in _NOT_IN_KEY}

    def _info(self, data: CascadeData) -> dict[str, Any]:
        return {
            "key": data.key,
            "seed": data.seed,
            "parameters": self._settings(),
            "stages": [report.to_json() for report in self.stages_],
            "mean": np.rint(self.mean_positive_).astype(int).tolist(),
        }

    def _read_checkpoint(self) -> tuple[CascadeModel, dict[str, Any]] | None:
        if self.checkpoint is None or not Path(self.checkpoint).exists():
            return None
        try:
            return unpack_cascade(Path(self.checkpoint).read_bytes())
        except ModelFileError as error:
            raise ModelFileError(f"checkpoint={str(self.checkpoint)!r} cannot be read: {error}") from error

    def _resume(
        self, checkpoint: tuple[CascadeModel, dict[str, Any]] | None, data: CascadeData
    ) -> CascadeModel:
        """Return the cascade of the checkpoint, or one without stages."""
        if checkpoint is None:
            return empty_cascade(data.features.kind, data.features.window)
        model, info = checkpoint
        if info.get("key") != data.key:
            raise ModelFileError(
                f"checkpoint={str(self.checkpoint)!r} was written with other data, parameters or "
                "random_state: use the same ones, or another file"
            )
        self.stages_ = [StageReport(**report) for report in info["stages"]][: self.n_stages]
        self.curves_ = [[] for _ in self.stages_]
        return first_stages(model, self.n_stages)


def _check_memory(n_features: int, n_windows: int) -> None:
    """Raise MemoryError if the codes, one byte for each feature of each window, do not fit."""
    available = available_memory()
    value = "" if available is None else f"={max(1, available // (4 * n_windows))}"
    what = f"boosting a stage on {n_features:,} features of {n_windows:,} windows"
    require_memory({"codes": n_features * n_windows}, what, f"set max_features{value}")
