"""What is proven about ensembles, and experiments that show why they work.

`certify` tells what is proven about the error of a model. The bounds it uses can be computed alone: those of
the training error, of the class of hypotheses, of margins, of votes and of a hold-out. Bagging is said to
lower variance and boosting to lower bias: `bias_variance` measures both, on any scikit-learn estimator.
"""

from hedgerow.theory.certificate import Bound, Certificate, Unmet
from hedgerow.theory.certify import certify
from hedgerow.theory.class_bounds import growth_bound, growth_deviation, stump_bound, tree_bound, vc_bound
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
from hedgerow.theory.margin_bounds import MarginBound, gao_zhou_bound, schapire_bound
from hedgerow.theory.margins import margin_distribution, margins
from hedgerow.theory.measure import bias_variance
from hedgerow.theory.optimize import optimize_votes
from hedgerow.theory.resamples import Resamples
from hedgerow.theory.results import BiasVariance
from hedgerow.theory.training import edges, exponential_bound, rounds_to_zero_error, training_error_bound
from hedgerow.theory.vote_bounds import c_bound, chebyshev_cantelli_bound, first_order_bound, tandem_bound

__all__ = [
    "BiasVariance",
    "Bound",
    "Certificate",
    "MarginBound",
    "Resamples",
    "Unmet",
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
