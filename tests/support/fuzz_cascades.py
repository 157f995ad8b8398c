"""Random changes of cascades in OpenCV's XML, and the evaluation of cascades from changed files."""

import re

import numpy as np

from fuzz_changes import NUMBER, delete_bytes, flip_bits, splice, truncate
from hedgerow.vision.model import CascadeModel

EXTREMES = [
    *(b"0", b"-0", b"1", b"-1", b"2", b"3", b"7", b"8", b"255", b"256", b"-256", b"1000000"),
    *(b"2147483647", b"-2147483648", b"2147483648", b"4294967296", b"-99999999999999999999", b"9" * 5000),
    *(b"nan", b"inf", b"-inf", b".Inf", b".Nan", b"1e38", b"3.4028236e38", b"1e39", b"-1e400", b"1e-400"),
    *(b"1_000", b"0x10", b"010", b"1.", b".5", b".", b"-", b"+1", b"1e", b"", b"\xd9\xa1", b"1 2", b"true"),
]
DECLARATIONS = [
    *(b'<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c "&b;&b;">]>', b'<!DOCTYPE a SYSTEM "file:///dev/zero">'),
    *(b"<?xml version='1.0' encoding='utf-16'?>", b'<?xml version="1.0" encoding="utf-7"?>'),
    *(b"&amp;&lt;&#0;", b"<![CDATA[12]]>"),
]
TAG = re.compile(rb"</?[A-Za-z_][A-Za-z_0-9]*[^<>]*>")
TOKEN = re.compile(rb"[^\s<>\",:]+")


def insert_text(data, rng, _):
    texts = (rng.randbytes(rng.randint(1, 8)), b"\0", b"<", b"&", b"<_>" * 40, b"<!--", b"]]>", b"\xff")
    position = rng.randrange(len(data) + 1)
    return data[:position] + rng.choice(texts) + data[position:]


def insert_declaration(data, rng, _):
    position = rng.choice((0, data.find(b"<opencv"), rng.randrange(len(data))))
    return data[:position] + rng.choice(DECLARATIONS) + data[position:]


def replace_number(data, rng, _):
    return _replace(data, rng, NUMBER, lambda _: rng.choice(EXTREMES))


def nudge_number(data, rng, _):
    """Change a number by 1 or 2: most such files are valid."""

    def near(old):
        whole = old.lstrip(b"-").isdigit() and len(old) < 30
        return str(int(old) + rng.choice((-2, -1, 1, 2))).encode() if whole else old + b"1"

    return _replace(data, rng, NUMBER, near)


def swap_tokens(data, rng, _):
    found = list(TOKEN.finditer(data))
    if len(found) < 2:
        return data
    first, second = sorted(rng.sample(found, 2), key=lambda match: match.start())
    (a, b), (c, d) = first.span(), second.span()
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def delete_or_repeat_element(data, rng, _):
    """Delete or repeat the bytes from one tag to another, often a whole element."""
    tags = list(TAG.finditer(data))
    if len(tags) < 2:
        return data
    first = rng.randrange(len(tags) - 1)
    depth, last = 0, first
    for last in range(first, len(tags)):
        depth += -1 if tags[last][0][1:2] == b"/" else 1
        if depth <= 0:
            break
    start, end = tags[first].start(), tags[last].end()
    return data[:start] + data[start:end] * rng.choice((0, 0, 2, 2, 30)) + data[end:]


def rename_tag(data, rng, _):
    names = (b"<_>", b"<rects>", b"<tilted>", b"<stages>", b"</_>", b"<a b='c'>", b"<_/>")
    return _replace(data, rng, TAG, lambda _: rng.choice(names))


def _replace(data, rng, pattern, new):
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + new(match[0]) + data[match.end() :]


CHANGES = (
    *(flip_bits, insert_text, delete_bytes, truncate, splice, swap_tokens, insert_declaration),
    *(delete_or_repeat_element, rename_tag, *(replace_number, nudge_number) * 2),
)


def changed_xml(data, rng, other):
    """Mutate a file; bytes may come from `other`."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(CHANGES)(data, rng, other) or b"\n"
    return data


def evaluate(model: CascadeModel):
    """Evaluate a cascade on two random windows."""
    from hedgerow.vision.scan import evaluate_windows  # noqa: PLC0415 - compiles kernels

    n = 2 * model.width * model.height
    patches = np.random.default_rng(n).integers(0, 256, n, np.uint8).reshape(2, model.height, model.width)
    evaluate_windows(model, patches)
