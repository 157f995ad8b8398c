"""Memory that is available to this process, and `require_memory`, which raises if an estimate is larger.

An estimate maps purposes to numbers of bytes, ``{"codes": 20_000_000_000, "scores": ...}``, computed
from the shapes of arrays before the first of them is allocated; see `hedgerow.memory`.
The available memory is the least of

    the machine          MemAvailable: free pages, and file caches that the kernel can reclaim
    the control groups   the limit of a container less its use, file caches again counted as free; groups are
                         nested, and each group on the path may have a limit
    the process          the limits of `ulimit -v` and `ulimit -d`, less its use

psutil reads only the first, so this module reads all three itself. The environment variable HEDGEROW_MEMORY
overrides them: "8GB", "512MiB", or "unlimited".
"""

import ctypes
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VARIABLE = "HEDGEROW_MEMORY"

ALWAYS_AVAILABLE = 64_000_000  # bytes; for less, reading the limits would take longer than the work
_NO_LIMIT = 1 << 60  # control groups v1 write a number near 2**63 for "no limit"
_MAX_NAMED = 4  # entries of an estimate that a message names
_UNITS = {"": 1, "b": 1} | {
    prefix.lower() + end: base**power
    for power, prefix in enumerate("KMGTP", 1)
    for end, base in (("", 1000), ("b", 1000), ("ib", 1024))
}

Estimate = Mapping[str, int]


def available_memory() -> int | None:
    """Return the bytes that this process can still allocate; None if unknown or unlimited.

    Returns
    -------
    int or None
        HEDGEROW_MEMORY if it is set. On Linux the least of what the machine, the control groups and the
        limits of the process leave. On Windows the free memory, on macOS all memory of the machine.

    Examples
    --------
    >>> os.environ["HEDGEROW_MEMORY"] = "4GB"
    >>> available_memory()
    4000000000
    >>> del os.environ["HEDGEROW_MEMORY"]
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _parse_bytes(chosen)
    if sys.platform == "win32":
        return _windows_memory()
    left = [*_linux_memory(Path("/")), *_process_limits()]
    return max(0, min(left)) if left else _machine_memory()


def _parse_bytes(text: str) -> int | None:
    """Parse the value of HEDGEROW_MEMORY."""
    plain = text.strip().lower()
    if plain == "unlimited":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)", plain)
    if found is None or found[2] not in _UNITS or not float(found[1]) > 0:
        raise ValueError(
            f"{VARIABLE} must be a number above 0 with a unit, such as 8GB or 512MiB, or unlimited; "
            f"got {text!r}"
        )
    return max(1, int(float(found[1]) * _UNITS[found[2]]))


def _linux_memory(root: Path) -> Iterator[int]:
    """Yield the memory that the machine and the control groups leave; nothing without /proc."""
    for line in _read_lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
    for line in _read_lines(root / "proc/self/cgroup"):  # 0::/user.slice/a.service, or 4:memory:/docker/1f2e
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
            names = ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            tops = [root / "sys/fs/cgroup/memory"]
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        else:
            continue
        for top in tops:
            yield from _group_memory(top, path, *names)


def _group_memory(top: Path, path: str, limit: str, used: str, prefix: str) -> Iterator[int]:
    """Yield the memory that a control group and each group around it leave.

    Inside a container the path may be that of the host, of which only the top folder exists.
    """
    names = [name for name in path.split("/") if name not in ("", "..")]
    for length in range(len(names), -1, -1):
        group = top.joinpath(*names[:length])
        maximum, in_use = _read_number(group / limit), _read_number(group / used)
        if maximum is None or in_use is None or maximum >= _NO_LIMIT:
            continue
        caches = {f"{prefix}{kind}_file" for kind in ("active", "inactive")}
        pairs = [line.split() for line in _read_lines(group / "memory.stat")]
        yield maximum - in_use + sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in caches)


def _process_limits() -> Iterator[int]:
    """Yield the memory that the limits of the process leave: its address space and its data."""
    try:
        import resource  # noqa: PLC0415 - does not exist on Windows
    except ImportError:
        return
    pages = _read_lines(Path("/proc/self/statm"))
    if not pages:
        return
    size, page = pages[0].split(), os.sysconf("SC_PAGE_SIZE")
    for kind, used in ((resource.RLIMIT_AS, size[0]), (resource.RLIMIT_DATA, size[5])):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY:
            yield most - int(used) * page


def _machine_memory() -> int | None:
    """Return all memory of the machine: an upper limit."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _windows_memory() -> int | None:
    """Return what GlobalMemoryStatusEx reports as free; untested."""
    names = ("total", "free", "pages", "free_pages", "addresses", "free_addresses", "extended")
    fields: list[Any] = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)]
    fields += [(name, ctypes.c_ulonglong) for name in names]
    kind = type("Status", (ctypes.Structure,), {"_fields_": fields})
    status: Any = kind(length=ctypes.sizeof(kind))
    libraries: Any = getattr(ctypes, "windll", None)
    if libraries is None or not libraries.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(min(status.free, status.free_pages))


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _read_number(path: Path) -> int | None:
    text = "".join(_read_lines(path)).strip()
    return int(text) if text.isdecimal() else None  # "max" means no limit


