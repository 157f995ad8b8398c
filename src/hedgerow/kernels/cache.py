"""Kernels compiled on this machine: object files in a folder of the user, and the processes that make them.

    ~/.cache/hedgerow/kernels-<sources>-<processor>/<kernel>-<signature>.o

The name of the folder has checksums of all kernels and of the processor, so that all environments of a user
share it and none reads a file of other code. A file starts with a line of JSON that holds its checksum; a
damaged file is compiled again. Files are written under another name and then renamed: processes that compile
the same kernel at the same time both succeed. If the folder cannot be written, a temporary one is used.

HEDGEROW_CACHE names another folder than ~/.cache/hedgerow.
"""

import atexit
import hashlib
import importlib.metadata
import json
import os
import queue
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow.kernels import signatures
from hedgerow.kernels.library import source_checksum, symbol_of
from hedgerow.progress import ProgressBar
from hedgerow.threads import available_threads

Job = tuple[str, str]  # kernel, signature
TARGET = "HEDGEROW_TARGET"  # the target of a compiling process: triple, processor and features
AARCH64 = "aarch64-unknown-linux-gnu"
# Features beyond those of a level. For x86-64-v4 LLVM prefers vectors of 256 bits: fits took up to 6 % longer
# than with kernels compiled for the processor. With 512 bits it is up to 2 %.
FEATURES = {"x86-64-v4": "-prefer-256-bit"}


class ObjectCache:
    """The object files for one processor.

    Parameters
    ----------
    cpu : str or None
        LLVM's name of a processor, for example "x86-64-v3"; "aarch64" or "aarch64+sve" for another kind of
        machine; None for this one.
    """

    def __init__(self, cpu: str | None) -> None:
        self.cpu = cpu
        self._addresses: dict[Job, int] = {}

    def address(self, kernel: str, signature: str) -> int:
        """Return the address of an entry point; compile its family if it is not stored."""
        job = (kernel, signature)
        if job not in self._addresses:
            stored = self.read(job)
            if stored is None:
                family = family_of(kernel, signature)
                others = listed_jobs([family]) if family not in {"", signatures.RARE} else []
                self.compile([job, *others])
                stored = self.read(job)
            if stored is None:
                raise RuntimeError(
                    f"kernel {kernel}({signature}) was compiled, but {self._path(job)} cannot be read"
                )
            self._addresses[job] = load_object(stored, symbol_of(*job))
        return self._addresses[job]

    @cached_property
    def target(self) -> str | None:
        """The target of compilation; None for this machine. LLVM is not needed before."""
        return None if self.cpu is None else target_of(self.cpu)

    # --- files

    @cached_property
    def folder(self) -> Path:
        """The folder of the object files, which exists and can be written to."""
        llvm = _llvm()
        processor = self.target or f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
        key = f"{processor} {llvm.get_process_triple()} {llvm.llvm_version_info} {_numba_version()}"
        name = f"kernels-{source_checksum()[:16]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        try:
            folder = _user_folder() / name
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except (OSError, RuntimeError):  # RuntimeError: there is no home folder
            # A new folder of this process: in one that others can write, they could leave code to be run.
            temporary = tempfile.mkdtemp(prefix="hedgerow-kernels-")
            atexit.register(shutil.rmtree, temporary, ignore_errors=True)
            return Path(temporary)

    def _path(self, job: Job) -> Path:
        return self.folder / f"{symbol_of(*job)}.o"

    def read(self, job: Job) -> bytes | None:
        """Return the object file of a job, or None if there is none without damage."""
        try:
            head, stored = self._path(job).read_bytes().split(b"\n", 1)
            checksum = json.loads(head)["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return stored if checksum == hashlib.sha256(stored).hexdigest() else None

    # --- compiling

    def compile_missing(self, jobs: list[Job]) -> None:
        """Compile those jobs that have no file; existing files are not checked."""
        self.compile([job for job in jobs if not self._path(job).exists()])

    def compile(self, jobs: list[Job]) -> int:
        """Compile those jobs that are not stored, on all cores; return their number."""
        jobs = [job for job in dict.fromkeys(jobs) if self.read(job) is None]
        if not jobs:
            return 0
        with _one_process_at_a_time(self.folder / "lock"):
            # Another process may have compiled them in the meantime.
            jobs = [job for job in jobs if self.read(job) is None]
            if not jobs:
                return 0
            workers = _Workers(min(len(jobs), available_threads()), self.folder, self.target)
            title = "compiling kernels for this processor, once"
            # In a log or a notebook the lines stay, so that the first fit is not silent for seconds.
            is_terminal = sys.stderr is not None and sys.stderr.isatty()
            with ProgressBar(len(jobs), title, clear=is_terminal, elapsed=True, separator=" of ") as bar:
                workers.run(jobs, bar)
        return len(jobs)

    def describe(self) -> str:
        """Describe in one line where the objects are."""
        n_stored = sum(1 for _ in self.folder.glob("*.o"))
        return f"compiled on this machine: {n_stored} entry points in {self.folder}"


_engines: list[Any] = []  # of loaded objects, which stay in memory


def load_object(stored: bytes, symbol: str) -> int:
    """Load an object file into this process; return the address of a function."""
    llvm = _llvm()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(reloc="pic")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(stored))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(symbol))


