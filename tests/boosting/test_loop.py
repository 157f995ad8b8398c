"""The loop apart from any algorithm: ask, answer, take, tell."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow.boosting.loop import NoBetter, Outcome, Round, boost


class Rule:
    """Asks for a number, keeps the answers."""

    def __init__(self):
        self.kept = []

    def ask(self, number):
        return f"question {number}"

    def take(self, answer, number):
        self.kept.append(answer)
        return Outcome(7, 0.5 / (number + 1), (1.0,))


class Learner:
    def __init__(self, error_at=None, error=KeyboardInterrupt):
        self.error_at, self.error = error_at, error

    def answer(self, request, number):
        if number == self.error_at:
            raise self.error
        return f"answer to {request}"


def test_rounds_go_round():
    rule, told = Rule(), []
    boost(rule, Learner(), 3, [told.append])
    assert rule.kept == [f"answer to question {number}" for number in range(3)]
    assert [(done.number, done.n_rounds, done.n_leaves) for done in told] == [(0, 3, 7), (1, 3, 7), (2, 3, 7)]
    assert [done.train_loss for done in told] == [0.5, 0.25, 0.5 / 3]
    assert told[0].validation_loss == (1.0,)
    assert 0.0 <= told[0].seconds <= told[2].seconds


def test_a_loop_may_begin_later():
    rule, told = Rule(), []
    boost(rule, Learner(), 5, [told.append], first_round=3)
    assert [done.number for done in told] == [3, 4]
    boost(rule, Learner(), 5, [told.append], first_round=5)  # nothing left to do
    assert len(told) == 2


class Picky(Rule):
    """Refuses every second answer, gives up at the third round, or takes it as the last."""

    def __init__(self, last=False):
        super().__init__()
        self.asked, self.last = 0, last

    def take(self, answer, number):
        self.asked += 1
        if self.asked % 2:
            return None
        if number == 2 and not self.last:
            raise NoBetter
        self.kept.append(answer)
        return Outcome(last=self.last and number == 2)


def test_a_refused_answer_is_asked_for_again_and_told_to_nobody():
    rule, told = Picky(), []
    boost(rule, Learner(), 2, [told.append])
    assert rule.asked == 4
    assert [done.number for done in told] == [0, 1]


def test_a_rule_that_has_nothing_else_to_ask_ends_the_loop():
    rule, told = Picky(), []
    boost(rule, Learner(), 9, [told.append])
    assert len(rule.kept) == 2
    assert [done.number for done in told] == [0, 1]


def test_the_last_answer_is_told_and_ends_the_loop():
    rule, told = Picky(last=True), []
    boost(rule, Learner(), 9, [told.append])
    assert [done.number for done in told] == [0, 1, 2]


def test_all_callbacks_are_told_before_any_may_end_it():
    rule, told = Rule(), []
    boost(rule, Learner(), 9, [lambda done: done.number == 1, told.append, lambda _: None])
    assert [done.number for done in told] == [0, 1]
    assert len(rule.kept) == 2


@pytest.mark.parametrize("truth", [True, 1, "yes", [0]])
def test_any_true_answer_ends_it(truth):
    rule = Rule()
    boost(rule, Learner(), 9, [lambda _: truth])
    assert len(rule.kept) == 1


def test_an_interrupt_ends_it_with_a_warning():
    rule = Rule()
    with pytest.warns(UserWarning, match="fit was interrupted: the model holds the rounds finished so far"):
        boost(rule, Learner(error_at=2), 9)
    assert len(rule.kept) == 2


def test_an_interrupt_in_a_callback_is_one_too():
    rule = Rule()

    def interrupt(done):
        if done.number == 4:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, Learner(), 9, [interrupt])
    assert len(rule.kept) == 5  # the round of the callback was complete


class Signals(Learner):
    """Ctrl-C while round 2 is being fitted, once or several times."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def answer(self, request, number):
        for _ in range(self.times if number == 2 else 0):
            signal.raise_signal(signal.SIGINT)
        return super().answer(request, number)


@pytest.mark.parametrize("ends", [False, True])
def test_ctrl_c_waits_for_the_end_of_the_round(ends):
    rule, told = Rule(), []
    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, Signals(1), 9, [told.append, lambda done: ends and done.number == 2])
    assert len(rule.kept) == len(told) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait():
    rule = Rule()
    with pytest.warns(UserWarning, match="interrupted"):
        boost(rule, Signals(2), 9)
    assert len(rule.kept) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_users_own_handler_stays():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("mine"))
    try:
        rule = Rule()
        boost(rule, Signals(2), 5)
        assert seen == ["mine", "mine"]
        assert len(rule.kept) == 5
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_loop_in_another_thread_leaves_signals_alone():
    rule = Rule()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(boost, rule, Learner(), 3).result()
    assert len(rule.kept) == 3


def test_errors_go_through():
    with pytest.raises(ZeroDivisionError):
        boost(Rule(), Learner(error_at=1, error=ZeroDivisionError), 9)


def test_a_round_cannot_be_changed():
    done = Round(0, 1, 0.0)
    with pytest.raises(AttributeError):
        done.number = 5
    assert (done.n_leaves, done.train_loss, done.validation_loss) == (0, None, ())
