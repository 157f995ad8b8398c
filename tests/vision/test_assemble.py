"""Cascades made of single stages."""

import numpy as np
import pytest

from hedgerow.vision.features import HaarFeatures, LBPFeatures
from hedgerow.vision.scan import evaluate_windows, passing_windows
from hedgerow.vision.stage import StageTree, empty_cascade, first_stages, with_stage
from oracle_windows import labelled, stump

WINDOW = (8, 8)


def two_nodes(features, *, subsets=None):
    """A tree of two nodes: the second is the right child of the first."""
    return StageTree(
        np.asarray(features, np.int32),
        np.array([0.01, -0.02], np.float32),
        np.zeros((0, 8), np.uint32) if subsets is None else subsets,
        np.array([0, -1], np.int32),
        np.array([1, -2], np.int32),
        np.array([-1.0, 0.25, 2.0], np.float32),
    )


def three_stages(features):
    """A cascade with stages of 2, 1 and 3 trees; features repeat within and between stages."""
    model = empty_cascade("HAAR", WINDOW)
    model = with_stage(model, features, [stump(9), stump(4, 0.1)], 0.5)
    model = with_stage(model, features, [two_nodes([9, 2])], -0.5)
    return with_stage(model, features, [stump(30), stump(30, 0.2), two_nodes([4, 31])], 0.1)


@pytest.mark.parametrize("kind", ["HAAR", "LBP"])
def test_empty_cascade_passes_all_windows_with_contrast(kind):
    images, _ = labelled(20)
    images[3] = 100
    stages, scores = evaluate_windows(empty_cascade(kind, WINDOW), images)
    assert stages.tolist() == [-1 if kind == "HAAR" and number == 3 else 0 for number in range(20)]
    assert np.all(scores[stages == 0] == 0)
    positions, _ = passing_windows(empty_cascade(kind, WINDOW), images[0], 1)
    assert positions.tolist() == [[0, 0]]


def test_with_stage_appends_each_feature_once():
    features = HaarFeatures(WINDOW)
    model = three_stages(features)
    assert (model.n_stages, model.n_trees, model.n_features) == (3, 6, 2 + 2 + 3)
    assert model.stage_starts.tolist() == [0, 2, 3, 6]
    assert model.tree_starts.tolist() == [0, 1, 2, 4, 5, 6, 8]
    assert model.stage_thresholds.tolist() == [0.5, -0.5, np.float32(0.1)]
    assert model.stage_thresholds.dtype == np.float32
    numbers = [9, 4, 9, 2, 30, 30, 4, 31]  # node by node
    assert np.array_equal(model.rects[model.feature], features.rects[numbers])
    assert np.array_equal(model.weights[model.feature], features.weights[numbers])
    assert len(model.values) == len(numbers) + 6


def test_first_stages_restores_earlier_cascades():
    features = HaarFeatures(WINDOW, "all")
    models = [empty_cascade("HAAR", WINDOW)]
    for number in range(3):
        models.append(with_stage(models[-1], features, [stump(number + 900), stump(5)], number))
    for n, model in enumerate(models):
        found = first_stages(models[-1], n)
        for name, array in model.arrays().items():
            assert getattr(found, name).dtype == array.dtype
            assert np.array_equal(getattr(found, name), array)
    assert first_stages(models[-1], 3) is models[-1]
    assert first_stages(models[-1], 99) is models[-1]


def test_tilted_features_stay_tilted():
    features = HaarFeatures(WINDOW, "all")
    tilted = int(np.flatnonzero(features.tilted)[5])
    model = with_stage(empty_cascade("HAAR", WINDOW), features, [stump(tilted), stump(0)], 0.0)
    assert model.tilted[model.feature].tolist() == [1, 0]


def test_with_stage_keeps_subsets_of_nodes():
    features = LBPFeatures(WINDOW)
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2**32, (2, 2, 8), dtype=np.uint32)
    model = with_stage(empty_cascade("LBP", WINDOW), features, [two_nodes([3, 1], subsets=first)], 0.0)
    model = with_stage(model, features, [two_nodes([0, 3], subsets=second)], 0.0)
    assert np.array_equal(model.subsets, np.concatenate([first, second]))
    assert np.array_equal(first_stages(model, 1).subsets, first)
