"""Draw the fit times of a saved benchmark run as bars: the picture of the README.

.venv/bin/python benchmarks/gradient_boosting.py --json run.json
.venv/bin/python benchmarks/draw.py run.json docs/speed.png
"""

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from peers import LIBRARIES

OWN, PEER, INK = "#2f7d4f", "#b9c4bd", "#26332b"


def draw(run: dict, target: Path) -> None:
    """One panel for each large table of the run."""
    mpl.use("Agg")
    sizes = [size for size in run["sizes"] if size["rows"] >= 100_000]
    figure, axes = plt.subplots(1, len(sizes), figsize=(4.6 * len(sizes), 2.9), squeeze=False)
    for axis, size in zip(axes[0], sizes, strict=True):
        measured = {name: figures["fit_s"] for name, figures in size["measurements"].items() if figures}
        names = sorted(measured, key=measured.__getitem__, reverse=True)
        seconds = [measured[name] for name in names]
        colours = [OWN if name == "hedgerow" else PEER for name in names]
        bars = axis.barh([LIBRARIES[name].name for name in names], seconds, color=colours, height=0.7)
        axis.bar_label(bars, [f"{value:.1f} s" for value in seconds], padding=4, color=INK, fontsize=9)
        axis.set_title(
            f"{size['rows']:,} rows × 28, {size['leaves']} leaves", color=INK, fontsize=10, loc="left"
        )
        axis.set_xlim(0, max(seconds) * 1.18)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.tick_params(left=False, labelcolor=INK, labelsize=9)
        axis.set_xticks([])
    figure.suptitle(
        "Fit of 100 rounds, 2 threads, shorter is better", color=INK, fontsize=11, x=0.01, ha="left"
    )
    figure.tight_layout()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=160)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    draw(json.loads(options.run.read_text()), options.target)
