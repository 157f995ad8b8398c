"""Report: one HTML file about a fitted model.

A report is a title and sections, each made by a function of the `sections_*` modules from the same facts. A
section that does not apply to the model or to what was given is not there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Self

from hedgerow.container import write_atomically
from hedgerow.report import page, sections_columns, sections_data, sections_method, sections_proof
from hedgerow.report import sections_quality as quality
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section
from hedgerow.report.svg import house_settings
from hedgerow.theory import Certificate

Told = Callable[[int, int, str], Any]

# What is told while a section is made, and what makes it, in the order of the page.
_SECTIONS: tuple[tuple[str, Callable[[Facts], Section | None]], ...] = (
    ("in short", sections_data.in_short),
    ("data", sections_data.data),
    ("choice of the method", sections_method.choice),
    ("method", sections_method.method),
    ("learning curves", sections_method.curves),
    ("confusion matrix", quality.confusion),
    ("predicted and true", quality.predicted),
    ("calibration", quality.calibration),
    ("ROC and precision-recall", quality.ranking),
    ("importances", sections_columns.importances),
    ("partial dependence", sections_columns.partial_dependence),
    ("shape functions", sections_columns.shapes),
    ("margins", quality.margins),
    ("hardest rows", quality.hardest),
    ("certificate", sections_proof.certificate),
    ("how to reproduce", sections_method.reproduce),
)


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a fitted model; make it with `from_estimator`.

    Parameters
    ----------
    title : str
    sections : tuple of Section
    figures : dict
        The displays that were drawn, by name.
    lead : str
        A sentence under the title.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> report = Report.from_estimator(model, X, y, X_train=X, y_train=y, title="Ten points")
    >>> [section.id for section in report.sections][:4]
    ['in-short', 'data', 'method', 'curves']
    >>> report.to_html()[:15], sorted(report.figures)[:2]
    ('<!DOCTYPE html>', ['calibration', 'confusion'])
    """

    title: str
    sections: tuple[Section, ...]
    figures: dict[str, Any] = field(default_factory=dict)
    lead: str = ""

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X_test: Any,
        y_test: Any,
        *,
        X_train: Any = None,
        y_train: Any = None,
        title: str | None = None,
        certificate: Certificate | None = None,
        random_state: int = 0,
        told: Told | None = None,
    ) -> Self:
        """Judge a model by rows held out, and describe it.

        Parameters
        ----------
        model : fitted classifier or regressor
        X_test : array, data frame, Arrow table or sparse matrix of shape (n_samples, n_features)
            Rows that the model was not fitted to.
        y_test : array of shape (n_samples,)
        X_train, y_train : likewise, optional
            What it was fitted to: for learning curves with bounds, margins and doubtful labels.
        title : str, optional
            None for one made of the model and the target.
        certificate : Certificate, optional
            Of `hedgerow.theory.certify`.
        random_state : int
            Seed of samples and shuffles.
        told : callable, optional
            Called as told(done, total, words) before every section.

        Returns
        -------
        Report
        """
        given: dict[str, Any] = {"certificate": certificate, "random_state": random_state}
        return cls.from_facts(Facts(model, X_test, y_test, X_train, y_train, **given), title=title, told=told)

    @classmethod
    def from_facts(
        cls, facts: Facts, *, title: str | None = None, lead: str = "", told: Told | None = None
    ) -> Self:
        """Describe a model of which more is known: its file, how it was chosen, how to make it again.

        Parameters
        ----------
        facts : Facts
        title : str, optional
            None for one made of the model and the target.
        lead : str
            A sentence under the title.
        told : callable, optional
            Called as told(done, total, words) before every section.

        Returns
        -------
        Report
        """
        if title is None:
            title = facts.kind if facts.recipe is None else f"{facts.kind} for {facts.target}"
        return cls(title, tuple(_made(facts, told)), facts.figures, lead)

    def to_html(self) -> str:
        """The page: one text that needs no other file.

        Returns
        -------
        str
        """
        return page.render_page(self.title, self.sections, lead=self.lead)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            An existing file is replaced, whole.
        """
        write_atomically(path, self.to_html().encode("utf-8"))


def _made(facts: Facts, told: Told | None) -> list[Section]:
    found = []
    with house_settings():
        for done, (words, make) in enumerate(_SECTIONS):
            if told is not None:
                told(done, len(_SECTIONS), words)
            section = make(facts)
            if section is not None:
                found.append(section)
    if told is not None:
        told(len(_SECTIONS), len(_SECTIONS), "the report is made")
    return found
