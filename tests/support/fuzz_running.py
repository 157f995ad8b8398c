"""Trials by the thousand in processes of their own, where a crash, a hang or a hunger for memory is noticed.

`make` gives the material of a trial by its number, `trial` the name of its outcome. What ends in another way
is a failure: an exception, a process that dies, more than `seconds` of work, more than `megabytes` beyond
what the process had at first, or an attempt to start programs, to write or delete files or to reach the
network. Processes are forked, hence this needs Linux or macOS.
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
WRITING = ("os.remove", "os.rename")  # and "open" for that
UNWANTED = ("antigravity", "this")  # modules that do something when they are imported
IDLE = 20  # times the seconds of work that a trial may take, if it only waits
UNITS = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


class ForbiddenError(BaseException):
    """Something was done that no trial may do; no handler of exceptions stops it."""


@dataclass
class Result:
    """What came of all trials."""

    counts: Counter = field(default_factory=Counter)  # by outcome, failures among them
    failures: list = field(default_factory=list)  # {"number", "kind", "text"}
    slowest: tuple = (0.0, -1)  # seconds, number
    peak: float = 0.0  # MiB of the largest process
    rise: float = 0.0  # MiB by which a process grew at most
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all processes

    def lines(self):
        n = sum(self.counts.values())
        rate = n / max(self.cpu_seconds, 1e-9)
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.most_common())
        yield f"{n:,} in {self.seconds:.0f} s, {rate:.0f} a second of a core: {counts}"
        yield f"slowest: number {self.slowest[1]}, {1000 * self.slowest[0]:.0f} ms"
        yield f"peak memory: {self.peak:.0f} MiB, {self.rise:.0f} MiB more than before the first"
        yield f"failures: {len(self.failures)}"


def peak_memory():
    """Of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNITS / 2**20


def _cpu_seconds():
    """Of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(make, trial, n_trials, folder, *, n_workers=2, seconds=5.0, megabytes=256, may_write=False):
    """All trials from number 0 on; `folder` takes notes of failures while they happen."""
    result, start, used = Result(), time.perf_counter(), _cpu_seconds()
    workers = []
    for k in range(n_workers):
        worker = _Worker(make, trial, range(k, n_trials, n_workers), Path(folder) / f"notes-{k}.jsonl")
        worker.limits = seconds, megabytes, may_write
        worker.start()
        workers.append(worker)
    while [worker for worker in workers if worker.look()]:
        time.sleep(0.05)
    for worker in workers:
        worker.tell(result)
    result.failures.sort(key=lambda failure: failure["number"])
    result.seconds, result.cpu_seconds = time.perf_counter() - start, _cpu_seconds() - used
    return result


class _Worker:
    """A share of the trials, and the process that does them; a new one when it dies."""

    def __init__(self, make, trial, numbers, notes):
        self.make, self.trial, self.numbers, self.notes = make, trial, numbers, notes
        self.notes.unlink(missing_ok=True)
        self.context = multiprocessing.get_context("fork")
        self.at = self.context.RawValue("q", 0)  # how many of its numbers are done
        self.figures = self.context.RawArray("d", 4)  # slowest seconds, its number, peak, rise
        self.counts, self.names = self.context.RawArray("q", 64), self.context.RawArray("c", 64 * 40)
        self.failed, self.seen = [], (-1, 0.0)  # how many were done, and since when

    def start(self):
        self.process = self.context.Process(target=self._work, daemon=True)
        with warnings.catch_warnings():  # of Python 3.12: other threads, which do nothing, are not forked
            warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
            self.process.start()

    def look(self):
        """Whether there is more to do; a process that died is replaced by one that goes on after it."""
        if self.process.is_alive():
            if self.seen[0] != self.at.value:
                self.seen = self.at.value, time.monotonic()
            elif time.monotonic() - self.seen[1] > IDLE * self.limits[0]:
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

    def tell(self, result):
        for place, name in enumerate(self._names()):
            result.counts[name] += self.counts[place]
        if self.notes.exists():
            self.failed += map(json.loads, self.notes.read_text().splitlines())
            self.notes.unlink()
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
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, even within a kernel
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = peak_memory()
        _limit_memory(megabytes)
        watch = _Watch(may_write)
        sys.addaudithook(watch)
        while self.at.value < len(self.numbers):
            number = self.numbers[self.at.value]
            made = self.make(number)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # of work: the machine may be busy with others
            start = time.perf_counter()
            self._try(number, made, watch)
            took = time.perf_counter() - start
            signal.setitimer(signal.ITIMER_PROF, 0)
            if took > self.figures[0]:
                self.figures[0], self.figures[1] = took, number
            peak = peak_memory()
            self.figures[2], self.figures[3] = peak, max(peak - before, self.figures[3])
            self.at.value += 1

    def _try(self, number, made, watch):
        try:
            watch.on = True
            name = self.trial(made)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a failure
            watch.on = False
            note = {"number": number, "kind": type(error).__name__, "text": traceback.format_exc()[-3000:]}
            with self.notes.open("a") as file:
                file.write(json.dumps(note) + "\n")
            return
        finally:
            watch.on = False
        names = self._names()
        if name not in names:
            place = len(names)
            self.names[40 * place : 40 * place + len(name)] = name.encode()
            names.append(name)
        self.counts[names.index(name)] += 1

    def _names(self):
        whole = self.names[:]
        found = [whole[40 * k : 40 * k + 40].rstrip(b"\0").decode() for k in range(64)]
        return [name for name in found if name]


class _Watch:
    """Looks at what Python does during a trial."""

    on = False

    def __init__(self, may_write):
        self.may_write = may_write

    def __call__(self, event, arguments):
        wrong = event in FORBIDDEN or (event == "import" and arguments[0] in UNWANTED)
        writing = event in WRITING or (event == "open" and _writes(arguments))
        if self.on and (wrong or (writing and not self.may_write)) and not _is_compiling():
            self.on = False  # the report of this needs files itself
            raise ForbiddenError(f"{event} {arguments!r:.300}")


def _is_compiling():
    """Whether it is Numba's doing, which reads and writes compiled kernels when they are first needed."""
    frame = sys._getframe(2)
    while frame is not None and "numba" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def _writes(arguments):
    _, mode, flags = arguments
    return bool(mode and set(mode) & set("wax+")) or bool(isinstance(flags, int) and flags & 3)


def _limit_memory(megabytes):
    """No more than so much beyond what the process has; on Linux, where it can tell."""
    status = Path("/proc/self/status")
    if status.exists():
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmSize"))
        most = 1024 * int(held.split()[1]) + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
