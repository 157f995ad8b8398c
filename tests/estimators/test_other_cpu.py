"""Models and predictions are the same, byte for byte, where kernels are compiled for a generic CPU."""

import sys
from pathlib import Path

import pytest

from forest_cases import predictions
from hedgerow.io.models import to_bytes
from other_cpu import print_cpu, run_on_plain_cpu
from same_bits_cases import ADABOOST, FORESTS, GRADIENT_BOOSTING

CASES = {
    "gradient boosting": (
        GRADIENT_BOOSTING,
        ["early stopping, weights", "missing and categories", "multinomial", "absolute_error", "poisson"],
    ),
    "AdaBoost": (
        ADABOOST,
        [
            "real, real weights, trees, exact",
            "samme, drawn rows, real weights",
            "discrete, stopping",
            "gentle, three classes",
            "logit, three classes",
            "anyboost, sigmoid",
        ],
    ),
    "forest": (
        FORESTS,
        ["gini", "entropy, balanced", "real weights", "poisson", "extra categories", "best first"],
    ),
}


def write_all(folder):
    """Write every model and its predictions to a file."""
    for family, (cases, names) in CASES.items():
        for name in names:
            model, (X, y, weight) = cases[name]()
            model.set_params(n_jobs=2).fit(X, y, weight)
            content = to_bytes(model) + predictions(model, X[:3000]).tobytes()
            (Path(folder) / f"{family}, {name}").write_bytes(content)


@pytest.mark.slow
def test_the_processor_does_not_matter(tmp_path):
    folders = [tmp_path / "plain", tmp_path / "usual"]
    for folder in folders:
        folder.mkdir()
    run_on_plain_cpu(__file__, folders[0])
    write_all(folders[1])
    plain, usual = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert len(usual) == sum(len(names) for _, names in CASES.values())
    assert {name for name in usual if plain.get(name) != usual[name]} == set()


if __name__ == "__main__":
    print_cpu()
    write_all(sys.argv[1])
