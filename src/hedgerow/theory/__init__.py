"""Bounds on the error of ensembles, and measurements of bias and variance.

`certify` computes upper bounds on the error of a model on new rows. The bounds are also functions of their
own: bounds on the training error, from the hypothesis class, from margins, from votes and from hold-out rows.
`bias_variance` measures bias and variance of any scikit-learn estimator.
"""

from hedgerow.theory.certificate import Bound, Certificate, InapplicableBound
from hedgerow.theory.certify import certify
from hedgerow.theory.class_bounds import growth_bound, growth_deviation, stump_bound, tree_bound, vc_bound
from hedgerow.theory.decomposition import BiasVariance
from hedgerow.theory.deviations import binary_kl, holdout_bound, kl_lower, kl_upper
from hedgerow.theory.grid import quantile_grid
from hedgerow.theory.growth import (
    boosted_growth,
    boosted_stump_growth,
    boosted_tree_growth,
    boosted_vc_dimension,
    sauer,
    stump_growth,
    stump_vc_dimension,
    threshold_vc_dimension,
    tree_growth,
    tree_vc_dimension,
)
from hedgerow.theory.margin_bounds import (
    MarginBound,
    gao_zhou_bound,
    margin_distribution,
    margins,
    schapire_bound,
)
from hedgerow.theory.measure import bias_variance
from hedgerow.theory.optimize import optimize_votes
from hedgerow.theory.resamples import Resamples
from hedgerow.theory.training import edges, exponential_bound, rounds_to_zero_error, training_error_bound
from hedgerow.theory.vote_bounds import c_bound, chebyshev_cantelli_bound, first_order_bound, tandem_bound

__all__ = [
    "BiasVariance",
    "Bound",
    "Certificate",
    "InapplicableBound",
    "MarginBound",
    "Resamples",
    "bias_variance",
    "binary_kl",
    "boosted_growth",
    "boosted_stump_growth",
    "boosted_tree_growth",
    "boosted_vc_dimension",
    "c_bound",
    "certify",
    "chebyshev_cantelli_bound",
    "edges",
    "exponential_bound",
    "first_order_bound",
    "gao_zhou_bound",
    "growth_bound",
    "growth_deviation",
    "holdout_bound",
    "kl_lower",
    "kl_upper",
    "margin_distribution",
    "margins",
    "optimize_votes",
    "quantile_grid",
    "rounds_to_zero_error",
    "sauer",
    "schapire_bound",
    "stump_bound",
    "stump_growth",
    "stump_vc_dimension",
    "tandem_bound",
    "threshold_vc_dimension",
    "training_error_bound",
    "tree_bound",
    "tree_growth",
    "tree_vc_dimension",
    "vc_bound",
]
