"""All windows of an image pyramid, band by band.

A band is a few dozen rows of windows of one level: its integral images stay in the cache until the last
window has been evaluated, and bands are the tasks that threads share.

    levels   int64 (L, 6): width, height, step, start of its columns and of its rows in `tables`, and whether
             it is the image itself
    tables   column index uint32, column weight uint16, row index uint32, row weight uint16: see `image`
    tasks    int64 (n, 3): level, first row of windows, end of the rows of windows
    shape    window width, window height, pitch and plane of a field, planes (1 without squares, 3 with T)
    work     field int32, mixed uint16, pixels uint8 (2, W), tilted int32 (3, W + 1), scratch float64,
             inverses float32 (16,), block int32, queue (see `evaluate_queued`): the memory of one thread
    hits     int32 (n, 3): task, x, y, and float64 (n,): sum of the last stage

Functions that are called once a row or less often are not inlined: each caller would compile them again.
"""

import numpy as np

from hedgerow.kernels.cpu.detect import stage_sums
from hedgerow.kernels.cpu.image import add_row, add_tilted_row, mix_columns, mix_rows, spread_row
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel, intrinsics
from hedgerow.kernels.cpu.windows import LANES, TILE

(
    at_least,
    contrast_bits,
    count_bits,
    gather_tile,
    inverse_norm_lanes,
    load_inverse,
    store_inverse,
    store_lanes,
) = intrinsics(
    "detect_lanes",
    "at_least",
    "contrast_bits",
    "count_bits",
    "gather_tile",
    "inverse_norm_lanes",
    "load_inverse",
    "store_inverse",
    "store_lanes",
)
atomic_add, lowest_bit = intrinsics("intrinsics", "atomic_add", "lowest_bit")


def _skip_table():
    """OpenCV's rule: [skip first, rejected bits of 8 windows] -> evaluated bits; bit 8: skip next."""
    table = np.zeros((2, 256), np.uint16)
    for skip in range(2):
        for rejected in range(256):
            skipping = bool(skip)
            for i in range(8):
                evaluated = not skipping
                table[skip, rejected] |= evaluated << i
                skipping = evaluated and bool(rejected >> i & 1)
            table[skip, rejected] |= skipping << 8
    return table


_EVALUATED = _skip_table()
MIN_LANES = 5  # of sixteen windows: fewer are queued until they can be grouped with others
DEPTHS = 4  # of the queue: the remaining windows of groups form groups of the next depth
MAX_QUEUED, NONE_QUEUED = np.int64(LANES - MIN_LANES), np.int64(0)  # see `evaluate_queued`
_ALL = np.uint64((1 << LANES) - 1)


@deep_kernel
def fill_band(image, level, tables, shape, first, n_rows, work):
    """Compute the integral images of `n_rows` rows of a level from row `first` on."""
    column_index, column_weight, row_index, row_weight = tables
    width, step, columns, rows, plain = level[0], level[2], level[3], level[4], level[5]
    _, _, pitch, plane, planes = shape
    flat, mixed, pixels, tilted = work[:4]
    half = pitch // 2 if step == 2 else 0
    last = image.shape[0] - 1
    for p in range(planes):
        flat[p * plane : p * plane + pitch] = 0
    tilted[:] = 0
    pixels[:] = 0
    index = column_index[columns : columns + width]
    weight = column_weight[columns : columns + width]
    for y in range(n_rows):
        row = pixels[y & 1, :width]
        if plain:
            source = image[first + y]
            for x in range(source.size):
                row[x] = source[x]
        else:
            upper = np.int64(row_index[rows + first + y])
            mix_rows(image[upper], image[min(upper + 1, last)], row_weight[rows + first + y], mixed)
            mix_columns(mixed, index, weight, row)
        add_row(row, (flat, pitch), y * pitch, plane, half)
        if planes == 3:
            older, old, new = tilted[y % 3], tilted[(y + 1) % 3], tilted[(y + 2) % 3]
            before = pixels[(y + 1) & 1, :width]
            add_tilted_row(row, before, older, old, new)
            spread_row(new[: width + 1], flat, 2 * plane + (y + 1) * pitch, half)


