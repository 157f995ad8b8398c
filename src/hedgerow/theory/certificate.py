"""Certificate: what is proven about the error of a model, as a table, a page or a file.

A bound is a number that the error on new rows exceeds with a probability of at most its share of delta. The
shares add up to delta, so all bounds hold together with probability 1 - delta, and the smallest may be picked
after looking at them.
"""

import json
import math
import reprlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from hedgerow.container import write_atomically
from hedgerow.strict_json import JsonChecker
from hedgerow.text_table import WIDTH, format_table, printable, wrap
from hedgerow.threads import cached_property

FORMAT = 1  # of the JSON files
ALWAYS = "The rows are independent draws from the distribution that new rows come from."


@dataclass(frozen=True)
class Bound:
    """One bound that holds.

    Parameters
    ----------
    name : str
    value : float
        What the error is at the most; 1 says nothing.
    delta : float
        The probability that it fails: its share; 0 if no sample of this size could give less than 1.
    n : int
        The rows it rests on.
    found : str
        What it was computed from, in words.
    conditions : str
        What must be true beside `ALWAYS`, in words.
    proviso : str
        What is taken for granted though it is not known to be so, "if ..."; empty if there is no such thing.
    """

    name: str
    value: float
    delta: float
    n: int
    found: str
    conditions: str
    proviso: str = ""


@dataclass(frozen=True)
class Unmet:
    """A bound that is not reported, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Certificate:
    """What is proven about the error of a classifier on new rows; made by `certify`.

    Parameters
    ----------
    model : str
        What was certified.
    delta : float
        The probability that any of the bounds fails.
    chance_error : float
        The error of always answering the most frequent class. A bound that is not below it is vacuous.
    bounds : tuple of Bound
    unmet : tuple of Unmet
        Bounds whose conditions do not hold.
    of_training : tuple of (str, float)
        What is certain about the training rows themselves.
    notes : tuple of str

    Examples
    --------
    >>> found = Bound("hold-out", 0.1, 0.05, 100, "4 errors in 100 rows", "the rows are new")
    >>> certificate = Certificate("AdaBoostClassifier", 0.05, 0.37, (found,))
    >>> certificate.error_bound, certificate["hold-out"].n, certificate.is_vacuous(found)
    (0.1, 100, False)
    >>> print(certificate.statement)
    With probability 95 % at least, the error on new rows is at most 0.1000 (hold-out).
    """

    model: str
    delta: float
    chance_error: float
    bounds: tuple[Bound, ...]
    unmet: tuple[Unmet, ...] = ()
    of_training: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = field(default=())

    # --- reading it

    @property
    def best(self) -> Bound | None:
        """The smallest bound; None if there is none."""
        return min(self.bounds, key=lambda bound: bound.value, default=None)

    @property
    def error_bound(self) -> float:
        """What the error is proven to be at the most, with probability 1 - delta; 1 says nothing."""
        return 1.0 if self.best is None else min(1.0, self.best.value)

    def is_vacuous(self, bound: Bound) -> bool:
        """Whether a bound says no more than always answering the most frequent class would achieve."""
        return bound.value >= self.chance_error

    def __getitem__(self, name: str) -> Bound:
        for bound in self.bounds:
            if bound.name == name:
                return bound
        for unmet in self.unmet:
            if unmet.name == name:
                raise KeyError(f"{name!r} is not reported: {unmet.reason}")
        raise KeyError(f"{name!r} is not among the bounds: {[bound.name for bound in self.bounds]}")

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.bounds)

    @property
    def statement(self) -> str:
        """The certificate in a sentence."""
        best = self.best
        if best is None:
            return "Nothing is proven: no bound applies."
        sure = f"{100 * (1 - self.delta):.10g} %" if self.delta >= 1e-9 else f"1 - {self.delta:.3g}"
        if self.is_vacuous(best):
            return (
                f"Nothing is proven that always answering the most frequent class would not achieve (error "
                f"{self.chance_error:.4f}); the smallest bound is {_figure(best.value)} ({best.name})."
            )
        proviso = f", {best.proviso}" if best.proviso else ""
        return (
            f"With probability {sure} at least, the error on new rows is at most {_figure(best.value)} "
            f"({best.name}){proviso}."
        )

    # --- showing it

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the certificate as text, for a page of `width` characters."""
        above = [f"Certificate of {self.model}", self.statement]
        below = [
            f"{letter}  if {words}" for letter, words in zip(ascii_lowercase, self._conditions, strict=False)
        ]
        below += [f"{'*' * number}  {words}" for number, words in enumerate(self._footnotes, 1)]
        below += [f"{name}: {value:.4g}" for name, value in self.of_training]
        if self.unmet:
            below += ["Not reported:", *(f"  {names}: {reason}" for names, reason in self._reasons)]
        below += [f"Note: {note}" for note in self.notes]
        table = []
        if self.bounds:
            above.append(f"Condition of all bounds: {ALWAYS[0].lower()}{ALWAYS[1:]}")
            table = ["", self._table(width), ""]
        return "\n".join([*_wrapped(above, width), *table, *_wrapped(below, width)])

    @property
    def _reasons(self) -> list[tuple[str, str]]:
        """Names of the bounds that are not reported, by the reason they share."""
        by_reason: dict[str, list[str]] = {}
        for unmet in self.unmet:
            by_reason.setdefault(unmet.reason, []).append(unmet.name)
        return [(", ".join(names), reason) for reason, names in by_reason.items()]

    @cached_property
    def _conditions(self) -> list[str]:
        return list(dict.fromkeys(bound.conditions for bound in self._sorted))

    def _letter(self, bound: Bound) -> str:
        return ascii_lowercase[self._conditions.index(bound.conditions)]

    @cached_property
    def _footnotes(self) -> list[str]:
        return list(dict.fromkeys(bound.proviso for bound in self.bounds if bound.proviso))

    def _marked(self, bound: Bound) -> str:
        marks = " " + "*" * (self._footnotes.index(bound.proviso) + 1) if bound.proviso else ""
        return bound.name + marks

    @property
    def _sorted(self) -> list[Bound]:
        return sorted(self.bounds, key=lambda bound: bound.value)

    def _table(self, width: int) -> str:
        rows = []
        for bound in self._sorted:
            value = _figure(bound.value) + (" vacuous" if self.is_vacuous(bound) else "")
            n_rows = f"{bound.n:,}"
            rows.append((self._marked(bound), value, _share(bound), n_rows, bound.found, self._letter(bound)))
        heads = ("bound", "error at most", "delta", "rows", "found", "if")
        return format_table(heads, rows, left=(0, 4, 5), width=width)

    def to_html(self) -> str:
        """One page that needs no other file."""
        from jinja2 import Environment  # noqa: PLC0415 - only pages need it

        source = resources.files("hedgerow.theory").joinpath("certificate.html.jinja").read_text("utf-8")
        template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
        tools = {"figure": _figure, "share": _share, "marked": self._marked, "always": ALWAYS}
        return template.render(certificate=self, **tools)

    def _repr_html_(self) -> str:
        return self.to_html()

    # --- keeping it

    def to_dict(self) -> dict[str, Any]:
        """Everything in numbers, texts and lists."""
        return {"format": FORMAT, "condition of all bounds": ALWAYS, **asdict(self)}

    @classmethod
    def from_dict(cls, given: Any) -> "Certificate":
        """The certificate that `to_dict` has told of."""
        if not isinstance(given, dict) or type(given.get("format")) is not int or given["format"] != FORMAT:
            raise ValueError(f"this is no certificate of format {FORMAT}")
        try:
            aside = ("format", "condition of all bounds")
            fields = {name: value for name, value in given.items() if name not in aside}
            fields["bounds"] = tuple(Bound(**_typed(bound)) for bound in fields["bounds"])
            fields["unmet"] = tuple(Unmet(**_typed(unmet)) for unmet in fields["unmet"])
            fields["of_training"] = tuple(
                (_is(name, str), float(_is(value, float, int))) for name, value in fields["of_training"]
            )
            fields["notes"] = tuple(_is(note, str) for note in fields["notes"])
            return cls(**_typed(fields))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no whole certificate: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write a file, JSON or HTML by the end of its name."""
        path = Path(path)
        if path.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        elif path.suffix == ".html":
            text = self.to_html()
        else:
            raise ValueError(f"path={str(path)!r} is not allowed: it must end in .json or .html")
        write_atomically(path, text.encode())

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a JSON file that `save` has written."""
        name = f"path={str(path)!r}"
        try:
            content = JsonChecker().parse(Path(path).read_bytes(), "it")
        except ValueError as error:
            raise ValueError(f"{name} holds no certificate: {error}") from error
        return cls.from_dict(content)


