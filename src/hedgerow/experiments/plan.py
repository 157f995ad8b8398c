"""How large the experiments are: every size in one place, for a quick look and for the full run."""

from dataclasses import dataclass

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class Plan:
    """Sizes of the experiments.

    Parameters
    ----------
    folds, repeats : int
        Of the comparison of all methods.
    curve_folds : int
        Folds of the figures; each fold is a fit at every point of a curve.
    simulated_rows : int
    accident_rows : int or None
        Rows drawn from the accidents, None for all of them.
    learners : int
        Rounds of boosting in the comparison and in the noise figure.
    most_learners : int
        Where figure 1 ends.
    shrunk_learners : int
        The fixed number of learners of figure 2.
    trees : int
        Of a forest.
    members : int
        Trees of a bag.
    rates : tuple of float
        Learning rates of figure 2.
    shares : tuple of float
        Shares of flipped training labels.
    noisy : tuple of str
        Names of the problems whose labels are flipped.
    claim_repeats, claim_splits : int
        Repeats of 10-fold cross-validation, and random 75/25 splits, for the claim about five learners.

    Examples
    --------
    >>> FULL.folds * FULL.repeats, QUICK.folds * QUICK.repeats
    (20, 5)
    """

    folds: int
    repeats: int
    curve_folds: int
    simulated_rows: int
    accident_rows: int | None
    learners: int
    most_learners: int
    shrunk_learners: int
    trees: int
    members: int
    rates: tuple[float, ...]
    shares: tuple[float, ...]
    noisy: tuple[str, ...]
    claim_repeats: int
    claim_splits: int


QUICK = Plan(
    folds=5,
    repeats=1,
    curve_folds=3,
    simulated_rows=5000,
    accident_rows=5000,
    learners=100,
    most_learners=200,
    shrunk_learners=50,
    trees=100,
    members=100,
    rates=(0.03, 0.1, 0.3, 1.0),
    shares=(0.0, 0.2, 0.4),
    noisy=("simulated", "cancer"),
    claim_repeats=2,
    claim_splits=40,
)

FULL = Plan(
    folds=10,
    repeats=2,
    curve_folds=10,
    simulated_rows=5000,
    accident_rows=None,
    learners=200,
    most_learners=500,
    shrunk_learners=100,
    trees=100,
    members=100,
    rates=RATES,
    shares=SHARES,
    noisy=("simulated", "cancer", "accidents"),
    claim_repeats=10,
    claim_splits=200,
)
