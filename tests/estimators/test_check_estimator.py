"""scikit-learn's own checks of an estimator: trees, bagging, forests and linear models.

`test_check_boosting.py` has those of boosting: two files, so that two processes share them.
"""

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_cases import OTHERS
from hedgerow.vision import CascadeTrainer

pytestmark = pytest.mark.slow  # all of them together; their lines are not counted


@parametrize_with_checks(OTHERS)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_a_trainer_of_cascades_has_parameters_as_an_estimator_has(check):
    check("CascadeTrainer", CascadeTrainer())  # it is fitted to images, and predicts nothing: no more applies