_NUMBERS = ("value", "delta", "chance_error")
_SHARES = ("delta", "chance_error")


def _is(value: Any, *kinds: type) -> Any:
    """A value of one of these types; a bool is no number."""
    if type(value) not in kinds:
        raise TypeError(f"{reprlib.repr(value)} should be {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a file, checked by their names."""
    for name, value in fields.items():
        if name in _NUMBERS:
            _is(value, float, int)
            if not 0 <= value <= (1 if name in _SHARES else math.inf) or value == math.inf:
                raise ValueError(f"{name} is {value}")
        elif name == "n":
            _is(value, int)
        elif name not in ("bounds", "unmet", "of_training", "notes"):
            _is(value, str)
    return fields


def _wrapped(paragraphs: list[str], width: int) -> list[str]:
    return [line for paragraph in paragraphs for line in wrap(printable(paragraph), max(width, 20))]


def _share(bound: Bound) -> str:
    return f"{bound.delta:.3g}" if bound.delta else "–"


def _figure(value: float) -> str:
    """An error, rounded up so that it stays a bound.

    >>> _figure(0.12341), _figure(1.7), _figure(0.0000012)
    ('0.1235', '> 1', '0.0001')
    """
    return "> 1" if value > 1 else f"{math.ceil(value * 1e4 - 1e-9) / 1e4:.4f}"
