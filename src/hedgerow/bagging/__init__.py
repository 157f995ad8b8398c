"""Bagging and forests: members fitted to random samples of the rows, and the mean of their predictions.

raw_table    X as the user passed it, and hashes of its rows
sampling     rows and columns of every member: pure functions of the seed and the member's number
members      bagging of any estimator: fit the members in parallel, average their predictions
forest       random forests of deep trees
leaf_targets, intervals    quantiles and prediction intervals of forests
pair_losses  losses of single members and of pairs, for bounds on the error
"""
