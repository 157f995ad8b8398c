"""Sections: choice of the method, its parameters, learning curves, certificate, and how to reproduce it."""

import hashlib
import inspect
import math
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hedgerow.plots import BoundsDisplay, ErrorRoundsDisplay, LossRoundsDisplay, ScoresDisplay, labels
from hedgerow.report import page, text
from hedgerow.report.data import ReportData
from hedgerow.report.page import Section
from hedgerow.report.reproduction import (
    evaluation_code,
    file_card,
    file_code,
    fit_code,
    is_standard_input,
    weight_code,
    with_imports_first,
)
from hedgerow.selection import METRICS, Choice
from hedgerow.selection.metrics import metric_named
from hedgerow.selection.weighted_ensemble import members_of
from hedgerow.theory.certificate import ALWAYS, Certificate, format_bound, format_share

_PACKAGES = ("hedgerow", "numpy", "scipy", "scikit-learn", "pyarrow", "matplotlib")
_MAX_LETTERS = 80  # letters of a parameter's value
_MAX_METRICS = 3  # of the trials, the metric of the choice first
_NO_DEFAULT = inspect.Parameter.empty

# Attributes of a fitted model that are listed.
_FITTED = {
    "n_estimators_": "members",
    "best_iteration_": "best iteration by validation",
    "stop_reason_": "reason for stopping",
    "oob_score_": "out-of-bag score",
}


# --- choice


def choice(data: ReportData) -> Section | None:
    """Describe the methods that were compared, and the reason for the choice."""
    if data.choice is None:
        return None
    found = data.choice
    metric = found.ranking_metric
    better = "higher" if metric.higher_is_better else "lower"
    allowed = "" if found.budget is None else f" of {found.budget:g} allowed"
    # A model file has no seconds, so that equal models are equal files.
    took = f"; it took {found.seconds:.1f} seconds{allowed}" if math.isfinite(found.seconds) else ""
    elements = [
        page.paragraph(str(found.reason)),
        page.paragraph(
            f"Compared by {metric.title} ({better} is better), {found.validation}{took}.",
            kind="small",
        ),
        _trials(found),
    ]
    if sum(found.metric in trial.scores for trial in found.trials) > 1:
        display = ScoresDisplay.from_comparison(found, found.metric)
        alt = f"Dots: {metric.title} of each method, with its standard error"
        title = metric.title[:1].upper() + metric.title[1:]
        caption = f"{title} of the best setting of each method, with its standard error."
        elements.append(data.draw("scores", display, caption, alt))
    return Section("choice", "How the method was chosen", page.join(*elements))


def _trials(found: Choice) -> Markup:
    others = [name for name in METRICS if any(name in trial.scores for trial in found.trials)]
    shown = [found.metric, *(name for name in others if name != found.metric)][:_MAX_METRICS]
    # the best first; trials without a score last
    entries: list[Any] = [*found.ranked, *(trial for trial in found.trials if not trial.has_scores)]
    best = [number for number, trial in enumerate(entries) if trial == found.best]
    about = [found.describe(one) for one in entries]
    if found.ensemble is not None:
        entries, about, best = [found.ensemble, *entries], [found.describe(found.ensemble), *about], [0]
    else:
        for number in best:  # its row is highlighted
            about[number] = (*about[number][:3], found.best.note)
    scores = [map(labels.minus, found.format_scores(entries, name)) for name in shown]
    titles, settings, times, notes = zip(*about, strict=True)
    columns = [
        titles,
        [one or "defaults" for one in settings],
        *scores,
        text.column(times, 3),
        *([notes] if any(notes) else []),
    ]
    rows = list(map(list, zip(*columns, strict=True)))
    measures = [*(getattr(metric_named(name), "title", name) for name in shown), "seconds to fit"]
    head = ["method", "settings", *measures, *(["note"] if any(notes) else [])]
    caption = "Methods, the best first; ± is the standard error"
    return page.table(caption, head, rows, numbers=range(2, 2 + len(measures)), marked=best)


# --- method


def method(data: ReportData) -> Section:
    """Describe the class, its parameters and the results of the fit."""
    about = (inspect.getdoc(type(data.model)) or "").partition("\n")[0]
    title = page.join(page.code(data.kind), f": {about}" if about else "")
    members = members_of(data.model)
    elements = [page.paragraph(title), _parameters(data.model) if len(members) == 1 else _members(members)]
    fitted = [
        [name, text.value(getattr(data.model, attribute), _MAX_LETTERS)]
        for attribute, name in _FITTED.items()
        if getattr(data.model, attribute, None) is not None
    ]
    if fitted:
        elements.append(page.table("Results of the fit", ["attribute", "value"], fitted))
    if all(hasattr(one, "n_jobs") and type(one).__module__.startswith("hedgerow.") for _, one in members):
        elements.append(
            page.paragraph(
                "The same rows, parameters and seed give the same model, bit for bit, with any number of "
                "threads.",
                kind="small",
            )
        )
    return Section("method", "Method and parameters", page.join(*elements))


