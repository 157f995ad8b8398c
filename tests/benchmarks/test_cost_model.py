"""The arithmetic of the model of costs; nothing is measured here."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.binning import row_stride
from hedgerow.distributed.actor import ActorNode, call_tree
from scripts import load_script


@pytest.fixture(scope="module")
def model():
    return load_script("benchmarks/cost_model.py")


@pytest.fixture(scope="module")
def terms(model):
    return model.model


@pytest.fixture
def constants(terms):
    return terms.Constants(
        row_ns=10, partition_ns=2, histogram_ns=0.5, crowded=1.5, hop_s=1e-3, message_s=1e-4, byte_ns=1,
        add_ns=0.5, search_ns=2, node_us=10, result_us=4, scan_ns=20, encode_ns=10, edges_ms=5, prelude_ns=30,
    )  # fmt: skip


@pytest.fixture
def shape(terms):
    return terms.Shape(ahead=1.2, summed=1.0, calls=2.0, growth=0.5, passes=1.0, light=0.25)


def deepest(nodes):
    return 1 + max((deepest(node.children) for node in nodes if node.children), default=0)


def below(node):
    return 1 + sum(map(below, node.children))


@pytest.mark.parametrize("fan_out", [2, 3, 8])
@pytest.mark.parametrize("workers", [1, 2, 7, 8, 9, 72, 73, 100, 1000])
def test_the_hops_are_those_of_the_tree_of_workers(terms, workers, fan_out):
    nodes = call_tree([ActorNode("", "", number) for number in range(workers)], fan_out)
    hops = terms.call_hops(workers, fan_out)
    assert len(hops) == deepest(nodes)
    assert hops[0] == (len(nodes), max(map(below, nodes)))


@pytest.mark.parametrize("columns", [1, 3, 28, 32, 33, 54, 100, 200])
def test_rows_of_codes_are_as_long_as_the_engine_has_them(terms, columns):
    assert terms.stride(columns) == row_stride(columns)


def test_bytes_of_a_tree_are_those_of_its_histograms(terms, shape):
    job = terms.Job(1e6, columns=28, codes=256, leaves=31, workers=4)
    sent = 1 + 1.2 * 30
    assert terms.histograms(job, shape) == pytest.approx(sent)
    assert terms.bytes_sent(job, shape) == pytest.approx(2 * 28 * 256 * 4 * sent)
    assert terms.bytes_received(job, shape) == pytest.approx(4 * terms.bytes_sent(job, shape))


def test_calls_grow_with_a_power_of_the_splits(terms, shape):
    n_calls = [terms.calls(terms.Job(1e6, leaves=leaves, workers=4), shape) for leaves in (2, 5, 17)]
    assert n_calls == pytest.approx([1 + 2, 1 + 4, 1 + 8])
    assert terms.messages(terms.Job(1e6, leaves=5, workers=4, outputs=3), shape) == pytest.approx(5 * 4 * 3)


def test_sums_of_many_rows_take_eight_bytes(terms, shape):
    most = 2**31 / 2**16 * 256
    assert [terms.width(rows, 256) for rows in (most * 0.99, most)] == [4, 8]
    few, many = (terms.Job(rows, workers=1) for rows in (most / 2, most * 4))
    assert terms.bytes_sent(many, shape) == 2 * terms.bytes_sent(few, shape)


def test_a_client_receives_no_more_from_many_workers_than_its_fan_out(terms, shape):
    eight, thousand = (terms.Job(1e6, workers=workers) for workers in (8, 1000))
    assert terms.bytes_received(eight, shape) == terms.bytes_received(thousand, shape)


def test_rows_take_half_as_long_on_twice_the_cores_and_no_less_on_shared_ones(terms, constants, shape):
    one, two = (
        terms.compute(terms.Job(1e6, workers=workers, cores=64), constants, shape) for workers in (1, 2)
    )
    assert one == pytest.approx(2 * two)
    shared = [
        terms.compute(terms.Job(1e6, workers=workers, cores=2), constants, shape) for workers in (2, 4, 8)
    ]
    assert shared == pytest.approx([two * constants.crowded] * 3)


def test_a_row_is_counted_as_often_as_it_is_touched(terms, constants, shape):
    job = terms.Job(1e6, columns=10, leaves=32, workers=1, cores=8)
    each = 10 + 5 * 2 + (1 + 0.25 * 5) * 0.5 * 10
    assert terms.compute(job, constants, shape) == pytest.approx(each * 1e-3)


def test_a_round_is_the_sum_of_its_terms_and_each_output_is_a_tree(terms, constants, shape):
    job = terms.Job(1e6, workers=4, threads=8)
    found = terms.terms(job, constants, shape)
    assert all(value > 0 for value in found.values())
    assert terms.seconds(job, constants, shape) == pytest.approx(sum(found.values()))
    three = terms.seconds(replace(job, outputs=3), constants, shape)
    assert three == pytest.approx(3 * sum(found.values()))


def test_a_slower_wire_costs_its_bytes(terms, constants, shape):
    job = terms.Job(1e6, workers=8)
    slow = terms.transfer_seconds(job, replace(constants, wire=1e8), shape) - terms.transfer_seconds(
        job, constants, shape
    )
    assert slow == pytest.approx(terms.bytes_received(job, shape) / 1e8)


def test_shared_columns_send_each_entry_about_once(terms, constants, shape):
    job = terms.Job(1e6, columns=200, workers=100)
    now, then = terms.terms(job, constants, shape), terms.shared_columns(job, constants, shape)
    assert then["histograms sent"] == pytest.approx(0.99 * terms.bytes_sent(job, shape) * 1e-9)
    assert then["histograms sent"] < now["histograms sent"] / 8
    assert then["calls"] > now["calls"]
    assert then["rows"] == now["rows"]


def test_the_best_fan_out_is_the_quickest(terms, constants, shape):
    job = terms.Job(1e9, columns=200, workers=1000, threads=8)
    best = terms.best_fan_out(job, constants, shape)
    times = [terms.seconds(replace(job, fan_out=fan), constants, shape) for fan in range(2, 65)]
    assert best == 2 + int(np.argmin(times))


def test_memory_of_a_worker_is_that_of_its_rows(terms, shape):
    job = terms.Job(1e9, columns=28, workers=100)
    assert terms.worker_row_bytes(job) == 32 + 28 + 1 + 8 + 8 + 12
    assert terms.worker_row_bytes(job, low_memory=True) == terms.worker_row_bytes(job) - 28
    assert terms.worker_bytes(job, shape) == pytest.approx(1e7 * 89, rel=0.02)


def test_figures_have_three_digits(model):
    assert [model.number(value) for value in (0.01234, 12345.0, 2.0, 99.96, 0.0)] == [
        "0.0123", "12,300", "2", "100", "0",
    ]  # fmt: skip
    assert model.number(math.inf) == "-"
    assert (model.size_of(57_344), model.time_of(0.0421), model.time_of(75)) == ("57.3 kB", "42.1 ms", "75 s")


def test_the_page_has_markers_for_every_table(model):
    page = model.PAGE.read_text(encoding="utf-8")
    names = ["constants", "check", "plan", "before the first round", "remedies", "other families"]
    for name in names:
        assert "\n\nnew\n\n" in model.insert(page, name, "new")
    with pytest.raises(ValueError, match="no shards for 'nothing'"):
        model.insert(page, "nothing", "new")