class _Workers:
    """Processes that compile: each reads a job per line and answers with a line.

    They run this package, wherever it is, and import nothing from the current folder, which may hold a file
    random.py.
    """

    def __init__(self, n_workers: int, folder: Path, target: str | None) -> None:
        self.n_workers, self.folder = n_workers, folder
        self.environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "0"}
        self.environment.pop(TARGET, None)
        if target is not None:
            self.environment[TARGET] = target
        package = str(Path(__file__).parents[2])
        if package != sysconfig.get_path("purelib"):  # an installed package needs no path
            paths = [package, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
            self.environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)

    def run(self, jobs: list[Job], bar: ProgressBar) -> None:
        """Compile all jobs, or raise the error of the first that failed."""
        waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[str] = queue.SimpleQueue()
        for job in jobs:
            waiting.put(job)
        processes = [self._start() for _ in range(self.n_workers)]
        feeders = [threading.Thread(target=_feed, args=(p, waiting, done), daemon=True) for p in processes]
        for feeder in feeders:
            waiting.put(None)
            feeder.start()
        try:
            for number in range(len(jobs)):
                bar.update(number)
                if error := done.get():
                    raise RuntimeError(f"a kernel cannot be compiled: {error}")
            bar.update(len(jobs))
        finally:
            for process, feeder in zip(processes, feeders, strict=True):
                process.kill()
                process.wait()
                feeder.join()

    def _start(self) -> "subprocess.Popen[str]":
        # -P: the current folder is not searched for modules.
        command = [sys.executable, "-P", "-m", "hedgerow.kernels.build", "--worker", str(self.folder)]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for this process, which ends the others
        )


def _feed(
    process: "subprocess.Popen[str]", waiting: "queue.SimpleQueue[Job | None]", done: "queue.SimpleQueue[str]"
) -> None:
    """Send jobs to a process; `done` receives an error message for each, empty if it succeeded."""
    to_process: Any = process.stdin
    from_process: Any = process.stdout
    while process.returncode is None and (job := waiting.get()) is not None:
        try:
            to_process.write("\t".join(job) + "\n")
            to_process.flush()
            answer = from_process.readline()
        except (OSError, ValueError):  # the process ended
            answer = ""
        error = "" if answer == "done\n" else answer.strip() or "the compiling process ended"
        done.put(f"{job[0]}: {error}" if error else "")
    from_process.close()
    with suppress(OSError):  # it has ended, and did not read everything
        to_process.close()


def write(folder: Path, job: Job, stored: bytes) -> None:
    """Store an object file."""
    head = json.dumps({"kernel": job[0], "signature": job[1], "sha256": hashlib.sha256(stored).hexdigest()})
    path = folder / f"{symbol_of(*job)}.o"
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=path.stem, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(head.encode() + b"\n" + stored)
    Path(temporary).replace(path)


def listed_jobs(families: Iterable[str]) -> list[Job]:
    """Return the jobs of some families of the list."""
    return [
        (kernel, signatures.text_of(signature))
        for family in families
        for kernel, found in signatures.listed()[family].items()
        for signature in found
    ]


def family_of(kernel: str, signature: str) -> str:
    """Return the family of the list that has a signature, or an empty text."""
    wanted = signatures.parse(signature)
    for family, kernels in signatures.listed().items():
        if wanted in kernels.get(kernel, ()):
            return family
    return ""


def _user_folder() -> Path:
    if setting := os.environ.get("HEDGEROW_CACHE"):
        return Path(setting)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "hedgerow"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hedgerow"


@contextmanager
def _one_process_at_a_time(path: Path) -> Iterator[None]:
    """Wait while another process of this machine compiles, so that the same work is not done twice."""
    with ExitStack() as stack:
        # ImportError: Windows; OSError: a file system without locks, or a lock file of another user.
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - not on Windows

            file = stack.enter_context(path.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if sys.stderr is not None:
                    sys.stderr.write("waiting for another process that compiles kernels\n")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def target_of(cpu: str) -> str:
    """Return what a compiling process compiles for: triple, processor and features, with a space between."""
    name, plus, features = cpu.partition("+")
    features = f"{plus}{features}" or FEATURES.get(name, "")
    if name == "aarch64":
        return f"{AARCH64} generic {features}"
    return f"{_llvm().get_process_triple()} {name} {features}"


def _numba_version() -> str:
    """Return the version of Numba, without importing it; empty if it is not installed."""
    try:
        return importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _llvm() -> Any:
    """Return llvmlite.binding with the native target, or explain what is missing."""
    try:
        import llvmlite.binding as llvm  # noqa: PLC0415 - not needed with a library
    except ImportError as error:
        raise ImportError(
            "this installation has no compiled kernels for this processor or these arguments; "
            "install numba to compile them: pip install numba"
        ) from error
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
