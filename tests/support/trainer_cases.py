"""Small data and parameters for tests of the trainer of cascades."""

from hedgerow.vision.model import pack_cascade
from hedgerow.vision.trainer import CascadeTrainer
from oracle_windows import objects, photos

POSITIVES, NEGATIVES = objects(60), photos(10)


def make(**parameters):
    """A trainer of small stages."""
    usual = {
        "window": (8, 8),
        "n_stages": 3,
        "n_negatives": 40,
        "max_features": 80,
        "max_learners": 6,
        "min_hit_rate": 0.95,
        "scale_factor": 1.5,
        "random_state": 0,
        "n_jobs": 1,
        "verbose": 0,
    }
    return CascadeTrainer(**usual | parameters)


def fitted(positives=POSITIVES, negatives=NEGATIVES, groups=None, **parameters):
    """The same, trained."""
    return make(**parameters).fit(positives, negatives, groups=groups)


def packed(trainer):
    """The bytes of the cascade of a trainer."""
    return pack_cascade(trainer.cascade_.model, trainer.cascade_.info)
