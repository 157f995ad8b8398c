"""Boosting: one loop with independent update rules, weak learners and callbacks.

The update rule defines what the next learner fits and how it is added to the ensemble. See `loop.boost`.
"""
