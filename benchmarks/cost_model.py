"""A cost model of gradient boosting on a Dask cluster: the model, its constants, fits to check it, and plans.

Constants are measured on this machine, on one core and on a local cluster. Then fits on 1, 2, 4 and 8 local
workers of one thread are compared with the model, and the model is evaluated for larger clusters. It prints
the tables of docs/scale.md, and `--write` inserts them there.

    python benchmarks/cost_model.py --write              some minutes, on an idle machine
    python benchmarks/cost_model.py --quick              a smoke test
    python benchmarks/cost_model.py --from RUN.json      tables of a run stored with --json RUN.json
"""

import argparse
import json
import math
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import cost_terms as model
from cost_rows import CORES, Size
from cost_runs import Checked, measure
from cost_terms import Constants, Job, Shape

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
QUICK = Size(rows=40_000, rounds=4, repeats=8)
QUICK_RUN = "**A smoke test: its times are not results.**"
WIRE = 10e9 / 8  # bytes per second of 10 Gbit/s
NETWORK_HOP = 100e-6  # seconds of a round trip between two machines of a data centre, beside what is measured
PLANS = [Job(1e9, columns, workers=workers, threads=8) for columns in (28, 200) for workers in (100, 1_000)]
MEMORY = 64e9  # of a worker, for the limits of forests


# --- figures as text


def number(value: float) -> str:
    """Three significant digits.

    >>> number(0.01234), number(12345.0), number(2.0)
    ('0.0123', '12,300', '2')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "-"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size_of(n_bytes: float) -> str:
    """Bytes with a unit.

    >>> size_of(2.5e9), size_of(57344)
    ('2.5 GB', '57.3 kB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{number(n_bytes / size)} {unit}"
    return f"{number(n_bytes)} B"


def time_of(seconds: float) -> str:
    """Seconds with a unit.

    >>> time_of(0.0421), time_of(75.0)
    ('42.1 ms', '75 s')
    """
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1e3)} ms"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- measured


def constants_table(constants: Constants, shape: Shape, size: Size) -> str:
    """Constants, and the shape of trees."""
    c, base = constants, size.job()
    rows = [
        ("row: gradient, packing, leaf value", f"{number(c.row_ns)} ns per row"),
        ("partitioning", f"{number(c.partition_ns)} ns per row of a node"),
        ("histograms", f"{number(c.histogram_ns)} ns per row and column of a node"),
        (f"these three with all {CORES} cores busy", f"{number(c.crowded)} times as long"),
        ("call and reply, per hop", f"{number(c.hop_s * 1e3)} ms"),
        ("one more worker called at the same time", f"{number(c.message_s * 1e3)} ms"),
        ("reply: packed, sent, unpacked, added", f"{number(c.byte_ns)} ns per byte"),
        ("adding in a worker", f"{number(c.add_ns)} ns per entry"),
        ("search", f"{number(c.node_us)} us per node and {number(c.search_ns)} ns per entry"),
        ("own results of a shard", f"{number(c.result_us)} us per shard and tree"),
        ("scan", f"{number(c.scan_ns)} ns per value"),
        ("encoding", f"{number(c.encode_ns)} ns per value"),
        ("bin edges", f"{number(c.edges_ms)} ms per column"),
        ("checks and fingerprints", f"{number(c.prelude_ns)} ns per row"),
    ]
    trees = [
        ("calls", number(model.calls(base, shape))),
        ("calls grow with the splits to the power of", number(shape.growth)),
        ("nodes partitioned per split", number(shape.ahead)),
        ("histograms per worker", number(model.histograms(base, shape))),
        ("times a row is partitioned", number(shape.passes * math.log2(size.leaves))),
        ("times a row is added to a histogram", number(1 + shape.light * math.log2(size.leaves))),
    ]
    return (
        f"{table(('constant', 'measured'), rows)}\n\n"
        f"{table((f'a tree of {size.leaves} leaves', 'measured'), trees)}\n\n"
        f"Measured with {size.rows:,} rows and {size.columns} columns on a machine of {CORES} cores."
    )


