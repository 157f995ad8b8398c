"""Make the image of a report in the README: docs/report.png.

A report on the breast cancer data of scikit-learn is rendered 1280 pixels wide by Chromium or Chrome, which
must be on the PATH. The image combines its summary, learning curve, importances, confusion matrix and bounds.

    python examples/report_picture.py [docs/report.png]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from sklearn.datasets import load_breast_cancer

from hedgerow import AdaBoostClassifier
from hedgerow.datafiles import describe, make_recipe
from hedgerow.report import Report, ReportData
from hedgerow.selection import hold_out, take_rows
from hedgerow.theory import certify

WIDTH, HEIGHT = 1280, 14000  # of the window; the page must fit
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
EDGE = 24  # pixels around an element

# A page with a script that finds the boxes [left, top, right, bottom] of elements by the id of their heading;
# the report itself has no scripts.
RULER = """<!doctype html><title>ruler</title><body style="margin:0">
<iframe id="page" src="report.html" style="border:0;width:{width}px;height:{height}px"></iframe>
<pre id="out"></pre><script>
document.getElementById("page").onload = (event) => {{
  const page = event.target.contentDocument, found = {{}};
  const box = (e) => {{ const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; }};
  for (const head of page.querySelectorAll("h1, h2")) {{
    const boxes = [...head.parentElement.querySelectorAll("figure svg, .statement, .statement + .small")];
    found[head.id || "title"] = {{head: box(head), boxes: boxes.map(box)}};
  }}
  document.getElementById("out").textContent = JSON.stringify(found);
}};
</script>"""


def make_report() -> Report:
    """AdaBoost on the breast cancer data of scikit-learn, with a fifth of the rows for testing."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    columns = {name: data.data[:, number] for number, name in enumerate(names)}
    table = pa.table({**columns, "diagnosis": np.array(["malignant", "benign"])[data.target]})
    recipe = make_recipe(table, "diagnosis")
    X, y = recipe.features(table), recipe.labels(table)
    train, test = hold_out(y, "classification", 0.2, 0)
    X_train, X_test = take_rows(X, train), take_rows(X, test)
    model = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X_train, y[train])
    facts = ReportData(model, X_test, y[test], X_train, y[train])
    facts.summary, facts.recipe = describe(table), recipe
    facts.certificate = certify(model, X_test, y[test])
    return Report.from_facts(facts, title="Breast cancer: the diagnosis")


def browse(browser: str, folder: Path, *options: str) -> str:
    """Open the ruler page in the browser, and return its output."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--allow-file-access-from-files", "--blink-settings=preferredColorScheme=1",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{HEIGHT}", *options,
        (folder / "ruler.html").as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout  # noqa: S603 - our own


def compose(page: Image.Image, found: dict[str, dict[str, Any]]) -> Image.Image:
    """Combine elements of the page."""

    def crop(name: str, n_boxes: int = 1, *, headed: bool = True) -> Image.Image:
        shown = found[name]["boxes"][:n_boxes] if headed else found[name]["boxes"][n_boxes - 1 : n_boxes]
        boxes = np.array([*([found[name]["head"]] if headed else []), *shown])
        left, top = boxes[:, :2].min(axis=0)
        right, bottom = np.array(shown)[:, 2:].max(axis=0)
        if bottom > page.height:
            raise ValueError(
                f"the page is longer than HEIGHT={page.height}: the section {name!r} is not on it"
            )
        return page.crop((round(left), round(top), round(right) + 2, round(bottom) + 2))

    left, right = round(found["title"]["head"][0]), round(found["title"]["head"][2])
    bottom = max(box[3] for box in found["summary"]["boxes"])
    images = [page.crop((0, 0, WIDTH, round(bottom) + EDGE))]
    corners = [(0, 0)]
    top = images[0].height
    bounds = crop("certificate", 2, headed=False)  # its statement is in the summary
    for pair in ((crop("curves"), crop("importances")), (crop("confusion"), bounds)):
        images += pair
        corners += [(left, top), (right - pair[1].width, top)]
        top += max(one.height for one in pair) + EDGE
    sheet = Image.new("RGB", (WIDTH, top), "white")
    for one, corner in zip(images, corners, strict=True):
        sheet.paste(one, corner)
    return sheet


def main() -> int:
    """Make the report, render it, and save the image."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("picture", nargs="?", default="docs/report.png")
    picture = Path(parser.parse_args().picture)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"no browser is on the PATH: the image requires one of {', '.join(BROWSERS)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        make_report().save(folder / "report.html")
        (folder / "ruler.html").write_text(RULER.format(width=WIDTH, height=HEIGHT), encoding="utf-8")
        boxes = re.search(r'<pre id="out">([^<]+)</pre>', browse(browser, folder, "--dump-dom"))
        if boxes is None:
            print(f"{browser} did not report the positions of the elements", file=sys.stderr)
            return 1
        browse(browser, folder, f"--screenshot={folder / 'page.png'}")
        page = Image.open(folder / "page.png").convert("RGB")
        sheet = compose(page, json.loads(boxes[1]))
        sheet.save(picture, optimize=True)
    print(f"{picture}: {sheet.width} x {sheet.height} pixels, {picture.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
