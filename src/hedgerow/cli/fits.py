"""A fit: the model, how it came about, how good it is, and its report.

`train` makes one; `report` makes one of a model that was saved before.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.cli.output import Output, figure, seconds
from hedgerow.cli.tables import Problem
from hedgerow.selection import METHODS, METRICS, Choice, choose, make_model, score_model
from hedgerow.theory import Certificate, certify


@dataclass(frozen=True)
class Fit:
    """A fitted model, how it came about and how good it is."""

    model: Any
    choice: Choice | None
    seconds: float
    scores: dict[str, float]
    certificate: Certificate | None


def fit_model(
    problem: Problem,
    method: str,
    metric: str | None,
    budget: float,
    seed: int,
    threads: int | None,
    output: Output,
) -> Fit:
    """Fit the method asked for, or the best one, to the rows that are not held out."""
    X, y = problem.part(problem.train)
    start = time.perf_counter()
    choice = None
    with output.progress("choosing" if method == "auto" else f"fitting {METHODS[method].title}") as told:
        if method == "auto":
            choice = choose(
                X,
                y,
                problem.task,
                metric=metric,
                budget=budget,
                random_state=seed,
                n_jobs=threads,
                progress=told,
            )
            model = choice.model
        else:
            model = make_model(method, problem.task, random_state=seed, n_jobs=threads).fit(X, y)
    return measure(model, problem, choice, time.perf_counter() - start)


def measure(model: Any, problem: Problem, choice: Choice | None = None, took: float = 0.0) -> Fit:
    """Scores and certificate of a model by the rows held out."""
    X, y = problem.part(problem.test)
    certificate = certify(model, X, y) if problem.task == "classification" else None
    return Fit(model, choice, took, score_model(model, X, y, problem.task), certificate)


def tell_fit(fit: Fit, problem: Problem, leaks: list[str], output: Output) -> None:
    """Say what was tried, what was chosen and how good it is."""
    if fit.choice is not None:
        output.show(fit.choice)
    output.say(" ".join(repr(fit.model).split()), "bold")
    output.say(f"fitted in {seconds(fit.seconds)}; on the {rows_held_out(problem)}:")
    output.table(
        [METRICS[name].title for name in fit.scores], [[figure(value) for value in fit.scores.values()]]
    )
    if fit.certificate is not None:
        output.say(f"certificate: {fit.certificate.statement}", "green")
    for words in leaks:
        output.note(words)


def rows_held_out(problem: Problem) -> str:
    """How many there are, in words."""
    n = len(problem.test)
    return "1 row held out" if n == 1 else f"{n:,} rows held out"


def write_report(
    model_file: Path,
    fit: Fit,
    problem: Problem,
    seed: int,
    path: Path,
    output: Output,
    reproduce: tuple[str, ...],
) -> None:
    """Write the report of a fit."""
    from hedgerow.report import Facts, Report  # noqa: PLC0415 - loads matplotlib, half a second

    X, y = problem.part(problem.test)
    X_train, y_train = problem.part(problem.train) if len(problem.train) else (None, None)
    facts = Facts(
        fit.model,
        X,
        y,
        X_train,
        y_train,
        summary=problem.summary,
        recipe=problem.recipe,
        choice=fit.choice,
        certificate=fit.certificate,
        reproduce=reproduce,
        model_file=str(model_file),
        rows=problem.numbers[problem.test],
        train_rows=problem.numbers[problem.train] if len(problem.train) else None,
        random_state=seed,
    )
    title = f"{problem.recipe.target} in {problem.path.name}"
    with output.progress("writing the report") as told:
        Report.from_facts(facts, title=title, told=told).save(path)
