"""Several Python threads at once: fits and predictions are those of one thread, bit for bit."""

import pickle
import sys
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from cascade_files import make_model
from concurrency_cases import SOME, at_once, boosted, data
from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from hedgerow.io.models import to_bytes
from hedgerow.selection.caught_warnings import caught_warnings
from hedgerow.selection.linear import LogisticBaseline
from hedgerow.threads import PickledWithoutCache, Team, cached_property, one_blas_thread
from hedgerow.vision import Cascade
from model_cases import fit, fitted
from predictions import all_predictions, same_bits
from terminal import Terminal

pytestmark = pytest.mark.filterwarnings("ignore:boosting stopped")


# --- one model, many threads


@pytest.mark.parametrize("name", SOME)
def test_threads_that_share_a_model_get_the_same_predictions(name):
    model, X, _ = fitted(name)
    alone = all_predictions(model, X)
    shared = pickle.loads(pickle.dumps(model))  # noqa: S301 - without cached arrays
    for found in at_once(*[lambda: all_predictions(shared, X)] * 3):
        assert same_bits(found, alone)


def test_predictions_whose_rows_are_shared_do_not_mix():
    X, y = data()
    many = np.tile(X, (20, 1))  # more rows than one chunk
    for model in (boosted(), AdaBoostClassifier(n_jobs=2), RandomForestClassifier(5, n_jobs=2)):
        model.fit(X, y)
        parts = [many, many[::-1].copy(), many[:70_000].astype(np.float32)]
        alone = [model.predict_proba(part) for part in parts]
        found = at_once(*[lambda model=model, part=part: model.predict_proba(part) for part in parts])
        assert all(map(np.array_equal, found, alone))


def test_threads_that_detect_with_one_cascade_find_the_same():
    cascade = Cascade(make_model(stages=1))
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (90, 110), np.uint8) for _ in range(3)]

    def found(image):
        detections = cascade.detect(image, min_neighbors=0, n_jobs=2)
        return detections.rectangles.tobytes(), detections.scores.tobytes()

    alone = [found(image) for image in images]
    assert any(rectangles for rectangles, _ in alone)
    assert at_once(*[lambda image=image: found(image) for image in images]) == alone


# --- many fits


def test_concurrent_fits_give_the_bytes_of_single_fits():
    found = at_once(*[lambda name=name: to_bytes(fit(name)[0]) for name in SOME])
    assert found == [to_bytes(fitted(name)[0]) for name in SOME]


def test_fits_with_teams_beside_predictions():
    X, y = data()
    many = np.tile(X, (20, 1))
    model = boosted().fit(X, y)
    expected, predicted = to_bytes(model), model.predict_proba(many)

    def train():
        return [to_bytes(boosted().fit(X, y)) for _ in range(3)]

    def predict():
        return [model.predict_proba(many).tobytes() for _ in range(3)]

    assert at_once(train, predict, train, predict) == [[expected] * 3, [predicted.tobytes()] * 3] * 2


def test_a_callback_may_fit_other_models():
    X, y = data()
    alone = to_bytes(boosted().fit(X, y))
    inner = []

    def fit_another(done):
        if done.number == 2:
            inner.append(to_bytes(boosted().fit(X, y)))

    assert to_bytes(boosted().fit(X, y, callbacks=[fit_another])) == alone
    assert inner == [alone]


def test_rows_drawn_by_a_seed_are_the_same_in_every_thread():
    X, y = data(500)

    def train():
        return to_bytes(GradientBoostingClassifier(n_estimators=4, subsample=0.5, random_state=3).fit(X, y))

    assert len(set(at_once(*[train] * 3))) == 1


# --- state of the process


def test_bars_of_two_fits_at_once_leave_the_streams_as_they_were(monkeypatch):
    X, y = data(500)
    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    before = sys.stdout, sys.stderr
    found = at_once(*[lambda: to_bytes(boosted(verbose=1).fit(X, y))] * 2)
    assert (sys.stdout, sys.stderr) == before
    assert found[0] == found[1]
    assert "5/5" in drawn.getvalue()


@pytest.fixture
def several_blas_threads():
    """More than the one of the tests, so that there is something to restore."""
    before = library_threads()[0]

    def allow(number):  # in a thread that ends: while the thread that set a limit lives, no other can
        at_once(lambda: threadpool_limits(number, user_api="blas"))
        assert set(library_threads()) == {number}

    allow(2)
    yield
    allow(before)


