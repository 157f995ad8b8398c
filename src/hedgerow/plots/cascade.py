"""The first features of a cascade, half transparent on the mean object, and the rates of its stages."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.plots import labels, style
from hedgerow.vision.images import as_grey
from hedgerow.vision.model import LBP, CascadeModel

_ALLOWED = {"n_features": integer(1, 24)}
_MAX_PER_ROW = 8  # features
_FEATURE_SIZE, _STAGES_SIZE = 1.45, (2.9, 2.5)  # inches
_FINE = 12  # points per pixel and axis of drawn features: enough for tilted edges
_UNIFORM_GREY = 150.0
_ALPHA = 0.62
_RATES = ("hit_rate", "false_alarm", "pass_rate")


@dataclass(eq=False)
class CascadeDisplay:
    """The first features of a cascade, the rates of its stages, and their trees.

    Make it with `from_estimator`. Products start at 1 before the first stage. The measured share is that
    of all windows of training images that were scanned in mining. It can differ from the product: the
    detector rejects windows of low contrast, and training images differ from validation images.

    Parameters
    ----------
    kind : {"HAAR", "LBP"}
    window : (int, int)
        Width and height.
    rects, weights, tilted : arrays of shape (n, 3, 4), (n, 3) and (n,)
        The features, in the order of evaluation; see `hedgerow.vision.model`.
    stages : int array of shape (n,)
        The stage of each feature, starting at 1.
    n_trees : int array of shape (n_stages,)
    hit_rates, false_alarms : float64 arrays of shape (n_stages,), or None
        Of each stage, on validation windows; None if the cascade has no training history.
    pass_rates : float64 array of shape (n_stages,), or None
        Share of the windows that pass all stages before each stage.
    background : array of shape (h, w), or None
        Grey values behind the features; None for uniform grey.

    References
    ----------
    P. Viola, M. Jones, "Rapid object detection using a boosted cascade of simple features", CVPR 2001.

    Examples
    --------
    >>> from hedgerow.vision.trainer import CascadeTrainer
    >>> rng = np.random.default_rng(0)
    >>> bars = rng.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    >>> bars[:, 4:8] += 100
    >>> photos = [rng.integers(0, 256, (60, 60)).astype(np.uint8) for _ in range(10)]
    >>> trainer = CascadeTrainer((12, 12), n_stages=1, n_negatives=100, random_state=0, verbose=0)
    >>> display = CascadeDisplay.from_estimator(trainer.fit(bars, photos), n_features=1)
    >>> display.rects[0].tolist(), display.weights[0].tolist()  # dark above, the bar below
    ([[0, 0, 3, 8], [0, 4, 3, 4], [0, 0, 0, 0]], [-1.0, 2.0, 0.0])
    >>> display.total_hit_rates.tolist(), display.n_trees.tolist()
    ([1.0, 1.0], [1])
    """

    kind: str
    window: tuple[int, int]
    rects: NDArray[Any]
    weights: NDArray[Any]
    tilted: NDArray[Any]
    stages: NDArray[Any]
    n_trees: NDArray[Any]
    hit_rates: Floats | None = None
    false_alarms: Floats | None = None
    pass_rates: Floats | None = None
    background: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_features: int = 6, background: Any = None, ax: Any = None
    ) -> Self:
        """Draw a cascade.

        Parameters
        ----------
        estimator : fitted CascadeTrainer, or Cascade
            A cascade without training history, such as one of OpenCV, shows its features and trees only.
        n_features : int
            Number of distinct features to draw, at most 24.
        background : image, optional
            Background of the features, of any size. By default the mean of the training objects, if
            available, otherwise uniform grey.
        ax : as in `plot`
        """
        check_parameters({"n_features": n_features}, _ALLOWED)
        if isinstance(estimator, BaseEstimator):
            check_is_fitted(estimator)
        cascade = getattr(estimator, "cascade_", estimator)
        model = getattr(cascade, "model", None)
        if not isinstance(model, CascadeModel):
            raise TypeError(
                f"estimator={type(estimator).__name__} is not allowed: it must be a CascadeTrainer or Cascade"
            )
        info = getattr(cascade, "info", {})
        numbers, stages = _first_features(model, n_features)
        rates = _rates(getattr(estimator, "stages_", info.get("stages", ())), model.n_stages)
        mean = getattr(estimator, "mean_positive_", info.get("mean"))
        display = cls(
            kind=model.kind,
            window=model.window,
            rects=model.rects[numbers],
            weights=model.weights[numbers],
            tilted=model.tilted[numbers],
            stages=stages,
            n_trees=np.diff(model.stage_starts),
            hit_rates=rates.get("hit_rate"),
            false_alarms=rates.get("false_alarm"),
            pass_rates=rates.get("pass_rate"),
            background=as_grey(background) if background is not None else _mean(mean, model.window),
        )
        return display.plot(ax)

    @property
    def total_hit_rates(self) -> Floats | None:
        """The product of the hit rates after 0, 1, ... stages."""
        return None if self.hit_rates is None else np.cumprod([1.0, *self.hit_rates])

    @property
    def total_false_alarms(self) -> Floats | None:
        """The product of the false-alarm rates after 0, 1, ... stages."""
        return None if self.false_alarms is None else np.cumprod([1.0, *self.false_alarms])

    def plot(self, ax: Any = None) -> Self:
        """Draw features and stages.

        Parameters
        ----------
        ax : matplotlib Axes, a sequence of them, or None
            None for a new figure. A single subplot is replaced by all panels; otherwise one for each feature
            and one for each panel of the stages is required: 3, or 1 without training history.
        """
        n_features, n_stages_panels = len(self.rects), 1 if self.hit_rates is None else 3
        self.figure_, self.axes_ = _layout(ax, n_features, n_stages_panels)
        for number, panel in enumerate(self.axes_[:n_features]):
            self._draw_feature(panel, number)
        for panel in self.axes_[n_features:]:
            style.style_axes(panel)
        if self.total_hit_rates is not None and self.total_false_alarms is not None:
            self._draw_hits(self.axes_[n_features], self.total_hit_rates)
            self._draw_false_alarms(self.axes_[n_features + 1], self.total_false_alarms)
        self._draw_trees(self.axes_[-1])
        return self

    # --- features

    def _draw_feature(self, ax: Any, number: int) -> None:
        width, height = self.window
        extent = {"extent": (0, width, height, 0)}
        grey = {"cmap": "gray", "interpolation": "bicubic", **extent}  # smooth: 24 x 24 pixels are coarse
        if self.background is None:
            ax.imshow(np.full((1, 1), _UNIFORM_GREY), vmin=0, vmax=255, **grey)
        else:
            ax.imshow(self.background, **grey)
        signs = feature_signs(
            self.kind, self.rects[number], self.weights[number], tilted=bool(self.tilted[number]),
            window=self.window, fine=_FINE,
        )  # fmt: skip
        cover = np.zeros((*signs.shape, 4))
        cover[signs > 0, :3] = 1.0
        cover[signs != 0, 3] = _ALPHA
        ax.imshow(cover, interpolation="nearest", **extent)
        lines = style.mpl("collections").LineCollection(
            self._outlines(number), colors=style.BLUE, linewidths=1.1, zorder=3
        )
        lines.set_clip_on(False)  # otherwise lines at the edge are cut in half
        ax.add_collection(lines)
        ax.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[], aspect="equal")
        for spine in ax.spines.values():
            spine.set_color(style.FAINT)
        title = f"feature {number + 1}\nstage {self.stages[number]}"
        ax.set_title(title, fontsize=style.TICK_SIZE, color=style.INK, pad=4)

    def _outlines(self, number: int) -> list[Floats]:
        """Return the outlines of the rectangles of a feature, or of the 3 x 3 grid: (points, 2) each."""
        rects, tilted = self.rects[number], bool(self.tilted[number])
        if self.kind == LBP:
            x, y, w, h = rects[0]
            return [_corners((x + w * i, y + h * j, w, h), tilted=False) for i in range(3) for j in range(3)]
        return [_corners(rect, tilted=tilted) for rect in rects if rect[2] > 0]

    # --- stages

    def _draw_hits(self, ax: Any, totals: Floats) -> None:
        ax.plot(np.arange(len(totals)), totals, "o-", color=style.BLUE, linewidth=1.8, markersize=3.5)
        low = min(float(totals.min()), 0.99)
        ax.set_ylim(max(0.0, 1.0 - 1.35 * (1.0 - low)), 1.0 + 0.06 * (1.0 - low))
        ticker = style.mpl("ticker")
        ax.yaxis.set_major_locator(ticker.MaxNLocator(5))
        ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
        text = ax.annotate(
            labels.percent(round(float(totals[-1]), 4)), (len(totals) - 1, float(totals[-1])), (0, -7),
            textcoords="offset points", ha="right", va="top", fontsize=style.TICK_SIZE, color=style.BLUE,
        )  # fmt: skip
        text.set_path_effects(labels.halo())
        _name(ax, "objects that pass", "after stage")
        _stages_axis(ax, 0, len(totals) - 1)

    def _draw_false_alarms(self, ax: Any, totals: Floats) -> None:
        measured = np.empty(0) if self.pass_rates is None else self.pass_rates
        every = np.concatenate([totals, measured])
        low = 0.5 * float(every[every > 0].min())  # zeros are drawn at this value
        if every.min() <= 0:
            labels.log_errors_axis(ax, low, 1.6)
        else:
            ax.set_yscale("log")
            ax.set_ylim(low, 1.6)
            labels.plain_log_ticks(ax.yaxis, low, 1.6)
        ax.yaxis.set_minor_locator(style.mpl("ticker").NullLocator())
        if measured.size:
            ax.plot(
                np.arange(len(measured)), np.maximum(measured, low), "D", color=style.VERMILLION,
                markersize=4.5, markerfacecolor="white", markeredgewidth=1.4, label="measured", zorder=4,
            )  # fmt: skip
        ax.plot(
            np.arange(len(totals)), np.maximum(totals, low), "o-", color=style.BLUE, linewidth=1.8,
            markersize=3.5, label="product", zorder=3,
        )  # fmt: skip
        _name(ax, "other windows that pass", "after stage")
        _stages_axis(ax, 0, len(totals) - 1)
        props = {"frameon": False, "fontsize": style.TICK_SIZE, "labelcolor": style.INK, "handlelength": 1.6}
        ax.legend(loc="lower left", borderaxespad=0.1, **props)

    def _draw_trees(self, ax: Any) -> None:
        numbers = np.arange(1, len(self.n_trees) + 1)
        bars = ax.bar(numbers, self.n_trees, color=style.BLUE, width=0.78, zorder=2)
        ax.yaxis.set_major_locator(style.mpl("ticker").MaxNLocator(5, integer=True, min_n_ticks=1))
        if len(numbers) <= 12:
            ax.bar_label(bars, padding=2, fontsize=style.TICK_SIZE, color=style.INK)
        ax.set_ylim(0, 1.12 * max(1, int(self.n_trees.max(initial=0))))
        _name(ax, f"trees, {int(self.n_trees.sum()):,} in all", "stage")
        _stages_axis(ax, 0.6, len(self.n_trees) + 0.4)


def feature_signs(
    kind: str, rects: Any, weights: Any, *, tilted: bool, window: tuple[int, int], fine: int = 1
) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for points of a window that a feature adds, subtracts or ignores, (fine h, fine w).

    The feature is as in `hedgerow.vision.model`; the centre of an LBP grid is 1, its neighbours are -1.

    >>> rects = np.array([[0, 0, 4, 1], [2, 0, 2, 1], [0, 0, 0, 0]])
    >>> feature_signs("HAAR", rects, np.array([-1, 2, 0]), tilted=False, window=(5, 2)).tolist()
    [[-1, -1, 1, 1, 0], [0, 0, 0, 0, 0]]
    """
    if kind == LBP:
        x, y, w, h = (int(side) for side in rects[0])
        rects, weights = np.array([(x, y, 3 * w, 3 * h), (x + w, y + h, w, h)]), np.array([-1.0, 2.0])
    width, height = window
    px = ((np.arange(fine * width) + 0.5) / fine)[None, :]
    py = ((np.arange(fine * height) + 0.5) / fine)[:, None]
    total = np.zeros((fine * height, fine * width))
    for (x, y, w, h), weight in zip(rects, weights, strict=True):
        across, down = px - x, py - y
        if tilted:  # from the top corner, w is down right and h is down left
            across, down = (across + down) / 2, (down - across) / 2
        total += weight * ((across >= 0) & (across < w) & (down >= 0) & (down < h))
    return np.sign(total.round(6)).astype(np.int8)