def _members(members: list[tuple[float, Any]]) -> Markup:
    """Describe the members of a weighted ensemble."""
    rows = [[f"{weight:.2g}", " ".join(repr(member).split())] for weight, member in members]
    return page.table("Members of the ensemble, with their weights", ["weight", "model"], rows, numbers=[0])


def _parameters(model: Any) -> Markup:
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()
    }
    changed: list[list[str]] = []
    kept: list[list[str]] = []
    for name, value in model.get_params(deep=False).items():
        default = defaults.get(name, _NO_DEFAULT)
        shown = text.shortened(repr(value), _MAX_LETTERS)
        if default is not _NO_DEFAULT and _same(value, default):
            kept.append([name, shown])
            continue
        usual = text.NOTHING if default is _NO_DEFAULT else text.shortened(repr(default), _MAX_LETTERS)
        changed.append([name, shown, usual])
    elements = []
    if changed:
        head = ["parameter", "value", "default"]
        elements.append(page.table("Parameters that differ from their defaults", head, changed))
    if kept:
        caption = "Parameters at their defaults"
        more = "other parameter, at its default" if changed else "parameter, at its default"
        many = more.replace("parameter", "parameters").replace("its default", "their defaults")
        summary = text.plural(len(kept), more, many)
        elements.append(page.folded(summary, page.table(caption, ["parameter", "value"], kept)))
    return page.join(*elements)


def _same(value: Any, default: Any) -> bool:
    """Return whether a parameter has its default value."""
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


# --- learning curves


def curves(data: ReportData) -> Section | None:
    """Errors or losses over the rounds, or the out-of-bag score of a forest."""
    model = data.model
    if hasattr(model, "training_error_bound_") and hasattr(model, "staged_predict") and data.n_train:
        return Section("curves", "Learning curves", _errors_of_rounds(data))
    has_stages = hasattr(model, "staged_predict_proba" if data.is_classification else "staged_predict")
    if has_stages and (data.n_train or data.can_evaluate):
        return Section("curves", "Learning curves", _losses_of_rounds(data))
    if getattr(model, "oob_score_", None) is not None:
        score = "accuracy" if data.is_classification else "R²"
        about = page.paragraph(
            "The members of this ensemble are independent, so there is no learning curve. Every training row "
            "was predicted by the members whose samples do not contain it: out-of-bag "
            f"{score} {text.score(float(model.oob_score_))}."
        )
        return Section("curves", "Out-of-bag score", about)
    return None


def _losses_of_rounds(data: ReportData) -> Markup:
    display = LossRoundsDisplay.from_estimator(data.model, *data.some_train, *data.some_test)
    which = " and ".join("test" if name == "test" else "training" for name in display.curves)
    caption = f"The {display.measure} after every round, on the {which} set.{data.sample_note}"
    ends = ", ".join(
        f"{name} set ends at {text.score(float(one[-1]))}" for name, one in display.curves.items()
    )
    drawn = data.draw("curves", display, caption, f"Lines: {display.measure} by round; {ends}")
    validated = [name for name in getattr(data.model, "history_", {}) if name.startswith("validation_")]
    if not validated:
        return drawn
    display = LossRoundsDisplay.from_estimator(data.model)
    if (getattr(data.model, "n_folds_", None) or 1) > 1:
        by = "the out-of-fold loss, of every row under a model that was not fitted to it,"
    else:
        by = "the validation set"
    caption = f"Losses recorded during the fit; {by} determines the number of rounds."
    return drawn + data.draw("validation", display, caption, "Lines: recorded loss by round")


def _errors_of_rounds(data: ReportData) -> Markup:
    rows = (*data.some_train, *data.some_test)
    display = ErrorRoundsDisplay.from_estimator(data.model, *rows, bounds="all")
    caption = (
        "Error rate after every round, on the training and test set. Dashed: bounds of the training error "
        "or, each with probability 95 %, of the test error. "
    )
    if display.zero_from is not None:
        caption += f"The training error is 0 from round {display.zero_from:,}."
    alt = (
        f"Lines over {len(display.train_error):,} rounds: training error ends at "
        f"{labels.percent(float(display.train_error[-1]))}"
    )
    if display.test_error is not None:
        alt += f", test error at {labels.percent(float(display.test_error[-1]))}"
    return data.draw("curves", display, caption.strip(), alt)


# --- how to reproduce


