"""Scan an image with a cascade: find the windows that pass all stages.

`find_windows` scans all levels of the image pyramid and returns the windows of OpenCV's detectMultiScale.
`passing_windows` evaluates every window of one level, `evaluate_windows` evaluates cropped windows; training
uses both.

Levels are divided into bands of rows, the tasks of the threads of a team. The result of a band does not
depend on the thread, and results are sorted in the order of the bands.
"""

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.detect import evaluate_patches
from hedgerow.kernels.cpu.detect_scan import DEPTHS, scan_bands
from hedgerow.kernels.cpu.windows import HAAR_CORNERS, LANES, LBP_CORNERS, TILE
from hedgerow.threads import Team
from hedgerow.vision.images import Grey
from hedgerow.vision.model import HAAR, CascadeModel
from hedgerow.vision.pyramid import Pair, level_shape, level_step, resize_table, rows_scanned, scan_factors

BAND_BYTES = 1 << 19  # integral images of a band: half of a typical second-level cache
MIN_WINDOWS_PER_TEAM = 4096  # starting a thread takes as long as evaluating these
_MAX_OFFSETS = 1 << 31
_LINE = 64  # bytes of a cache line
_EVALUATE_ROWS = 256  # patches of a task
_STAGE_SLACK = np.float32(1e-5)  # subtracted from the threshold of a stage, as in OpenCV
_SKIP, _NO_SKIP = 0, 2  # whether the window after one that the first stage rejects is skipped


class CascadeLayout(NamedTuple):
    """A cascade in the layout of the kernels: corners by node, and the arrays of `kernels.cpu.detect`."""

    corners: NDArray[np.int64]  # (N, 12 or 16, 3): x, y and plane of the corners of every node's feature
    rest: tuple[NDArray[Any], ...]  # all arrays of `nodes` except the offsets
    norm: NDArray[np.int64]  # (8, 3): corners of the normalising rectangle in S and in Q
    area: float  # pixels of that rectangle; 0 for LBP, which is not normalised
    planes: int  # number of integral images
    max_nodes: int  # of a tree


_LAYOUTS: "weakref.WeakKeyDictionary[CascadeModel, CascadeLayout]" = weakref.WeakKeyDictionary()


def cascade_layout(model: CascadeModel) -> CascadeLayout:
    """Return the layout of a model, which is computed once."""
    layout = _LAYOUTS.get(model)
    if layout is None:
        layout = _LAYOUTS[model] = _make_layout(model)
    return layout


def _corners(rects: NDArray[np.int64], plane: int = 0) -> NDArray[np.int64]:
    """Return the corners (..., 4, 3) of rectangles (..., 4), in the order of the signs + - - + of a sum.

    Plane 2 is for tilted rectangles: (x, y) is the top, w is down right, h is down left.
    """
    x, y, w, h = (rects[..., i] for i in range(4))
    if plane == 2:
        corners = [(x, y), (x - h, y + h), (x + w, y + w), (x + w - h, y + w + h)]
    else:
        corners = [(x, y), (x + w, y), (x, y + h), (x + w, y + h)]
    return np.stack([np.stack([a, b, np.full_like(x, plane)], axis=-1) for a, b in corners], axis=-2)


