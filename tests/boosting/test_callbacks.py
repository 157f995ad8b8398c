"""Callbacks without a fit: early stopping, time limits and the history."""

import pytest

from hedgerow import EarlyStopping, Round, TimeLimit
from hedgerow.boosting.loop import History


def rounds(losses, first=0):
    return [Round(first + i, 99, float(i), validation_loss=(loss,)) for i, loss in enumerate(losses)]


@pytest.mark.parametrize(
    ("losses", "patience", "tol", "stops", "best"),
    [
        ([5, 4, 3, 2], 1, 0.0, [False] * 4, 3),
        ([5, 4, 4, 4], 2, 0.0, [False, False, False, True], 1),
        ([5, 6, 7], 1, 0.0, [False, True, True], 0),
        (
            [5, 4, 3.75, 3.5, 3.25],
            2,
            0.5,
            [False, False, False, True, False],
            4,
        ),
        ([5, 4, 3.75, 3.5], 2, 0.5, [False, False, False, True], 1),
        ([-5, -6, -6.25, -6.5], 2, 0.5, [False, False, False, True], 1),
        ([float("inf"), 5, 4, 3.75, 3.5], 2, 0.5, [False, False, False, False, True], 2),
        ([float("nan")] * 3, 2, 0.0, [False, False, True], 0),
        ([float("nan"), 1.0], 2, 0.0, [False, False], 1),
        ([float("inf"), 1.0, 2.0], 1, 0.0, [False, False, True], 1),
    ],
)
def test_early_stopping(losses, patience, tol, stops, best):
    stopper = EarlyStopping(patience, tol)
    assert [stopper(done) for done in rounds(losses)] == stops
    assert stopper.best_round == best


@pytest.mark.parametrize(("factor", "offset"), [(2.0**-80, 0.0), (2.0**80, 0.0), (-1.0, 0.0), (1.0, -3.0)])
def test_early_stopping_does_not_depend_on_the_unit_of_the_loss(factor, offset):
    losses = [5, 4, 3.75, 3.5, 3.25, 3.25 - 2**-20, 3.25 - 2**-19, 3.25 - 2**-18, 3.25 - 2**-17]
    one, other = EarlyStopping(3, 2**-20), EarlyStopping(3, 2**-20)
    scaled = [abs(factor) * loss + offset - (16 if factor < 0 else 0) for loss in losses]
    assert [one(done) for done in rounds(losses)] == [other(done) for done in rounds(scaled)]
    assert one.best_round == other.best_round


def test_early_stopping_of_a_warm_start():
    stopper = EarlyStopping(patience=2)
    assert [stopper(done) for done in rounds([5, 5, 5], first=40)] == [False, False, True]
    assert stopper.best_round == 40


def test_early_stopping_starts_anew_with_another_fit():
    stopper = EarlyStopping(patience=2)
    for losses in ([1, 1], [9, 8, 7, 7, 7]):
        stops = [stopper(done) for done in rounds(losses)]
    assert stops == [False] * 4 + [True]
    assert stopper.best_round == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"patience": 0}, "patience=0 is not allowed: it must be an integer >= 1"),
        ({"tol": -1.0}, "tol=-1.0 is not allowed: it must be a number >= 0"),
        ({"tol": float("nan")}, "tol=nan is not allowed"),
    ],
)
def test_early_stopping_rejects_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopping(**parameters)


def test_early_stopping_requires_an_evaluation_set():
    with pytest.raises(ValueError, match="EarlyStopping needs an evaluation set"):
        EarlyStopping()(Round(0, 1, 0.0))


def test_time_limit():
    limit = TimeLimit(2.0)
    stops = [limit(Round(i, 9, seconds)) for i, seconds in enumerate([0.5, 1.9, 2.0, 7.0])]
    assert stops == [False, False, True, True]
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match=f"seconds={seconds}"):
            TimeLimit(seconds)


def test_history():
    history = History()
    for number in range(2):
        history(Round(number, 2, 0.5, 31, 0.25, (0.75, 0.5)))
    assert history.record == {
        "round": [0, 1],
        "seconds": [0.5, 0.5],
        "leaves": [31, 31],
        "train_loss": [0.25, 0.25],
        "validation_loss": [0.75, 0.75],
        "validation_loss_1": [0.5, 0.5],
    }
