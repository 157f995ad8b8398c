"""Run the experiments: comparison, figures 1 and 2, flipped labels, five learners.

A run is a list of steps, each a method on a problem; tables, curves and sentences are made at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.experiments import findings, measure
from hedgerow.experiments.findings import MethodComparison
from hedgerow.experiments.measure import AccuracyCurve, MethodScores, compile_kernels, mean_and_spread
from hedgerow.experiments.plan import (
    BOOSTING,
    COMPARED,
    FULL,
    LOGISTIC,
    ONE_HOT,
    QUICK,
    UNDER_NOISE,
    ExperimentPlan,
    Maker,
    Problem,
    load_problems,
)
from hedgerow.experiments.results import Experiments, ResultCurves, ResultTable
from hedgerow.progress import ProgressCallback

Step = tuple[str, Callable[[], None]]  # name and function

X_LABELS = {
    "learners": "number of weak learners",
    "shrinkage": "learning rate",
    "noise": "share of training labels flipped",
}


def run_experiments(
    *,
    full: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Experiments:
    """Compare boosting with logistic regression on three data sets, and measure the effect of its parameters.

    Simulated data (5,000 rows of 30 normal features), breast cancer, and US road accidents if the package
    `dmba` is installed. Logistic regression, AdaBoost, LogitBoost, gradient boosting, a random forest and
    bagging are cross-validated on the same folds; accuracy is drawn against the number of weak learners,
    against the learning rate and against the share of wrong labels; and a claim about breast cancer with five
    weak learners is checked.

    Parameters
    ----------
    full : bool
        All rows, 10 folds and repeats: some minutes. False for a sample of the accidents, 5 folds and fewer
        points: less than a minute, most of it the compilation of kernels on a new machine.
    random_state : int
        Seed of the simulated rows, the folds, the flipped labels and the methods.
    n_jobs : int or None
        Threads; None for all cores. All results except the seconds are the same for any number.
    progress : callable, optional
        Called as ``progress(done, total, name)`` before every step and at the end.

    Returns
    -------
    Experiments

    Examples
    --------
    >>> experiments = run_experiments()  # doctest: +SKIP
    >>> experiments.save("experiments.html")  # doctest: +SKIP
    >>> run_experiments(random_state=-1)
    Traceback (most recent call last):
    ValueError: random_state=-1 is not allowed: it must be an integer from 0 to 4294967295
    """
    check_parameters({"random_state": random_state}, {"random_state": integer(0, 2**32 - 1)})
    return run_plan(
        FULL if full else QUICK, random_state=random_state, n_jobs=n_jobs, progress=progress, full=full
    )


def run_plan(
    plan: ExperimentPlan,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    full: bool = False,
) -> Experiments:
    """Run the experiments of a plan, see `run_experiments`."""
    problems, left_out = load_problems(plan, random_state)
    maker = Maker(plan.learners, plan.trees, plan.members, random_state, n_jobs)
    results = [ProblemResults(problem, plan, maker) for problem in problems]
    checked: list[findings.ClaimErrors] = []
    names = tuple(dict.fromkeys((*COMPARED, *UNDER_NOISE)))
    steps: list[Step] = [("compiling the kernels", partial(compile_kernels, problems, names, maker))]
    for one in results:
        steps += one.steps()
    cancer = next(problem for problem in problems if problem.name == "cancer")

    def check_claim(claim_model: findings.ClaimModel) -> None:
        checked.append(findings.check_claim(claim_model, cancer, plan, random_state))

    for claim_model in findings.claim_models(n_jobs):
        steps.append((f"five learners: {claim_model.name}", partial(check_claim, claim_model)))
    for done, (name, step) in enumerate(steps):
        if progress is not None:
            progress(done, len(steps), name)
        step()
    if progress is not None:
        progress(len(steps), len(steps), "done")
    return _gather(results, checked, left_out, random_state, full)


@dataclass(eq=False)
class ProblemResults:
    """Results on one problem, filled by its steps."""

    problem: Problem
    plan: ExperimentPlan
    maker: Maker
    scores: dict[str, MethodScores] = field(default_factory=dict)
    level: float = 0.0  # accuracy of logistic regression on the folds of the figures
    lines: dict[str, dict[str, AccuracyCurve]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan, seed = self.plan, self.maker.random_state
        self.folds = measure.make_folds(self.problem.y, plan.folds, plan.repeats, seed)
        self.curve_folds = measure.make_folds(self.problem.y, plan.curve_folds, 1, seed)

    def steps(self) -> list[Step]:
        """Return a step for every method of every experiment on this problem."""
        plan, kinds = self.plan, {"learners": BOOSTING, "shrinkage": BOOSTING, "noise": UNDER_NOISE}
        compared = [*COMPARED[:1], *([ONE_HOT] if self.problem.is_coded else []), *COMPARED[1:]]
        steps: list[Step] = [
            (f"{self.problem.name}: {name}", partial(self.compare, name)) for name in compared
        ]
        steps.append((f"{self.problem.name}: logistic regression for the figures", self.find_level))
        for kind, names in kinds.items():
            if kind != "noise" or self.problem.name in plan.noisy:
                title = f"{self.problem.name}: {kind}"
                steps += [(f"{title}, {name}", partial(self.draw, kind, name)) for name in names]
        return steps

    def compare(self, name: str) -> None:
        """Cross-validate a method."""
        self.scores[name] = measure.cross_validate(self.maker.make(name), self.problem, self.folds)

    def find_level(self) -> None:
        """Cross-validate the reference of figures 1 and 2."""
        model = self.maker.make(LOGISTIC)
        self.level = float(measure.cross_validate(model, self.problem, self.curve_folds).accuracy.mean())

    def draw(self, kind: str, name: str) -> None:
        """Measure the line of a method in a figure."""
        plan, problem, folds = self.plan, self.problem, self.curve_folds
        if kind == "learners":
            model = self.maker.make(name, learners=plan.most_learners)
            curve = measure.curve_of_rounds(model, problem, folds, plan.most_learners)
        elif kind == "shrinkage":
            models = [self.maker.make(name, learners=plan.shrunk_learners, rate=rate) for rate in plan.rates]
            curve = measure.curve_of_models(models, plan.rates, problem, folds)
        else:
            model, seed = self.maker.make(name), self.maker.random_state
            curve = measure.curve_of_noise(model, plan.shares, problem, folds, seed)
        self.lines.setdefault(kind, {})[name] = curve

    def comparison(self) -> MethodComparison:
        """Return the comparison for the sentences."""
        accuracy = {name: scores.accuracy for name, scores in self.scores.items()}
        ratio = 1 / (self.plan.folds - 1)
        return MethodComparison(self.problem.title.partition(",")[0], accuracy, ratio, self.problem.majority)

    def table(self) -> ResultTable:
        """Return the table of the comparison."""
        rows = tuple(
            (
                name,
                self.maker.describe(name),
                mean_and_spread(scores.accuracy),
                float(scores.fit_seconds.mean()),
                float(scores.predict_seconds.mean()),
            )
            for name, scores in self.scores.items()
        )
        plan = self.plan
        times = f" × {plan.repeats}" if plan.repeats > 1 else ""
        title = f"{self.problem.title}: {plan.folds} folds{times}, mean ± standard deviation"
        columns = ("method", "parameters", "accuracy", "fit seconds", "predict seconds")
        return ResultTable(self.problem.name, title, columns, rows, ("", "", ".4f", ".3f", ".4f"))

    def curves(self, kind: str) -> ResultCurves | None:
        """Return the lines of a figure."""
        lines = self.lines.get(kind)
        if lines is None:
            return None
        level = None if kind == "noise" else (LOGISTIC, self.level)
        return ResultCurves(
            kind, self.problem.name, self.problem.title, X_LABELS[kind], lines, level, log_x=kind != "noise"
        )

    def sentences(self) -> dict[str, list[str]]:
        """Findings by experiment."""
        comparison, lines = self.comparison(), self.lines
        sentences: dict[str, list[str]] = {"compare": [comparison.winner(), comparison.against_linear()]}
        if self.problem.name == "accidents":
            sentences["compare"].append(findings.describe_accidents(comparison.accuracy[LOGISTIC].mean()))
        sentences["learners"] = [findings.describe_learners(comparison.title, lines["learners"])]
        sentences["shrinkage"] = [
            findings.describe_shrinkage(comparison.title, lines["shrinkage"], self.plan.shrunk_learners)
        ]
        sentences["noise"] = (
            [findings.describe_noise(comparison.title, lines["noise"])] if "noise" in lines else []
        )
        return sentences


def _gather(
    results: list[ProblemResults],
    checked: list[findings.ClaimErrors],
    left_out: list[str],
    seed: int,
    full: bool,
) -> Experiments:
    found = [one.sentences() for one in results]
    sentences = {kind: tuple(sentence for one in found for sentence in one[kind]) for kind in found[0]}
    lines = [one.curves(kind) for kind in X_LABELS for one in results]
    return Experiments(
        full=full,
        random_state=seed,
        tables=(*(one.table() for one in results), findings.claim_table(checked)),
        curves=tuple(line for line in lines if line is not None),
        scores={
            one.problem.name: {name: mean_and_spread(scores.accuracy) for name, scores in one.scores.items()}
            for one in results
        },
        sentences={**sentences, "claim": tuple(findings.claim_findings(checked))},
        left_out=tuple(left_out),
    )