def _make_layout(model: CascadeModel) -> CascadeLayout:
    rects = model.rects.astype(np.int64)
    haar = model.kind == HAAR
    if haar:
        tilted = (model.tilted != 0)[:, None, None, None]
        corners = np.where(tilted, _corners(rects, plane=2), _corners(rects)).reshape(-1, HAAR_CORNERS, 3)
        inner = np.array([1, 1, model.width - 2, model.height - 2], np.int64)
        area = float(inner[2] * inner[3])
        norm = np.concatenate([_corners(inner), _corners(inner, plane=1)])
    else:
        x, y, w, h = (rects[:, 0, i, None] for i in range(4))
        k = np.arange(LBP_CORNERS)
        grid = [x + w * (k % 4), y + h * (k // 4), np.zeros((len(rects), LBP_CORNERS), np.int64)]
        corners = np.stack(grid, axis=-1)
        area, norm = 0.0, np.zeros((8, 3), np.int64)
    feature = model.feature
    rest: tuple[NDArray[Any], ...] = (
        np.ascontiguousarray(model.weights[feature] if haar else np.zeros((0, 3), np.float32)).ravel(),
        model.threshold,
        model.subsets.ravel(),
        model.left,
        model.right,
        model.values.astype(np.float64),
        model.tree_starts,
        model.stage_starts,
        (model.stage_thresholds - _STAGE_SLACK).astype(np.float64),
    )
    rest = tuple(np.array(array) for array in rest)  # writable: kernels are compiled for one type of arrays
    sizes = np.diff(model.tree_starts)
    planes = 3 if model.has_tilted else 2
    return CascadeLayout(corners[feature], rest, norm, area, planes, int(sizes.max(initial=1)))


def offsets_at(corners: NDArray[np.int64], pitch: int, plane: int, step: int) -> NDArray[np.int32]:
    """Return offsets of corners (..., 3) from the window; at step 2 odd columns are half a row later."""
    x, y, which = corners[..., 0], corners[..., 1], corners[..., 2]
    if step == 2:
        x = (x >> 1) + (x & 1) * (pitch // 2)
    return (y * pitch + x + which * plane).astype(np.int32).ravel()


def block_offsets(layout: CascadeLayout, window: Pair) -> NDArray[np.int32]:
    """Return offsets for blocks of sixteen interleaved windows, which have the planes S and T only."""
    corners = layout.corners
    offset = (corners[..., 1] + corners[..., 2] // 2 * (window[1] + 1)) * (window[0] + 1) + corners[..., 0]
    return (offset * LANES).astype(np.int32).ravel()


def field_pitch(wide: int) -> int:
    """Return the length of a row of integral images, for width + 1 columns or two halves of them.

    It is an odd multiple of 16: rows at distances of a power of two would evict one another from the cache.
    """
    return (wide + 2 + LANES) // (2 * LANES) * (2 * LANES) + LANES


class Windows(NamedTuple):
    """Windows that passed, in the order of scale, y, x."""

    rectangles: NDArray[np.int32]  # (n, 4): x, y, width, height in the image
    scores: NDArray[np.float64]  # (n,): sum of the last stage


class _Scan(NamedTuple):
    """Arguments of the kernel that are the same for all threads."""

    pyramid: tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]
    tasks: NDArray[np.int64]
    cascade: tuple[Any, ...]
    shape: tuple[int, int, int, int, int]
    max_windows: int  # of a task
    n_windows: int  # of all tasks
    image_width: int
    widest: int  # of the levels
    max_nodes: int


def _levels(grey: Grey, shapes: list[Pair], steps: list[int]) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Return the arrays `levels` and `tables` of `kernels.cpu.detect_scan`."""
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
    """Return bands (level, first row, end) whose integral images take about BAND_BYTES each."""
    wide, high = window
    bands = []
    for i, (level, end) in enumerate(zip(levels, ends, strict=True)):
        rows = BAND_BYTES // (4 * planes * (int(level[0]) + 1)) - high
        rows = max(rows, high, 8) // 2 * 2
        if int(level[0]) >= wide:
            bands += [(i, first, min(first + rows, end)) for first in range(0, end, rows)]
    return np.array(bands, np.int64).reshape(-1, 3)


def _prepare_scan(
    model: CascadeModel, grey: Grey, shapes: list[Pair], steps: list[int], ends: list[int]
) -> _Scan:
    layout = cascade_layout(model)
    levels, tables = _levels(grey, shapes, steps)
    tasks = _tasks(levels, model.window, layout.planes, ends)
    widest = int(levels[:, 0].max())
    pitch = field_pitch(widest)
    rows = int((tasks[:, 2] - tasks[:, 1]).max(initial=0)) + model.height + 1
    plane = rows * pitch
    steps_of, wide_of = levels[tasks[:, 0], 2], levels[tasks[:, 0], 0]
    per_row = (wide_of - model.width) // steps_of + 1
    n_rows = (tasks[:, 2] - tasks[:, 1] + steps_of - 1) // steps_of
    if layout.planes * plane >= _MAX_OFFSETS:
        raise ValueError(
            f"an image of {grey.shape[1]} x {grey.shape[0]} is too large for the window "
            f"{model.width} x {model.height}: offsets in its integral images must fit into 32 bits"
        )
    offsets = [offsets_at(layout.corners, pitch, plane, step) for step in (1, 2)]
    norm = np.stack([offsets_at(layout.norm, pitch, plane, step) for step in (1, 2)])
    cascade = (np.stack([*offsets, block_offsets(layout, model.window)]), layout.rest, norm, layout.area)
    shape = (model.width, model.height, pitch, plane, layout.planes)
    windows = per_row * n_rows
    counts = int(windows.max(initial=0)), int(windows.sum())
    return _Scan((levels, tables), tasks, cascade, shape, *counts, grey.shape[1], widest, layout.max_nodes)


def _as_kernel_array(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the array contiguous and writable; kernels would be compiled again for any other kind."""
    return np.require(array, requirements=["C", "W"])


def _aligned(n: int) -> NDArray[np.int32]:
    """Allocate an array that begins at a cache line: 16 numbers fill a line."""
    array = np.empty(n + LANES, np.int32)
    skip = -array.ctypes.data % _LINE // array.itemsize
    return array[skip : skip + n]


def _work(scan: _Scan) -> tuple[Any, ...]:
    """Allocate the buffers of one thread."""
    wide, high, _, plane, planes = scan.shape
    queue = (
        np.zeros((DEPTHS, LANES), np.int64),
        np.zeros((DEPTHS, LANES, 4), np.int32),
        np.zeros((DEPTHS, LANES), np.float32),
        np.zeros(DEPTHS, np.int64),
    )
    return (
        np.empty(planes * plane + 2 * LANES, np.int32),  # lanes beyond the last window read past the end
        np.empty(scan.image_width + 1, np.uint16),
        np.empty((2, scan.widest), np.uint8),
        np.empty((3, scan.widest + 1), np.int32),
        np.empty(scan.max_nodes * LANES, np.float64),
        np.empty(LANES, np.float32),
        _aligned(((planes + 1) // 2 * (high + 1) * (wide + 1) + 2 * TILE) * LANES),
        queue,
    )


def _run(scan: _Scan, grey: Grey, team: Team | None, n_stages: int, skip: int) -> tuple[Any, Any]:
    """Return hits int32 (n, 3): level, x, y, and scores float64 (n,), in the order of tasks."""
    progress = np.zeros(1, np.int64)
    found: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []

    def run_tasks(_thread: int) -> None:
        work = _work(scan)
        hits = np.empty((2 * scan.max_windows, 3), np.int32), np.empty(2 * scan.max_windows, np.float64)
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

    if team is None or len(scan.tasks) < 2 or scan.n_windows < MIN_WINDOWS_PER_TEAM:
        run_tasks(0)
    else:
        team.together(run_tasks, min(team.n_threads, len(scan.tasks)))
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
    scale_factor: float = 1.1,
    min_size: int | Pair | None = None,
    max_size: int | Pair | None = None,
    *,
    team: Team | None = None,
) -> Windows:
    """Find all windows of all sizes that pass: those of OpenCV's detectMultiScale with minNeighbors=0.

    They are in the order of scale, y, x, and do not depend on the team. Sizes of levels are rounded to whole
    pixels, so a rectangle may extend a pixel or two beyond the image. As in OpenCV, it is grouped unchanged;
    `Cascade.detect` clips the result.
    """
    image_shape = (grey.shape[0], grey.shape[1])
    factors = scan_factors(image_shape, model.window, scale_factor, min_size, max_size)
    if not factors or model.n_stages == 0:
        return Windows(np.zeros((0, 4), np.int32), np.zeros(0))
    shapes = [level_shape(image_shape, factor) for factor in factors]
    grey = _as_kernel_array(grey)
    steps = [level_step(factor) for factor in factors]
    scan = _prepare_scan(model, grey, shapes, steps, rows_scanned(shapes, model.window, steps))
    hits, scores = _run(scan, grey, team, model.n_stages, _SKIP)
    scale = np.array(factors, np.float32)[hits[:, 0]]
    sides = [np.rint(position.astype(np.float32) * scale) for position in (hits[:, 1], hits[:, 2])]
    sides += [np.rint(np.float32(n) * scale) for n in model.window]
    return Windows(np.stack(sides, axis=1).astype(np.int32), scores)


def passing_windows(
    model: CascadeModel, level_image: Grey, step: int = 1, n_stages: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the windows of one image, in its original size, that pass the first `n_stages` stages (or all).

    Every window of a grid with this step is evaluated; `find_windows` skips the window after one that the
    first stage rejects. Returns positions int32 (n, 2): x and y, in the order of y, x; and the sums of the
    last stage, float64 (n,). Without stages, all windows with enough contrast pass, with a score of 0.

    >>> from hedgerow.vision.stage import empty_cascade
    >>> positions, scores = passing_windows(empty_cascade("LBP", (8, 8)), np.zeros((9, 12), np.uint8), step=2)
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
    grey = _as_kernel_array(level_image)
    ends = [high - model.height + 1]
    scan = _prepare_scan(model, grey, [(high, wide)], [2 if step % 2 == 0 else 1], ends)
    hits, scores = _run(scan, grey, None, stages, _NO_SKIP)
    if step > 2:
        on_grid = (hits[:, 1] % step == 0) & (hits[:, 2] % step == 0)
        hits, scores = hits[on_grid], scores[on_grid]
    return np.ascontiguousarray(hits[:, 1:]), scores


def evaluate_windows(
    model: CascadeModel, patches: NDArray[np.uint8], team: Team | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Evaluate cropped windows, uint8 (n, height, width): stages int32 (n,) and scores float64 (n,).

    `stages` is the number of stages passed, or -1 for a window with too little contrast (Haar only). A score
    is the sum of the last stage evaluated, passed or not; -inf for too little contrast, 0 without stages.

    >>> from hedgerow.vision.stage import empty_cascade
    >>> flat_and_striped = np.zeros((2, 8, 8), np.uint8)
    >>> flat_and_striped[1, ::2] = 255
    >>> evaluate_windows(empty_cascade("HAAR", (8, 8)), flat_and_striped)
    (array([-1,  0], dtype=int32), array([-inf,   0.]))
    """
    if patches.ndim != 3 or patches.shape[1:] != (model.height, model.width) or patches.dtype != np.uint8:
        raise ValueError(
            f"patches: uint8 of shape (n, {model.height}, {model.width}) is required, "
            f"got {patches.dtype} {patches.shape}"
        )
    patches = _as_kernel_array(patches)
    layout = cascade_layout(model)
    pitch, n = model.width + 1, len(patches)
    plane = (model.height + 1) * pitch
    nodes = (offsets_at(layout.corners, pitch, plane, 1), *layout.rest)
    norm = (offsets_at(layout.norm, pitch, plane, 1), layout.area)
    stages, scores = np.empty(n, np.int32), np.empty(n)

    def evaluate_rows(start: int, stop: int) -> None:
        blank = np.zeros(model.width, np.uint8)
        work = np.empty(layout.planes * plane, np.int32), np.empty((3, pitch), np.int32), blank
        evaluate_patches(patches[start:stop], nodes, norm, work, stages[start:stop], scores[start:stop])

    if team is None or n <= _EVALUATE_ROWS:
        evaluate_rows(0, n)
    else:
        team.over_rows(n, evaluate_rows, _EVALUATE_ROWS)
    return stages, scores