def _corners(rect: Any, *, tilted: bool) -> Floats:
    """Return the closed outline of a rectangle: (5, 2)."""
    x, y, w, h = (float(side) for side in rect)
    right, down = ((w, w), (-h, h)) if tilted else ((w, 0.0), (0.0, h))
    steps = [(0.0, 0.0), right, (right[0] + down[0], right[1] + down[1]), down, (0.0, 0.0)]
    return np.array([(x + across, y + below) for across, below in steps])


def _first_features(model: CascadeModel, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first distinct features in the order of the nodes, and their stages."""
    _, first = np.unique(model.feature, return_index=True)
    nodes = np.sort(first)[:n]
    trees = np.searchsorted(model.tree_starts, nodes, side="right") - 1
    return model.feature[nodes].astype(np.intp), np.searchsorted(model.stage_starts, trees, side="right")


def _rates(stages: Any, n_stages: int) -> dict[str, Floats]:
    """Return the rates of all stages by name; empty if the history is incomplete."""
    records = [record if isinstance(record, Mapping) else asdict(record) for record in stages]
    if not records or len(records) != n_stages or any(name not in records[0] for name in _RATES):
        return {}
    return {name: np.array([record[name] for record in records], np.float64) for name in _RATES}


def _mean(mean: Any, window: tuple[int, int]) -> Floats | None:
    """Return the mean object if it has the shape of the window."""
    if mean is None:
        return None
    array = np.asarray(mean, np.float64)
    return array if array.shape == window[::-1] else None


def _layout(ax: Any, n_features: int, n_stages_panels: int) -> tuple[Any, Any]:
    """Return the figure and its axes: rows of features above a row for the stages."""
    n_columns = style.even_columns(_MAX_PER_ROW, max(1, n_features))
    n_rows = -(-n_features // n_columns)
    n_panels = n_features + n_stages_panels
    passed = style.passed_axes(ax)
    if len(passed) == n_panels:
        return passed[0].figure, passed
    heights = [1.25 * _FEATURE_SIZE * max(1, n_rows), _STAGES_SIZE[1]]
    size = (max(n_columns * _FEATURE_SIZE, 3 * _STAGES_SIZE[0]), sum(heights))
    figure, grid = style.new_grid(passed, n_panels, (2, 1), size, heights)
    above = grid[0].subgridspec(max(1, n_rows), n_columns)
    below = grid[1].subgridspec(1, n_stages_panels)
    axes = [figure.add_subplot(above[divmod(number, n_columns)]) for number in range(n_features)]
    axes += [figure.add_subplot(below[0, number]) for number in range(n_stages_panels)]
    return figure, np.array([*axes, None], dtype=object)[:-1]


def _stages_axis(ax: Any, low: float, high: float) -> None:
    ax.xaxis.set_major_locator(style.mpl("ticker").MaxNLocator(6, integer=True, min_n_ticks=1))
    margin = 0.03 * max(high - low, 1.0)  # for half of the first and the last mark
    ax.set_xlim(low - margin, max(high, low + 1) + margin)


def _name(ax: Any, title: str, x: str) -> None:
    ax.set_title(title, fontsize=style.LABEL_SIZE, color=style.INK, loc="left", pad=6)
    labels.name_axes(ax, x, "")
