"""Teams of threads: members run together, errors come back, and nothing stays behind."""

import threading
import time

import numpy as np
import pytest

from concurrency_cases import barrier_errors
from hedgerow.threads import Team, available_threads, over_rows, resolve_n_jobs, rows_per_block


def helpers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("hedgerow-")]


def wait_for_helpers_to_go(before):
    """A closed thread ends on its own; give it some seconds, far more than it needs."""
    for _ in range(500):
        if set(helpers()) <= set(before):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("n_threads", [1, 2, 5])  # five: more than some machines have cores
def test_a_barrier_waits_for_all_members(n_threads):
    with Team(n_threads) as team:
        assert barrier_errors(team, 50) == [0] * n_threads
    assert team.sync[0] == 0  # no thread waits


def test_the_barrier_works_for_fewer_members():
    with Team(4) as team:
        for n_threads in (4, 2, 3):
            assert barrier_errors(team, 10, n_threads) == [0] * n_threads


def test_together_runs_every_member_once_and_returns_the_result_of_member_0():
    ran = []
    with Team(3) as team:
        result = team.together(lambda member: (ran.append(member), member * 10)[1])
    assert sorted(ran) == [0, 1, 2]
    assert result == 0


def test_members_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=30)
    with Team(3) as team:
        team.together(lambda _: meeting.wait())


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_of_a_member_is_raised_and_the_team_stays_usable(failing):
    with Team(3) as team:

        def fail(member):
            if member == failing:
                raise KeyError(f"member {member}")

        with pytest.raises(KeyError, match=f"member {failing}"):
            team.together(fail)
        assert team.together(lambda member: member + 7) == 7


def test_errors_of_several_members_are_not_raised_by_the_next_task():
    def fail(member):
        raise KeyError(f"member {member}")

    with Team(3) as team:
        with pytest.raises(KeyError):
            team.together(fail)
        assert team.together(lambda member: member + 7) == 7


@pytest.mark.parametrize("n_rows", [0, 1, 6, 7, 8, 20])
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_over_rows_covers_every_row_once_in_chunks(n_rows, n_threads):
    seen = np.zeros(n_rows, int)
    sizes = []

    def visit(start, stop):
        seen[start:stop] += 1
        sizes.append(stop - start)
        return start, stop

    with Team(n_threads, chunk_rows=7) as team:
        chunks = team.over_rows(n_rows, visit)
    assert chunks == [(start, min(start + 7, n_rows)) for start in range(0, max(1, n_rows), 7)]
    assert (seen == 1).all()
    assert max(sizes) <= 7
    seen[:] = 0
    over_rows(n_rows, visit, n_threads, 7)
    assert (seen == 1).all()


def test_an_error_in_a_chunk_is_raised():
    def fail(start, stop):
        if start == 14:
            raise ValueError(f"rows {start} to {stop}")

    with Team(3, chunk_rows=7) as team, pytest.raises(ValueError, match="rows 14 to 20"):
        team.over_rows(20, fail)
    with pytest.raises(ValueError, match="rows 14 to 20"):
        over_rows(20, fail, 2, 7)


def test_a_closed_team_leaves_no_threads():
    before = helpers()
    with Team(4) as team:
        assert helpers() == before  # none before there is something to do
        team.together(lambda _: None, 2)
        assert len(set(helpers()) - set(before)) == 1
        team.together(lambda _: None)
        assert len(set(helpers()) - set(before)) == 3
    assert wait_for_helpers_to_go(before)


def test_a_team_closes_after_an_error():
    before = helpers()

    def fail(member):
        raise KeyError(member)

    with pytest.raises(KeyError), Team(3) as team:
        team.together(fail)
    assert wait_for_helpers_to_go(before)


def test_two_teams_do_not_wait_for_each_other():
    with Team(2) as one, Team(2) as other:
        meeting = threading.Barrier(4, timeout=30)
        outer = threading.Thread(target=lambda: one.together(lambda _: meeting.wait()))
        outer.start()
        other.together(lambda _: meeting.wait())
        outer.join(timeout=30)
        assert not outer.is_alive()


def test_n_jobs_as_in_scikit_learn():
    cores = available_threads()
    assert resolve_n_jobs(None) == cores
    assert resolve_n_jobs(-1) == cores
    assert resolve_n_jobs(5) == 5
    assert resolve_n_jobs(-cores - 10) == 1
    with pytest.raises(ValueError, match="n_jobs must be a positive number"):
        resolve_n_jobs(0)


def test_n_jobs_must_be_an_integer():
    with pytest.raises(TypeError, match=r"n_jobs must be an integer or None; got 2\.5"):
        resolve_n_jobs(2.5)
    with pytest.raises(TypeError, match=r"n_jobs must be an integer or None; got True"):
        resolve_n_jobs(n_jobs=True)


def test_blocks_of_wide_tables_have_few_rows():
    assert rows_per_block(1, 4096) == 4096
    assert rows_per_block(0, 4096) == 4096
    assert rows_per_block(250_000, 65_536) * 250_000 * 8 <= 64_000_000
    assert rows_per_block(10**9, 65_536) == 1
