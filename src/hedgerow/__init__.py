"""Hedgerow turns weak learners into strong ones."""
