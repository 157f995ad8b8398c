"""The interface of backends is sufficient: a plain implementation of it gives the same model."""

import numpy as np
import pytest

from hedgerow.backends.base import TreeRound
from hedgerow.backends.cpu import CpuBackend
from hedgerow.boosting import loop
from hedgerow.growing.grower import Quantiser
from hedgerow.growing.weak_tree import codes_left
from hedgerow.table.table import Dataset
from reference_grower import ReferenceGrower, RowsInMemory
from shard_cases import TABLE, assert_same, fit


class PlainRows:
    """Evaluation and training rows with NumPy and the reference grower; no subsampling, no line search."""

    validation = None

    def __init__(self, fit, rows, weight):
        self.fit_, self.y, self.weight, self.loss = fit, rows.y, weight, fit.options.loss
        self.codes = fit.bins.encode(rows.table, fit.team)
        self.raw = np.repeat(fit.start[:, np.newaxis], len(rows.y), axis=1)
        self.grower = ReferenceGrower(RowsInMemory(self.codes), fit.options.growth)
        self.quantiser = Quantiser(fit.weights, len(rows.y), fit.team)

    def gradients(self):
        gradient, hessian = np.empty_like(self.raw), np.empty_like(self.raw)
        self.loss.fill(self.y, self.raw, gradient, hessian, 0, len(self.y))
        return gradient, hessian

    def fit(self, gradients, iteration):
        trees = []
        for output, (gradient, hessian) in enumerate(zip(*gradients, strict=True)):
            statistics = self.quantiser.quantise(gradient, hessian)
            tree = self.grower.grow(statistics, self.fit_.weights.rows, iteration * len(self.raw) + output)
            tree.nodes["value"] *= self.fit_.options.learning_rate
            trees.append(tree.nodes)
        return TreeRound(trees, sum((len(nodes) + 1) // 2 for nodes in trees))

    def update(self, fitted):
        for output, nodes in enumerate(fitted.trees):
            self.raw[output] += nodes["value"][leaf_ids(nodes, self.codes.codes.by_column)]

    def mean_loss(self):
        return self.loss.mean_loss(self.y, self.raw, self.weight)

    def close(self):
        pass


def leaf_ids(nodes, codes):
    found = np.zeros(codes.shape[1], np.int64)
    for number, node in enumerate(nodes):  # children come after their parents
        rows = np.flatnonzero(found == number)
        if node["left"]:
            left = codes_left(node["split"], codes[node["split"]["column"], rows])
            found[rows] = np.where(left, node["left"], node["left"] + 1)
    return found


class PlainBackend(CpuBackend):
    def training_rows(self, fits, train):
        return [PlainRows(fit, train, fit.loss_weight) for fit in fits]

    def evaluation_rows(self, fit, rows):
        return PlainRows(fit, rows, rows.sample_weight)


@pytest.mark.parametrize("name", ["weights", "random columns", "monotonic", "heavy tails"])
def test_another_backend_gives_the_same_model(name, monkeypatch):
    options = {"validation_rows": None, "n_rounds": 3}
    expected = fit(name, TABLE, **options)
    monkeypatch.setattr(loop, "CpuBackend", PlainBackend)
    assert_same(fit(name, TABLE, **options), expected)


def test_another_backend_gives_the_same_evaluation_losses(monkeypatch):
    rows = [Dataset(None, TABLE, np.ones(TABLE.n_rows), None)]
    expected = fit("two classes", TABLE, rows, patience=2)
    monkeypatch.setattr(loop, "CpuBackend", PlainBackend)
    assert_same(fit("two classes", TABLE, rows, patience=2), expected)
