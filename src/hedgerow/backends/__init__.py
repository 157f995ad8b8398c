"""Backends: where the rows of a fit are kept and trees are grown on them.

base         the interface: what gradient boosting, the AdaBoost family and forests need from the rows
cpu          rows in memory
sharded      rows in files, or on the workers of a cluster
dask_forest  the trees of a forest, grown by the workers of a cluster

`hedgerow.boosting.loop.FitOptions.backend` chooses the backend for a table. A device would be another class
beside these, and another line there.
"""