def require_memory(estimate: int | Estimate, what: str, advice: str = "use fewer rows or columns") -> None:
    """Raise an error if work needs more memory than is available; call it before the work starts.

    Parameters
    ----------
    estimate : int or mapping
        Bytes, or bytes by purpose.
    what : str
        The work, the subject of the message: "fitting a forest to 9 rows of 2 columns".
    advice : str
        How to use less memory.

    Raises
    ------
    MemoryError
        One line: the estimate, what is available, and what to do.

    Examples
    --------
    >>> os.environ["HEDGEROW_MEMORY"] = "1GB"
    >>> require_memory({"codes": 2_000_000_000, "scores": 500_000_000}, "fitting a stump")
    Traceback (most recent call last):
    MemoryError: fitting a stump needs about 2.5 GB (codes 2.0 GB, scores 500 MB); HEDGEROW_MEMORY allows
    1.0 GB: use fewer rows or columns, or set HEDGEROW_MEMORY to more or to unlimited
    >>> del os.environ["HEDGEROW_MEMORY"]
    """
    total = estimate if isinstance(estimate, int) else sum(estimate.values())
    chosen = os.environ.get(VARIABLE)
    if total < ALWAYS_AVAILABLE and not chosen:
        return
    available = available_memory()
    if available is None or total <= available:
        return
    largest = "" if isinstance(estimate, int) else f" ({_largest(estimate, total)})"
    if chosen:
        rest, override = f"{VARIABLE} allows {format_bytes(available)}", "to more or to unlimited"
    else:
        rest, override = f"{format_bytes(available)} are available", "if that is wrong"
    raise MemoryError(
        f"{what} needs about {format_bytes(total)}{largest}; {rest}: {advice}, or set {VARIABLE} {override}"
    )


def require_prediction_memory(
    name: str, n_rows: int, n_outputs: int, arrays: int = 1, item_bytes: int = 8
) -> None:
    """Raise MemoryError for predictions (rows, outputs) that are too large; `arrays` exist at a time."""
    what = f"a prediction of {name} for {n_rows:,} rows with {n_outputs:,} outputs"
    require_memory(arrays * item_bytes * n_rows * n_outputs, what, "predict fewer rows at a time")


def _largest(estimate: Estimate, total: int) -> str:
    """Format the entries that matter, largest first."""
    entries = sorted(estimate.items(), key=lambda entry: -entry[1])
    return ", ".join(
        f"{name} {format_bytes(size)}" for name, size in entries[:_MAX_NAMED] if 50 * size >= total
    )


def format_bytes(n_bytes: int) -> str:
    """Format a number of bytes with two digits and a unit.

    >>> format_bytes(61_234_567_890), format_bytes(999), format_bytes(20_000_000)
    ('61 GB', '999 bytes', '20 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    power = min(5, int(math.log10(n_bytes) / 3))
    if n_bytes >= 999.5 * 1000**power and power < 5:  # 999,999 would read "1000 kB"
        power += 1
    value = n_bytes / 1000**power
    return f"{value:,.1f} {'kMGTP'[power - 1]}B" if value < 9.95 else f"{value:,.0f} {'kMGTP'[power - 1]}B"
