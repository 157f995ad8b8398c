"""Boosting: one additive loop over three independent parts.

An update rule says what the next learner is asked for and how far to step, a weak learner answers, and
callbacks watch. See `loop.boost`.
"""
