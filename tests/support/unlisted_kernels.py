"""Kernels that a run of the tests compiled although `signatures.txt` does not list them.

A platform wheel has the listed signatures only and cannot compile others. The object files of the cache tell
what was compiled: by this run, or by an earlier one with the same kernels.
"""

import json
from pathlib import Path

from hedgerow.kernels import signatures

# Kernels that tests call, while the package calls them from other kernels only.
CALLED_BY_TESTS = {
    "elementary.exp_clamped",
    "elementary.log1p",
    "elementary.sigmoid",
    "histogram.add_packed",
    "histogram.add_wide",
    "histogram.fill_private",
    "histogram.merge_column",
    "histogram.subtract_column",
    "histogram.sum_stored",
    "histogram.widen",
    "leaf_targets.nth_smallest",
    "partition.count_copies",
    "partition.count_left",
    "partition.gather_rows",
    "partition.in_set",
    "partition.thread_range",
    "partition.split_rows",
    "random._mix",
    "random.normal",
    "split.leaf_value",
    "split.split_score",
    "votes._choose_rows",
    "weak._fill",
}
# Signatures of other kernels that a test calls on purpose.
TESTED = {
    # strided arrays are compiled for
    ("gradients.fill_squared", "float64[:], float64[::1], float64[::1], float64[::1]"),
}


def unlisted(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the object files of unlisted signatures: those that only tests need, and the others."""
    tested, unexpected = [], []
    for path in sorted(folder.glob("*.o")):
        with path.open("rb") as file:
            head = json.loads(file.readline())
        kernel, signature = head["kernel"], head["signature"]
        if signatures.parse(signature) not in signatures.of_kernel(kernel):
            expected = kernel in CALLED_BY_TESTS or (kernel, signature) in TESTED
            (tested if expected else unexpected).append(path)
    return tested, unexpected


def report(folder: Path) -> tuple[list[str], bool]:
    """Return lines to print, and whether no kernel is compiled that should be listed."""
    tested, unexpected = unlisted(folder)
    n_compiled = sum(1 for _ in folder.glob("*.o"))
    called = f"{len(tested)} are called by tests only and {len(unexpected)} should be in signatures.txt"
    lines = [f"compiled kernels: {n_compiled}, of which {called}"]
    for path in unexpected:
        with path.open("rb") as file:
            head = json.loads(file.readline())
        lines.append(f"  {head['kernel']}({head['signature']})")
    if unexpected:
        lines.append(
            "Make their arguments those of the list, add lines to signatures.txt, or, for a kernel that only "
            f"tests call, to {Path(__file__).name}. Files of earlier runs are in {folder}"
        )
    return lines, not unexpected
