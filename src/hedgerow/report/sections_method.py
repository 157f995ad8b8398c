"""Sections: how the method was chosen, what it is, how the fit went, and how to do it again."""

import hashlib
import inspect
import math
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from markupsafe import Markup
from sklearn.base import clone

from hedgerow.plots import ErrorRoundsDisplay, LossRoundsDisplay, ScoresDisplay
from hedgerow.report import page, words
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section
from hedgerow.selection import METRICS

_PACKAGES = ("hedgerow", "numpy", "numba", "scipy", "scikit-learn", "pyarrow", "matplotlib")
_MOST = 80  # letters of a parameter's value
_MOST_METRICS = 3  # of the trials, that which decided first
_NO_DEFAULT = inspect.Parameter.empty

# Attributes of a fitted model that are told, if it has them.
_FITTED = {
    "n_estimators_": "members",
    "best_iteration_": "best round by validation",
    "stop_reason_": "why it stopped",
    "oob_score_": "out-of-bag score",
}


# --- choice


def choice(facts: Facts) -> Section | None:
    """The methods that were tried, and why one was taken."""
    if facts.choice is None:
        return None
    found = facts.choice
    metric = METRICS[found.metric]
    better = "higher" if metric.higher_is_better else "lower"
    allowed = "" if found.budget is None else f" of {found.budget:g} allowed"
    # A model's card leaves seconds out, so that equal models are equal files.
    took = f"; it took {found.seconds:.1f} seconds{allowed}" if math.isfinite(found.seconds) else ""
    parts = [
        page.paragraph(str(found.reason)),
        page.paragraph(
            f"ScoredRows by {metric.title} ({better} is better), {found.validation}{took}.",
            kind="small",
        ),
        _trials(found),
    ]
    if sum(found.metric in trial.scores for trial in found.trials) > 1:
        display = ScoresDisplay.from_comparison(found, found.metric)
        alt = f"Dots: {metric.title} of each method tried, with its spread"
        title = metric.title[:1].upper() + metric.title[1:]
        caption = f"{title} of the best setting of each method, with its standard error."
        parts.append(facts.draw("scores", display, caption, alt))
    return Section("choice", "How the method was chosen", page.join(*parts))


def _trials(found: Any) -> Markup:
    metric = METRICS[found.metric]
    others = [name for name in METRICS if any(name in trial.scores for trial in found.trials)]
    shown = [found.metric, *(name for name in others if name != found.metric)][:_MOST_METRICS]
    sign = -1.0 if metric.higher_is_better else 1.0
    # The best first; trials without a score last, in the order of the attempts.
    ranked = sorted(found.trials, key=lambda trial: sign * trial.scores.get(found.metric, sign * math.inf))
    notes = [_note(trial) for trial in ranked]
    rows = []
    for trial, note in zip(ranked, notes, strict=True):
        scores = [words.number(trial.scores.get(name)) for name in shown]
        cost = [words.number(trial.spread, 2), words.number(trial.fit_seconds, 3)]
        settings = trial.parameter_text or "as it comes"
        rows.append([trial.title, settings, *scores, *cost, *([note] if any(notes) else [])])
    best = [number for number, trial in enumerate(ranked) if trial == found.best]
    measures = [*(METRICS[name].title for name in shown), "standard error", "seconds"]
    head = ["method", "settings", *measures, *(["note"] if any(notes) else [])]
    caption = "Methods tried, the best first; the standard error is that of the first measure"
    return page.table(caption, head, rows, numbers=range(2, 2 + len(measures)), marked=best)


def _note(trial: Any) -> str:
    """What became of a trial, if it is not simply done."""
    status = "" if trial.status == "done" else trial.status
    return ": ".join(part for part in (status, trial.note) if part)


# --- method


def method(facts: Facts) -> Section:
    """The class, its parameters and what the fit found."""
    about = (inspect.getdoc(type(facts.model)) or "").partition("\n")[0]
    title = page.join(page.code(facts.kind), f": {about}" if about else "")
    parts = [page.paragraph(title), _parameters(facts.model)]
    told = [
        [name, words.value(getattr(facts.model, attribute), _MOST)]
        for attribute, name in _FITTED.items()
        if getattr(facts.model, attribute, None) is not None
    ]
    if told:
        parts.append(page.table("What the fit found", ["what", "value"], told))
    if hasattr(facts.model, "n_jobs") and type(facts.model).__module__.startswith("hedgerow."):
        parts.append(
            page.paragraph(
                "The number of threads does not matter: the same rows, parameters and seed give the same "
                "model, bit for bit, with any number of them.",
                kind="small",
            )
        )
    return Section("method", "Method and parameters", page.join(*parts))


