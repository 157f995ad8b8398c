"""Hard negatives: windows of images without the object that a cascade still takes for it.

Images are visited in an order that a hash of the seed and the stage gives, and from each a few of the
windows that pass are taken, by hash again: many images, few windows each. When all images have been seen,
they are seen again mirrored and turned; what holds no object holds none upside down. The work is shared by
images, in batches, and the first windows in this order are taken: the same ones for any number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.random import MINING, draw_rows
from hedgerow.threads import Team
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.scan import level_image, passing, scan_factors
from hedgerow.vision.scan_plan import level_step

N_TURNS = 8  # of a square: four rotations, and their mirror images
_BATCH = 16  # images between two looks at whether there is enough
_LEAST_SHARE = 4  # windows of one image, at the least
_SPREAD = 3  # an image gives up to so many times its fair share
_CACHE_BYTES = 1 << 30  # of images kept in memory


@dataclass(frozen=True, eq=False)
class Mined:
    """Windows found, and how many were looked at.

    windows : uint8 (n, height, width)
    n_judged, n_passed : windows that the cascade judged, and took for the object
    n_images : images looked at, each turn counted
    exhausted : whether every image was looked at in every turn
    """

    windows: NDArray[np.uint8]
    n_judged: int
    n_passed: int
    n_images: int
    exhausted: bool

    @property
    def pass_rate(self) -> float:
        """Share of the windows of images without the object that pass: the false-positive rate so far."""
        return self.n_passed / max(1, self.n_judged)


class Miner:
    """Finds hard negatives in a collection of images.

    Parameters
    ----------
    images : sequence of uint8 (h, w)
        Loaded one by one as they are needed.
    window : (int, int)
    scale_factor : float
        Between two levels of an image.
    seed : int
    team : Team
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
        watch: Callable[[int], Any] | None = None,
    ) -> Mined:
        """Up to `n_wanted` windows that pass all stages of a model, from the images of these numbers.

        `watch` is told how many there are after each batch.
        """
        share = max(_LEAST_SHARE, -(-_SPREAD * n_wanted // max(1, len(numbers))))
        found: list[NDArray[np.uint8]] = []
        n_found = n_judged = n_passed = n_images = 0
        tasks = self._order(numbers, stage)
        for begin in range(0, len(tasks), _BATCH):
            batch = tasks[begin : begin + _BATCH]
            for windows, judged, passed in self._look_at(batch, model, share, stage):
                n_images += 1
                n_judged, n_passed = n_judged + judged, n_passed + passed
                found.append(windows[: n_wanted - n_found])
                n_found += len(found[-1])
            if watch is not None:
                watch(n_found)
            if n_found >= n_wanted:
                break
        width, height = self.window
        windows = np.concatenate([np.empty((0, height, width), np.uint8), *found])
        return Mined(windows, n_judged, n_passed, n_images, exhausted=n_images == len(tasks))

    def _order(self, numbers: NDArray[np.int64], stage: int) -> list[tuple[int, int]]:
        """(image, turn), turn by turn, the images of a turn in the order of a hash."""
        tasks = []
        for turn in range(N_TURNS):
            keys = np.empty(len(self.images), np.uint64)
            draw_rows(self.seed, MINING, (stage << 8) + turn, keys)
            order = np.argsort(keys[numbers], kind="stable")
            tasks += [(int(number), turn) for number in numbers[order]]
        return tasks

    def _look_at(
        self, tasks: list[tuple[int, int]], model: CascadeModel, share: int, stage: int
    ) -> list[tuple[NDArray[np.uint8], int, int]]:
        results: list[Any] = [None] * len(tasks)
        images = [self._load(number) for number, _ in tasks]  # here: they may come from any kind of sequence

        def work(member: int) -> None:
            for place in range(member, len(tasks), self.team.n_members):
                number, turn = tasks[place]
                key = (1 << 62) + (stage << 40) + (number << 3) + turn
                results[place] = self._windows(turned(images[place], turn), model, share, key)

        self.team.together(work)
        return results

    def _windows(
        self, grey: NDArray[np.uint8], model: CascadeModel, share: int, key: int
    ) -> tuple[NDArray[np.uint8], int, int]:
        """Some windows of one image that pass, how many were judged, and how many passed."""
        width, height = self.window
        levels: list[NDArray[np.uint8]] = []
        places: list[NDArray[np.int32]] = []
        n_judged = 0
        for factor in scan_factors(grey.shape, self.window, self.scale_factor, None, None):
            level = level_image(grey, self.window, factor)
            step = level_step(factor)
            positions, _ = passing(model, level, step)
            n_judged += ((level.shape[1] - width) // step + 1) * ((level.shape[0] - height) // step + 1)
            places.append(np.column_stack([np.full(len(positions), len(levels), np.int32), positions]))
            levels.append(level)
        if not levels:
            return np.empty((0, height, width), np.uint8), 0, 0
        every = np.concatenate(places)
        keys = np.empty(len(every), np.uint64)
        draw_rows(self.seed, MINING, key, keys)
        chosen = every[np.argsort(keys, kind="stable")[:share]]
        windows = np.empty((len(chosen), height, width), np.uint8)
        for out, (level, x, y) in zip(windows, chosen.tolist(), strict=True):
            out[:] = levels[level][y : y + height, x : x + width]
        return windows, n_judged, len(every)

    def _load(self, number: int) -> NDArray[np.uint8]:
        image = self._cache.get(number)
        if image is None:
            image = self.images[number]
            if self._cached_bytes + image.nbytes <= _CACHE_BYTES:
                self._cache[number] = image
                self._cached_bytes += image.nbytes
        return image


def turned(image: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """One of the eight turns of an image: rotations by 0, 180, 90, 270 degrees, then their mirror images.

    >>> turned(np.array([[1, 2, 3]], np.uint8), 4).tolist()
    [[3, 2, 1]]
    """
    quarter = (0, 2, 1, 3)[turn % 4]
    image = np.rot90(image, quarter)
    return np.ascontiguousarray(image[:, ::-1] if turn >= 4 else image)
