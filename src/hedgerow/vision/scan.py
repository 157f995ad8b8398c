"""Scanning an image with a cascade: which windows pass all stages.

`find_windows` looks at all sizes of the pyramid as OpenCV's detectMultiScale does, with the same windows as
a result. `passing` looks at every window of one level, and `judge` at windows that are already cut out: these
two serve training.

Levels are cut into bands of rows, the tasks that the members of a team share. What a band finds does not
depend on who scans it, and the findings are put in the order of the bands.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.detect import judge_patches
from hedgerow.kernels.cpu.detect_lanes import LANES, TILE
from hedgerow.kernels.cpu.detect_scan import DEPTHS, scan_bands
from hedgerow.threads import Team
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.scan_plan import (
    Grey,
    Pair,
    Plan,
    block_offsets,
    field_pitch,
    level_image,
    level_shape,
    level_step,
    offsets_at,
    plan_of,
    resize_table,
    rows_scanned,
    scan_factors,
)

__all__ = ["Windows", "find_windows", "judge", "level_image", "passing", "scan_factors"]

BAND_BYTES = 1 << 19  # of integral images of a band: half of a common second-level cache
FEW_WINDOWS = 4096  # not worth a second thread: starting one takes as long as judging these
_MOST_PLACES = 1 << 31
_LINE = 64  # bytes
_JUDGE_ROWS = 256  # patches a member takes at a time
_SKIP, _NO_SKIP = 0, 2  # whether a window rejected by the first stage takes the next one with it


class Windows(NamedTuple):
    """Windows that passed, in the order of scale, y, x."""

    rectangles: NDArray[np.int32]  # (n, 4): x, y, width, height in the image
    scores: NDArray[np.float64]  # (n,): sums of the last stage
    level: NDArray[np.int32]  # (n,): index of the factor
    x: NDArray[np.int32]  # (n,): place in the image of the level
    y: NDArray[np.int32]


class _Scan(NamedTuple):
    """Everything that is the same for all members of a scan."""

    pyramid: tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]
    tasks: NDArray[np.int64]
    cascade: tuple[Any, ...]
    shape: tuple[int, int, int, int, int]
    most: int  # windows of a task
    total: int  # windows
    image_width: int
    widest: int  # of the levels
    most_nodes: int


def _levels(grey: Grey, shapes: list[Pair], steps: list[int]) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """The arrays `levels` and `tables` of `kernels.cpu.detect_scan`."""
    columns = [resize_table(grey.shape[1], wide) for _, wide in shapes]
    rows = [resize_table(grey.shape[0], high) for high, _ in shapes]
    levels = np.zeros((len(shapes), 6), np.int64)
    for i, ((high, wide), step) in enumerate(zip(shapes, steps, strict=True)):
        levels[i, :3] = wide, high, step
        levels[i, 5] = (high, wide) == grey.shape
    levels[1:, 3] = np.cumsum(levels[:-1, 0])
    levels[1:, 4] = np.cumsum(levels[:-1, 1])
    tables = tuple(np.concatenate([pair[k] for pair in side]) for side in (columns, rows) for k in (0, 1))
    return levels, tables


def _tasks(levels: NDArray[np.int64], window: Pair, planes: int, ends: list[int]) -> NDArray[np.int64]:
    """Bands (level, first row, end) whose integral images take about BAND_BYTES each."""
    wide, high = window
    bands = []
    for i, (level, end) in enumerate(zip(levels, ends, strict=True)):
        rows = BAND_BYTES // (4 * planes * (int(level[0]) + 1)) - high
        rows = max(rows, high, 8) // 2 * 2
        if int(level[0]) >= wide:
            bands += [(i, first, min(first + rows, end)) for first in range(0, end, rows)]
    return np.array(bands, np.int64).reshape(-1, 3)


def _plan_scan(
    model: CascadeModel, grey: Grey, shapes: list[Pair], steps: list[int], ends: list[int]
) -> _Scan:
    plan = plan_of(model)
    levels, tables = _levels(grey, shapes, steps)
    tasks = _tasks(levels, model.window, plan.planes, ends)
    widest = int(levels[:, 0].max())
    pitch = field_pitch(widest)
    rows = int((tasks[:, 2] - tasks[:, 1]).max(initial=0)) + model.height + 1
    plane = rows * pitch
    steps_of, wide_of = levels[tasks[:, 0], 2], levels[tasks[:, 0], 0]
    per_row = (wide_of - model.width) // steps_of + 1
    n_rows = (tasks[:, 2] - tasks[:, 1] + steps_of - 1) // steps_of
    if plan.planes * plane >= _MOST_PLACES:
        raise ValueError(
            f"an image of {grey.shape[1]} x {grey.shape[0]} is too large for the window "
            f"{model.width} x {model.height}: places in it are 32-bit numbers"
        )
    cascade = (*_all_offsets(plan, model.window, pitch, plane), plan.area)
    shape = (model.width, model.height, pitch, plane, plan.planes)
    windows = per_row * n_rows
    most, total = int(windows.max(initial=0)), int(windows.sum())
    return _Scan((levels, tables), tasks, cascade, shape, most, total, grey.shape[1], widest, plan.most_nodes)


def _all_offsets(plan: Plan, window: Pair, pitch: int, plane: int) -> tuple[Any, ...]:
    offsets = np.stack(
        [
            offsets_at(plan.corners, pitch, plane, 1),
            offsets_at(plan.corners, pitch, plane, 2),
            block_offsets(plan, window),
        ]
    )
    norm = np.stack([offsets_at(plan.norm, pitch, plane, step) for step in (1, 2)])
    return offsets, plan.rest, norm


def _one_type(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The array, contiguous and writable: any other kind would have the kernels compiled for it, too."""
    return np.require(array, requirements=["C", "W"])


