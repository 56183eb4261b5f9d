"""Taking time: warm-up calls are dropped, sessions repeat, and samples are kept."""

import json
import time

import numpy as np

from embassay.protocols.rag.sweep.request import Latency
from embassay.protocols.rag.sweep.stopwatch import Stopwatch

LATENCY = Latency(queries=4, warmup=2, repeats=3, concurrency=2)


def test_calls_and_samples(tmp_path):
    """Every session makes its warm-up calls and one call per query; only the latter are samples."""
    calls = []
    watch = Stopwatch(tmp_path, LATENCY)
    name = watch.alone({"stage": "embed"}, [7, 3, 5, 1], calls.append)
    assert calls == [7, 3, 7, 3, 5, 1] * 3
    assert watch.read(name).shape == (3, 4)


def test_slow_calls_are_seen_in_milliseconds(tmp_path):
    """What takes 20 ms is timed as that, and a slow first call is not."""
    seen = []

    def do(query):
        time.sleep(0.2 if not seen else 0.02)
        seen.append(query)

    watch = Stopwatch(tmp_path, Latency(queries=2, warmup=1, repeats=1))
    samples = watch.read(watch.alone({"stage": "x"}, [0, 1], do))
    assert np.median(samples) < 180
    assert samples.min() >= 19


def test_kept_samples_are_not_taken_again(tmp_path):
    """A resumed run has those of before; another stage has its own; damaged ones are taken anew."""
    watch, calls = Stopwatch(tmp_path, LATENCY), []
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
    """Six at once take less wall time than one after another (1.8 s), each as long as it takes."""
    watch = Stopwatch(tmp_path, Latency(queries=6, warmup=0, repeats=1, concurrency=6))
    began = time.perf_counter()
    samples = watch.read(watch.together({"stage": "total"}, range(6), lambda _: time.sleep(0.3)))
    assert time.perf_counter() - began < 1.5
    assert samples.shape == (1, 6)
    assert samples.min() >= 299
