"""Backends: the training and evaluation rows of gradient boosting, in memory, in files or on a cluster.

`base` defines the interface, `cpu` implements it for rows in memory, `sharded` for rows in files and on other
machines. A backend for another device implements the same interface.
"""