@deep_inline
def evaluate_lanes(field, position, nodes, norm, mode, work):
    """Evaluate the stages on sixteen windows, as long as enough of them are left.

    mode : (number of stages, valid bits, skip: 0 or 1 for OpenCV's rule, 2 without it). Returns (bits of the
    windows left, stages they have passed, skip for the next windows). work[4] holds their sums, work[5] their
    norms.

    OpenCV's rule: the window after one that the first stage rejects is not evaluated.
    """
    n_stages, valid, skip = mode
    corners, area = norm
    scratch, inverses = work[4], work[5]
    inverse = inverse_norm_lanes(field, position, corners, area)
    alive = valid
    if area > 0.0:
        alive &= contrast_bits(inverse, area)
    if alive == np.uint64(0):
        return alive, np.int64(0), (skip if skip == 2 else np.int64(0))
    store_inverse(inverses, inverse)
    stage = np.int64(0)
    while stage < n_stages:
        sums = stage_sums(field, position, nodes, inverse, stage, scratch)
        passed = at_least(sums, nodes[9][stage])
        if stage == 0 and skip != 2:
            rejected = alive & ~passed
            evaluated = np.uint64(0)
            for eight in range(0, LANES, 8):
                bits = _EVALUATED[skip, np.int64((rejected >> np.uint64(eight)) & np.uint64(255))]
                skip = np.int64(bits >> 8)
                evaluated |= np.uint64(bits & 255) << np.uint64(eight)
            alive &= evaluated
        alive &= passed
        stage += 1
        if stage == n_stages:
            store_lanes(scratch, 0, sums)
        elif count_bits(alive) < MIN_LANES:
            break
    return alive, stage, skip


