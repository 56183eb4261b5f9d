"""Taking time: warm-up calls are dropped, sessions repeat, and samples are kept."""

import json
from threading import Barrier

import numpy as np
import pytest

from embassay.protocols.rag.sweep import measurement as stopwatch
from embassay.protocols.rag.sweep.config import LatencySettings
from embassay.protocols.rag.sweep.measurement import QueryLatencyRecorder

LATENCY = LatencySettings(queries=4, warmup=2, repeats=3, concurrency=2)


def test_calls_and_samples(tmp_path):
    """Every session makes its warm-up calls and one call per query; only the latter are samples."""
    calls = []
    watch = QueryLatencyRecorder(tmp_path, LATENCY)
    name = watch.alone({"stage": "embed"}, [7, 3, 5, 1], calls.append)
    assert calls == [7, 3, 7, 3, 5, 1] * 3
    assert watch.read(name).shape == (3, 4)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but where a test turns it: [seconds]."""
    now = [100.0]
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: now[0])
    return now


def test_calls_are_timed_in_milliseconds_and_the_first_is_not(tmp_path, clock):
    """What takes 20 ms is 20, and a slow first call is no sample."""
    seen = []

    def do(query):
        clock[0] += 0.02 if seen else 0.2
        seen.append(query)

    watch = QueryLatencyRecorder(tmp_path, LatencySettings(queries=2, warmup=1, repeats=1))
    samples = watch.read(watch.alone({"stage": "x"}, [0, 1], do))
    assert samples.tolist() == [[pytest.approx(20), pytest.approx(20)]]


def test_kept_samples_are_not_taken_again(tmp_path):
    """A resumed run has those of before; another stage has its own; damaged ones are taken anew."""
    watch, calls = QueryLatencyRecorder(tmp_path, LATENCY), []
    name = watch.alone({"stage": "a"}, [0, 1], calls.append)
    before = watch.read(name)
    n = len(calls)
    assert watch.alone({"stage": "a"}, [0, 1], calls.append) == name
    assert len(calls) == n
    assert np.array_equal(watch.read(name), before)
    assert watch.alone({"stage": "b"}, [0, 1], calls.append) != name
    (tmp_path / f"{name}.json").write_text("{")
    assert watch.read(name) is None
    watch.alone({"stage": "a"}, [0, 1], calls.append)
    assert watch.read(name).shape == (3, 2)
    assert json.loads((tmp_path / f"{name}.json").read_text())["what"] == {"stage": "a"}


def test_several_in_flight_overlap(tmp_path):
    """Each of six waits until all six are in flight, which one after another would never be."""
    watch, met = (
        QueryLatencyRecorder(tmp_path, LatencySettings(queries=6, warmup=0, repeats=1, concurrency=6)),
        Barrier(6),
    )
    samples = watch.read(watch.together({"stage": "total"}, range(6), lambda _: met.wait(timeout=60)))
    assert samples.shape == (1, 6)
    assert not met.broken


def test_how_busy_the_machine_was_is_kept_with_the_times(tmp_path, monkeypatch):
    """The highest by cores; nothing where no file says it, or the system does not."""
    watch = QueryLatencyRecorder(tmp_path, LATENCY)
    assert watch.load() == (None, 0)
    loads = iter([0.5, 7.25, 1.0, 2.0])
    monkeypatch.setattr(stopwatch.os, "getloadavg", lambda: (next(loads), 0.0, 0.0))
    monkeypatch.setattr(stopwatch.os, "cpu_count", lambda: 2)
    watch.alone({"stage": "a"}, [0, 1], lambda _: None)
    watch.alone({"stage": "b"}, [0, 1], lambda _: None)
    (tmp_path / "old.json").write_text('{"samples": [[1.0]]}')
    assert watch.load() == (7.25, 2)
