"""Draw every picture of docs/theory.md, and print every figure that it quotes.

`python examples/theory.py docs/theory` writes the pictures into that folder, and the figures into its
figures.txt. `--only NAME` makes one picture; `--quick` takes few rows and rounds, as a check.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import theory_bounds as bounds
import theory_practice as practice
from theory_pictures import DPI, Picture

PICTURES: dict[str, Callable[[bool], Picture]] = {
    "training_error": bounds.training_error,
    "vc_dimension": bounds.vc_dimension,
    "bounds_rounds": bounds.bounds_rounds,
    "bounds_rows": bounds.bounds_rows,
    "after_zero": practice.after_zero,
    "margins": practice.margins,
    "margin_rounds": bounds.margin_rounds,
    "votes_rows": bounds.votes_rows,
    "certificate_rows": bounds.certificate_rows,
    "interval": practice.interval,
    "memorise": practice.memorise,
    "weak_strong": practice.weak_strong,
    "bias_variance": practice.bias_and_variance,
    "outliers": practice.outliers,
    "noise": practice.noise,
    "depths": practice.depths,
}


def make(name: str, folder: Path, quick: bool) -> list[str]:
    """Draw one picture into the folder and return its lines of figures.txt."""
    start = time.perf_counter()
    found = PICTURES[name](quick)
    found.figure.savefig(folder / f"{name}.png", dpi=DPI // 4 if quick else DPI)
    plt.close("all")
    print(f"\n{name}.png ({time.perf_counter() - start:.1f} s)")
    for line in found.lines:
        print(f"  {line}")
    return [f"{name}.png", *(f"  {line}" for line in found.lines)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="theory", type=Path, help="where pictures go (theory)")
    parser.add_argument("--only", choices=sorted(PICTURES), metavar="NAME", help="one picture, by its name")
    parser.add_argument("--quick", action="store_true", help="few rows and rounds")
    options = parser.parse_args(arguments)
    mpl.use("Agg")  # files, no windows
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = [
        line
        for name in ([options.only] if options.only else PICTURES)
        for line in make(name, options.folder, options.quick)
    ]
    if not options.only:
        (options.folder / "figures.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"\nThe pictures are in {options.folder}.")


if __name__ == "__main__":
    main()
