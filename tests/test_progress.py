"""Progress bars and lines."""

import io

from hedgerow.progress import ProgressBar
from terminal import Terminal


def test_lines():
    stream = io.StringIO()
    with ProgressBar(2, "boosting", lines=True, stream=stream) as bar:
        bar.update(1, "train 0.25")
        bar.update(2)
    first, second = stream.getvalue().splitlines()
    assert first.startswith("[1/2] 0.")
    assert first.endswith(" s  train 0.25")
    assert second.startswith("[2/2] 0.")
    assert second.endswith(" s")


def test_a_bar_on_a_terminal_ends_at_its_total():
    stream = Terminal()
    with ProgressBar(3, "boosting", stream=stream) as bar:
        for number in range(1, 4):
            bar.update(number, f"train {number}")
    shown = stream.getvalue()
    assert "1/3" in shown
    assert "2/3" not in shown  # too soon after the first
    assert shown.endswith("3/3  0:00 left  train 3\n")


def test_the_last_update_is_shown_at_the_end():
    stream = Terminal()
    with ProgressBar(9, "boosting", stream=stream) as bar:
        bar.update(1)
        bar.update(2)
    assert "2/9" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_a_log_has_lines_without_control_characters(monkeypatch):
    seconds = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))
    stream = io.StringIO()
    with ProgressBar(100, "boosting", stream=stream) as bar:
        for number in range(1, 101):
            bar.update(number, "train 0.25")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("boosting  1/100  ")
    assert lines[-1].startswith("boosting  100/100  0:00 left  train 0.25")
    assert 10 <= len(lines) <= 12
    assert not any(character in stream.getvalue() for character in "\r\x1b█")


def test_a_short_computation_logs_its_first_and_last_step():
    stream = io.StringIO()
    with ProgressBar(50, "boosting", stream=stream) as bar:
        for number in range(1, 51):
            bar.update(number)
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["1/50", "50/50"]


def test_nothing_is_written_to_files_by_a_bar_that_is_removed():
    stream = io.StringIO()
    with ProgressBar(3, "choosing", clear=True, stream=stream) as bar:
        bar.update(1)
    assert stream.getvalue() == ""


def test_unknown_total_cleared_bar_and_lines_above():
    stream = Terminal()
    with ProgressBar(None, "mining", clear=True, stream=stream) as bar:
        bar.update(1000, "rows")
        bar.write_line("a stage is done")
        bar.restart(2, "boosting")
        bar.update(1)
    assert "mining  1,000  0:00  rows" in stream.getvalue()
    assert "\x1b[Ka stage is done\n" in stream.getvalue()
    assert "1/2" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_line_is_not_longer_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with ProgressBar(3, "boosting", stream=stream) as bar:
        bar.update(3, "x" * 100)
    assert len(stream.getvalue().removeprefix("\r\x1b[K").rstrip()) == 39


def test_the_elapsed_time_instead_of_an_estimate():
    stream = Terminal()
    with ProgressBar(2, "choosing", elapsed=True, stream=stream) as bar:
        bar.update(1, "a forest")
    assert stream.getvalue().endswith("1/2  0:00  a forest\n")
