"""The boosting loop with rules and learners of no particular algorithm."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow.boosting.callbacks import Round
from hedgerow.boosting.loop import RoundResult, StopBoosting, boost


class Rule:
    """Returns a text as the targets of a round and collects what is fitted to them."""

    def __init__(self):
        self.members = []

    def targets(self, iteration):
        return f"targets {iteration}"

    def update(self, fitted, iteration):
        self.members.append(fitted)
        return RoundResult(7, 0.5 / (iteration + 1), (1.0,))


class Learner:
    def __init__(self, error_at=None, error=KeyboardInterrupt):
        self.error_at, self.error = error_at, error

    def fit(self, targets, iteration):
        if iteration == self.error_at:
            raise self.error
        return f"fitted to {targets}"


class RejectingRule(Rule):
    """Rejects every second learner, and in round 2 stops or returns its last result."""

    def __init__(self, last=False):
        super().__init__()
        self.n_updates, self.last = 0, last

    def update(self, fitted, iteration):
        self.n_updates += 1
        if self.n_updates % 2:
            return None
        if iteration == 2 and not self.last:
            raise StopBoosting
        self.members.append(fitted)
        return RoundResult(last=self.last and iteration == 2)


class InterruptedLearner(Learner):
    """Receives Ctrl-C in round 2, once or several times."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def fit(self, targets, iteration):
        for _ in range(self.times if iteration == 2 else 0):
            signal.raise_signal(signal.SIGINT)
        return super().fit(targets, iteration)


def test_every_round_calls_rule_learner_and_callbacks():
    rule, rounds = Rule(), []
    boost(rule, Learner(), 3, [rounds.append])
    assert rule.members == [f"fitted to targets {iteration}" for iteration in range(3)]
    assert [(done.number, done.n_rounds, done.n_leaves) for done in rounds] == [(i, 3, 7) for i in range(3)]
    assert [done.train_loss for done in rounds] == [0.5, 0.25, 0.5 / 3]
    assert rounds[0].validation_loss == (1.0,)
    assert 0.0 <= rounds[0].seconds <= rounds[2].seconds


def test_the_first_round_can_be_a_later_one():
    rule, rounds = Rule(), []
    boost(rule, Learner(), 5, [rounds.append], first_round=3)
    assert [done.number for done in rounds] == [3, 4]
    boost(rule, Learner(), 5, [rounds.append], first_round=5)  # nothing left to do
    assert len(rounds) == 2


def test_a_rejected_learner_repeats_the_round_without_callbacks():
    rule, rounds = RejectingRule(), []
    boost(rule, Learner(), 2, [rounds.append])
    assert rule.n_updates == 4
    assert [done.number for done in rounds] == [0, 1]


@pytest.mark.parametrize(("last", "n_rounds"), [(False, 2), (True, 3)])
def test_a_rule_stops_the_loop_with_or_without_a_last_round(last, n_rounds):
    rule, rounds = RejectingRule(last=last), []
    boost(rule, Learner(), 9, [rounds.append])
    assert len(rule.members) == n_rounds
    assert [done.number for done in rounds] == list(range(n_rounds))


def test_all_callbacks_are_called_before_one_stops_the_loop():
    rule, rounds = Rule(), []
    boost(rule, Learner(), 9, [lambda done: done.number == 1, rounds.append, lambda _: None])
    assert [done.number for done in rounds] == [0, 1]
    assert len(rule.members) == 2


@pytest.mark.parametrize("truth", [True, 1, "yes", [0]])
def test_any_true_return_value_of_a_callback_stops(truth):
    rule = Rule()
    boost(rule, Learner(), 9, [lambda _: truth])
    assert len(rule.members) == 1


def test_an_interrupt_stops_with_a_warning():
    rule = Rule()
    with pytest.warns(UserWarning, match="fit was interrupted: the model holds the rounds finished so far"):
        boost(rule, Learner(error_at=2), 9)
    assert len(rule.members) == 2


def test_an_interrupt_can_be_raised():
    with pytest.raises(KeyboardInterrupt):
        boost(Rule(), Learner(error_at=2), 9, raise_interrupt=True)


def test_an_interrupt_in_a_callback_keeps_its_round():
    rule = Rule()

    def interrupt(done):
        if done.number == 4:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, Learner(), 9, [interrupt])
    assert len(rule.members) == 5


@pytest.mark.parametrize("stops", [False, True])
def test_ctrl_c_waits_for_the_end_of_the_round(stops):
    rule, rounds = Rule(), []
    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, InterruptedLearner(1), 9, [rounds.append, lambda done: stops and done.number == 2])
    assert len(rule.members) == len(rounds) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait():
    rule = Rule()
    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, InterruptedLearner(2), 9)
    assert len(rule.members) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_users_signal_handler_is_kept():
    signals = []
    before = signal.signal(signal.SIGINT, lambda *_: signals.append("signal"))
    try:
        rule = Rule()
        boost(rule, InterruptedLearner(2), 5)
        assert signals == ["signal", "signal"]
        assert len(rule.members) == 5
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_loop_in_another_thread_does_not_change_signal_handlers():
    rule = Rule()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(boost, rule, Learner(), 3).result()
    assert len(rule.members) == 3


def test_errors_are_raised():
    with pytest.raises(ZeroDivisionError):
        boost(Rule(), Learner(error_at=1, error=ZeroDivisionError), 9)


def test_a_round_is_immutable():
    done = Round(0, 1, 0.0)
    with pytest.raises(AttributeError):
        done.number = 5
    assert (done.n_leaves, done.train_loss, done.validation_loss) == (0, None, ())
