"""Small reports of each kind, and checks of their HTML."""

import re
from functools import cache
from itertools import pairwise

import html5lib
import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from hedgerow import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.report import Report
from hedgerow.theory import certify

SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"


def halves(X, y):
    """Training rows and test rows: every third row is held out."""
    held = np.arange(len(y)) % 3 == 0
    return X[~held], y[~held], X[held], y[held]


def mixed_table(n_rows=300):
    """Numbers, categories and a boolean, some missing, with a label that depends on all of them."""
    random = np.random.default_rng(5)
    age = random.normal(40, 12, n_rows).round(1)
    colour = np.array(["red", "green", "<blue> & 'co'"])[random.integers(0, 3, n_rows)]
    member = random.random(n_rows) < 0.4
    score = (age - 40) / 12 + (colour == "red") + member + random.normal(0, 0.5, n_rows)
    y = np.where(score > 0.8, "yes", "no").astype(object)
    table = pa.table(
        {
            'age of the "owner"': pa.array(age, mask=random.random(n_rows) < 0.1),
            "colour": pa.array(colour, mask=random.random(n_rows) < 0.1).dictionary_encode(),
            "member": pa.array(member),
        }
    )
    return table, y


@cache
def case(kind):
    """A model, its training rows and labels, and test rows and labels; made once."""
    if kind == "mixed":
        X, y = mixed_table()
        held = np.arange(len(y)) % 3 == 0
        rows = (X.filter(~held), y[~held], X.filter(held), y[held])
        model = GradientBoostingClassifier(n_estimators=15, random_state=0)
    elif kind == "adaboost":
        X, y = load_breast_cancer(return_X_y=True)
        rows = halves(X[:, 20:26], y)
        model = AdaBoostClassifier(n_estimators=12, random_state=0)
    elif kind == "forest":
        rows = halves(*load_iris(return_X_y=True))
        model = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0)
    else:
        X, y = load_diabetes(return_X_y=True)
        rows = halves(X[:, 2:6], y)
        model = GradientBoostingRegressor(n_estimators=12, random_state=0)
    return model.fit(*rows[:2]), *rows


@cache
def report(kind):
    """The report of a case; made once."""
    model, X, y, X_test, y_test = case(kind)
    if kind == "mixed":  # without training rows
        return Report.from_estimator(model, X_test, y_test)
    certificate = certify(model, X_test, y_test) if kind == "adaboost" else None
    return Report.from_estimator(model, X_test, y_test, X_train=X, y_train=y, certificate=certificate)


def parsed(html):
    """The page as a tree; html5lib's strict parser raises at the first fault."""
    return html5lib.HTMLParser(strict=True).parse(html)


def faults(html):
    """Descriptions of all faults of a page."""
    found = []
    root = parsed(html)
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    ids = [element.get("id") for element in elements if element.get("id") is not None]
    found += [f"id {name!r} twice" for name in set(ids) if ids.count(name) > 1]
    for element in elements:
        for key, value in element.attrib.items():
            name = str(key).rpartition("}")[2]
            if name in ("href", "src") and not value.startswith(("#", "data:image/png;base64,")):
                found.append(f"{element.tag} refers to {value!r}")
            if name == "href" and value.startswith("#") and value[1:] not in ids:
                found.append(f"{value!r} has no target")
            found += [
                f"{value!r} is loaded"
                for target in re.findall(r"url\(([^)]*)\)", value)
                if target[1:] not in ids
            ]
            if name.startswith("on"):
                found.append(f"{name} is a script")
        if element.tag == f"{XHTML}script":
            found.append("there is a script")
        if element.tag == f"{XHTML}style" and re.search(r"url\(|@import|expression", element.text):
            found.append("the style loads something")
    return found + accessibility_faults(elements)


def accessibility_faults(elements):
    """Faults that affect screen readers."""
    found = []
    headings = [
        int(element.tag[-1]) for element in elements if re.fullmatch(re.escape(XHTML) + "h[1-6]", element.tag)
    ]
    if headings.count(1) != 1 or headings[0] != 1:
        found.append(f"headings {headings}: one h1 and first")
    found += [f"h{b} after h{a}" for a, b in pairwise(headings) if b > a + 1]
    for element in elements:
        if element.tag == f"{SVG}svg" and not (element.get("role") == "img" and element.get("aria-label")):
            found.append("a drawing without a label")
        if element.tag == f"{XHTML}th" and element.get("scope") not in ("row", "col"):
            found.append("a table head without scope")
        if element.tag == f"{XHTML}figure" and element.find(f"{XHTML}figcaption") is None:
            found.append("a figure without caption")
        if element.tag == f"{XHTML}table" and element.find(f"{XHTML}caption") is None:
            found.append("a table without caption")
        if element.tag == f"{XHTML}html" and element.get("lang") != "en":
            found.append("no language")
    return found


def text_of(html):
    """The text of a page."""
    return " ".join("".join(parsed(html).find(f".//{XHTML}body").itertext()).split())
