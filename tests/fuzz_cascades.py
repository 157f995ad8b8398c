"""Mutated cascade files: each must load, and then run, or be refused with ModelFileError.

    python tests/fuzz_cascades.py --files 100000 --seed 1

Seeds are small cascades of every kind in OpenCV's XML, new and old format, and in Hedgerow's own format;
where OpenCV is installed, also files it ships. File `number` of a seed is always the same. The last lines
give the counts, the slowest file and the memory; the exit code is 1 if any file ended in another way.
"""

import argparse
import json
import math
import random
import re
import sys
import time
import traceback
import warnings

import numpy as np

from cascade_files import large_seeds, small_seeds
from hedgerow import container
from hedgerow.container import ModelFileError, pack, unpack

EVERY = 100  # one file in so many comes from a large file
EXTREMES = [
    *(b"0", b"-0", b"1", b"-1", b"2", b"3", b"7", b"8", b"255", b"256", b"-256", b"1000000"),
    *(b"2147483647", b"-2147483648", b"2147483648", b"4294967296", b"-99999999999999999999", b"9" * 5000),
    *(b"nan", b"inf", b"-inf", b".Inf", b".Nan", b"1e38", b"3.4028236e38", b"1e39", b"-1e400", b"1e-400"),
    *(b"1_000", b"0x10", b"010", b"1.", b".5", b".", b"-", b"+1", b"1e", b"", b"\xd9\xa1", b"1 2", b"true"),
]
NUMBER = re.compile(rb"-?[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?")
TAG = re.compile(rb"</?[A-Za-z_][A-Za-z_0-9]*[^<>]*>")
TOKEN = re.compile(rb"[^\s<>\",:]+")


def flip_bits(data, rng, _):
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def insert_bytes(data, rng, _):
    place = rng.randrange(len(data) + 1)
    new = rng.choice(
        (rng.randbytes(rng.randint(1, 8)), b"\0", b"<", b"&", b"<_>" * 40, b"<!--", b"]]>", b"\xff")
    )
    return data[:place] + new + data[place:]


def insert_declaration(data, rng, _):
    new = rng.choice(
        (
            b'<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c "&b;&b;">]>',
            b'<!DOCTYPE a SYSTEM "file:///dev/zero">',
            b"<?xml version='1.0' encoding='utf-16'?>",
            b'<?xml version="1.0" encoding="utf-7"?>',
            b"&amp;&lt;&#0;",
            b"<![CDATA[12]]>",
        )
    )
    place = rng.choice((0, data.find(b"<opencv"), rng.randrange(len(data))))
    return data[:place] + new + data[place:]


def delete_bytes(data, rng, _):
    place = rng.randrange(len(data))
    return data[:place] + data[place + rng.choice((1, 1, 2, 10, 100)) :]


def truncate(data, rng, _):
    return data[: rng.randrange(len(data))]


def splice(data, rng, other):
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


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
    arrays = dict(contents.arrays)
    if not arrays:
        return data
    name = rng.choice(sorted(arrays))
    array = arrays[name].copy()
    what = rng.randrange(8)
    if what < 4 and array.size:
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        extremes = [0, 1, 2, limits.min, limits.max, limits.max // 2]
        extremes += [-1, -2] if array.dtype.kind == "i" else []
        extremes += [np.nan, np.inf, -np.inf, 1e-45, -0.0] if array.dtype.kind == "f" else []
        for _ in range(rng.choice((1, 1, 3))):
            array.flat[rng.randrange(array.size)] = rng.choice(extremes)
        arrays[name] = array
    elif what == 4:
        arrays[name] = array[: rng.randrange(len(array) + 1)]
    elif what == 5:
        arrays[name] = array.reshape(rng.choice(((-1,), (1, -1), (-1, 1), array.shape[::-1])))
    elif what == 6:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(rng.choice((np.float32, np.float64, np.int32, np.uint32, np.uint8)))
    elif rng.random() < 0.5:
        del arrays[name]
    else:
        arrays[rng.choice((*contents.arrays, "left", "weights", "os.system"))] = array
    return pack(contents.text, arrays)


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
    key = rng.choice(sorted(content))
    values = (
        None,
        True,
        -1,
        2**63,
        10**30,
        1e300,
        "x" * 1000,
        [],
        [3],
        [24, 20.0],
        {},
        [[[[]]]],
        float("nan"),
    )
    content[key] = rng.choice(values)
    return json.dumps(content).encode()


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
        changed = bytearray(data)
        changed[container._DIGEST] = container._digest(data)
        data = bytes(changed)
    return data, pick.read


def outcome(data, read, judge=None):
    """ "loaded" or "refused"; any other exception goes on."""
    try:
        model = read(data)
    except ModelFileError as error:
        if not 0 < len(str(error)) < 1000:
            raise AssertionError("a message must be short") from error
        return "refused"
    model = model[0] if isinstance(model, tuple) else model
    if judge is not None:
        n = 2 * model.width * model.height
        patches = np.random.default_rng(n).integers(0, 256, n, np.uint8).reshape(2, model.height, model.width)
        judge(model, patches)
    return "loaded"


def fuzz(files, seed, judge=None, say=None):
    """Counts by outcome, and the seconds and number of the slowest file."""
    seeds, large = small_seeds(), large_seeds()
    counts = {"loaded": 0, "refused": 0, "failed": 0}
    slowest = (0.0, -1)
    for number in range(files):
        data, read = mutated(seeds, large, seed, number)
        start = time.perf_counter()
        try:
            result = outcome(data, read, judge)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            result = "failed"
            if say is None:
                raise
            say(f"seed {seed}, file {number}:\n{traceback.format_exc()}")
        counts[result] += 1
        slowest = max(slowest, (time.perf_counter() - start, number))
    return counts, slowest


def find_judge():
    """`judge` of the detector, run once so that compiling does not count as the time of a file."""
    from hedgerow.vision.scan import judge  # noqa: PLC0415 - the readers are fuzzed without kernels too

    for seed in small_seeds():
        outcome(seed.data, seed.read, judge)
    return judge


def peak_memory():
    """In MiB; NaN where the system does not tell."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers-only", action="store_true", help="do not run the cascades that load")
    given = parser.parse_args()

    def say(text):
        sys.stdout.write(text + "\n")

    warnings.simplefilter("error")
    judge = None if given.readers_only else find_judge()
    before = peak_memory()
    start = time.perf_counter()
    counts, (seconds, number) = fuzz(given.files, given.seed, judge, say)
    peak = peak_memory()
    say(
        f"{given.files} files in {time.perf_counter() - start:.0f} s: "
        + ", ".join(f"{n} {k}" for k, n in counts.items())
    )
    say(f"slowest: file {number}, {1000 * seconds:.0f} ms")
    say(f"peak memory: {peak:.0f} MiB, {before:.0f} MiB before the first file")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
