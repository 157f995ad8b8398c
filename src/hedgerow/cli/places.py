"""Where files go: checked before any work starts, so that nothing is lost at the end of it."""

import os
from pathlib import Path

from hedgerow.cli.errors import UsageError, WorkError


def check_new_file(
    option: str,
    path: Path | None,
    *,
    force: bool,
    suffixes: tuple[str, ...] = (),
    inputs: tuple[Path, ...] = (),
) -> bool:
    """Refuse a place that a file cannot be written to; returns whether it replaces one.

    Parameters
    ----------
    option : str
        How messages call it, such as "--out".
    path : Path or None
        None is fine: nothing will be written.
    force : bool
        Whether a file that is there may be replaced.
    suffixes : tuple of str
        The ends of the name that are allowed, if not all.
    inputs : tuple of Path
        Files that are read, which must never be replaced.
    """
    if path is None:
        return False
    if suffixes and not str(path).lower().endswith(suffixes):
        raise UsageError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise WorkError(f"{option} {path}: this is a folder; give the name of a file")
    if path.exists() and not path.is_file():  # a rename would put a file in place of the device itself
        raise WorkError(f"{option} {path}: this is a device or a pipe, not a file; give the name of a file")
    if not path.absolute().parent.is_dir():
        raise WorkError(f"{option} {path}: the folder {path.absolute().parent} does not exist; make it first")
    if not os.access(path.absolute().parent, os.W_OK):
        raise WorkError(f"{option} {path}: the folder {path.absolute().parent} cannot be written to")
    if any(one.exists() and path.exists() and path.samefile(one) for one in inputs):
        raise UsageError(f"{option} {path}: this file is read by the same command; give another name")
    if path.exists() and not force:
        raise WorkError(f"{option} {path}: the file exists; give another name, or --force to replace it")
    return path.exists()


def written(path: Path, *, replaced: bool) -> str:
    """How a person is told."""
    return f"{path} ({'replaced' if replaced else 'new'}, {path.stat().st_size:,} bytes)"
