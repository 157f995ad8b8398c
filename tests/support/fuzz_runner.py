"""Thousands of trials in separate processes, which detect crashes, hangs and excessive use of memory.

`make` returns the input of a trial by its number, `trial` the name of its outcome. Failures are: exceptions,
a process that dies, more than `seconds` of CPU time, more than `megabytes` beyond the initial memory of the
process, and attempts to start programs, to write or delete files or to use the network. Processes are
forked, which requires Linux or macOS.
"""

import json
import multiprocessing
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn"),
    *("os.rmdir", "os.chmod", "shutil.rmtree", "socket.connect", "ctypes.dlopen"),
    *("pickle.find_class", "urllib.Request", "webbrowser.open", "code.__new__"),
)
WRITING = ("os.remove", "os.rename")  # and "open" with a mode that writes
FORBIDDEN_MODULES = ("antigravity", "this")  # modules with side effects at import
IDLE = 20  # a trial may wait for this multiple of the seconds that it may work
UNITS = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


class ForbiddenError(BaseException):
    """A trial did something forbidden; `except Exception` does not catch it."""


@dataclass
class Result:
    """The results of all trials."""

    counts: Counter = field(default_factory=Counter)  # by outcome, including failures
    failures: list = field(default_factory=list)  # {"number", "kind", "text"}
    slowest: tuple = (0.0, -1)  # seconds, number
    peak: float = 0.0  # MiB of the largest process
    rise: float = 0.0  # largest growth of a process in MiB
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all processes

    def add(self, number, outcome="", failed="", text="", seconds=0.0, peak=0.0, rise=0.0):
        self.counts[f"failed: {failed}" if failed else outcome] += 1
        if failed:
            self.failures.append({"number": number, "kind": failed, "text": text})
        self.slowest = max(self.slowest, (seconds, number))
        self.peak, self.rise = max(self.peak, peak), max(self.rise, rise)

    def lines(self):
        n = sum(self.counts.values())
        rate = n / max(self.cpu_seconds, 1e-9)
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.most_common())
        yield f"{n:,} in {self.seconds:.0f} s, {rate:.0f} per CPU second: {counts}"
        yield f"slowest: number {self.slowest[1]}, {1000 * self.slowest[0]:.0f} ms"
        yield f"peak memory: {self.peak:.0f} MiB, {self.rise:.0f} MiB more than before the first trial"
        yield f"failures: {len(self.failures)}"


def peak_memory():
    """The peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNITS / 2**20


def _cpu_seconds():
    """The CPU time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(make, trial, n_trials, folder, *, n_workers=2, seconds=5.0, megabytes=256, may_write=False):
    """Run trials 0 to n_trials - 1; every trial is logged in `folder` when it has ended."""
    result, start, used = Result(), time.perf_counter(), _cpu_seconds()
    limits = Limits(seconds, megabytes, may_write)
    workers = [
        _Worker(make, trial, range(k, n_trials, n_workers), Path(folder) / f"trials-{k}.jsonl", limits)
        for k in range(n_workers)
    ]
    while [worker for worker in workers if worker.poll()]:
        time.sleep(0.05)
    for worker in workers:
        for line in worker.ended():
            result.add(**json.loads(line))
        worker.log.unlink()
    result.failures.sort(key=lambda failure: failure["number"])
    result.seconds, result.cpu_seconds = time.perf_counter() - start, _cpu_seconds() - used
    return result


class Limits(NamedTuple):
    """What a trial may take and do."""

    seconds: float
    megabytes: int
    may_write: bool


class _Worker:
    """A share of the trials and the process that runs them; the process is replaced if it dies.

    The log has a line for every trial that has ended.
    """

    def __init__(self, make, trial, numbers, log, limits):
        self.make, self.trial, self.numbers, self.log, self.limits = make, trial, numbers, log, limits
        self.file = log.open("wb", buffering=0)
        self.progress = -1, 0.0  # the size of the log, and since when
        self.start(0)

    def ended(self):
        return self.log.read_bytes().splitlines()

    def start(self, first):
        self.process = multiprocessing.get_context("fork").Process(
            target=self._work, args=(self.numbers[first:],), daemon=True
        )
        with warnings.catch_warnings():  # of Python 3.12: other threads, which do nothing, are not forked
            warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
            self.process.start()

    def poll(self):
        """Whether trials are left; replace a process that died by one that continues after the trial."""
        if self.process.is_alive():
            size = self.log.stat().st_size
            if self.progress[0] != size:
                self.progress = size, time.monotonic()
            elif time.monotonic() - self.progress[1] > IDLE * self.limits.seconds:
                self.process.kill()
            return True
        self.process.join()
        n_ended = len(self.ended())
        if n_ended < len(self.numbers):
            code = self.process.exitcode
            hung = code in (-signal.SIGPROF, -signal.SIGKILL)
            kind = "hung" if hung else f"crashed with exit code {code}"
            self._write(number=self.numbers[n_ended], failed=kind, text=kind)
            n_ended += 1
        if n_ended < len(self.numbers):
            self.start(n_ended)
            return True
        self.file.close()
        return False

    def _write(self, **ended):
        self.file.write(json.dumps(ended).encode() + b"\n")

    # --- in the process

    def _work(self, numbers):
        warnings.simplefilter("error")
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, even in a kernel
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = peak_memory()
        _limit_memory(self.limits.megabytes)
        hook = _AuditHook(self.limits.may_write)
        sys.addaudithook(hook)
        for number in numbers:
            made = self.make(number)
            signal.setitimer(signal.ITIMER_PROF, self.limits.seconds)  # of CPU time: the machine may be busy
            start = time.perf_counter()
            ended = self._try(made, hook)
            seconds = time.perf_counter() - start
            signal.setitimer(signal.ITIMER_PROF, 0)
            peak = peak_memory()
            self._write(number=number, seconds=seconds, peak=peak, rise=peak - before, **ended)

    def _try(self, made, hook):
        hook.enabled = True
        try:
            return {"outcome": self.trial(made)}
        except BaseException as error:  # noqa: BLE001 - any error is a failure
            hook.enabled = False
            return {"failed": type(error).__name__, "text": traceback.format_exc()[-3000:]}
        finally:
            hook.enabled = False


class _AuditHook:
    """Raises an error if a trial does something forbidden."""

    enabled = False

    def __init__(self, may_write):
        self.may_write = may_write

    def __call__(self, event, arguments):
        wrong = event in FORBIDDEN or (event == "import" and arguments[0] in FORBIDDEN_MODULES)
        writing = event in WRITING or (event == "open" and _writes(arguments))
        if self.enabled and (wrong or (writing and not self.may_write)) and not _is_compiling():
            self.enabled = False
            raise ForbiddenError(f"{event} {arguments!r:.300}")


def _is_compiling():
    """Whether a kernel is the caller, whose code is read, and compiled if necessary, at its first use."""
    frame = sys._getframe(2)
    while frame is not None and "kernels/native" not in frame.f_code.co_filename.replace("\\", "/"):
        frame = frame.f_back
    return frame is not None


def _writes(arguments):
    _, mode, flags = arguments
    return bool(mode and set(mode) & set("wax+")) or bool(isinstance(flags, int) and flags & 3)


def _limit_memory(megabytes):
    """Limit the memory beyond the current use; only on Linux, which reports it."""
    status = Path("/proc/self/status")
    if status.exists():
        used = next(line for line in status.read_text().splitlines() if line.startswith("VmSize"))
        most = 1024 * int(used.split()[1]) + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
