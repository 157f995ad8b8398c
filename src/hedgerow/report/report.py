"""Report: one HTML file about a fitted model.

A report is a title and sections, each made from the same data by a function of the `sections_*` modules. It
contains the sections that apply to the model and the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Self

from hedgerow.container import write_atomically
from hedgerow.progress import ProgressCallback
from hedgerow.report import (
    page,
    sections_columns,
    sections_data,
    sections_model,
    sections_quality,
    sections_rows,
)
from hedgerow.report.data import ReportData
from hedgerow.report.page import Section
from hedgerow.report.svg import figure_settings
from hedgerow.theory import Certificate

# Name for progress messages and function of every section, in the order of the page.
_SECTIONS: tuple[tuple[str, Callable[[ReportData], Section | None]], ...] = (
    ("summary", sections_data.summary_section),
    ("data", sections_data.data_section),
    ("choice of the method", sections_model.choice),
    ("method", sections_model.method),
    ("learning curves", sections_model.curves),
    ("confusion matrix", sections_quality.confusion),
    ("predicted and actual", sections_quality.predicted),
    ("calibration", sections_quality.calibration),
    ("ROC and precision-recall", sections_quality.ranking),
    ("importances", sections_columns.importances),
    ("partial dependence", sections_columns.partial_dependence),
    ("shape functions", sections_columns.shapes),
    ("margins", sections_quality.margins),
    ("hardest rows", sections_rows.hardest),
    ("certificate", sections_model.certificate),
    ("how to reproduce", sections_model.reproduce),
)


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a fitted model; make it with `from_estimator`.

    Parameters
    ----------
    title : str
    sections : tuple of Section
    figures : dict
        The displays, by name.
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
    ['summary', 'data', 'method', 'curves']
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
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Evaluate a model on test rows, and describe it.

        Parameters
        ----------
        model : fitted classifier or regressor
        X_test : array, data frame, Arrow table or sparse matrix of shape (n_samples, n_features)
            Test rows.
        y_test : array of shape (n_samples,)
        X_train, y_train : likewise, optional
            The training set: for learning curves with bounds, margins and suspect labels.
        title : str, optional
            None for the names of the model and the target.
        certificate : Certificate, optional
            The result of `hedgerow.theory.certify`.
        random_state : int
            Seed of samples and shuffles.
        progress : callable, optional
            Called as progress(done, total, name) before every section and at the end.
        """
        data = ReportData(
            model, X_test, y_test, X_train, y_train, certificate=certificate, random_state=random_state
        )
        return cls.from_facts(data, title=title, progress=progress)

    @classmethod
    def from_facts(
        cls,
        data: ReportData,
        *,
        title: str | None = None,
        lead: str = "",
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Describe a model with more information: its file, how it was chosen, how to reproduce it.

        Parameters
        ----------
        data : ReportData
        title, progress
            As in `from_estimator`.
        lead : str
            A sentence under the title.
        """
        if title is None:
            title = data.kind if data.recipe is None else f"{data.kind} for {data.target}"
        sections = []
        with figure_settings():
            for done, (name, make) in enumerate(_SECTIONS):
                if progress is not None:
                    progress(done, len(_SECTIONS), name)
                sections.append(make(data))
        if progress is not None:
            progress(len(_SECTIONS), len(_SECTIONS), "done")
        return cls(title, tuple(filter(None, sections)), data.figures, lead)

    def to_html(self) -> str:
        """Return the page as one self-contained text."""
        return page.render_page(self.title, self.sections, lead=self.lead)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            An existing file is replaced atomically.
        """
        write_atomically(path, self.to_html().encode("utf-8"))
