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

FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn"),
    *("os.rmdir", "os.chmod", "shutil.rmtree", "socket.connect", "ctypes.dlopen"),
    *("pickle.find_class", "urllib.Request", "webbrowser.open", "code.__new__"),
)
WRITING = ("os.remove", "os.rename")  # and "open" with a mode that writes
FORBIDDEN_MODULES = ("antigravity", "this")  # modules with side effects at import
IDLE = 20  # a trial may wait for so many times the seconds that it may work
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
    """Run trials 0 to n_trials - 1; failures are logged in `folder` while the trials run."""
    result, start, used = Result(), time.perf_counter(), _cpu_seconds()
    workers = []
    for k in range(n_workers):
        worker = _Worker(make, trial, range(k, n_trials, n_workers), Path(folder) / f"failures-{k}.jsonl")
        worker.limits = seconds, megabytes, may_write
        worker.start()
        workers.append(worker)
    while [worker for worker in workers if worker.poll()]:
        time.sleep(0.05)
    for worker in workers:
        worker.add_to(result)
    result.failures.sort(key=lambda failure: failure["number"])
    result.seconds, result.cpu_seconds = time.perf_counter() - start, _cpu_seconds() - used
    return result


class _Worker:
    """A share of the trials and the process that runs them; the process is replaced if it dies."""

    def __init__(self, make, trial, numbers, log):
        self.make, self.trial, self.numbers, self.log = make, trial, numbers, log
        self.log.unlink(missing_ok=True)
        self.context = multiprocessing.get_context("fork")
        self.at = self.context.RawValue("q", 0)  # number of finished trials
        self.figures = self.context.RawArray("d", 4)  # slowest seconds, its number, peak, rise
        self.counts, self.names = self.context.RawArray("q", 64), self.context.RawArray("c", 64 * 40)
        self.failed, self.progress = [], (-1, 0.0)  # number of finished trials, and since when

    def start(self):
        self.process = self.context.Process(target=self._work, daemon=True)
        with warnings.catch_warnings():  # of Python 3.12: other threads, which do nothing, are not forked
            warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
            self.process.start()

    def poll(self):
        """Whether trials are left; replace a process that died by one that continues after the trial."""
        if self.process.is_alive():
            if self.progress[0] != self.at.value:
                self.progress = self.at.value, time.monotonic()
            elif time.monotonic() - self.progress[1] > IDLE * self.limits[0]:
                self.process.kill()
            return True
        self.process.join()
        code = self.process.exitcode
        if self.at.value >= len(self.numbers):
            return False
        number = self.numbers[self.at.value]
        hung = code in (-signal.SIGPROF, -signal.SIGKILL)
        kind = "hung" if hung else f"crashed with exit code {code}"
        self.failed.append({"number": number, "kind": kind, "text": kind})
        self.at.value += 1
        if self.at.value >= len(self.numbers):
            return False
        self.start()
        return True

    def add_to(self, result):
        for index, name in enumerate(self._names()):
            result.counts[name] += self.counts[index]
        if self.log.exists():
            self.failed += map(json.loads, self.log.read_text().splitlines())
            self.log.unlink()
        for failure in self.failed:
            result.counts[f"failed: {failure['kind']}"] += 1
        result.failures += self.failed
        seconds, number, peak, rise = self.figures
        result.slowest = max(result.slowest, (seconds, int(number)))
        result.peak, result.rise = max(result.peak, peak), max(result.rise, rise)

    # --- in the process

    def _work(self):
        seconds, megabytes, may_write = self.limits
        warnings.simplefilter("error")
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, even in a kernel
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = peak_memory()
        _limit_memory(megabytes)
        hook = _AuditHook(may_write)
        sys.addaudithook(hook)
        while self.at.value < len(self.numbers):
            number = self.numbers[self.at.value]
            made = self.make(number)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # of CPU time: the machine may be busy
            start = time.perf_counter()
            self._try(number, made, hook)
            took = time.perf_counter() - start
            signal.setitimer(signal.ITIMER_PROF, 0)
            if took > self.figures[0]:
                self.figures[0], self.figures[1] = took, number
            peak = peak_memory()
            self.figures[2], self.figures[3] = peak, max(peak - before, self.figures[3])
            self.at.value += 1

    def _try(self, number, made, hook):
        try:
            hook.enabled = True
            name = self.trial(made)
        except BaseException as error:  # noqa: BLE001 - any error is a failure
            hook.enabled = False
            failure = {"number": number, "kind": type(error).__name__, "text": traceback.format_exc()[-3000:]}
            with self.log.open("a") as file:
                file.write(json.dumps(failure) + "\n")
            return
        finally:
            hook.enabled = False
        names = self._names()
        if name not in names:
            start = 40 * len(names)
            self.names[start : start + len(name)] = name.encode()
            names.append(name)
        self.counts[names.index(name)] += 1

    def _names(self):
        data = self.names[:]
        found = [data[40 * k : 40 * k + 40].rstrip(b"\0").decode() for k in range(64)]
        return [name for name in found if name]


class _AuditHook:
    """Raises an error if a trial does something forbidden."""

    enabled = False

    def __init__(self, may_write):
        self.may_write = may_write

    def __call__(self, event, arguments):
        wrong = event in FORBIDDEN or (event == "import" and arguments[0] in FORBIDDEN_MODULES)
        writing = event in WRITING or (event == "open" and _writes(arguments))
        if self.enabled and (wrong or (writing and not self.may_write)) and not _is_compiling():
            self.enabled = False  # logging the failure writes a file
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
    """Limit the memory to so much beyond the current use; only on Linux, which reports it."""
    status = Path("/proc/self/status")
    if status.exists():
        used = next(line for line in status.read_text().splitlines() if line.startswith("VmSize"))
        most = 1024 * int(used.split()[1]) + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