def _parameters(model: Any) -> Markup:
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()
    }
    changed: list[list[str]] = []
    kept: list[list[str]] = []
    for name, value in model.get_params(deep=False).items():
        default = defaults.get(name, _NO_DEFAULT)
        told = words.shortened(repr(value), _MOST)
        if default is not _NO_DEFAULT and _same(value, default):
            kept.append([name, told])
            continue
        shown = words.NOTHING if default is _NO_DEFAULT else words.shortened(repr(default), _MOST)
        changed.append([name, told, shown])
    parts = []
    if changed:
        head = ["parameter", "value", "default"]
        parts.append(page.table("Parameters that differ from their defaults", head, changed))
    if kept:
        caption = "Parameters at their defaults"
        more = "other parameter, at its default" if changed else "parameter, at its default"
        many = more.replace("parameter", "parameters").replace("its default", "their defaults")
        summary = words.plural(len(kept), more, many)
        parts.append(page.folded(summary, page.table(caption, ["parameter", "value"], kept)))
    return page.join(*parts)


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default; arrays and estimators never have."""
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


# --- learning curves


def curves(facts: Facts) -> Section | None:
    """Errors or losses along the rounds, or the out-of-bag score of a forest."""
    model = facts.model
    if hasattr(model, "training_error_bound_") and hasattr(model, "staged_predict") and facts.n_train:
        return Section("curves", "Learning curves", _errors_of_rounds(facts))
    has_stages = hasattr(model, "staged_predict_proba" if facts.is_classification else "staged_predict")
    if has_stages and (facts.n_train or facts.can_judge):
        return Section("curves", "Learning curves", _losses_of_rounds(facts))
    if getattr(model, "oob_score_", None) is not None:
        score = "accuracy" if facts.is_classification else "R²"
        told = page.paragraph(
            "Members of this ensemble do not build on one another, so there is no curve to follow. Every "
            "training row was judged by the members that did not learn from it: out-of-bag "
            f"{score} {words.number(float(model.oob_score_))}."
        )
        return Section("curves", "Out-of-bag score", told)
    return None


def _losses_of_rounds(facts: Facts) -> Markup:
    display = LossRoundsDisplay.from_estimator(facts.model, *facts.some_train, *facts.some_test)
    which = " and ".join(
        "those held out" if name == "test" else "the rows of the fit" for name in display.curves
    )
    caption = f"The {display.measure} after every round of the model, on {which}.{facts.some_words}"
    ends = ", ".join(
        f"{name} rows end at {words.number(float(one[-1]))}" for name, one in display.curves.items()
    )
    drawn = facts.draw("curves", display, caption, f"Lines: {display.measure} by round; {ends}")
    followed = [name for name in getattr(facts.model, "history_", {}) if name.startswith("validation_")]
    if not followed:
        return drawn
    display = LossRoundsDisplay.from_estimator(facts.model)
    caption = "What was followed during the fit, on rows set aside from it, to find the number of rounds."
    return drawn + facts.draw("validation", display, caption, "Lines: recorded loss by round")


def _errors_of_rounds(facts: Facts) -> Markup:
    rows = (*facts.some_train, *facts.some_test)
    display = ErrorRoundsDisplay.from_estimator(facts.model, *rows, bounds="all")
    caption = (
        "Share of wrong labels after every round, on the rows of the fit and on those held out. Dashed: "
        "what is proven, for the training error or, each with probability 95 %, for new rows. "
    )
    if display.zero_from is not None:
        caption += f"The training error is 0 from round {display.zero_from:,} on."
    alt = (
        f"Lines over {len(display.train_error):,} rounds: training error ends at "
        f"{words.percent(float(display.train_error[-1]))}"
    )
    if display.test_error is not None:
        alt += f", test error at {words.percent(float(display.test_error[-1]))}"
    return facts.draw("curves", display, caption.strip(), alt)


# --- how to reproduce


def as_fitted(model: Any) -> Any:
    """The unfitted model with as many members as the fit has made, if it was ended before all were."""
    asked = int(getattr(model, "n_estimators", 0))
    found = int(getattr(model, "n_estimators_", asked))
    return clone(model).set_params(n_estimators=found) if 0 < found < asked else model


def reproduce(facts: Facts) -> Section:
    """Commands, code, versions and the checksum."""
    own = type(facts.model).__module__.startswith("hedgerow.")
    code = [
        f"from {'hedgerow' if own else type(facts.model).__module__} import {facts.kind}",
        "",
        f"model = {as_fitted(facts.model)!r}",
        "model.fit(X_train, y_train)",
    ]
    parts = [page.listing(list(facts.reproduce) or code)]
    if facts.reproduce and facts.choice is not None and facts.choice.budget is not None:
        told = (
            "What is tried within a time depends on the machine, so that another method or number of rounds "
            "may be chosen elsewhere. This is the model that was chosen here:"
        )
        parts += [page.paragraph(told), page.listing(code)]
    versions = [["Python", platform.python_version()]]
    versions += [[name, metadata.version(name)] for name in _PACKAGES]
    parts.append(page.table("Versions", ["package", "version"], versions))
    facts_told = [("seed of the report", str(facts.random_state))]
    seed = getattr(facts.model, "random_state", None)
    if seed is not None:
        facts_told.insert(0, ("seed of the model", str(seed)))
    if facts.model_file is not None:
        path = Path(facts.model_file)
        facts_told.append(("model file", path.name))
        facts_told.append(("its SHA-256", page.code(hashlib.sha256(path.read_bytes()).hexdigest())))
    parts.append(page.table("Seeds and files", ["what", "value"], facts_told))
    return Section("reproduce", "How to reproduce", page.join(*parts))
