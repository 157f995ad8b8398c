"""Hard negative mining: find windows without the object that pass all stages so far.

Images are scanned in an order given by a hash of the seed and the stage. From each image a few of the passing
windows are selected, again by a hash: many images contribute few windows each. After all images, their
rotated and mirrored versions are scanned. Threads scan batches of images, and the first windows in this order
are selected: the result is the same for any number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.random import MINING, draw_rows
from hedgerow.threads import Team
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.pyramid import level_image, level_step, scan_factors
from hedgerow.vision.scan import passing_windows

N_ORIENTATIONS = 8  # four rotations and their mirror images
_BATCH = 16  # images between two checks of the number of windows
_MIN_PER_IMAGE = 4  # minimum of the limit of windows of one image
_SPREAD = 3  # limit of windows of one image, relative to equal numbers from all images
_CACHE_BYTES = 1 << 30  # images cached in memory


@dataclass(frozen=True, eq=False)
class MinedWindows:
    """Mined windows and statistics of the scan."""

    windows: NDArray[np.uint8]  # (n, height, width)
    n_evaluated: int  # windows that the cascade evaluated
    n_passed: int
    n_images: int  # images scanned, each orientation counted
    exhausted: bool  # whether every image was scanned in every orientation

    @property
    def pass_rate(self) -> float:
        """Fraction of the evaluated windows that pass: the false positive rate so far."""
        return self.n_passed / max(1, self.n_evaluated)


class Miner:
    """Mines hard negatives in a sequence of grey images, which are loaded when needed.

    `scale_factor` is the ratio of consecutive levels of an image.
    """

    def __init__(
        self,
        images: Sequence[NDArray[np.uint8]],
        window: tuple[int, int],
        scale_factor: float,
        seed: int,
        team: Team,
    ) -> None:
        self.images, self.window, self.scale_factor = images, window, scale_factor
        self.seed, self.team = seed, team
        self._cache: dict[int, NDArray[np.uint8]] = {}
        self._cached_bytes = 0

    def mine(
        self,
        model: CascadeModel,
        n_wanted: int,
        stage: int,
        numbers: NDArray[np.int64],
        callback: Callable[[int], Any] | None = None,
    ) -> MinedWindows:
        """Find up to `n_wanted` windows that pass all stages of a model, in the images with these indices.

        `callback` receives the number of windows after each batch.
        """
        limit = max(_MIN_PER_IMAGE, -(-_SPREAD * n_wanted // max(1, len(numbers))))
        found: list[NDArray[np.uint8]] = []
        n_found = n_evaluated = n_passed = n_images = 0
        tasks = self._order(numbers, stage)
        for begin in range(0, len(tasks), _BATCH):
            batch = tasks[begin : begin + _BATCH]
            for windows, evaluated, passed in self._scan_batch(batch, model, limit, stage):
                n_images += 1
                n_evaluated, n_passed = n_evaluated + evaluated, n_passed + passed
                found.append(windows[: n_wanted - n_found])
                n_found += len(found[-1])
            if callback is not None:
                callback(n_found)
            if n_found >= n_wanted:
                break
        width, height = self.window
        windows = np.concatenate([np.empty((0, height, width), np.uint8), *found])
        return MinedWindows(windows, n_evaluated, n_passed, n_images, exhausted=n_images == len(tasks))

    def _order(self, numbers: NDArray[np.int64], stage: int) -> list[tuple[int, int]]:
        """Return (image, orientation) by orientation, the images of each in the order of a hash."""
        tasks = []
        for orientation in range(N_ORIENTATIONS):
            keys = np.empty(len(self.images), np.uint64)
            draw_rows(self.seed, MINING, (stage << 8) + orientation, keys)
            order = np.argsort(keys[numbers], kind="stable")
            tasks += [(int(number), orientation) for number in numbers[order]]
        return tasks

    def _scan_batch(
        self, tasks: list[tuple[int, int]], model: CascadeModel, limit: int, stage: int
    ) -> list[tuple[NDArray[np.uint8], int, int]]:
        results: list[Any] = [None] * len(tasks)
        images = [self._load(number) for number, _ in tasks]  # in one thread: sequences may be of any class

        def work(thread: int) -> None:
            for task in range(thread, len(tasks), self.team.n_threads):
                number, orientation = tasks[task]
                key = (1 << 62) + (stage << 40) + (number << 3) + orientation
                results[task] = self._windows(reoriented(images[task], orientation), model, limit, key)

        self.team.together(work)
        return results

    def _windows(
        self, grey: NDArray[np.uint8], model: CascadeModel, limit: int, key: int
    ) -> tuple[NDArray[np.uint8], int, int]:
        """Return a selection of the passing windows of one image, and the numbers evaluated and passed."""
        width, height = self.window
        levels: list[NDArray[np.uint8]] = []
        positions_found: list[NDArray[np.int32]] = []
        n_evaluated = 0
        for factor in scan_factors(grey.shape, self.window, self.scale_factor, None, None):
            level = level_image(grey, self.window, factor)
            step = level_step(factor)
            positions, _ = passing_windows(model, level, step)
            n_evaluated += ((level.shape[1] - width) // step + 1) * ((level.shape[0] - height) // step + 1)
            level_numbers = np.full(len(positions), len(levels), np.int32)
            positions_found.append(np.column_stack([level_numbers, positions]))
            levels.append(level)
        if not levels:
            return np.empty((0, height, width), np.uint8), 0, 0
        every = np.concatenate(positions_found)
        keys = np.empty(len(every), np.uint64)
        draw_rows(self.seed, MINING, key, keys)
        chosen = every[np.argsort(keys, kind="stable")[:limit]]
        windows = np.empty((len(chosen), height, width), np.uint8)
        for out, (level, x, y) in zip(windows, chosen.tolist(), strict=True):
            out[:] = levels[level][y : y + height, x : x + width]
        return windows, n_evaluated, len(every)

    def _load(self, number: int) -> NDArray[np.uint8]:
        image = self._cache.get(number)
        if image is None:
            image = self.images[number]
            if self._cached_bytes + image.nbytes <= _CACHE_BYTES:
                self._cache[number] = image
                self._cached_bytes += image.nbytes
        return image


def reoriented(image: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Return an image in one of eight orientations: rotated by 0, 180, 90, 270 degrees, then mirrored.

    >>> reoriented(np.array([[1, 2, 3]], np.uint8), 4).tolist()
    [[3, 2, 1]]
    """
    quarter = (0, 2, 1, 3)[orientation % 4]
    image = np.rot90(image, quarter)
    return np.ascontiguousarray(image[:, ::-1] if orientation >= 4 else image)