def library_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.usefixtures("several_blas_threads")
def test_one_blas_thread_holds_until_the_last_context_ends():
    before = library_threads()
    inside = threading.Event()

    def first():
        with one_blas_thread():
            inside.set()
            return library_threads()

    def second():
        inside.wait(60)
        with one_blas_thread(), one_blas_thread():
            return library_threads()

    assert at_once(first, second, second) == [[1] * len(before)] * 3
    assert library_threads() == before


@pytest.mark.usefixtures("several_blas_threads")
def test_blas_threads_are_restored_after_an_error():
    before = library_threads()
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert library_threads() == before


@pytest.mark.usefixtures("several_blas_threads")
def test_linear_baselines_at_once_leave_no_trace():
    X, y = data(500)
    before, filters = library_threads(), list(warnings.filters)
    models = at_once(*[lambda: LogisticBaseline().fit(X, y)] * 3)
    assert all(np.array_equal(model.predict_proba(X), models[0].predict_proba(X)) for model in models)
    assert library_threads() == before
    assert warnings.filters == filters


def test_threads_catch_their_own_warnings_and_do_not_change_the_filters():
    before = list(warnings.filters), warnings.showwarning
    both, first_left = threading.Barrier(2, timeout=60), threading.Event()

    def first():
        with caught_warnings() as notes:
            both.wait()
            warnings.warn("of the first", stacklevel=1)
        first_left.set()
        return notes

    def second():
        with caught_warnings() as notes:
            both.wait()
            first_left.wait(60)
            warnings.warn("of the second", stacklevel=1)
            with Team(2) as team:
                team.together(lambda member: warnings.warn("of a helper", stacklevel=1) if member else None)
        return notes

    texts = [[str(warning) for warning in caught] for caught in at_once(first, second)]
    assert texts == [["of the first"], ["of the second", "of a helper"]]
    assert (list(warnings.filters), warnings.showwarning) == before


class Slow(PickledWithoutCache):
    """An object with a property that one thread computes while another computes that of another object."""

    def __init__(self, meeting):
        self.meeting = meeting

    @cached_property
    def value(self):
        self.meeting.wait()
        return object()


def test_a_cached_property_is_computed_for_two_objects_at_once():
    meeting = threading.Barrier(2, timeout=60)  # broken if one had to wait for the other
    one, other = Slow(meeting), Slow(meeting)
    assert len(set(at_once(lambda: one.value, lambda: other.value))) == 2


def test_threads_that_compute_a_cached_property_at_once_get_one_value():
    slow = Slow(threading.Barrier(3, timeout=60))
    values = at_once(*[lambda: slow.value] * 3)
    assert all(value is slow.value for value in values)


# --- a team


def test_two_threads_may_share_the_rows_of_one_team():
    with Team(3, chunk_rows=10) as team:

        def count():
            visits = np.zeros(1000, int)

            def visit(start, stop):
                visits[start:stop] += 1

            for _ in range(20):
                team.over_rows(1000, visit)
            return (visits == 20).all()

        assert all(at_once(count, count, count))


def test_a_call_that_an_interrupt_ends_early_leaves_the_next_one_whole(monkeypatch):
    with Team(2) as team:
        slow, done = threading.Event(), []

        def interrupted(member):
            if member:
                slow.wait(60)
                done.append("late")

        team.together(lambda _: None)  # starts the helper: the next call makes no queue but for reports
        with monkeypatch.context() as patch:
            patch.setattr("hedgerow.threads.queue.SimpleQueue", Interrupting)
            with pytest.raises(KeyboardInterrupt):
                team.together(interrupted)
        assert not done
        threading.Timer(0.05, slow.set).start()
        team.together(lambda member: done.append(member) if member else None)
        assert done == ["late", 1]  # the next call waits for its helper, which finishes the other first


class Interrupting:
    """A queue whose reader is interrupted."""

    def put(self, report):
        """Discard the report."""

    def get(self):
        raise KeyboardInterrupt


def test_a_thread_that_cannot_be_started_is_an_error_with_advice(monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    with Team(4) as team:
        team.together(lambda _: None, 2)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match=r"^n_jobs=4 is too large: .* no more than 2 threads"):
                team.together(lambda _: None)
        ran = []
        team.together(ran.append)
        assert sorted(ran) == [0, 1, 2, 3]
