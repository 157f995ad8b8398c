from dataclasses import replace

import numpy as np
import pytest

import oracle_vision as oracle
from hedgerow.kernels.cpu.detect import evaluate_patches
from hedgerow.kernels.cpu.detect_scan import scan_bands
from hedgerow.threads import Team
from hedgerow.vision import scan as scan_module
from hedgerow.vision.model import HAAR, LBP
from hedgerow.vision.pyramid import level_image, rows_scanned, scan_factors
from hedgerow.vision.scan import evaluate_windows, find_windows, passing_windows

KINDS = {
    "stumps": {"max_nodes": 1, "tilted_share": 0.0},
    "trees": {"max_nodes": 4, "tilted_share": 0.0},
    "tilted": {"max_nodes": 2, "tilted_share": 1.0},
    "mixed": {"max_nodes": 5, "tilted_share": 0.5},
    "lbp": {"kind": LBP, "max_nodes": 1},
    "lbp trees": {"kind": LBP, "max_nodes": 3},
}


def picture(rng, shape):
    """Smooth shapes with noise: windows of high and of low contrast."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    waves = 90 * np.sin(x / rng.uniform(2, 6) + rng.uniform(0, 6)) * np.sin(y / rng.uniform(2, 6))
    fade = x / shape[1]
    return np.clip(128 + fade * (waves + rng.normal(0, 25, shape)), 0, 255).astype(np.uint8)


def as_rows(windows):
    return [(*r, s) for r, s in zip(windows.rectangles.tolist(), windows.scores.tolist(), strict=True)]


@pytest.mark.parametrize("name", KINDS)
def test_find_windows_equals_the_oracle(name):
    numbers = []
    for seed in range(3):
        rng = np.random.default_rng([seed, *name.encode()])
        model = oracle.random_model(rng, **KINDS[name])
        image = picture(rng, (31, 43))
        expected = oracle.scan(model, image, 1.4)
        assert as_rows(find_windows(model, image, scale_factor=1.4)) == expected
        numbers.append(len(expected))
    assert len(set(numbers)) > 1  # not always all or no windows


@pytest.mark.parametrize("name", KINDS)
def test_passing_windows_equals_the_oracle(name):
    rng = np.random.default_rng(list(name.encode()))
    model = oracle.random_model(rng, **KINDS[name])
    image = picture(rng, (25, 41))
    for step, n_stages in ((1, None), (1, 1), (2, 0), (2, 2), (3, None)):
        positions, scores = passing_windows(model, image, step, n_stages)
        expected = oracle.scan_level(model, image, step, skipping=False, n_stages=n_stages)
        assert [(*p, s) for p, s in zip(positions.tolist(), scores.tolist(), strict=True)] == expected


@pytest.mark.parametrize("name", KINDS)
def test_evaluate_windows_equals_the_oracle(name):
    rng = np.random.default_rng(list(name.encode()))
    model = oracle.random_model(rng, **KINDS[name], window=(9, 11))
    patches = np.stack([picture(rng, (11, 30))[:, x : x + 9] for x in range(0, 20, 2) for _ in range(9)])
    patches[3] = 77  # uniform
    stages, scores = evaluate_windows(model, patches)
    assert list(zip(stages.tolist(), scores.tolist(), strict=True)) == [
        oracle.evaluate_window(model, p) for p in patches
    ]
    assert len(set(scores.tolist())) > 1
    with Team(3) as team:
        again = evaluate_windows(model, np.concatenate([patches] * 6), team)
    assert np.array_equal(again[0], np.tile(stages, 6))
    assert np.array_equal(again[1], np.tile(scores, 6))


@pytest.mark.parametrize("name", ["trees", "mixed", "lbp"])
def test_find_windows_does_not_depend_on_threads_and_bands(name, monkeypatch):
    rng = np.random.default_rng(5)
    model = oracle.random_model(rng, **KINDS[name], stages=(1, 2, 2))
    image = picture(rng, (150, 201))
    expected = find_windows(model, image)
    assert len(expected.scores) > 20
    for n, band in ((1, 1), (3, 1), (2, 30_000), (4, 1 << 24)):
        monkeypatch.setattr(scan_module, "BAND_BYTES", band)
        with Team(n) as team:
            windows = find_windows(model, image, team=team)
        assert all(np.array_equal(a, b) for a, b in zip(windows, expected, strict=True))


def test_kernels_are_compiled_once():
    rng = np.random.default_rng(0)
    image = picture(rng, (40, 60))
    image.flags.writeable = False
    models = [oracle.random_model(rng, **KINDS[name]) for name in ("mixed", "lbp", "stumps")]
    for model in models:
        for array in model.arrays().values():
            array.flags.writeable = False
    for model in models:
        find_windows(model, image)
        find_windows(model, image[:, ::2])
        passing_windows(model, image.T)
        evaluate_windows(model, image[None, :10, :12])
    assert len(scan_bands.signatures) == 1
    assert len(evaluate_patches.signatures) == 1


def test_images_too_large_for_32_bit_offsets_are_rejected(monkeypatch):
    monkeypatch.setattr(scan_module, "_MAX_OFFSETS", 10_000)
    model = oracle.random_model(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"an image of 300 x 40 is too large for the window 12 x 10"):
        find_windows(model, np.zeros((40, 300), np.uint8))


def test_scan_returns_hits_beyond_the_buffer():
    rng = np.random.default_rng(0)
    model = oracle.random_model(rng, kind=LBP, stages=(1,), window=(6, 6))
    model = replace(model, stage_thresholds=np.full(1, -100, np.float32))  # everything passes
    image = picture(rng, (120, 300))
    positions, _ = passing_windows(model, image, 1)
    assert len(positions) == 115 * 295
    windows = find_windows(model, image, scale_factor=1.5)
    order = [(width, y, x) for x, y, width, _ in windows.rectangles.tolist()]
    assert order == sorted(set(order))


@pytest.mark.parametrize("shape", [(1, 1), (9, 40), (40, 11), (10, 12), (11, 13), (10, 90), (90, 12)])
def test_small_narrow_and_flat_images_are_scanned(shape):
    rng = np.random.default_rng(7)
    model = oracle.random_model(rng)
    image = rng.integers(0, 256, shape, dtype=np.uint8)
    assert as_rows(find_windows(model, image)) == oracle.scan(model, image, 1.1)
    assert len(find_windows(model, np.full(shape, 200, np.uint8)).scores) == 0  # no contrast at all


def test_window_as_large_as_the_image_is_evaluated():
    rng = np.random.default_rng(3)
    model = oracle.random_model(rng, window=(70, 9), tilted_share=0.0, stages=(1,))
    image = picture(rng, (9, 70))
    assert as_rows(find_windows(model, image)) == oracle.scan(model, image, 1.1)


def test_sums_of_large_images_wrap_around_correctly():
    # 9 million white pixels are more than 2**31 in one sum: the pattern is found as in a small image
    rng = np.random.default_rng(11)
    model = oracle.random_model(rng, max_nodes=2, tilted_share=0.3)
    pattern = picture(rng, (40, 60))
    small = np.full((80, 100), 255, np.uint8)
    small[20:60, 20:80] = pattern
    large = np.full((3000, 3100), 255, np.uint8)
    large[2940:2980, 3020:3080] = pattern
    expected = passing_windows(model, small)
    found = passing_windows(model, large)
    near = (found[0] >= [3000, 2920]).all(axis=1)
    assert near.all()
    assert np.array_equal(found[0] - [3000, 2920], expected[0])
    assert np.array_equal(found[1], expected[1])
    assert len(expected[0]) > 0


@pytest.mark.parametrize(
    ("shape", "factor"),
    [((31, 47), 1.0), ((31, 47), 1.33), ((40, 16), 1.1), ((40, 16), 2.0), ((17, 60), 2.7), ((17, 60), 5.0)],
)
def test_level_image_equals_the_oracle(shape, factor):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    level = level_image(image, (3, 3), factor)
    assert np.array_equal(level, oracle.resize(image, *level.shape))
    assert level.shape == tuple(int(np.rint(np.float32(n) / np.float32(factor))) for n in shape)


def test_scan_factors_increase_while_the_window_fits():
    factors = scan_factors((100, 100), (20, 20), 1.25)
    assert factors[0] == 1.0
    assert len(factors) == 8
    assert all(f == np.float32(1.25**k) for k, f in enumerate(factors))
    assert scan_factors((19, 100), (20, 20), 1.25) == []


def test_sizes_limit_the_scan_factors():
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=25, max_size=50) == [1.5, 2.25]
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=(33, 33), max_size=(34, 34)) == [1.5]
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=400) == [3.375]


@pytest.mark.parametrize(
    "scale_factor",
    [1.0, 0.5, float("nan"), float("inf"), "1.1", None, True, 1e308, 10**400, 2 + 0j, np.complex64(2)],
)
def test_scan_factors_reject_invalid_scale_factors(scale_factor):
    with pytest.raises(ValueError, match=r"scale_factor=.* is not allowed: it must be a number above 1"):
        scan_factors((100, 100), (20, 20), scale_factor)


@pytest.mark.parametrize("shape", [(10, 12), (10, 13), (11, 40), (1000, 1000)])
def test_scan_factors_reject_too_many_sizes(shape):
    message = r"scale_factor=1.000000001 is not allowed for an image .*more than 10000 sizes"
    with pytest.raises(ValueError, match=message):
        scan_factors(shape, (12, 10), 1 + 1e-9)


@pytest.mark.parametrize("size", [0, -3, 2.5, (3,), (3, 0), (1, 2, 3), "ab", 50])
def test_scan_factors_reject_invalid_sizes(size):
    reason = (
        "it is above max_size=40" if size == 50 else r"it must be a positive integer or \(width, height\)"
    )
    with pytest.raises(ValueError, match=rf"min_size=.* is not allowed: {reason}"):
        scan_factors((100, 100), (20, 20), 1.1, min_size=size, max_size=40)


def test_scans_reject_invalid_arguments():
    model = oracle.random_model(np.random.default_rng(0), kind=HAAR)
    image = np.zeros((30, 30), np.uint8)
    with pytest.raises(ValueError, match=r"n_stages=4 is not allowed: the cascade has 3 stages"):
        passing_windows(model, image, 1, 4)
    with pytest.raises(ValueError, match=r"factor=4.0 is not allowed"):
        level_image(image, model.window, 4.0)
    with pytest.raises(ValueError, match=r"step=0 is not allowed"):
        passing_windows(model, image, 0)
    with pytest.raises(ValueError, match=r"patches: uint8 of shape \(n, 10, 12\) is required"):
        evaluate_windows(model, np.zeros((2, 12, 10), np.uint8))
    assert len(passing_windows(model, image[:5])[0]) == 0


def test_rows_scanned_of_a_level_narrower_than_the_window():
    assert rows_scanned([(30, 11)], (12, 10), [2]) == [20]
