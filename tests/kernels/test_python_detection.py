"""Cascades by Python bodies: scans of images, single windows, features, training, groups, grey values."""

from dataclasses import replace

import numpy as np
import pytest

import oracle_vision as oracle
from hedgerow.kernels.cpu import detect_scan, image
from hedgerow.threads import Team
from hedgerow.vision import scan as scan_module
from hedgerow.vision.detections import group_rectangles
from hedgerow.vision.model import LBP
from hedgerow.vision.pyramid import level_image
from hedgerow.vision.scan import evaluate_windows, find_windows, passing_windows
from python_bodies import both_ways, python_bodies
from trainer_cases import fitted, packed

KINDS = {
    "trees": {"max_nodes": 3, "tilted_share": 0.0},
    "mixed": {"max_nodes": 2, "tilted_share": 0.5},
    "lbp": {"kind": LBP, "max_nodes": 2},
}


def picture(rng, shape):
    y, x = np.mgrid[: shape[0], : shape[1]]
    waves = 90 * np.sin(x / rng.uniform(2, 6)) * np.sin(y / rng.uniform(2, 6))
    return np.clip(128 + x / shape[1] * (waves + rng.normal(0, 25, shape)), 0, 255).astype(np.uint8)


def assert_equal(compiled, python):
    for one, other in zip(compiled, python, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", KINDS)
def test_a_scan_finds_the_same_windows(name):
    rng = np.random.default_rng([0, *name.encode()])
    model, image = oracle.random_model(rng, **KINDS[name]), picture(rng, (31, 43))
    compiled, python = both_ways(lambda: find_windows(model, image, scale_factor=1.4))
    assert_equal(compiled, python)
    rows = [(*r, s) for r, s in zip(python.rectangles.tolist(), python.scores.tolist(), strict=True)]
    assert rows == oracle.scan(model, image, 1.4)


@pytest.mark.parametrize("name", KINDS)
def test_windows_of_a_grid_and_single_windows_have_the_same_scores(name):
    rng = np.random.default_rng(list(name.encode()))
    model, image = oracle.random_model(rng, **KINDS[name]), picture(rng, (18, 33))
    for step, n_stages in ((1, None), (2, 1), (1, 0)):
        assert_equal(*both_ways(lambda s=step, n=n_stages: passing_windows(model, image, s, n)))
    patches = np.stack([image[:10, x : x + 12] for x in range(0, 21, 6)] + [np.full((10, 12), 77, np.uint8)])
    assert_equal(*both_ways(lambda: evaluate_windows(model, patches)))


@pytest.mark.parametrize("name", KINDS)
def test_waiting_windows_are_grouped_in_the_same_way(name):
    """Many stages that most windows pass: groups shrink, and the remaining windows wait for a new group."""
    rng = np.random.default_rng(7)
    model = oracle.random_model(rng, **KINDS[name], stages=(1, 1, 1, 1, 1, 1))
    image = picture(rng, (22, 60))
    for share in (0.3, 0.8):
        sums = model.values.std() * (2 * share - 1)
        lenient = replace(model, stage_thresholds=np.full(6, -sums, np.float32))
        compiled, python = both_ways(lambda m=lenient: find_windows(m, image, scale_factor=1.3))
        assert_equal(compiled, python)


def test_hits_that_do_not_fit_at_once_are_all_found(monkeypatch):
    rng = np.random.default_rng(0)
    model = oracle.random_model(rng, kind=LBP, stages=(1,), window=(6, 6))
    model = replace(model, stage_thresholds=np.full(1, -100, np.float32))  # everything passes
    image = picture(rng, (20, 40))
    monkeypatch.setattr(scan_module, "BAND_BYTES", 1)
    compiled, python = both_ways(lambda: passing_windows(model, image, 1))
    assert_equal(compiled, python)
    assert len(python[0]) == 15 * 35


def test_members_take_bands_from_one_counter():
    rng = np.random.default_rng(5)
    model, image = oracle.random_model(rng, **KINDS["trees"]), picture(rng, (40, 50))
    expected = find_windows(model, image)
    with python_bodies(), Team(2) as team:
        assert_equal(find_windows(model, image, team=team), expected)


@pytest.mark.parametrize("factor", [1.0, 1.33, 2.7])
def test_levels_are_resized_the_same(factor):
    image = picture(np.random.default_rng(0), (31, 47))
    np.testing.assert_array_equal(*both_ways(lambda: level_image(image, (3, 3), factor)))


@pytest.mark.parametrize("features", ["all", "lbp"])
def test_a_cascade_is_trained_to_the_same_bytes(features):
    compiled, python = both_ways(lambda: packed(fitted(n_stages=1, features=features, n_negatives=20)))
    assert python == compiled


def test_table_of_skipped_windows_is_that_of_the_rule():
    """The window after one that the first stage rejects is not evaluated."""
    table = detect_scan._skip_table()
    for skip in range(2):
        for rejected in range(256):
            skipping, evaluated = bool(skip), []
            for i in range(8):
                evaluated.append(not skipping)
                skipping = not skipping and bool(rejected & (1 << i))
            assert table[skip, rejected] == sum(1 << i for i in range(8) if evaluated[i]) + 256 * skipping


def test_groups_of_rectangles_are_the_same():
    rng = np.random.default_rng(0)
    rectangles = np.repeat(rng.integers(0, 60, (12, 4)) + 20, 4, axis=0) + rng.integers(0, 4, (48, 4))
    scores = rng.random(48)
    assert_equal(*both_ways(lambda: group_rectangles(rectangles, 2, scores=scores)))


def test_grey_values_are_the_same():
    colours = np.random.default_rng(0).integers(0, 256, (200, 3), np.uint8)

    def case():
        out = np.empty(200, np.uint8)
        image.mix_colours(colours, 0, 2, out)
        return out

    np.testing.assert_array_equal(*both_ways(case))
