"""Compiled kernels on disk: damaged files, folders that cannot be written, several processes, libraries."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hedgerow.kernels import build, library, native, signatures
from hedgerow.kernels.cache import (
    AARCH64,
    FEATURES,
    ObjectCache,
    _one_process_at_a_time,
    family_of,
    target_of,
    write,
)
from hedgerow.kernels.library import Library, source_checksum, usable_levels

SOURCE = Path(native.__file__).parents[2]
DRAW = ("random.draw", "int64, int64, int64, int64")
SIGNATURE = signatures.parse(DRAW[1])
# This signature is not listed, so that it is compiled alone: the other one is compiled with its family.
LONE = "from numpy import uint64; from hedgerow.kernels.cpu.random import _mix; print(_mix(uint64(5)))"
CALL = "from hedgerow.kernels.cpu.random import draw; print(draw(1, 2, 3, 4))"


@pytest.fixture
def few(monkeypatch):
    """A short list of signatures, so that compiling takes a second."""
    exponential = signatures.parse("float64[::1], float64[::1]")
    listed = {"one": {DRAW[0]: (SIGNATURE,)}, "other": {"elementary.exp_into": (exponential,)}}
    monkeypatch.setattr(signatures, "listed", lambda: listed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(code, **environment):
    """Run code in a new process; return what it prints, without the warnings."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- objects


@pytest.mark.usefixtures("few")
def test_a_kernel_is_compiled_once(folder):
    first, second = ObjectCache(None), ObjectCache(None)
    assert first.compile([DRAW]) == 1
    assert second.compile([DRAW]) == 0
    assert second.address(*DRAW) != 0
    assert [path.suffix for path in sorted(first.folder.iterdir())] == [".o", ""]
    assert first.folder.parent == folder
    assert "1 entry points" in first.describe()


@pytest.mark.usefixtures("few", "folder")
def test_the_progress_of_compiling_ends_with_all_kernels(capfd):
    ObjectCache(None).compile([DRAW])
    assert "compiling kernels for this processor, once  1 of 1" in capfd.readouterr().err


@pytest.mark.usefixtures("few", "folder")
def test_kernels_are_compiled_without_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)  # as in programs without a console
    assert ObjectCache(None).compile([DRAW]) == 1


def test_files_of_the_current_folder_are_not_imported(tmp_path):
    """A table may lie beside files that have the names of modules."""
    for name in ("random", "numba", "json", "hedgerow"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    done = subprocess.run(
        [sys.executable, "-P", "-c", LONE],
        cwd=tmp_path,
        env={**os.environ, "HEDGEROW_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == run(LONE)


def test_the_target_of_a_library_has_the_features_of_its_level():
    triple, name, features = target_of("x86-64-v4").split(" ")
    assert (name, features) == ("x86-64-v4", "-prefer-256-bit")
    assert target_of("x86-64-v3") == f"{triple} x86-64-v3 "
    assert target_of("aarch64+sve") == f"{AARCH64} generic +sve"


@pytest.mark.usefixtures("folder")
def test_processors_features_and_versions_have_folders_of_their_own(monkeypatch):
    folders = [ObjectCache(cpu).folder for cpu in (None, "x86-64-v4", "x86-64-v3", "aarch64", "aarch64+sve")]
    monkeypatch.setitem(FEATURES, "x86-64-v4", "")
    folders.append(ObjectCache("x86-64-v4").folder)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "another")
    folders.append(ObjectCache(None).folder)
    assert len(set(folders)) == len(folders)


@pytest.mark.usefixtures("few", "folder")
def test_a_damaged_object_is_compiled_again():
    cache = ObjectCache(None)
    cache.compile([DRAW])
    (path,) = cache.folder.glob("*.o")
    whole = path.read_bytes()
    for damaged in (whole[:-100], whole[:-1] + b"?", b"", b'{"a": 1}\nxyz'):
        path.write_bytes(damaged)
        assert ObjectCache(None).address(*DRAW) != 0
        assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "file"))
    cache = ObjectCache(None)
    assert cache.folder.name.startswith("hedgerow-kernels-")
    assert run(LONE) == run(LONE, HEDGEROW_CACHE=str(tmp_path / "other"))


def test_without_a_home_folder_a_private_one_is_used(monkeypatch):
    def no_home():
        raise RuntimeError("could not determine home directory")

    monkeypatch.delenv("HEDGEROW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    folder = ObjectCache(None).folder
    assert folder.name.startswith("hedgerow-kernels-")
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HEDGEROW_CACHE": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/a/c"}, "/a/c/hedgerow"),
        ({"HOME": "/a/d"}, "/a/d/.cache/hedgerow"),
    ],
)
def test_the_folder_of_the_user(variables, expected, monkeypatch):
    from hedgerow.kernels.cache import _user_folder  # noqa: PLC0415 - private

    monkeypatch.delenv("HEDGEROW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _user_folder() == Path(expected)


@pytest.mark.slow
def test_two_processes_that_start_at_once_both_work(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: run(LONE, HEDGEROW_CACHE=str(tmp_path)), range(2)))
    assert found[0] == found[1] == run(LONE)
    (folder,) = tmp_path.iterdir()
    assert sorted(path.suffix for path in folder.iterdir()) == ["", ".o"]


