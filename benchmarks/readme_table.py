"""Compare every family with its peers in one run and write the tables of README.md and docs/measured.md.

One table of rows each for gradient boosting, AdaBoost and random forests, one photograph for cascades; the
README.md of this folder describes what is compared and how. A time is that of a fit; for cascades it is the
time to find all objects in a photograph. "Times faster" is the peer's time over Hedgerow's in this run.
README.md shows one row for each peer in SHORT, docs/measured.md all rows. Requires the extra `peers`; takes
nine minutes on an idle machine with two cores.
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

ROOT = Path(__file__).parents[1]
AUC_NOTE = (
    "An AUC is the mean over {} samples; in brackets is the mean difference to Hedgerow's on the same "
    "samples, ± its standard error."
)
README, MEASURED = ROOT / "README.md", ROOT / "docs" / "measured.md"
MARKS = ("<!-- table by make table -->", "<!-- end of table -->")
HEADER = ("work", "peer", "its time", "Hedgerow", "times faster", "its quality", "Hedgerow")
Row = tuple[str, str, str, str, str, str, str]
SHORT = (  # first word of the work, peer
    ("gradient", "LightGBM"),
    ("gradient", "XGBoost hist"),
    ("AdaBoost", "scikit-learn"),
    ("random", "scikit-learn"),
    ("frontalface_alt2", "OpenCV 4"),
)


def duration(seconds: float) -> str:
    """Format seconds with three digits and a unit."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def row(work: str, peer: str, theirs: float, ours: float, quality: tuple[str, str]) -> Row:
    """Make one row of the table."""
    return work, peer, duration(theirs), duration(ours), f"**{theirs / ours:.1f}**", *quality


def gradient_rows(quick: bool, log: Console) -> list[Row]:
    """Compare gradient boosting with all peers."""
    rows = 20_000 if quick else 1_000_000
    size = gradient_boosting.Size("simulated", rows, rows // 5, 31, 100, 2)
    measured = gradient_boosting.measure_all(size, list(LIBRARIES), samples(quick), log)
    ours = measured["hedgerow"]
    work = f"gradient boosting, {rows:,} × 28, 100 rounds of 31 leaves"
    return [
        row(
            work,
            LIBRARIES[name].name,
            figures["fit_s"],
            ours["fit_s"],
            (f"AUC {auc(figures)}", f"{ours['auc']:.4f}"),
        )
        for name, figures in measured.items()
        if name != "hedgerow" and figures
    ]


def samples(quick: bool) -> int:
    """Return the number of samples that gradient boosting is measured on."""
    return 2 if quick else 5


def auc(figures: dict[str, float]) -> str:
    """Format the mean AUC, and its mean difference to Hedgerow's with the standard error."""
    difference = gradient_boosting.mean_and_error(figures, "auc_gained", signed=True, digits=4)
    return f"{figures['auc']:.4f} ({difference})"


def adaboost_rows(quick: bool, log: Console) -> list[Row]:
    """Compare AdaBoost with scikit-learn's, with the same kind of stumps and with the defaults."""
    rows = 5_000 if quick else 100_000
    job = adaboost.Job("table", rows=rows, test_rows=rows, fits=3)
    names = [adaboost.PEER, "gini", adaboost.OURS]
    measured = adaboost.measure_all(job, names, 1, log)
    theirs = measured[adaboost.PEER]
    return [
        row(
            f"AdaBoost, {rows:,} × 30, 100 stumps{kind}",
            "scikit-learn",
            theirs["fit_s"],
            measured[name]["fit_s"],
            (f"accuracy {theirs['accuracy']:.4f}", f"{measured[name]['accuracy']:.4f}"),
        )
        for name, kind in (("gini", " of the same kind"), (adaboost.OURS, ", ours by default"))
    ]


def forest_rows(quick: bool, log: Console) -> list[Row]:
    """Compare random forests and extremely randomised trees with libraries that grow trees as deep."""
    rows = 5_000 if quick else 100_000
    names = ("hedgerow", "sklearn", "hedgerow-extra", "sklearn-extra", "ydf-deep")
    plan = forests.Plan("simulated", rows, rows, 30, 100, names)
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
    """Compare detection with OpenCV on one photograph in two sizes."""
    import cv2

    cv2.setNumThreads(cascades.THREADS)
    ours, theirs = cascades.both("frontalface_alt2")
    rows = []
    for size in cascades.SIZES:
        image = cascades.photo(cascades.PHOTOS[0], size)
        same = cascades.same_windows(ours, theirs, image)
        mine, others = cascades.times(ours, theirs, image, 2 if quick else 15)
        text = "all windows the same" if same else "WINDOWS DIFFER"
        work = f"frontalface_alt2 on {size[0]} × {size[1]} pixels"
        rows.append(row(work, "OpenCV 4", statistics.median(others), statistics.median(mine), (text, text)))
    return rows


def shortened(rows: Sequence[Row]) -> list[Row]:
    """Return the first row of each work and peer in SHORT."""
    found = [
        next((one for one in rows if one[0].split(maxsplit=1)[0].strip(",") == work and one[1] == peer), None)
        for work, peer in SHORT
    ]
    return [one for one in found if one is not None]


def markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table; a work equal to that of the row above is left out."""
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|" + "---|" * (len(HEADER) - 2)]
    before = ""
    for work, *cells in rows:
        lines.append("| " + " | ".join(["" if work == before else work, *cells]) + " |")
        before = work
    return "\n".join(lines)


def insert(page: str, table: str, marks: tuple[str, str] = MARKS) -> str:
    """Return the page with the table between its markers."""
    first, last = marks
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no markers for the table: {first} ... {last}")
    return pattern.sub(lambda _: f"{first}\n\n{table}\n\n{last}", page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the tables into the pages")
    parser.add_argument("--quick", action="store_true", help="use small tables")
    options = parser.parse_args(arguments)
    log = Console(stderr=True)
    rows = [
        *gradient_rows(options.quick, log),
        *adaboost_rows(options.quick, log),
        *forest_rows(options.quick, log),
        *cascade_rows(options.quick),
    ]
    machine = f"{gradient_boosting.machine()}."
    note = AUC_NOTE.format(samples(options.quick))
    print(f"{markdown(rows)}\n\n{note}\n\n{machine}")
    if options.write:
        for path, shown in ((README, shortened(rows)), (MEASURED, rows)):
            text = f"{markdown(shown)}\n\n{note}\n\n{machine}"
            page = insert(path.read_text(encoding="utf-8"), text)
            path.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
