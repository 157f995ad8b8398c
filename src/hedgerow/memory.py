"""How many bytes this process can still get, and a clear refusal of work that needs more.

A need is bytes by what they are for, ``{"codes": 20_000_000_000, "scores": ...}``, estimated from the shapes
of the arrays before the first of them is made. What is there is the least of

    the machine     MemAvailable: free pages, and those of file caches that the kernel would give up
    the group       what a container may use less what it uses, file caches again counted as free; groups are
                    nested, and every one on the way up may have a limit
    the process     the limits of `ulimit -v` and `ulimit -d`, less what is used

The environment variable HEDGEROW_MEMORY replaces all that: "8GB", "512MiB", or "unlimited".
"""

import ctypes
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

VARIABLE = "HEDGEROW_MEMORY"

_LITTLE = 64_000_000  # bytes that are always there: for less, looking would take longer than the work
_BLOCK_BYTES = 64_000_000  # of a block of rows as float64
_NO_LIMIT = 1 << 60  # a group of the first version says so by a number near 2**63
_SHOWN = 4  # parts of a need that a message names
_UNITS = {"": 1, "b": 1} | {
    prefix.lower() + end: base**power
    for power, prefix in enumerate("KMGTP", 1)
    for end, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_ADVICE = "use fewer rows or columns"

Need = Mapping[str, int]


# --- what is there


def available_bytes() -> int | None:
    """What this process can still get, in bytes; None where that cannot be told, or is unlimited.

    Returns
    -------
    int or None
        HEDGEROW_MEMORY if that is set. On Linux the least of what the machine, the control groups and the
        limits of the process leave; on other systems what the system says, which on macOS is all memory of
        the machine, an upper limit.

    Examples
    --------
    >>> os.environ["HEDGEROW_MEMORY"] = "4GB"
    >>> available_bytes()
    4000000000
    >>> del os.environ["HEDGEROW_MEMORY"]
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _parsed(chosen)
    if sys.platform == "win32":
        return _of_windows()
    left = [*_of_linux(Path("/")), *_of_limits()]
    return max(0, min(left)) if left else _of_machine()


def _parsed(text: str) -> int | None:
    """The bytes that HEDGEROW_MEMORY names."""
    plain = text.strip().lower()
    if plain == "unlimited":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)", plain)
    if found is None or found[2] not in _UNITS or not float(found[1]) > 0:
        raise ValueError(
            f"{VARIABLE}={text!r} is not allowed: it must be a number above 0 with a unit, such as 8GB or "
            "512MiB, or unlimited"
        )
    return max(1, int(float(found[1]) * _UNITS[found[2]]))


def _of_linux(root: Path) -> Iterator[int]:
    """What the machine and the control groups leave; nothing where there is no /proc."""
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
    for line in _lines(root / "proc/self/cgroup"):  # 0::/user.slice/a.service, or 4:memory:/docker/1f2e
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
            names = ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            tops = [root / "sys/fs/cgroup/memory"]
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        else:
            continue
        for top in tops:
            yield from _of_groups(top, place, *names)


def _of_groups(top: Path, place: str, limit: str, used: str, prefix: str) -> Iterator[int]:
    """What a group and all groups around it leave.

    Inside a container the path may be that of the host, of which only the end is there, or nothing.
    """
    parts = [part for part in place.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        group = top.joinpath(*parts[:length])
        most, now = _number(group / limit), _number(group / used)
        if most is None or now is None or most >= _NO_LIMIT:
            continue
        caches = {f"{prefix}{kind}_file" for kind in ("active", "inactive")}
        pairs = [line.split() for line in _lines(group / "memory.stat")]
        yield most - now + sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in caches)


def _of_limits() -> Iterator[int]:
    """What the limits of the process leave of addresses and of data."""
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return
    pages = _lines(Path("/proc/self/statm"))
    if not pages:
        return
    size, page = pages[0].split(), os.sysconf("SC_PAGE_SIZE")
    for kind, used in ((resource.RLIMIT_AS, size[0]), (resource.RLIMIT_DATA, size[5])):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY:
            yield most - int(used) * page


def _of_machine() -> int | None:
    """All memory of the machine: more than can be had, but a limit."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _of_windows() -> int | None:
    """What GlobalMemoryStatusEx says is free; no test has run it."""
    names = ("total", "free", "pages", "free_pages", "addresses", "free_addresses", "extended")
    fields: list[Any] = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)]
    fields += [(name, ctypes.c_ulonglong) for name in names]
    kind = type("Status", (ctypes.Structure,), {"_fields_": fields})
    status: Any = kind(length=ctypes.sizeof(kind))
    libraries: Any = getattr(ctypes, "windll", None)
    if libraries is None or not libraries.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(min(status.free, status.free_pages))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None  # "max" is no limit


