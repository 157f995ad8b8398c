import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow import system_memory
from hedgerow.memory import sum_estimates
from hedgerow.system_memory import available_memory, format_bytes, require_memory

GB = 10**9


def write_system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\n"


# --- available memory


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("4GB", 4 * GB),
        ("4 gb", 4 * GB),
        ("1.5GB", 1_500_000_000),
        ("512MiB", 512 * 2**20),
        ("2G", 2 * GB),
        ("1000", 1000),
        (".5kB", 500),
        ("1TB", 10**12),
        ("unlimited", None),
    ],
)
def test_the_variable_sets_the_available_memory(monkeypatch, text, n_bytes):
    monkeypatch.setenv("HEDGEROW_MEMORY", text)
    assert available_memory() == n_bytes


@pytest.mark.parametrize("text", ["much", "-4GB", "4XB", "GB", "0", "0GB", "nan", "1e400", "4GB 2", "inf"])
def test_a_bad_variable_is_refused_by_name_and_value(monkeypatch, text):
    monkeypatch.setenv("HEDGEROW_MEMORY", text)
    with pytest.raises(ValueError, match=rf"^HEDGEROW_MEMORY must be a number .* got '{text}'"):
        available_memory()


def test_an_empty_variable_is_ignored(monkeypatch):
    monkeypatch.setenv("HEDGEROW_MEMORY", "")
    assert available_memory() != 0


def test_meminfo_has_the_available_memory(tmp_path):
    root = write_system(tmp_path, {"proc/meminfo": MEMINFO})
    assert list(system_memory._linux_memory(root)) == [20_000_000 * 1024]


def test_a_system_without_proc_has_no_limits(tmp_path):
    assert list(system_memory._linux_memory(tmp_path)) == []


def test_every_parent_control_group_may_limit(tmp_path):
    top = "sys/fs/cgroup"
    root = write_system(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/outer/inner\n",
            f"{top}/outer/memory.max": "3000000000\n",
            f"{top}/outer/memory.current": "2500000000\n",
            f"{top}/outer/memory.stat": "anon 1000\nactive_file 100000000\ninactive_file 200000000\n",
            f"{top}/outer/inner/memory.max": "max\n",
            f"{top}/outer/inner/memory.current": "5\n",
        },
    )
    limits = sorted(system_memory._linux_memory(root))
    assert limits == [800_000_000, 20_000_000 * 1024]  # file caches are free


def test_the_root_of_a_container_is_its_control_group(tmp_path):
    top = "sys/fs/cgroup"
    files = {
        "proc/self/cgroup": "0::/../../kubepods/pod7\n",  # the path of the host, which does not exist
        f"{top}/memory.max": "1000\n",
        f"{top}/memory.current": "400\n",
    }
    assert list(system_memory._linux_memory(write_system(tmp_path, files))) == [600]


def test_control_groups_of_version_1(tmp_path):
    top = "sys/fs/cgroup/memory"
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/a/b\n",
        f"{top}/memory.limit_in_bytes": "9223372036854771712\n",  # no limit
        f"{top}/memory.usage_in_bytes": "9000\n",
        f"{top}/a/memory.limit_in_bytes": "5000\n",
        f"{top}/a/memory.usage_in_bytes": "4500\n",
        f"{top}/a/memory.stat": "total_inactive_file 300\ntotal_active_file 50\ninactive_file 1\n",
    }
    assert list(system_memory._linux_memory(write_system(tmp_path, files))) == [850]


def test_use_above_the_limit_leaves_0_bytes(monkeypatch):
    monkeypatch.delenv("HEDGEROW_MEMORY", raising=False)
    monkeypatch.setattr(system_memory, "_linux_memory", lambda _root: iter([-5, 100]))
    monkeypatch.setattr(system_memory, "_process_limits", lambda: iter([]))
    assert available_memory() == 0


def test_without_limits_the_memory_is_large_or_unknown(monkeypatch):
    monkeypatch.delenv("HEDGEROW_MEMORY", raising=False)
    monkeypatch.setattr(system_memory, "_linux_memory", lambda _root: iter([]))
    monkeypatch.setattr(system_memory, "_process_limits", lambda: iter([]))
    n_bytes = available_memory()
    assert n_bytes is None or n_bytes > 10**8


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of addresses is Linux's")
def test_limits_of_the_process():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))\n"
        "from system_memory import available_memory, require_memory\n"
        "n_bytes = available_memory(); assert 0 < n_bytes < 3_000_000_000, n_bytes\n"
        "try: require_memory(4_000_000_000, 'work')\n"
        "except MemoryError as error: print(error)\n"
    )
    # Only this module: the import of the library is slow.
    environment = {"PYTHONPATH": str(Path(system_memory.__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("work needs about 4.0 GB; ")


# --- require_memory


def test_the_message_has_estimates_limit_and_advice(monkeypatch):
    monkeypatch.setenv("HEDGEROW_MEMORY", "21.5GB")
    need = {"scores": 20 * GB, "codes": 40 * GB, "rows": GB, "dust": 5}
    with pytest.raises(MemoryError) as caught:
        require_memory(need, "fitting A to 5 rows", "use fewer rows")
    assert str(caught.value) == (
        "fitting A to 5 rows needs about 61 GB (codes 40 GB, scores 20 GB); HEDGEROW_MEMORY allows 22 GB: "
        "use fewer rows, or set HEDGEROW_MEMORY to more or to unlimited"
    )


def test_the_message_has_the_available_memory_of_the_system(monkeypatch):
    monkeypatch.delenv("HEDGEROW_MEMORY", raising=False)
    monkeypatch.setattr(system_memory, "available_memory", lambda: 2 * GB)
    with pytest.raises(MemoryError, match=r"^work needs about 3.0 GB; 2.0 GB are available: use fewer rows"):
        require_memory(3 * GB, "work")
    require_memory(2 * GB, "work")


def test_small_estimates_are_not_checked(monkeypatch):
    monkeypatch.delenv("HEDGEROW_MEMORY", raising=False)
    monkeypatch.setattr(system_memory, "available_memory", lambda: pytest.fail("called"))
    require_memory(1_000_000, "work")
    require_memory({"codes": 50_000_000, "scores": 1}, "work")


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.delenv("HEDGEROW_MEMORY", raising=False)
    monkeypatch.setattr(system_memory, "available_memory", lambda: None)
    require_memory(10**30, "work")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (999_999, "1.0 MB"),
        (123_456_789, "123 MB"),
        (61_200_000_000, "61 GB"),
        (10**15, "1.0 PB"),
        (10**19, "10,000 PB"),
    ],
)
def test_format_bytes(n_bytes, text):
    assert format_bytes(n_bytes) == text


def test_sum_estimates():
    assert sum_estimates([{"a": 1, "b": 2}, {"b": 3}, {}]) == {"a": 1, "b": 5}