@deep_inline
def copy_windows(field, pitch, step, shape, positions, block):
    """Copy the integral images of sixteen windows, number by number: block[(y (w + 1) + x) 16 + lane]."""
    wide, high, _, plane, planes = shape
    column = np.int64(LANES)
    pitch_out = (wide + 1) * column
    plane_out = (high + 1) * pitch_out
    for p in range(0, planes, 2):  # the squares are not needed any more
        for y in range(high + 1):
            source = p * plane + y * pitch
            target = (p >> 1) * plane_out + y * pitch_out
            # excess entries of a tile are overwritten by the next row
            for half in range(step):
                for x in range(half, wide + 1, TILE * step):
                    offset = source + half * (pitch // 2) + x // step
                    gather_tile(field, positions, offset, block, target + x * column, step * column)


@deep_inline
def evaluate_group(field, step, shape, nodes, n_stages, depth, work, hits, n_hits):
    """Evaluate the windows queued at a depth; the last few of the group are queued at the next depth."""
    all_positions, all_windows, all_inverses, number = work[7]
    positions, windows, inverses = all_positions[depth], all_windows[depth], all_inverses[depth]
    found, scores = hits
    scratch, block = work[4], work[6]
    n = number[depth]
    number[depth] = 0
    stage = np.int64(windows[0, 3])
    for i in range(n):
        stage = min(stage, np.int64(windows[i, 3]))  # passing a stage twice has no effect
    for i in range(n, LANES):
        positions[i] = positions[0]
        inverses[i] = inverses[0]
    copy_windows(field, shape[2], step, shape, positions, block)
    inverse = load_inverse(inverses)
    alive = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    min_alive = MIN_LANES if depth + 1 < DEPTHS else 1
    while stage < n_stages:
        sums = stage_sums(block, np.int64(0), nodes, inverse, stage, scratch)
        alive &= at_least(sums, nodes[9][stage])
        stage += 1
        if stage == n_stages:
            store_lanes(scratch, 0, sums)
        elif count_bits(alive) < min_alive:
            break
    while alive != np.uint64(0):
        lane = np.int64(lowest_bit(alive))
        alive &= alive - np.uint64(1)
        if stage < n_stages:
            i = number[depth + 1]
            number[depth + 1] = i + 1
            all_positions[depth + 1, i] = positions[lane]
            all_inverses[depth + 1, i] = inverses[lane]
            for k in range(3):
                all_windows[depth + 1, i, k] = windows[lane, k]
            all_windows[depth + 1, i, 3] = max(stage, np.int64(windows[lane, 3]))
        else:
            for k in range(3):
                found[n_hits, k] = windows[lane, k]
            scores[n_hits] = scratch[lane]
            n_hits += 1
    return n_hits


@deep_kernel
def evaluate_queued(field, step, shape, nodes, n_stages, max_queued, work, hits, n_hits):
    """Evaluate the queued windows, sixteen from anywhere in the band at a time.

    queue : positions int64 (D, 16), windows int32 (D, 16, 4): task, x, y and stages passed, inverses
    float32 (D, 16), number int64 (D,). Windows that are not neighbours must be copied before their corners
    can be loaded together; this takes less time than evaluating two or three windows one by one in the long
    last stages. Groups shrink as well, so that the remaining windows of several groups wait for a new group
    at the next depth.

    max_queued : windows that may stay in the queue; 0 at the end of a band.
    """
    number = work[7][3]
    for depth in range(DEPTHS):
        if number[depth] > max_queued:
            n_hits = evaluate_group(field, step, shape, nodes, n_stages, depth, work, hits, n_hits)
    return n_hits


@deep_kernel
def scan_row(row, shape, cascade, mode, work, hits, n_hits):
    """Evaluate the windows of one row of a band. row : (position, number of windows, step, y, task)."""
    position, n_windows, step, y, task = row
    nodes, block_nodes, norm = cascade
    n_stages, skip = mode
    found, scores = hits
    positions, windows, inverses, number = work[7]
    flat, scratch, own_inverses = work[0], work[4], work[5]
    for start in range(0, n_windows, LANES):
        valid = _ALL
        if n_windows - start < LANES:
            valid = (np.uint64(1) << np.uint64(n_windows - start)) - np.uint64(1)
        alive, stage, skip = evaluate_lanes(
            flat, position + start, nodes, norm, (n_stages, valid, skip), work
        )
        done = stage == n_stages
        while alive != np.uint64(0):
            lane = np.int64(lowest_bit(alive))
            alive &= alive - np.uint64(1)
            if done:
                found[n_hits, 0] = task
                found[n_hits, 1] = (start + lane) * step
                found[n_hits, 2] = y
                scores[n_hits] = scratch[lane] if n_stages > 0 else 0.0
                n_hits += 1
                continue
            i = number[0]
            positions[0, i] = position + start + lane
            windows[0, i, 0] = task
            windows[0, i, 1] = (start + lane) * step
            windows[0, i, 2] = y
            windows[0, i, 3] = stage
            inverses[0, i] = own_inverses[lane]
            number[0] = i + 1
            if i + 1 == LANES:
                n_hits = evaluate_queued(
                    flat, step, shape, block_nodes, n_stages, MAX_QUEUED, work, hits, n_hits
                )
    return n_hits


@deep_kernel
def scan_bands(image, pyramid, tasks, cascade, shape, work, hits, progress, mode):
    """Process tasks until none is left, or until the hits of the next one might not fit.

    pyramid : (levels, tables). cascade : (offsets (3, ...): for step 1, step 2 and for a block; the other
    arrays of nodes; norm corners (2, 8); area). progress int64: [0] the next task, shared by the threads.
    mode : (number of stages, skip, first task), where a first task >= 0 was reserved before. Returns (number
    of hits, task reserved but not done, or -1). The hits of a task are in no particular order.
    """
    levels, tables = pyramid
    offsets, rest, corners, area = cascade
    n_stages, skip, task = mode
    wide, high, pitch = shape[0], shape[1], shape[2]
    block_nodes = (offsets[2], *rest)
    n_hits = np.int64(0)
    while True:
        if task < 0:
            task = atomic_add(progress, 0, 1)
        if task >= tasks.shape[0]:
            return n_hits, np.int64(-1)
        level = levels[tasks[task, 0]]
        first, end = tasks[task, 1], tasks[task, 2]
        step = level[2]
        n_windows = (level[0] - wide) // step + 1
        if n_hits + n_windows * ((end - first + step - 1) // step) > hits[1].size:
            return n_hits, task
        fill_band(image, level, tables, shape, first, min(end - 1 + high, level[1]) - first, work)
        band_cascade = ((offsets[step - 1], *rest), block_nodes, (corners[step - 1], area))
        for y in range(first, end, step):
            row = ((y - first) * pitch, n_windows, step, y, task)
            n_hits = scan_row(row, shape, band_cascade, (n_stages, skip), work, hits, n_hits)
        n_hits = evaluate_queued(work[0], step, shape, block_nodes, n_stages, NONE_QUEUED, work, hits, n_hits)
        task = np.int64(-1)
