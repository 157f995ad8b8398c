"""Section: the certificate, whole."""

import math

import numpy as np
from markupsafe import Markup

from hedgerow.plots import BoundsDisplay
from hedgerow.report import page, words
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section
from hedgerow.theory.certificate import ALWAYS, Certificate


def certificate(facts: Facts) -> Section | None:
    """Every bound with its conditions, and those that do not apply."""
    found = facts.certificate
    if found is None:
        return None
    vacuous = found.best is None or found.is_vacuous(found.best)
    parts = [page.paragraph(found.statement, kind="statement vacuous" if vacuous else "statement")]
    if found.bounds:
        error = float(np.mean(facts.wrong)) if facts.is_classification else None
        display = BoundsDisplay.from_certificate(found, test_error=error)
        caption = (
            "All bounds of the error on new rows, beside the error of chance and that on the rows held out."
        )
        alt = f"Bars: the smallest bound is {found.error_bound:.4f}, chance is {found.chance_error:.4f}"
        parts += [facts.draw("bounds", display, caption, alt), bounds_table(found)]
    if found.of_training:
        told = [f"{name}: {words.number(value)}" for name, value in found.of_training]
        parts += [page.heading("Certain about the rows of the fit"), page.bullets(told)]
    if found.unmet:
        parts += [page.heading("Not reported"), page.bullets(_reasons(found))]
    if found.notes:
        parts += [page.heading("Notes on the certificate"), page.bullets(found.notes)]
    return Section("certificate", "Certificate", page.join(*parts))


def bounds_table(found: Certificate) -> Markup:
    """The bounds from the smallest on, each with what it rests on.

    >>> from hedgerow.theory.certificate import Bound
    >>> bound = Bound("hold-out", 0.12341, 0.05, 100, "4 errors in 100 rows", "the rows are new")
    >>> '<td class="number">0.1235</td>' in bounds_table(Certificate("a model", 0.05, 0.37, (bound,)))
    True
    """
    ordered = sorted(found.bounds, key=lambda bound: bound.value)
    provisos = list(dict.fromkeys(bound.proviso for bound in found.bounds if bound.proviso))
    rows = []
    for bound in ordered:
        stars = " " + "*" * (provisos.index(bound.proviso) + 1) if bound.proviso else ""
        vacuous = ", vacuous" if found.is_vacuous(bound) else ""
        share = f"{bound.delta:.3g}" if bound.delta else words.NOTHING
        value = _at_most(bound.value) + vacuous
        rows.append([bound.name + stars, value, share, f"{bound.n:,}", bound.found, bound.conditions])
    head = ["bound", "error at most", "delta", "rows", "found", "holds if also"]
    told = page.table("Bounds of the error on new rows", head, rows, numbers=[1, 2, 3], marked=[0])
    notes = [page.paragraph(f"{'*' * n} {proviso}", kind="small") for n, proviso in enumerate(provisos, 1)]
    sure = f"{100 * (1 - found.delta):.10g} %"
    terms = (
        f"Condition of all bounds: {ALWAYS} A bound is vacuous if it is not below {found.chance_error:.4f}, "
        "the error of always answering the most frequent class. All bounds hold together with probability "
        f"{sure} at least."
    )
    return page.join(told, *notes, page.paragraph(terms, kind="small"))


def _at_most(value: float) -> str:
    """An error, rounded up so that it stays a bound."""
    return "> 1" if value > 1 else f"{math.ceil(value * 1e4 - 1e-9) / 1e4:.4f}"


def _reasons(found: Certificate) -> list[str]:
    """The bounds that are not reported, by the reason they share."""
    by_reason: dict[str, list[str]] = {}
    for unmet in found.unmet:
        by_reason.setdefault(unmet.reason, []).append(unmet.name)
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
