"""Colours of a drawing as CSS variables, and their counterparts on a dark page.

A drawing is made once, for white paper. On a page its colours are variables: those of the house style have
names and counterparts chosen by eye, any other `#rrggbb` is `--c-rrggbb`, and its counterpart has the same
hue and the lightness turned round. Lightness is that of Oklab (Ottosson 2020), in which equal steps look
equal, so that what stood out on white stands out on black.
"""

import re

import numpy as np

from hedgerow.plots import style

# name: (on white, on black)
NAMED = {
    "paper": ("#ffffff", "#15181c"),
    "ink": (style.INK.lower(), "#e3e6ea"),
    "faint": (style.FAINT.lower(), "#767f8a"),
    "blue": (style.BLUE.lower(), "#5aaee6"),
    "vermillion": (style.VERMILLION.lower(), "#f28b4e"),
    "green": ("#009e73", "#3ac79b"),
    "pink": ("#cc79a7", "#e29cc4"),
    "orange": ("#e69f00", "#f2b84a"),
    "sky": ("#56b4e9", "#8fd3f7"),
    "black": ("#000000", "#f4f5f7"),
    "soft": (style.SOFT.lower(), "#a4adb8"),
}
# Words need a contrast of 4.5:1 on the paper, lines only 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
OF_WORDS = {
    "vermillion": ("#b34d00", "#f28b4e"),
    "green": ("#007a59", "#3ac79b"),
    "pink": ("#a94c80", "#e29cc4"),
    "orange": ("#946600", "#f2b84a"),
    "sky": ("#1f78ad", "#8fd3f7"),
    "faint": ("#6b6b6b", "#98a1ac"),
}
_NAMES = {on_white: name for name, (on_white, _) in NAMED.items()}
_FREE = re.compile(r"var\(--c-([0-9a-f]{6})\)")
_DARKEST, _LIGHTEST = 0.21, 0.97  # lightness of the paper and of black ink, on a dark page

_FROM_RGB = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)  # linear sRGB -> cones
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)  # cube roots of cones -> Oklab


def variable(colour: str, *, of_words: bool = False) -> str:
    """The CSS variable of a colour `#rrggbb`, of lines and areas or of words.

    >>> variable("#0072B2"), variable("#deebf7")
    ('var(--blue)', 'var(--c-deebf7)')
    >>> variable("#D55E00", of_words=True)
    'var(--vermillion-words)'
    """
    code = colour.lower()
    if code not in _NAMES:
        return f"var(--c-{code[1:]})"
    name = _NAMES[code]
    return f"var(--{name}-words)" if of_words and name in OF_WORDS else f"var(--{name})"


def dark(colour: str) -> str:
    """The counterpart of a colour `#rrggbb` on a dark page.

    >>> dark("#0072b2"), dark("#eeeeee"), dark("#222222")
    ('#5aaee6', '#212121', '#b7b7b7')
    """
    code = colour.lower()
    if code in _NAMES:
        return NAMED[_NAMES[code]][1]
    shares = np.array([int(code[place : place + 2], 16) for place in (1, 3, 5)]) / 255.0
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    lab = _TO_LAB @ np.cbrt(_FROM_RGB @ linear)
    lab[0] = _LIGHTEST - (_LIGHTEST - _DARKEST) * lab[0]
    linear = np.clip(np.linalg.solve(_FROM_RGB, np.linalg.solve(_TO_LAB, lab) ** 3), 0.0, 1.0)
    shares = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * share):02x}" for share in shares.tolist())


def definitions(html: str, *, on_black: bool) -> str:
    """CSS that defines the named colours, and the others that a piece of HTML uses.

    >>> definitions('<path style="fill: var(--c-eeeeee)"/>', on_black=True)[-19:]
    '--c-eeeeee: #212121'
    """
    free = sorted(set(_FREE.findall(html)))
    found = [(name, pair[on_black]) for name, pair in NAMED.items()]
    found += [(f"{name}-words", pair[on_black]) for name, pair in OF_WORDS.items()]
    found += [(f"c-{code}", dark(f"#{code}") if on_black else f"#{code}") for code in free]
    return "; ".join(f"--{name}: {colour}" for name, colour in found)
