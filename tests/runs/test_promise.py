"""`--memory`: sizes in words, room for cells, cells that wait for each other, and what is said of a broken promise."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import Interrupted, UsageError
from embassay.runs.memory import (
    CLAIMS,
    LIMIT,
    MemoryWatch,
    PeakMemory,
    ProcessMemoryClaims,
    WorkMemoryEstimate,
    describe_broken_memory_promise,
    enforce_memory_limit,
    find_memory_use_and_promise,
    format_memory_size,
    measure_resident_memory,
    parse_memory_size,
    read_promised_memory,
    reserve_memory,
)

GIB = 2**30
linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")


@given(st.integers(1, 4096), st.sampled_from([("GiB", 2**30), ("GB", 10**9), ("gib", 2**30), ("tb", 10**12)]))
def test_sizes(amount, unit):
    """A number and a unit, with or without a space, in any case."""
    name, factor = unit
    assert parse_memory_size(f"{amount}{name}") == parse_memory_size(f" {amount} {name} ") == amount * factor


def test_fractions_and_the_least():
    """Half a unit is a size; what no run fits in is refused."""
    assert parse_memory_size("1.5GiB") == 3 * GIB // 2
    assert parse_memory_size("512MiB") == 2**29
    with pytest.raises(UsageError, match="100 MiB, which is too small for any run"):
        parse_memory_size("100MiB")


@pytest.mark.parametrize(
    "text", ["", "4", "GiB", "4 G", "4Gib.", "-4GiB", "4GiB4", "4e9B", "four GiB", "∞GiB", "1,5GiB"]
)
def test_refuses_what_is_no_size(text):
    """With the value and the mend."""
    with pytest.raises(UsageError, match="which is not a size") as raised:
        parse_memory_size(text)
    assert "4GiB" in str(raised.value)


def test_parts_in_words():
    """The largest is always said, and the others where they matter."""
    small, large = {"texts": 5 * 2**20, "words": 2**20}, {"vectors": 2**30, "tokens": 2**25, "texts": 3}
    assert str(WorkMemoryEstimate(small)) == "5 MiB for texts"
    assert str(WorkMemoryEstimate(large)) == "1 GiB for vectors, 32 MiB for tokens"


def test_without_a_promise_there_is_always_room():
    """Nothing is estimated, measured or said."""
    assert (
        read_promised_memory(),
        find_memory_use_and_promise(),
        describe_broken_memory_promise(find_memory_use_and_promise()),
    ) == (None, None, "")
    with reserve_memory(WorkMemoryEstimate({"anything": 2**60})):
        pass


@linux
def test_what_does_not_fit_says_how_much_and_what_helps():
    """The figure, its largest parts, and the mend; the environment is as it was afterwards."""
    most = (measure_resident_memory() or 0) + GIB
    with enforce_memory_limit(most):
        need = WorkMemoryEstimate(
            {"the distances of 30,000 texts": 3 * GIB, "texts": 5}, "Cluster fewer texts (--limit)"
        )
        with pytest.raises(UsageError) as raised, reserve_memory(need):
            raise AssertionError
        with reserve_memory(WorkMemoryEstimate({"little": 1})):
            pass
    said = str(raised.value)
    assert f"more than the limit of {format_memory_size(most)}: 3 GiB for the distances of 30,000 texts, and " in said
    assert "Cluster fewer texts (--limit), or raise --memory." in said
    assert "for texts" not in said
    assert not {LIMIT, CLAIMS} & set(os.environ)


@linux
def test_what_was_held_is_measured():
    """Memory that is held for a moment counts, and a promise that it broke is said to be broken."""
    with enforce_memory_limit(parse_memory_size("512MiB")):
        held = np.ones(2**26)
        while find_memory_use_and_promise()["held_bytes"] <= 2**29:
            time.sleep(0.01)
        del held
        told = find_memory_use_and_promise()
    assert told is not None
    assert told["held_bytes"] > 2**29
    assert not told["kept"]
    assert "more than the 512 MiB set" in describe_broken_memory_promise(told)


def hold(amount: int) -> None:
    """So many bytes, until it is interrupted."""
    held = np.ones(amount // 8)
    try:
        time.sleep(30)
    finally:
        del held  # the interrupt's traceback would hold it on


def held_now() -> int:
    """By this process and its children, as a promise counts: a worker may have started others (a warm command)."""
    with MemoryWatch() as watch:
        watch.update_peak_memory()
    return watch.most


def too_much() -> int:
    """Bytes beyond what is held now and 2**27 more, also where all children end in the meantime."""
    return 2**28 + max(0, held_now() - (measure_resident_memory() or 0))


def kept_at_an_interrupt(amount: int) -> None:
    """Holds much, and makes of an interrupt what commands do that keep what is finished."""
    try:
        hold(amount)
    except KeyboardInterrupt:
        raise Interrupted("Stopped.") from None


@linux
def test_work_without_cells_is_stopped_where_it_holds_more():
    """Interrupted as by Ctrl-C: what catches that keeps what it has, and the figure and the mend are said."""
    PeakMemory()  # this process's peak begins anew
    amount = too_much()
    with pytest.raises(UsageError) as raised, enforce_memory_limit(held_now() + 2**27, stop=True):
        hold(amount)
    assert "The run reached" in str(raised.value)
    assert "and was stopped. Use less data" in str(raised.value)
    assert not {LIMIT, CLAIMS} & set(os.environ)


@linux
def test_what_a_stopped_command_keeps_is_said():
    """Commands that keep what is finished say so of Ctrl-C; here it is said with the figure."""
    said = pytest.raises(UsageError, match=r"was stopped\. Finished work is kept\.")
    PeakMemory()
    amount = too_much()
    with said, enforce_memory_limit(held_now() + 2**27, stop=True):
        kept_at_an_interrupt(amount)


@linux
def test_a_server_that_comes_down_when_it_is_stopped_says_why():
    """It answers the interrupt by ending, not by an error."""
    PeakMemory()
    amount = too_much()
    said = pytest.raises(UsageError, match="The run reached")
    with said, enforce_memory_limit(held_now() + 2**27, stop=True), suppress(KeyboardInterrupt):
        hold(amount)


@linux
@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.default_int_handler], ids=["ignored", "heard"])
def test_a_job_in_the_background_is_stopped_too(before):
    """A shell has those ignore Ctrl-C, which they go on to do; it is as before afterwards."""
    outside = signal.signal(signal.SIGINT, before)
    PeakMemory()
    amount = too_much()
    try:
        said = pytest.raises(UsageError, match="The run reached")
        with said, enforce_memory_limit(held_now() + 2**27, stop=True):
            if before == signal.SIG_IGN:
                signal.raise_signal(signal.SIGINT)
            hold(amount)
        assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGINT, outside)


def test_work_that_keeps_its_promise_is_left_alone():
    """Ctrl-C stays Ctrl-C, and work that ends has ended."""
    with pytest.raises(KeyboardInterrupt), enforce_memory_limit(2**50, stop=True):
        raise KeyboardInterrupt
    with pytest.raises(Interrupted), enforce_memory_limit(2**50, stop=True):
        raise Interrupted("Stopped.")
    with enforce_memory_limit(2**50, stop=True):
        pass


@pytest.mark.slow
@linux
def test_children_count():
    """What a process that was started holds is held."""
    code = "import time; held = b'x' * 2**27; print(flush=True); time.sleep(30)"
    PeakMemory()  # this process's peak begins anew
    with MemoryWatch(period=0.05) as watch:
        watch.update_peak_memory()
        before = watch.most
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            watch.update_peak_memory()
            child.kill()
    assert watch.most > before + 2**27
    assert measure_resident_memory(child.pid) is None


def cell(need: int, seconds: float, log: str) -> None:
    """A cell in a worker process, and when it was in work."""
    with reserve_memory(WorkMemoryEstimate({"work": need})):
        began = time.monotonic()
        time.sleep(seconds)
    with Path(log).open("a") as lines:
        lines.write(json.dumps([began, time.monotonic()]) + "\n")


@pytest.mark.slow
@linux
def test_cells_side_by_side_wait_for_each_other(tmp_path):
    """Three cells of which two fit beside each other: all are done, never three at once."""
    context, log = multiprocessing.get_context("spawn"), str(tmp_path / "log")
    held = measure_resident_memory() or 0
    with enforce_memory_limit(held + 3 * GIB):
        cells = [context.Process(target=cell, args=(4 * GIB // 3, 0.6, log)) for _ in range(3)]
        for one in cells:
            one.start()
        for one in cells:
            one.join()
    spans = [json.loads(line) for line in Path(log).read_text().splitlines()]
    assert len(spans) == 3
    assert max(sum(start <= moment < end for start, end in spans) for moment, _ in spans) <= 2


@linux
def test_a_process_that_is_gone_claims_nothing(tmp_path):
    """Killed in the middle of a cell, it leaves a line in the file and no memory taken."""
    path = tmp_path / "claims"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path.write_text(json.dumps({str(gone.pid): 2**60}))
    claims = ProcessMemoryClaims(path)
    assert claims.alone()
    assert claims.try_claim_memory(GIB, GIB)
    assert json.loads(path.read_text()) == {str(os.getpid()): GIB}


@linux
def test_other_processes_that_only_wait_do_not_hold_a_cell_up_for_ever(tmp_path, monkeypatch):
    """Where they hold too much without a cell, the cell fails with their figure."""
    with enforce_memory_limit(8 * GIB):
        monkeypatch.setattr(ProcessMemoryClaims, "try_claim_memory", lambda *_: False)
        with pytest.raises(UsageError, match="Use fewer --workers"), reserve_memory(WorkMemoryEstimate({"work": 1})):
            raise AssertionError


def test_amounts_in_words():
    """Three figures of GiB, whole MiB."""
    assert [format_memory_size(one) for one in (0, 2**20, 4 * GIB, 4_400_000_000)] == [
        "0 MiB",
        "1 MiB",
        "4 GiB",
        "4.1 GiB",
    ]
