"""Mutated cascade files: each must load, and then run, or be refused with ModelFileError.

    python tests/support/fuzz_models.py --format opencv

Seeds are small cascades of every kind in OpenCV's XML, new and old format, and in Hedgerow's own format;
where OpenCV is installed, also files it ships. File `number` of a seed is always the same.
"""

import json
import random
import re
from functools import cache

import numpy as np

from cascade_files import large_seeds, small_seeds
from fuzz_changes import (
    NUMBER,
    changed_arrays,
    changed_value,
    delete_bytes,
    flip_bits,
    sealed,
    splice,
    truncate,
)
from hedgerow.container import ModelFileError, pack, unpack

EVERY = 100  # one file in so many comes from a large file
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


def insert_bytes(data, rng, _):
    texts = (rng.randbytes(rng.randint(1, 8)), b"\0", b"<", b"&", b"<_>" * 40, b"<!--", b"]]>", b"\xff")
    position = rng.randrange(len(data) + 1)
    return data[:position] + rng.choice(texts) + data[position:]


def insert_declaration(data, rng, _):
    position = rng.choice((0, data.find(b"<opencv"), rng.randrange(len(data))))
    return data[:position] + rng.choice(DECLARATIONS) + data[position:]


def replace_number(data, rng, _):
    return _replace(data, rng, NUMBER, lambda _: rng.choice(EXTREMES))


def nudge_number(data, rng, _):
    """A number one larger or smaller: most such files are good ones."""

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
    """The bytes from one tag to another, often a whole element, left out or there twice or many times."""
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


def change_array(data, rng, _):
    """Another number, shape or dtype in an array of an own file; the digest is right again."""
    contents = unpack(data)
    return pack(contents.text, changed_arrays(contents.arrays, rng, contents.arrays))


def change_text(data, rng, _):
    """The JSON of an own file mutated; the digest is right again."""
    contents = unpack(data)
    text = contents.text.encode()
    change = rng.choice((replace_number, nudge_number, swap_tokens, delete_bytes, flip_bits, break_json))
    return pack(change(text, rng, text).decode("utf-8", "replace"), contents.arrays)


def break_json(text, rng, _):
    try:
        content = json.loads(text)
    except ValueError:
        return text  # broken before
    return json.dumps(changed_value(content, rng)).encode()


TEXT = (flip_bits, insert_bytes, delete_bytes, truncate, splice, replace_number, nudge_number, swap_tokens)
XML = (*TEXT, insert_declaration, delete_or_repeat_element, rename_tag, nudge_number, replace_number)
PACKED = (*TEXT, change_array, change_text)


def mutated(seeds, large, seed, number):
    """The file of this number, and how it is read."""
    rng = random.Random(f"{seed} {number}")
    pick = rng.choice(large) if large and number % EVERY == 0 else rng.choice(seeds)
    data = pick.data
    if pick.packed and rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            data = rng.choice((change_array, change_text))(data, rng, data)
        return data, pick.read
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(TEXT if pick.packed else XML)(data, rng, rng.choice(seeds).data) or b"\n"
    if pick.packed and rng.random() < 0.7:
        data = sealed(data)
    return data, pick.read


def outcome(data, read, evaluate=None):
    """Return "loaded" or "refused"; raise any other exception."""
    try:
        model = read(data)
    except ModelFileError as error:
        if not 0 < len(str(error)) < 1000:
            raise AssertionError("a message must be short") from error
        return "refused"
    model = model[0] if isinstance(model, tuple) else model
    if evaluate is not None:
        n = 2 * model.width * model.height
        patches = np.random.default_rng(n).integers(0, 256, n, np.uint8).reshape(2, model.height, model.width)
        evaluate(model, patches)
    return "loaded"


@cache
def find_evaluate():
    """The evaluation of windows, run once so that compiling does not count as the time of a file."""
    from hedgerow.vision.scan import evaluate_windows  # noqa: PLC0415 - the readers are fuzzed without kernels too

    for seed in small_seeds() + large_seeds():
        assert outcome(seed.data, seed.read, evaluate_windows) == "loaded", seed.name
    return evaluate_windows
