"""The README's comparison: one run of every family beside its peers, written into README.md by `--write`.

The work is that of the other scripts, a smaller share of it: one table of rows each for gradient boosting,
AdaBoost and random forests, one photograph for cascades. What is compared and how: README.md of this folder.
A time is that of a fit, but for cascades that of finding all objects in a photograph; "times" is the peer's
time over Hedgerow's in this run. Needs the extra `peers`; seven minutes on an idle machine with two cores.
"""

import argparse
import re
import statistics
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import adaboost
import cascades
import forests
import gradient_boosting
from forest_peers import FORESTS
from peers import LIBRARIES

README = Path(__file__).parents[1] / "README.md"
MARKS = ("<!-- table by make table -->", "<!-- end of table -->")
HEADER = ("work", "peer", "its time", "Hedgerow", "times faster", "its quality", "Hedgerow")
Row = tuple[str, str, str, str, str, str, str]


def duration(seconds: float) -> str:
    """Three digits with their unit."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def row(work: str, peer: str, theirs: float, ours: float, quality: tuple[str, str]) -> Row:
    """One line of the table."""
    return work, peer, duration(theirs), duration(ours), f"**{theirs / ours:.1f}**", *quality


def gradient_rows(quick: bool, log: Console) -> list[Row]:
    """Gradient boosting on many rows, beside all peers."""
    rows = 20_000 if quick else 1_000_000
    size = gradient_boosting.Size("simulated", rows, rows // 5, 31, 100, 2)
    measured = gradient_boosting.measure_all(size, list(LIBRARIES), 1 if quick else 3, log)
    ours = measured["hedgerow"]
    work = f"gradient boosting, {rows:,} × 28, 100 rounds of 31 leaves"
    return [
        row(
            work,
            LIBRARIES[name].name,
            figures["fit_s"],
            ours["fit_s"],
            (f"AUC {figures['auc']:.4f}", f"{ours['auc']:.4f}"),
        )
        for name, figures in measured.items()
        if name != "hedgerow" and figures
    ]


def adaboost_rows(quick: bool, log: Console) -> list[Row]:
    """AdaBoost beside scikit-learn's, with its own stumps as nearly as can be."""
    rows = 5_000 if quick else 100_000
    job = adaboost.Job("table", rows=rows, test_rows=rows, fits=3)
    names = [adaboost.PEER, "gini", adaboost.OURS]
    measured = adaboost.measure_all(job, names, 1, log)
    theirs = measured[adaboost.PEER]
    return [
        row(
            f"AdaBoost, {rows:,} × 30, 100 stumps{words}",
            "scikit-learn",
            theirs["fit_s"],
            measured[name]["fit_s"],
            (f"accuracy {theirs['accuracy']:.4f}", f"{measured[name]['accuracy']:.4f}"),
        )
        for name, words in (("gini", " of the same kind"), (adaboost.OURS, ", ours by default"))
    ]


def forest_rows(quick: bool, log: Console) -> list[Row]:
    """Random forests and extremely randomised trees beside those that grow trees as deep."""
    rows = 5_000 if quick else 100_000
    contenders = ("hedgerow", "sklearn", "hedgerow-extra", "sklearn-extra", "ydf-deep")
    plan = forests.Plan("simulated", rows, rows, 30, 100, contenders)
    _, measured = forests.measure_all(plan, Namespace(threads=2, limit=3600.0, fits=1), log)
    pairs = (
        ("random forest", "hedgerow", "sklearn"),
        ("random forest", "hedgerow", "ydf-deep"),
        ("extremely randomised trees", "hedgerow-extra", "sklearn-extra"),
    )
    return [
        row(
            f"{work}, {rows:,} × 30, 100 trees",
            FORESTS[peer].name.removesuffix(" ExtraTrees"),
            measured[peer]["fit_s"],
            measured[ours]["fit_s"],
            (f"accuracy {measured[peer]['accuracy']:.4f}", f"{measured[ours]['accuracy']:.4f}"),
        )
        for work, ours, peer in pairs
        if measured[peer]
    ]


def cascade_rows(quick: bool) -> list[Row]:
    """Detection beside OpenCV, on one photograph in two sizes."""
    import cv2

    cv2.setNumThreads(cascades.THREADS)
    ours, theirs = cascades.both("frontalface_alt2")
    rows = []
    for size in cascades.SIZES:
        image = cascades.photo(cascades.PHOTOS[0], size)
        same = cascades.same_windows(ours, theirs, image)
        mine, others = cascades.times(ours, theirs, image, 2 if quick else 15)
        words = "all windows the same" if same else "WINDOWS DIFFER"
        work = f"frontalface_alt2 on {size[0]} × {size[1]} pixels"
        rows.append(row(work, "OpenCV 4", statistics.median(others), statistics.median(mine), (words, words)))
    return rows


def markdown(rows: Sequence[Row]) -> str:
    """The table; what the line above says too is left out."""
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|" + "---|" * (len(HEADER) - 2)]
    before = ""
    for work, *cells in rows:
        lines.append("| " + " | ".join(["" if work == before else work, *cells]) + " |")
        before = work
    return "\n".join(lines)


def insert(page: str, table: str) -> str:
    """The page with the table between its marks."""
    pattern = re.compile(f"{re.escape(MARKS[0])}.*?{re.escape(MARKS[1])}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no place for the table: {MARKS[0]} ... {MARKS[1]}")
    return pattern.sub(lambda _: f"{MARKS[0]}\n\n{table}\n\n{MARKS[1]}", page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.add_argument("--quick", action="store_true", help="small: does everything run?")
    options = parser.parse_args(arguments)
    log = Console(stderr=True)
    rows = [
        *gradient_rows(options.quick, log),
        *adaboost_rows(options.quick, log),
        *forest_rows(options.quick, log),
        *cascade_rows(options.quick),
    ]
    table = f"{markdown(rows)}\n\n{gradient_boosting.machine()}."
    print(table)
    if options.write:
        README.write_text(insert(README.read_text(encoding="utf-8"), table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