# --- what is needed


def require(need: int | Need, what: str, advice: str = _ADVICE) -> None:
    """Refuse work that needs more memory than there is, before it begins.

    Parameters
    ----------
    need : int or mapping
        Bytes, or bytes by what they are for.
    what : str
        The work, as a message begins: "fitting a forest to 9 rows of 2 columns".
    advice : str
        What would need less.

    Raises
    ------
    MemoryError
        In one line: what is needed for what, what is there, and what to do.

    Examples
    --------
    >>> os.environ["HEDGEROW_MEMORY"] = "1GB"
    >>> require({"codes": 2_000_000_000, "scores": 500_000_000}, "fitting a stump to 2,000,000,000 rows")
    Traceback (most recent call last):
    MemoryError: fitting a stump to 2,000,000,000 rows needs about 2.5 GB (codes 2.0 GB, scores 500 MB), and
    HEDGEROW_MEMORY allows 1.0 GB; use fewer rows or columns, or set HEDGEROW_MEMORY to more, or to unlimited
    >>> del os.environ["HEDGEROW_MEMORY"]
    """
    total = need if isinstance(need, int) else sum(need.values())
    chosen = os.environ.get(VARIABLE)
    if total < _LITTLE and not chosen:
        return
    there = available_bytes()
    if there is None or total <= there:
        return
    parts = "" if isinstance(need, int) else f" ({_largest(need, total)})"
    rest = f"{VARIABLE} allows {as_text(there)}" if chosen else f"{as_text(there)} are available"
    override = f"set {VARIABLE} to more, or to unlimited" if chosen else f"set {VARIABLE} if that is wrong"
    raise MemoryError(f"{what} needs about {as_text(total)}{parts}, and {rest}; {advice}, or {override}")


def _largest(need: Need, total: int) -> str:
    """The parts that matter, largest first."""
    parts = sorted(need.items(), key=lambda part: -part[1])
    shown = [f"{name} {as_text(size)}" for name, size in parts[:_SHOWN] if 50 * size >= total]
    return ", ".join(shown)


def as_text(n_bytes: int) -> str:
    """Bytes for people.

    >>> as_text(61_234_567_890), as_text(999), as_text(20_000_000)
    ('61 GB', '999 bytes', '20 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    power = min(5, int(math.log10(n_bytes) / 3))
    if n_bytes >= 999.5 * 1000**power and power < 5:  # 999,999 would read "1000 kB"
        power += 1
    value = n_bytes / 1000**power
    return f"{value:,.1f} {'kMGTP'[power - 1]}B" if value < 9.95 else f"{value:,.0f} {'kMGTP'[power - 1]}B"


def added(needs: Iterable[Need]) -> dict[str, int]:
    """Several needs at the same time.

    >>> added([{"codes": 3, "scores": 4}, {"codes": 5}])
    {'codes': 8, 'scores': 4}
    """
    whole: dict[str, int] = {}
    for need in needs:
        for name, size in need.items():
            whole[name] = whole.get(name, 0) + size
    return whole


def rows_at_once(n_columns: int, most: int) -> int:
    """Rows of a block that is read as floats: at the most so many, and fewer of a wide table.

    >>> rows_at_once(28, 65_536), rows_at_once(100_000, 65_536)
    (65536, 80)
    """
    return max(1, min(most, _BLOCK_BYTES // (8 * max(1, n_columns))))