@pytest.mark.usefixtures("few", "folder")
@pytest.mark.skipif(sys.platform == "win32", reason="processes do not wait for each other on Windows")
def test_a_process_that_waited_for_another_compiles_nothing(monkeypatch):
    stored = compiled_draw()
    second, found_nothing = ObjectCache(None), threading.Event()
    read = second.read

    def read_and_report(job):
        content = read(job)
        found_nothing.set()
        return content

    monkeypatch.setattr(second, "read", read_and_report)
    with ThreadPoolExecutor(1) as pool:
        with _one_process_at_a_time(second.folder / "lock"):
            waiting = pool.submit(second.compile, [DRAW])
            assert found_nothing.wait(60)
            write(second.folder, DRAW, stored)
        assert waiting.result(60) == 0


@pytest.mark.usefixtures("few", "folder")
@pytest.mark.skipif(sys.platform == "win32", reason="processes do not wait for each other on Windows")
def test_a_process_that_waits_says_so_and_a_file_system_without_locks_is_no_error(monkeypatch, capsys):
    import fcntl  # noqa: PLC0415 - not on Windows

    lock = ObjectCache(None).folder / "lock"
    for error, expected in (
        (BlockingIOError, "waiting for another process that compiles kernels\n"),
        (OSError(38, "no locks"), ""),
    ):
        found = []

        def flock(_, how, error=error, found=found):
            found.append(how)
            if how & fcntl.LOCK_NB:
                raise error

        monkeypatch.setattr(fcntl, "flock", flock)
        with _one_process_at_a_time(lock):
            assert found[0] == fcntl.LOCK_EX | fcntl.LOCK_NB
        assert capsys.readouterr().err == expected
        assert found[1:] == ([fcntl.LOCK_EX] if expected else [])


def compiled_draw():
    """Compile the kernel, remove it from the cache, and return its object file."""
    cache = ObjectCache(None)
    cache.compile([DRAW])
    stored = cache.read(DRAW)
    for path in cache.folder.glob("*.o"):
        path.unlink()
    return stored