def _aligned(n: int) -> NDArray[np.int32]:
    """An array whose every 16 numbers are one line of the cache."""
    array = np.empty(n + LANES, np.int32)
    skip = -array.ctypes.data % _LINE // array.itemsize
    return array[skip : skip + n]


def _work(scan: _Scan) -> tuple[Any, ...]:
    """The memory of one member."""
    wide, high, _, plane, planes = scan.shape
    waiting = (
        np.zeros((DEPTHS, LANES), np.int64),
        np.zeros((DEPTHS, LANES, 4), np.int32),
        np.zeros((DEPTHS, LANES), np.float32),
        np.zeros(DEPTHS, np.int64),
    )
    return (
        np.empty(planes * plane + 2 * LANES, np.int32),  # lanes beyond the last window read on
        np.empty(scan.image_width + 1, np.uint16),
        np.empty((2, scan.widest), np.uint8),
        np.empty((3, scan.widest + 1), np.int32),
        np.empty(scan.most_nodes * LANES, np.float64),
        np.empty(LANES, np.float32),
        _aligned(((planes + 1) // 2 * (high + 1) * (wide + 1) + 2 * TILE) * LANES),
        waiting,
    )


def _run(scan: _Scan, grey: Grey, team: Team | None, n_stages: int, skip: int) -> tuple[Any, Any]:
    """Hits int32 (n, 3): level, x, y, and scores float64 (n,), in the order of the tasks."""
    progress = np.zeros(1, np.int64)
    found: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []

    def scan_on(_member: int) -> None:
        work = _work(scan)
        hits = np.empty((2 * scan.most, 3), np.int32), np.empty(2 * scan.most, np.float64)
        task = -1
        while True:
            mode = (n_stages, skip, task)
            n, task = scan_bands(
                grey, scan.pyramid, scan.tasks, scan.cascade, scan.shape, work, hits, progress, mode
            )
            if n:
                found.append((hits[0][:n].copy(), hits[1][:n].copy()))
            if task < 0:
                return

    if team is None or len(scan.tasks) < 2 or scan.total < FEW_WINDOWS:
        scan_on(0)
    else:
        team.together(scan_on, min(team.n_members, len(scan.tasks)))
    if not found:
        return np.zeros((0, 3), np.int32), np.zeros(0)
    hits = np.concatenate([pair[0] for pair in found])
    scores = np.concatenate([pair[1] for pair in found])
    order = np.lexsort((hits[:, 1], hits[:, 2], hits[:, 0]))  # by task, y, x
    hits, scores = hits[order], scores[order]
    hits[:, 0] = scan.tasks[hits[:, 0], 0]
    return hits, scores


def find_windows(
    model: CascadeModel,
    grey: Grey,
    *,
    scale_factor: float = 1.1,
    min_size: int | Pair | None = None,
    max_size: int | Pair | None = None,
    team: Team | None = None,
) -> Windows:
    """All windows of all sizes that pass: those of OpenCV's detectMultiScale with minNeighbors=0.

    Levels are rounded to whole pixels, so that a rectangle may reach a pixel or two beyond the image.
    Grouping takes it as it is; OpenCV, and `Cascade.detect`, cut it off at the very end.

    Parameters
    ----------
    model : CascadeModel
    grey : uint8 (height, width), contiguous
    scale_factor, min_size, max_size
        See `scan_factors`.
    team : Team, optional
        The threads to use; no result depends on their number.

    Returns
    -------
    Windows
        In the order of scale, y, x; empty when no window fits, and for a cascade without stages.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.vision.stage import empty_cascade
    >>> find_windows(empty_cascade("HAAR", (8, 8)), np.zeros((20, 20), np.uint8)).rectangles.shape
    (0, 4)
    """
    image_shape = (grey.shape[0], grey.shape[1])
    factors = scan_factors(image_shape, model.window, scale_factor, min_size, max_size)
    if not factors or model.n_stages == 0:
        none = np.zeros(0, np.int32)
        return Windows(np.zeros((0, 4), np.int32), np.zeros(0), none, none, none)
    shapes = [level_shape(image_shape, factor) for factor in factors]
    grey = _one_type(grey)
    steps = [level_step(factor) for factor in factors]
    scan = _plan_scan(model, grey, shapes, steps, rows_scanned(shapes, model.window, steps))
    hits, scores = _run(scan, grey, team, model.n_stages, _SKIP)
    level, x, y = (np.ascontiguousarray(hits[:, i]) for i in range(3))
    scale = np.array(factors, np.float32)[level]
    sides = [np.rint(n.astype(np.float32) * scale) for n in (x, y)]
    sides += [np.rint(np.float32(n) * scale) for n in model.window]
    return Windows(np.stack(sides, axis=1).astype(np.int32), scores, level, x, y)


def passing(
    model: CascadeModel, level_image: Grey, step: int = 1, n_stages: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The windows of one image, in its own size, that pass the first `n_stages` stages.

    Every window on the grid is judged: unlike in `find_windows`, a rejection by the first stage does not take
    the next window with it.

    Parameters
    ----------
    model : CascadeModel
    level_image : uint8 (height, width)
    step : int
        Pixels between windows, both ways.
    n_stages : int, optional
        All, if None. With 0, all windows of enough contrast pass, with a score of 0.

    Returns
    -------
    positions : int32 (n, 2)
        x and y, in the order of y, x.
    scores : float64 (n,)
        Sums of the last of the stages.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.vision.stage import empty_cascade
    >>> positions, scores = passing(empty_cascade("LBP", (8, 8)), np.zeros((9, 12), np.uint8), step=2)
    >>> positions.tolist()
    [[0, 0], [2, 0], [4, 0]]
    """
    stages = model.n_stages if n_stages is None else n_stages
    if not 0 <= stages <= model.n_stages:
        raise ValueError(f"n_stages={n_stages!r} is not allowed: the cascade has {model.n_stages} stages")
    if step < 1:
        raise ValueError(f"step={step!r} is not allowed: it must be a positive integer")
    high, wide = level_image.shape
    if wide < model.width or high < model.height:
        return np.zeros((0, 2), np.int32), np.zeros(0)
    grey = _one_type(level_image)
    ends = [high - model.height + 1]
    scan = _plan_scan(model, grey, [(high, wide)], [2 if step % 2 == 0 else 1], ends)
    hits, scores = _run(scan, grey, None, stages, _NO_SKIP)
    if step > 2:
        on_grid = (hits[:, 1] % step == 0) & (hits[:, 2] % step == 0)
        hits, scores = hits[on_grid], scores[on_grid]
    return np.ascontiguousarray(hits[:, 1:]), scores


def judge(
    model: CascadeModel, patches: NDArray[np.uint8], team: Team | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """How far windows come that are already cut out.

    Parameters
    ----------
    model : CascadeModel
    patches : uint8 (n, height, width)
        Of the size of the model's window.
    team : Team, optional
        The threads to use.

    Returns
    -------
    stages : int32 (n,)
        Stages passed; -1 for a window refused because its contrast is too low (Haar only).
    scores : float64 (n,)
        Sum of the last stage reached, passed or not; -inf for a window refused, 0 without any stage.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.vision.stage import empty_cascade
    >>> flat_and_striped = np.zeros((2, 8, 8), np.uint8)
    >>> flat_and_striped[1, ::2] = 255
    >>> judge(empty_cascade("HAAR", (8, 8)), flat_and_striped)
    (array([-1,  0], dtype=int32), array([-inf,   0.]))
    """
    if patches.ndim != 3 or patches.shape[1:] != (model.height, model.width) or patches.dtype != np.uint8:
        raise ValueError(
            f"patches: uint8 of shape (n, {model.height}, {model.width}) is needed, "
            f"found {patches.dtype} {patches.shape}"
        )
    patches = _one_type(patches)
    plan = plan_of(model)
    pitch, n = model.width + 1, len(patches)
    plane = (model.height + 1) * pitch
    nodes = (offsets_at(plan.corners, pitch, plane, 1), *plan.rest)
    norm = (offsets_at(plan.norm, pitch, plane, 1), plan.area)
    stages, scores = np.empty(n, np.int32), np.empty(n)

    def judge_rows(start: int, stop: int) -> None:
        blank = np.zeros(model.width, np.uint8)
        work = np.empty(plan.planes * plane, np.int32), np.empty((3, pitch), np.int32), blank
        judge_patches(patches[start:stop], nodes, norm, work, stages[start:stop], scores[start:stop])

    if team is None or n <= _JUDGE_ROWS:
        judge_rows(0, n)
    else:
        team.over_rows(n, judge_rows, _JUDGE_ROWS)
    return stages, scores