def reproduce(data: ReportData) -> Section:
    """Commands, code, versions and the checksum."""
    elements = []
    if data.reproduce:
        elements.append(page.listing(list(data.reproduce)))
        if data.choice is not None and data.choice.budget is not None:
            note = (
                "The methods that are compared within a time budget depend on the machine, so that another "
                "one may choose another method or number of rounds. The code below has the model that was "
                "chosen."
            )
            elements.append(page.paragraph(note))
    elements += _code(data)
    versions = [["Python", platform.python_version()]]
    versions += [[name, metadata.version(name)] for name in _PACKAGES]
    elements.append(page.table("Versions", ["package", "version"], versions))
    seeds = [("seed of the report", str(data.random_state))]
    seed = getattr(data.model, "random_state", None)
    if seed is not None:
        seeds.insert(0, ("seed of the model", str(seed)))
    if data.model_file is not None:
        path = Path(data.model_file)
        seeds.append(("model file", path.name))
        seeds.append(("SHA-256", page.code(hashlib.sha256(path.read_bytes()).hexdigest())))
    elements.append(page.table("Seeds and files", ["name", "value"], seeds))
    return Section("reproduce", "How to reproduce", page.join(*elements))


def _code(data: ReportData) -> list[Markup]:
    """Python code that computes the key figures, and fits the model."""
    card = file_card(data)
    evaluation, files = evaluation_code(data), file_code(data, card)
    fit = fit_code(data.model, weight_code(data, card))
    about = "In Python, in the folder of both files, this prints the key figures of the summary:"
    if files is None:
        about = "With the rows of the training and test set, this prints the key figures of the summary:"
        if is_standard_input(data):
            about = f"The table was read from standard input, so no code can read it again. {about}"
        return [page.paragraph(about), page.listing(with_imports_first([*fit, "", *evaluation]))]
    if card is not None and card.get("refit"):
        about = (
            "The model file holds the model that was refitted to all rows. In Python, in the folder of both "
            "files, this fits the model that was evaluated, and prints the key figures of the summary:"
        )
        return [page.paragraph(about), page.listing(with_imports_first([*files, "", *fit, "", *evaluation]))]
    elements = [page.paragraph(about), page.listing(with_imports_first([*files, "", *evaluation]))]
    if data.n_train:
        elements += [page.paragraph("After it, this fits the model again:"), page.listing(fit)]
    return elements


def certificate(data: ReportData) -> Section | None:
    """List all bounds with their conditions, and those that do not apply."""
    found = data.certificate
    if found is None:
        return None
    vacuous = found.best is None or found.is_vacuous(found.best)
    elements = [page.paragraph(found.statement, kind="statement vacuous" if vacuous else "statement")]
    if found.bounds:
        error = float(np.mean(data.wrong)) if data.is_classification else None
        display = BoundsDisplay.from_certificate(found, test_error=error)
        caption = "All bounds of the test error, with the error of chance and the measured test error."
        alt = f"Bars: the smallest bound is {found.error_bound:.4f}, chance is {found.chance_error:.4f}"
        elements += [data.draw("bounds", display, caption, alt), bounds_table(found)]
    if found.of_training:
        errors = [f"{name}: {text.score(value)}" for name, value in found.of_training]
        elements += [page.heading("Training set"), page.bullets(errors)]
    if found.inapplicable:
        reasons = [f"{names}: {reason}" for names, reason in found.reasons]
        elements += [page.heading("Bounds that do not apply"), page.bullets(reasons)]
    if found.notes:
        elements += [page.heading("Notes on the certificate"), page.bullets(found.notes)]
    return Section("certificate", "Certificate", page.join(*elements))


def bounds_table(found: Certificate) -> Markup:
    """Return the bounds with their conditions, the smallest first.

    >>> from hedgerow.theory.certificate import Bound
    >>> bound = Bound("hold-out", 0.12341, 0.05, 100, "4 errors in 100 rows", "the rows are new")
    >>> '<td class="number">0.1235</td>' in bounds_table(Certificate("a model", 0.05, 0.37, (bound,)))
    True
    """
    rows = []
    for bound in found.sorted_bounds:
        value = format_bound(bound.value) + (", vacuous" if found.is_vacuous(bound) else "")
        computed = [format_share(bound), f"{bound.n:,}", bound.found, bound.conditions]
        rows.append([found.marked_name(bound), value, *computed])
    head = ["bound", "error at most", "delta", "rows", "computed from", "further conditions"]
    table = page.table("Bounds of the test error", head, rows, numbers=[1, 2, 3], marked=[0])
    provisos = [f"{'*' * n} {proviso}" for n, proviso in enumerate(found.provisos, 1)]
    notes = [page.paragraph(proviso, kind="small") for proviso in provisos]
    confidence = f"{100 * (1 - found.delta):.10g} %"
    terms = (
        f"Condition of all bounds: {ALWAYS} A bound is vacuous if it is not below {found.chance_error:.4f}, "
        "the error of predicting the most frequent class. All bounds hold together with probability "
        f"at least {confidence}."
    )
    return page.join(table, *notes, page.paragraph(terms, kind="small"))