@pytest.mark.skipif(sys.platform != "linux", reason="permissions of Linux")
@pytest.mark.parametrize("with_library", [False, True])
def test_nothing_is_written_to_a_read_only_package_and_home(with_library, small_library, tmp_path):
    site, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(Path(native.__file__).parents[1], site / "hedgerow")
    if with_library:
        libraries = site / "hedgerow" / "kernels" / "libraries"
        libraries.mkdir(exist_ok=True)
        for path in (small_library, small_library.with_suffix(".json")):
            shutil.copy(path, libraries)
    home.mkdir()
    folders = [home, site, *(path for path in site.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    before = {path: sorted(path.iterdir()) for path in folders}
    describe = "from hedgerow.kernels.native import code; print(code().describe())"
    variables = {"PYTHONPATH": str(site), "HOME": str(home), "HEDGEROW_CACHE": "", "XDG_CACHE_HOME": ""}
    number, source = run(f"{WITHOUT_PRIVILEGES}\n{CALL}; {describe}", **variables).splitlines()
    assert number == run(CALL)
    assert str(site if with_library else Path(tempfile.gettempdir()) / "hedgerow-kernels-") in source
    assert {path: sorted(path.iterdir()) for path in folders} == before


# Permissions do not hold for root: a new program is started without the capability to override them.
WITHOUT_PRIVILEGES = """
import ctypes, os, sys
if os.geteuid() == 0 and "restarted" not in os.environ:
    assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    os.environ["restarted"] = "yes"
    os.execv(sys.executable, sys.orig_argv)
"""


@pytest.mark.usefixtures("folder")
def test_a_kernel_that_cannot_be_compiled_is_an_error():
    with pytest.raises(RuntimeError, match=r"cannot be compiled: random\.nothing: AttributeError"):
        ObjectCache(None).compile([("random.nothing", "int64")])


@pytest.mark.usefixtures("folder")
def test_a_process_that_ends_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    with pytest.raises(RuntimeError, match="the compiling process ended"):
        ObjectCache(None).compile([DRAW])


def test_without_llvmlite_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    for cpu in (None, "x86-64-v3"):
        cache = ObjectCache(cpu)  # a library may have all kernels
        with pytest.raises(ImportError, match="pip install numba"):
            cache.compile([DRAW])


def test_a_signature_belongs_to_a_family():
    assert family_of(*DRAW) == "sampling"
    assert family_of("random.draw", "float64") == ""


# --- libraries


@pytest.fixture
def small_library(few, tmp_path, monkeypatch):  # noqa: ARG001 - it must be first
    """A library of one entry point, in the place where the package looks for it."""
    if shutil.which("ld") is None:
        pytest.skip("needs a linker")
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    level = usable_levels()[-1]
    return build.build_library(level, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are built on Linux")
def test_a_library_is_used_and_what_it_lacks_is_compiled(small_library):
    code = native.Code("")
    assert code.library.level == small_library.stem
    assert code.address(DRAW[0], SIGNATURE) == code.library.address(*DRAW)
    other = ("random.draw", "int64, int64, int64, uint64")
    assert code.library.address(*other) is None
    assert code.address(other[0], signatures.parse(other[1])) != 0
    assert code.compile_listed() == 0
    assert "compiled for" in code.describe()
    assert native.Code("jit").library is None
    function = native.make_function(code.address(DRAW[0], SIGNATURE), DRAW[0], SIGNATURE)
    assert str(function(1, 2, 3, 4)) == run(CALL)


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are built on Linux")
@pytest.mark.parametrize(
    "damage", ["cut", "changed", "manifest", "no manifest", "other sources", "other entry", "foreign"]
)
def test_a_library_that_is_not_whole_is_ignored_with_one_warning(damage, small_library):
    manifest = small_library.with_suffix(".json")
    content = json.loads(manifest.read_text())
    whole = small_library.read_bytes()
    if damage == "cut":
        small_library.write_bytes(whole[: len(whole) // 2])
    elif damage == "changed":
        small_library.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "manifest":
        manifest.write_text("[]")
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "other sources":
        manifest.write_text(json.dumps(content | {"sources": "0" * 64}))
    elif damage == "other entry":
        manifest.write_text(json.dumps(content | {"entries": [*content["entries"], "random.draw(int64)"]}))
    else:  # the checksum is right, but it is not a library of this system
        small_library.write_bytes(b"MZ" + whole[2:])
        import hashlib  # noqa: PLC0415

        content["library"] = hashlib.sha256(small_library.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(content))
    with pytest.warns(RuntimeWarning, match="is not used, kernels are compiled instead: .*/x86") as warned:
        code = native.Code("")
    assert len(warned) == 1
    assert code.library is None
    assert code.address(DRAW[0], SIGNATURE) != 0


@pytest.fixture
def levels(small_library, monkeypatch):
    """The library again, as that of three levels of this processor, the highest first."""
    names = ["high", "middle", small_library.stem]
    for name in names[:2]:
        for suffix in (".so", ".json"):
            shutil.copy(small_library.with_suffix(suffix), small_library.with_name(name + suffix))
    monkeypatch.setattr(library, "usable_levels", lambda: names)
    return names


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are built on Linux")
def test_after_damaged_libraries_that_of_the_next_level_is_used_with_one_warning(levels, tmp_path):
    assert Library.find().level == "high"
    for n_damaged, name in enumerate(levels, start=1):
        (tmp_path / f"{name}.so").write_bytes(b"")
        with pytest.warns(RuntimeWarning, match="a library of kernels is not used") as warned:
            found = Library.find()
        assert len(warned) == 1
        assert str(warned[0].message).count("its checksum differs") == n_damaged
        assert (found.level if found else None) == (*levels, None)[n_damaged]
    with pytest.warns(RuntimeWarning, match="kernels are compiled instead"):
        assert Library.find("high") is None


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are built on Linux")
def test_a_second_folder_of_libraries_is_searched_and_stale_ones_are_ignored(
    small_library, tmp_path, monkeypatch
):
    monkeypatch.setattr(library, "FOLDER", tmp_path / "package")
    assert Library.find() is None
    monkeypatch.setenv(library.SECOND_FOLDER, str(tmp_path))
    assert Library.find().path == small_library
    manifest = small_library.with_suffix(".json")
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(content | {"sources": "0" * 64}))
    assert Library.find() is None  # without a warning
    small_library.write_bytes(b"")
    manifest.write_text(json.dumps(content))
    with pytest.warns(RuntimeWarning, match="its checksum differs"):
        assert Library.find() is None


def test_a_level_without_library_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    assert Library.find() is None
    with pytest.raises(ValueError, match="HEDGEROW_KERNELS=x86-64-v9"):
        Library.find("x86-64-v9")


def test_checksums_cover_the_kernels():
    assert len(source_checksum()) == 64
    assert source_checksum() == source_checksum()


def test_objects_are_written_under_their_name(tmp_path):
    write(tmp_path, DRAW, b"code")
    (path,) = tmp_path.iterdir()
    head, stored = path.read_bytes().split(b"\n", 1)
    assert stored == b"code"
    assert json.loads(head)["kernel"] == DRAW[0]
