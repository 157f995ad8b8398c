"""Ensembles of `choose` against its best single models, on rows that neither has seen.

A case of the accuracy study is split into 70 % for `choose` and 30 % for the test. The trials are run once;
the best one and the members of the ensemble are fitted to all training rows. "margin" is the cross-fitted
advantage of the ensemble in standard errors, by which `choose` decides; "gain" is how much lower the test
loss of the ensemble is, in per cent of that of the single model.

    .venv/bin/python benchmarks/ensembles.py --rows 3000 --budget 20 --out ensembles.json

Only the development tables are used by default. `--tables held-back` is for reporting, not for choosing the
margin.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from accuracy_tables import CASES, Case
from hedgerow.selection import AUTO, choosing, hold_out, take_rows
from hedgerow.selection.final_fit import _try_ensemble, fit_ensemble, fit_final
from hedgerow.selection.limits import FitLimits
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.methods import usable_methods
from hedgerow.selection.metrics import find_metric
from hedgerow.selection.predictions import predict_rows
from hedgerow.selection.search import MethodSearch

MARGINS = (-np.inf, 0.0, 0.5, 1.0, 2.0)


def evaluate(case: Case, budget: float | None, seed: int) -> dict[str, Any] | None:
    """Return the test losses of both models; None if there is no ensemble to try."""
    X, y = case.load()
    labels = y.to_numpy()
    train, test = hold_out(labels, case.task, 0.3, seed)
    options = MethodOptions()
    data = choosing._training_data(take_rows(X, train), labels[train], case.task, options, "choose")  # noqa: SLF001
    metric = find_metric(None, case.task, data.n_classes)
    names = [one.name for one in usable_methods(AUTO, case.task, data.n_classes)[0]]
    search = MethodSearch(data, metric, names, [], budget, seed, None, None, options)
    search.warm_up()
    search.start_clock()
    search.plan_rows()
    search.try_all()
    tried, best = _try_ensemble(search), search.best
    if tried is None or best is None:
        return None
    trials = [search.results[number].trial for number in tried.members]
    models = [fit_final(best.trial, data, seed, None, FitLimits()).model]
    fitted = fit_ensemble(tried, best.trial, trials, [0.0] * len(trials), data, seed, None, FitLimits())
    models.append(models[0] if fitted is None else fitted.model)  # one member: it may not be the best
    X_test, y_test = take_rows(X, test), labels[test]
    scores = [metric.row_scores(predict_rows(model, X_test, y_test, case.task)) for model in models]
    single, ensemble = (float(np.mean(one)) for one in scores if one is not None)
    return {
        "case": case.name,
        "rows": len(train),
        "members": len(tried.members),
        "margin": tried.difference / tried.difference_spread if tried.difference_spread else 0.0,
        "single": single,
        "ensemble": ensemble,
        "gain": 100.0 * (single - ensemble) / single,
        "best": best.trial.description,
    }


def report(results: list[dict[str, Any]], console: Console) -> None:
    """Print the cases, and what would follow from different margins."""
    table = Table("case", "rows", "members", "margin", "single", "ensemble", "gain %")
    for one in results:
        numbers = [f"{one[name]:.4g}" for name in ("margin", "single", "ensemble", "gain")]
        table.add_row(one["case"], str(one["rows"]), str(one["members"]), *numbers)
    console.print(table)
    gains, margins = (np.array([one[name] for one in results]) for name in ("gain", "margin"))
    for margin in MARGINS:
        used = (margins > margin) & (gains != 0)
        better, worse = int((gains[used] > 0).sum()), int((gains[used] < 0).sum())
        mean = float(np.where(used, np.clip(gains, -10, 10), 0.0).mean())
        console.print(f"margin above {margin}: {better} better, {worse} worse, mean gain {mean:.2f} %")


def main() -> None:
    """Run the cases of at most `--rows` rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=3000, help="leave larger cases out")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for the trials; 0 for no limit")
    parser.add_argument("--tables", choices=("development", "held-back", "all"), default="development")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    console, results = Console(), []
    for case in CASES:
        is_wanted = arguments.tables == "all" or (arguments.tables == "held-back") == case.held_back
        if not is_wanted or len(case.load()[1]) > arguments.rows:
            continue
        start = time.perf_counter()
        found = evaluate(case, arguments.budget or None, arguments.seed)
        console.print(case.name, "no ensemble" if found is None else f"{found['gain']:.2f} %", end=" ")
        console.print(f"in {time.perf_counter() - start:.0f} s")
        if found is not None:
            results.append(found)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    report(results, console)


if __name__ == "__main__":
    main()