def check_table(constants: Constants, shape: Shape, checked: Sequence[Checked]) -> str:
    """Predicted beside measured."""
    rounds, others = [], []
    for one in checked:
        job = one.job
        predicted = model.seconds(job, constants, shape)
        before = sum(model.set_up(job, constants).values()) + predicted
        rounds.append(
            (
                str(job.workers), f"{int(job.rows):,}", str(job.columns), str(job.leaves),
                time_of(predicted), time_of(one.round_s), number(predicted / one.round_s),
                time_of(before), time_of(one.first_s),
            )
        )  # fmt: skip
        received = model.bytes_received(job, shape)
        others.append(
            (
                str(job.workers), f"{int(job.rows):,}", str(job.columns), str(job.leaves),
                number(model.calls(job, shape)), number(one.n_calls),
                size_of(received), size_of(one.n_bytes),
                str(model.worker_row_bytes(job)), number(one.worker_row_bytes),
                size_of(model.client_bytes(job)), size_of(one.client_row_bytes * job.rows),
            )
        )  # fmt: skip
    ratios = [model.seconds(one.job, constants, shape) / one.round_s for one in checked]
    head = ("workers", "rows", "columns", "leaves")
    times = ("round, model", "measured", "ratio", "until the first round, model", "measured")
    counts = (
        "calls per tree, model", "measured", "bytes received per tree, model", "measured",
        "bytes per row on workers, model", "measured", "memory of the client, model", "measured",
    )  # fmt: skip
    return (
        f"{table((*head, *times), rounds)}\n\n{table((*head, *counts), others)}\n\n"
        f"Workers of one thread share {CORES} cores. The model predicts between {number(min(ratios))} and "
        f"{number(max(ratios))} times the measured seconds of a round."
    )


# --- plans


def on_a_network(constants: Constants) -> Constants:
    """The constants with one machine per worker."""
    return replace(constants, wire=WIRE, hop_s=constants.hop_s + NETWORK_HOP)


def largest(terms: dict[str, float]) -> str:
    """The term with the most seconds."""
    return max(terms, key=lambda name: terms[name])


def plan_table(constants: Constants, shape: Shape) -> str:
    """Time of a tree by its terms."""
    far = on_a_network(constants)
    rows = []
    for job in PLANS:
        terms = model.terms(job, far, shape)
        total = sum(terms.values())
        rows.append(
            (
                str(job.columns), f"{job.workers:,}", *map(time_of, terms.values()), f"**{time_of(total)}**",
                size_of(model.bytes_sent(job, shape)), size_of(model.bytes_received(job, shape)),
                number(model.messages(job, shape)), f"{largest(terms)}, {max(terms.values()) / total:.0%}",
            )
        )  # fmt: skip
    names = model.terms(PLANS[0], far, shape)
    ends = (
        "total per tree",
        "bytes a worker sends",
        "bytes that the client receives",
        "messages",
        "bottleneck",
    )
    return table(("columns", "workers", *names, *ends), rows)


def set_up_table(constants: Constants, shape: Shape) -> str:
    """Time before the first round, and memory."""
    far, rows = on_a_network(constants), []
    for job in PLANS:
        before = model.set_up(job, far)
        rows.append(
            (
                str(job.columns), f"{job.workers:,}", *map(time_of, before.values()),
                time_of(sum(before.values())), size_of(model.worker_bytes(job, shape)),
                size_of(model.client_bytes(job)),
            )
        )  # fmt: skip
    names = model.set_up(PLANS[0], far)
    return table(("columns", "workers", *names, "total", "memory of a worker", "memory of the client"), rows)


