"""Certificate: upper bounds on the error of a model, as text, HTML or JSON.

The error on new rows exceeds a bound with a probability of at most its share of delta. The shares add up to
delta, so all bounds hold simultaneously with probability 1 - delta, and the smallest may be selected
afterwards.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from string import ascii_lowercase
from typing import Annotated, Any

from hedgerow.container import write_atomically
from hedgerow.strict_json import JsonChecker, Limits, to_plain
from hedgerow.text_table import format_table, printable, wrap
from hedgerow.threads import cached_property

FORMAT = 1  # of the JSON files
HOLD_OUT = "hold-out"  # names of bounds from hold-out rows start with it
WIDTH = 100  # columns of the text, on any terminal
Probability = Annotated[float, Limits(0.0, 1.0)]
ALWAYS = "The rows are independent draws from the distribution that new rows come from."


@dataclass(frozen=True)
class Bound:
    """An upper bound on the error on new rows.

    Parameters
    ----------
    name : str
    value : float
        The bound; 1 or more is trivial.
    delta : float
        Probability that it does not hold: its share of delta. 0 if it is at least 1 for all samples of this
        size.
    n : int
        Number of rows it was computed from.
    found : str
        Quantities it was computed from, as text.
    conditions : str
        Conditions in addition to `ALWAYS`, as text.
    proviso : str
        An assumption that cannot be verified, "if ..."; empty if there is none.
    """

    name: str
    value: Annotated[float, Limits(0.0)]
    delta: Probability
    n: Annotated[int, Limits(0)]
    found: str
    conditions: str
    proviso: str = ""


@dataclass(frozen=True)
class InapplicableBound:
    """A bound that does not apply to a model, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Certificate:
    """Upper bounds on the error of a classifier on new rows, computed by `certify`.

    Parameters
    ----------
    model : str
        Class of the model.
    delta : float
        Probability that at least one of the bounds does not hold.
    chance_error : float
        Error of always predicting the most frequent class. A bound that is not below it is vacuous.
    bounds : tuple of Bound
    inapplicable : tuple of InapplicableBound
        Bounds that do not apply.
    of_training : tuple of (str, float)
        Training error and its bound, which hold with certainty.
    notes : tuple of str
        Remarks on the hold-out rows.
    subject : str
        The model that the bounds are for, if it is not the model they are stored with: "the model fitted to
        80 % of the rows". Otherwise empty.

    Examples
    --------
    >>> bound = Bound("hold-out", 0.1, 0.05, 100, "4 errors in 100 rows", "the rows are new")
    >>> certificate = Certificate("AdaBoostClassifier", 0.05, 0.37, (bound,))
    >>> certificate.error_bound, certificate["hold-out"].n, certificate.is_vacuous(bound)
    (0.1, 100, False)
    >>> print(certificate.statement)
    With probability at least 95 %, the error on new rows is at most 0.1000 (hold-out).
    """

    model: str
    delta: Probability
    chance_error: Probability
    bounds: tuple[Bound, ...]
    inapplicable: tuple[InapplicableBound, ...] = ()
    of_training: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = field(default=())
    subject: str = ""

    # --- properties

    @property
    def best(self) -> Bound | None:
        """The smallest bound; None if there is none."""
        return min(self.bounds, key=lambda bound: bound.value, default=None)

    @property
    def error_bound(self) -> float:
        """The smallest bound, at most 1: it holds with probability 1 - delta."""
        return 1.0 if self.best is None else min(1.0, self.best.value)

    def is_vacuous(self, bound: Bound) -> bool:
        """Return whether a bound is not below the error of always predicting the most frequent class."""
        return bound.value >= self.chance_error

    def __getitem__(self, name: str) -> Bound:
        for bound in self.bounds:
            if bound.name == name:
                return bound
        for other in self.inapplicable:
            if other.name == name:
                raise KeyError(f"{name!r} does not apply: {other.reason}")
        raise KeyError(f"{name!r} is not one of the bounds {[bound.name for bound in self.bounds]}")

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.bounds)

    @property
    def statement(self) -> str:
        """The smallest bound in a sentence."""
        best = self.best
        if best is None:
            return "No bound applies."
        subject = f" of {self.subject}" if self.subject else ""
        if self.is_vacuous(best):
            return (
                f"No bound{subject} is below the error of always predicting the most frequent class "
                f"({self.chance_error:.4f}); the smallest bound is {format_bound(best.value)} ({best.name})."
            )
        probability = f"{100 * (1 - self.delta):.10g} %" if self.delta >= 1e-9 else f"1 - {self.delta:.3g}"
        proviso = f", {best.proviso}" if best.proviso else ""
        return (
            f"With probability at least {probability}, the error{subject} on new rows is at most "
            f"{format_bound(best.value)} ({best.name}){proviso}."
        )

    def with_proviso(self, proviso: str, *, hold_out: bool = False) -> "Certificate":
        """Return a copy with a further proviso on all bounds that are not from hold-out rows.

        These bounds require that the method was not chosen with the training rows. If it was, for example
        after a comparison of several methods, the certificate should mention it.

        Parameters
        ----------
        proviso : str
            A clause that starts with "if".
        hold_out : bool
            Whether it applies to bounds from hold-out rows too: the rows may not be independent.

        Examples
        --------
        >>> bound = Bound("out-of-bag tandem", 0.1, 0.05, 100, "joint loss 0.01", "the parameters are fixed")
        >>> certificate = Certificate("RandomForestClassifier", 0.05, 0.37, (bound,))
        >>> print(certificate.with_proviso("if the method was chosen in advance").best.proviso)
        if the method was chosen in advance
        """
        bounds = (
            bound
            if bound.name.startswith(HOLD_OUT) and not hold_out
            else replace(bound, proviso=f"{bound.proviso}; and {proviso}" if bound.proviso else proviso)
            for bound in self.bounds
        )
        return replace(self, bounds=tuple(bounds))

    # --- text and HTML

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the certificate as text of `width` columns."""
        subject = f", {self.subject}" if self.subject else ""
        above = [f"Certificate of {self.model}{subject}", self.statement]
        below = [
            f"{letter}  if {text}" for letter, text in zip(ascii_lowercase, self._conditions, strict=False)
        ]
        below += [f"{'*' * number}  {text}" for number, text in enumerate(self.provisos, 1)]
        below += [f"{name}: {value:.4g}" for name, value in self.of_training]
        if self.inapplicable:
            below += ["Not applicable:", *(f"  {names}: {reason}" for names, reason in self.reasons)]
        below += [f"Note: {note}" for note in self.notes]
        table = []
        if self.bounds:
            above.append(f"Condition of all bounds: {ALWAYS[0].lower()}{ALWAYS[1:]}")
            table = ["", self._table(width), ""]
        return "\n".join([*_wrapped(above, width), *table, *_wrapped(below, width)])

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Names of the bounds that do not apply, grouped by reason."""
        by_reason: dict[str, list[str]] = {}
        for bound in self.inapplicable:
            by_reason.setdefault(bound.reason, []).append(bound.name)
        return [(", ".join(names), reason) for reason, names in by_reason.items()]

    @cached_property
    def _conditions(self) -> list[str]:
        return list(dict.fromkeys(bound.conditions for bound in self.sorted_bounds))

    @cached_property
    def provisos(self) -> list[str]:
        """The different provisos of the bounds."""
        return list(dict.fromkeys(bound.proviso for bound in self.bounds if bound.proviso))

    def marked_name(self, bound: Bound) -> str:
        """Return the name of a bound, with stars that refer to its proviso."""
        marks = " " + "*" * (self.provisos.index(bound.proviso) + 1) if bound.proviso else ""
        return bound.name + marks

    @property
    def sorted_bounds(self) -> list[Bound]:
        """The bounds, the smallest first."""
        return sorted(self.bounds, key=lambda bound: bound.value)

    def _table(self, width: int) -> str:
        rows = []
        for bound in self.sorted_bounds:
            value = format_bound(bound.value) + (" vacuous" if self.is_vacuous(bound) else "")
            letter = ascii_lowercase[self._conditions.index(bound.conditions)]
            numbers = (value, format_share(bound), f"{bound.n:,}")
            rows.append((self.marked_name(bound), *numbers, bound.found, letter))
        heads = ("bound", "error at most", "delta", "rows", "computed from", "if")
        return format_table(heads, rows, left=(0, 4, 5), width=width)

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        from jinja2 import Environment  # noqa: PLC0415 - an optional dependency

        source = resources.files("hedgerow.theory").joinpath("certificate.html.jinja").read_text("utf-8")
        template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
        tools = {"figure": format_bound, "share": format_share, "marked": self.marked_name, "always": ALWAYS}
        return template.render(certificate=self, **tools)

    def _repr_html_(self) -> str:
        return self.to_html()

    # --- files

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as numbers, strings and lists."""
        content = {"format": FORMAT, "condition of all bounds": ALWAYS, **to_plain(self)}
        if not self.subject:  # most certificates are for the model itself
            del content["subject"]
        return content

    @classmethod
    def from_dict(cls, content: Any) -> "Certificate":
        """Return the certificate from the result of `to_dict`."""
        if not isinstance(content, dict) or type(content.get("format")) is not int:
            raise ValueError(f"not a certificate of format {FORMAT}")
        if content["format"] != FORMAT:
            raise ValueError(f"not a certificate of format {FORMAT}; got format {content['format']!r}")
        skipped = ("format", "condition of all bounds")
        values = {name: value for name, value in content.items() if name not in skipped}
        try:
            return _CHECKER.read(cls, {"subject": "", **values}, "it")
        except ValueError as error:
            raise ValueError(f"not a valid certificate: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write a JSON or HTML file, according to the suffix of its name."""
        path = Path(path)
        if path.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        elif path.suffix == ".html":
            text = self.to_html()
        else:
            raise ValueError(f"path must end in .json or .html; got {str(path)!r}")
        write_atomically(path, text.encode())

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a JSON file written by `save`."""
        name = f"path={str(path)!r}"
        try:
            content = _CHECKER.parse(Path(path).read_bytes(), "it")
        except ValueError as error:
            raise ValueError(f"{name} is not a certificate: {error}") from error
        return cls.from_dict(content)


_CHECKER = JsonChecker()


def _wrapped(paragraphs: list[str], width: int) -> list[str]:
    return [line for paragraph in paragraphs for line in wrap(printable(paragraph), max(width, 20))]


def format_share(bound: Bound) -> str:
    """Format the share of delta of a bound; a dash for one that needs none."""
    return f"{bound.delta:.3g}" if bound.delta else "–"


def format_bound(value: float) -> str:
    """Format an error, rounded up so that it remains a bound.

    >>> format_bound(0.12341), format_bound(1.7), format_bound(0.0000012)
    ('0.1235', '> 1', '0.0001')
    """
    return "> 1" if value > 1 else f"{math.ceil(value * 1e4 - 1e-9) / 1e4:.4f}"
