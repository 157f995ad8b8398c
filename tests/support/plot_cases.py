"""What the tests of displays read from matplotlib: texts, legends, lines, and boxes that overlap."""

from itertools import combinations


def texts(items):
    return [text.get_text() for text in items]


def notes(display):
    """The texts within the axes."""
    return texts(display.ax_.texts)


def legend(display):
    return texts(display.ax_.get_legend().get_texts())


def lines(display):
    """The lines with a name in the legend, by name."""
    return {line.get_label(): line for line in display.ax_.lines if not line.get_label().startswith("_")}


def overlaps(display):
    """Pairs of texts, legend and axis labels that overlap."""
    display.figure_.canvas.draw()
    ax = display.ax_
    items = [*ax.texts, ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    items += [ax.get_legend()] if ax.get_legend() else []
    boxes = [item.get_window_extent() for item in items if not hasattr(item, "get_text") or item.get_text()]
    return [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