def remedies_table(constants: Constants, shape: Shape) -> str:
    """Time of a tree now, and with remedies."""
    far, rows = on_a_network(constants), []
    for job in PLANS:
        best = model.best_fan_out(job, far, shape)
        now = model.seconds(job, far, shape)
        settled = model.seconds(replace(job, fan_out=best), far, shape)
        shared = model.shared_columns(replace(job, fan_out=best), far, shape)
        quick = replace(far, byte_ns=0.0)
        rows.append(
            (
                str(job.columns), f"{job.workers:,}", time_of(now), f"{best}: {time_of(settled)}",
                time_of(sum(shared.values())), largest(shared),
                time_of(sum(model.shared_columns(replace(job, fan_out=best), quick, shape).values())),
            )
        )  # fmt: skip
    head = (
        "columns", "workers", "now, fan-out 8", "best fan-out", "columns split among workers",
        "bottleneck then", "and bytes handled at network speed",
    )  # fmt: skip
    return table(head, rows)


def others_table(constants: Constants) -> str:
    """AdaBoost and forests."""
    far = on_a_network(constants)
    rows = []
    for n in (1e7, 1e8, 1e9):
        job = Job(n, 28, workers=100, threads=8)
        rows.append(
            (
                f"{int(n):,}", time_of(model.adaboost_round(job, far)), size_of(model.forest_bytes(job)),
                size_of(model.forest_bytes(replace(job, threads=1))),
            )
        )  # fmt: skip
    most = MEMORY / (model.forest_bytes(PLANS[0]) / PLANS[0].rows)
    head = (
        "rows x 28 columns", "AdaBoost: weights sent, leaves returned, per round",
        "forest: memory of a worker of 8 threads", "of one thread",
    )  # fmt: skip
    capacity = f"A worker of 8 threads and {size_of(MEMORY)} can hold {number(most)} rows."
    return f"{table(head, rows)}\n\n{capacity}"


def tables(constants: Constants, shape: Shape, checked: Sequence[Checked], size: Size) -> dict[str, str]:
    """The tables of the page, by the names of their marks."""
    made = {
        "constants": constants_table(constants, shape, size),
        "check": check_table(constants, shape, checked),
        "plan": plan_table(constants, shape),
        "before the first round": set_up_table(constants, shape),
        "remedies": remedies_table(constants, shape),
        "other families": others_table(constants),
    }
    if size.rows >= Size.rows:
        return made
    return {name: f"{QUICK_RUN}\n\n{text}" for name, text in made.items()}


# --- the page and the command


def insert(page: str, name: str, text: str) -> str:
    """The page with a text between its marks."""
    begin, end = f"<!-- {name}, by benchmarks/cost_model.py -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no shards for {name!r}: {begin} ... {end}")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)


def load_run(path: Path) -> tuple[Constants, Shape, list[Checked], Size]:
    """A stored run."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    checked = [Checked(**{**one, "job": Job(**one["job"])}) for one in found["checked"]]
    return Constants(**found["constants"]), Shape(**found["shape"]), checked, Size(**found["size"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or load a run; print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small: a smoke test")
    parser.add_argument("--write", action="store_true", help="insert the tables into docs/scale.md")
    parser.add_argument("--json", type=Path, help="file for the measurements")
    parser.add_argument("--from", dest="source", type=Path, help="a file of --json: do not measure")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=UserWarning)  # of Dask, about sizes and ports
    if options.source:
        run = load_run(options.source)
    else:
        size = QUICK if options.quick else Size()
        run = (*measure(size, lambda what: print(f"... {what}", file=sys.stderr, flush=True)), size)
    constants, shape, checked, size = run
    if options.json:
        whole: dict[str, Any] = {"constants": constants, "shape": shape, "size": size}
        found = {name: asdict(one) for name, one in whole.items()} | {
            "checked": [asdict(one) for one in checked]
        }
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    made = tables(constants, shape, checked, size)
    print("\n\n".join(f"## {name}\n\n{text}" for name, text in made.items()))
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in made.items():
            page = insert(page, name, text)
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
