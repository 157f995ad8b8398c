"""The compiled intrinsics agree with their plain versions, which replace them in the other tests."""

import sys
import threading

import numpy as np
import pytest
from numba import njit

import plain_intrinsics as plain
from hedgerow.kernels.cpu import detect_lanes as lanes
from hedgerow.kernels.cpu import intrinsics
from hedgerow.kernels.cpu.windows import HAAR_CORNERS, LANES, LBP_CORNERS, TILE

N_NODES, AREA = 5, 40.0
RNG = np.random.default_rng(0)
FIELD = RNG.integers(-(2**31), 2**31, 400).astype(np.int32)  # sums wrap
SMALL = RNG.integers(0, 2000, 400).astype(np.int32)
HAAR = RNG.integers(0, 300, N_NODES * HAAR_CORNERS).astype(np.int32)
GRID = RNG.integers(0, 300, N_NODES * LBP_CORNERS).astype(np.int32)
WEIGHTS = RNG.choice(np.array([-1, 2, 0.3, 0], np.float32), N_NODES * 3)
WEIGHTS[2::6], WEIGHTS[5::6] = 0, 3  # every second node has a third rectangle
THRESHOLDS = RNG.normal(0, 1, N_NODES).astype(np.float32)
SUBSETS = RNG.integers(-(2**31), 2**31, N_NODES * 8).astype(np.int32)
NORM = RNG.integers(0, 300, 8).astype(np.int32)
INVERSE = (10.0 ** -np.arange(LANES) * 3).astype(np.float32)


@njit
def compiled_one(field, position, node, haar, weights, thresholds, grid, subsets, norm, area):
    """The features of one window."""
    inverse = lanes.inverse_norm(field, position, norm, area)
    return (
        lanes.haar_left(field, position, node, haar, weights, thresholds, np.float32(1e-3)),
        lanes.lbp_left(field, position, node, grid, subsets),
        inverse,
    )


@njit
def compiled_lanes(field, position, node, haar, weights, thresholds, grid, subsets, norm, area, inverse, out):
    """The same for sixteen windows: masks as numbers 1 and 0 in out[0], out[1]; returns bits of contrast."""
    one, zero = lanes.splat(1.0), lanes.splat(0.0)
    left = lanes.haar_lanes_left(
        field, position, node, haar, weights, thresholds, lanes.load_inverse(inverse)
    )
    lanes.store_lanes(out, 0, lanes.choose(left, one, zero))
    left = lanes.lbp_lanes_left(field, position, node, grid, subsets)
    lanes.store_lanes(out, 16, lanes.choose(left, one, zero))
    norms = lanes.inverse_norm_lanes(field, position, norm, area)
    lanes.store_inverse(inverse, norms)
    return lanes.contrast_bits(norms, area)


@njit
def compiled_numbers(array, position, threshold, bits):
    total = lanes.add(lanes.load_lanes(array, position), lanes.splat(0.5))
    lanes.store_lanes(array, 0, total)
    return lanes.at_least(total, threshold), lanes.count_bits(bits), intrinsics.lowest_bit(bits)


@njit
def compiled_tile(field, positions, offset, block, target, stride):
    lanes.gather_tile(field, positions, offset, block, target, stride)


@njit(nogil=True)
def compiled_memory(array, by_row):
    intrinsics.prefetch(by_row, np.uintp(8))
    intrinsics.yield_time_slice()
    before = intrinsics.atomic_add(array, 2, 5)
    return before, intrinsics.atomic_load(array, 2)


@pytest.mark.parametrize("field", [FIELD, SMALL], ids=["wrapping", "small"])
def test_one_window_agrees_with_the_plain_version(field):
    found = set()
    for node in range(N_NODES):
        for position in range(40):
            arguments = field, position, node, HAAR, WEIGHTS, THRESHOLDS, GRID, SUBSETS, NORM, AREA
            haar, lbp, inverse = compiled_one(*arguments)
            with np.errstate(all="ignore"):
                expected = plain.inverse_norm(field, position, NORM, AREA)
                assert haar == plain.haar_left(*arguments[:6], np.float32(1e-3))
            assert lbp == plain.lbp_left(field, position, node, GRID, SUBSETS)
            np.testing.assert_array_equal(np.float32(inverse), expected)
            found.add((haar, lbp))
    assert len(found) == 4


@pytest.mark.parametrize("field", [FIELD, SMALL], ids=["wrapping", "small"])
def test_sixteen_windows_agree_with_the_plain_version(field):
    for node in range(N_NODES):
        for position in (0, 17, 60):
            out, inverse = np.empty(32), INVERSE.copy()
            arguments = field, position, node, HAAR, WEIGHTS, THRESHOLDS, GRID, SUBSETS, NORM, AREA
            bits = compiled_lanes(*arguments, inverse, out)
            with np.errstate(all="ignore"):
                expected = plain.inverse_norm_lanes(field, position, NORM, AREA)
                left = plain.haar_lanes_left(*arguments[:6], INVERSE)
            np.testing.assert_array_equal(out[:16], left)
            np.testing.assert_array_equal(
                out[16:], plain.lbp_lanes_left(field, position, node, GRID, SUBSETS)
            )
            np.testing.assert_array_equal(inverse, expected)
            assert bits == plain.contrast_bits(expected, AREA)


def test_sixteen_windows_are_sixteen_times_one():
    for node in range(N_NODES):
        of_lanes = plain.lbp_lanes_left(SMALL, 3, node, GRID, SUBSETS)
        assert of_lanes.tolist() == [plain.lbp_left(SMALL, 3 + i, node, GRID, SUBSETS) for i in range(LANES)]


def test_vectors_of_numbers_agree_with_the_plain_version():
    numbers = np.random.default_rng(1).normal(size=40)
    for bits in (1, 2**63, 0b1011000, 2**64 - 1):
        array, plain_array = numbers.copy(), numbers.copy()
        found = compiled_numbers(array, 7, 0.6, np.uint64(bits))
        total = plain.add(plain.load_lanes(plain_array, 7), plain.splat(0.5))
        plain.store_lanes(plain_array, 0, total)
        np.testing.assert_array_equal(array, plain_array)
        word = np.uint64(bits)
        assert found == (plain.at_least(total, 0.6), plain.count_bits(word), plain.lowest_bit(word))


def test_tile_agrees_with_the_plain_version():
    positions = np.random.default_rng(2).integers(0, 300, LANES)
    block, plain_array = np.zeros(20 * LANES, np.int32), np.zeros(20 * LANES, np.int32)
    compiled_tile(FIELD, positions, 5, block, 16, 32)
    plain.gather_tile(FIELD, positions, 5, plain_array, 16, 32)
    np.testing.assert_array_equal(block, plain_array)
    assert np.count_nonzero(block) == LANES * TILE


def test_memory_operations_agree_with_the_plain_versions():
    array, plain_array = np.arange(4), np.arange(4)
    assert compiled_memory(array, np.zeros((3, 4), np.uint8)) == (2, 7)
    plain.prefetch(np.zeros((3, 4), np.uint8), 8)
    plain.yield_time_slice()
    assert (plain.atomic_add(plain_array, 2, 5), plain.atomic_load(plain_array, 2)) == (2, 7)
    np.testing.assert_array_equal(array, plain_array)


def test_plain_addition_is_atomic():
    counter, before = np.zeros(1, np.int64), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        add_many = [
            threading.Thread(target=lambda: [plain.atomic_add(counter, 0, 1) for _ in range(500)])
            for _ in range(4)
        ]
        for thread in add_many:
            thread.start()
        for thread in add_many:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert counter[0] == 2000
