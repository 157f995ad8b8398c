"""Figures are drawn without a window, and closed after every test."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    mpl.use("Agg")
    yield
    plt.close("all")
