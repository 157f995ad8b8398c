"""What the members of a bag say together.

Answers are (outputs, rows): a probability or a vote for every class, or one number. They are summed in the
order of the members, whoever computed them, so that the bits of a prediction do not depend on threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.loop import Workers
from hedgerow.bagging.pair_losses import KNOWN, Losses, in_steps
from hedgerow.bagging.resampling import Draws
from hedgerow.bagging.rows import GivenTable
from hedgerow.members import class_numbers, class_probabilities, numbers


@dataclass(frozen=True, eq=False)
class Ballot:
    """How a member is asked.

    Parameters
    ----------
    classes : array of labels, or None for regressors
    soft : bool
        Take probabilities of the members that have them. All others vote for the class they predict.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> member = LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> Ballot(np.array(["maybe", "no", "yes"]), soft=True).answer(member, [[1.0], [0.0]])
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """

    classes: NDArray[Any] | None
    soft: bool

    @property
    def n_outputs(self) -> int:
        """The number of classes, 1 for numbers."""
        return 1 if self.classes is None else len(self.classes)

    def answer(self, member: Any, X: Any) -> Floats:
        """What a member says, (outputs, rows); a class it has never seen gets nothing."""
        if self.classes is None:
            return numbers(member, X)[np.newaxis]
        if self.soft and hasattr(member, "predict_proba"):
            return class_probabilities(member, X, self.classes)
        named = class_numbers(member, X, self.classes)
        votes: Floats = (np.arange(len(self.classes))[:, np.newaxis] == named).astype(np.float64)
        return votes

    def ask(self, member: Any, table: GivenTable, columns: Integers | None) -> Floats:
        """What a member that knows these columns says of all rows."""
        return self.answer(member, table.part(None, columns))

    def ask_left_out(
        self, member: Any, table: GivenTable, draws: Draws, number: int, columns: Integers | None
    ) -> tuple[Integers, Floats]:
        """The rows that member `number` did not learn from, and what it says of them."""
        rows = draws.out_of_bag(number)
        if not rows.size:  # few estimators answer to a table without rows
            return rows, np.empty((self.n_outputs, 0))
        return rows, self.answer(member, table.part(rows, columns))


@dataclass(frozen=True, eq=False)
class Bag:
    """Fitted members, the columns each of them knows (None for all) and how they are asked.

    weights : float64 (members,) of sum 1, or None when all count the same.
    """

    members: Sequence[Any]
    columns: Sequence[Integers | None]
    ballot: Ballot
    weights: Floats | None = None

    def means(self, table: GivenTable, workers: Workers) -> Floats:
        """Mean answers (outputs, rows)."""
        ask = delayed(self.ballot.ask)
        tasks = (ask(m, table, c) for m, c in zip(self.members, self.columns, strict=True))
        sums = np.zeros((self.ballot.n_outputs, table.shape[0]))
        for number, answer in enumerate(workers.to_ask(table.shape[0]).in_order(tasks)):
            sums += answer if self.weights is None else self.weights[number] * answer
        return sums / len(self.members) if self.weights is None else sums

    def losses(self, table: GivenTable, classes: Integers, workers: Workers) -> Losses:
        """What each member loses on every row, (rows, members), see `pair_losses`."""
        ask = delayed(self.ballot.ask)
        tasks = (ask(m, table, c) for m, c in zip(self.members, self.columns, strict=True))
        out: Losses = np.empty((table.shape[0], len(self.members)), np.int16)
        for number, answer in enumerate(workers.to_ask(table.shape[0]).in_order(tasks)):
            out[:, number] = in_steps(answer, classes)
        return out

    def out_of_bag(
        self, table: GivenTable, draws: Draws, workers: Workers, classes: Integers | None = None
    ) -> tuple[Floats, Integers, Losses]:
        """Mean answers (outputs, rows) of the members that did not learn from a row, and how many there are.

        NaN for rows that every member learned from. Then what each member loses, (rows, members), if the
        numbers of the `classes` of the rows are given.
        """
        ask = delayed(self.ballot.ask_left_out)
        known = enumerate(zip(self.members, self.columns, strict=True))
        tasks = (ask(member, table, draws, number, columns) for number, (member, columns) in known)
        sums = np.zeros((self.ballot.n_outputs, table.shape[0]))
        counts = np.zeros(table.shape[0], np.int64)
        n_kept = 0 if classes is None else table.shape[0]
        losses = np.full((n_kept, len(self.members)), KNOWN, np.int16)
        for number, (rows, answer) in enumerate(workers.in_order(tasks)):
            sums[:, rows] += answer
            counts[rows] += 1
            if classes is not None:
                losses[rows, number] = in_steps(answer, classes[rows])
        means = np.full_like(sums, np.nan)
        return np.divide(sums, counts, out=means, where=counts > 0), counts, losses
