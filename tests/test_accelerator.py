"""Which device is used, and what is said where it is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from embassay import machine as accelerator
from embassay.errors import UsageError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("said", "asked"), [("", None), ("auto", None), ("CPU", "cpu"), (" cuda:1 ", "cuda:1")])
def test_a_device_is_asked_for_by_its_name(monkeypatch, said, asked):
    """In any case; nothing and `auto` leave it to what there is."""
    monkeypatch.setenv(accelerator.VARIABLE, said)
    assert accelerator.read_requested_device() == asked


@pytest.mark.parametrize("said", ["gpu", "cuda:", "cuda:x", "cpu:0", "cuda:1:2"])
def test_other_names_are_refused(monkeypatch, said):
    """With the names that there are."""
    monkeypatch.setenv(accelerator.VARIABLE, said)
    with pytest.raises(UsageError, match="not a device") as refused:
        accelerator.choose_cuda_card()
    assert "cuda:1" in refused.value.mend


def test_the_processor_is_never_a_card(monkeypatch):
    """Not even where there is one."""
    monkeypatch.setenv(accelerator.VARIABLE, "cpu")
    monkeypatch.setattr(accelerator, "_explain_missing_graphics_card", lambda _: "")
    assert accelerator.choose_cuda_card() is None


def test_a_card_that_is_not_there_is_an_error_only_where_it_was_asked_for(monkeypatch):
    """Left to what there is, the processor is used."""
    monkeypatch.setattr(accelerator, "_explain_missing_graphics_card", lambda _: "torch finds no CUDA card")
    monkeypatch.setattr(accelerator, "_is_cuda_card_possible", lambda: True)
    monkeypatch.delenv(accelerator.VARIABLE, raising=False)
    assert accelerator.choose_cuda_card() is None
    monkeypatch.setenv(accelerator.VARIABLE, "cuda")
    with pytest.raises(UsageError, match="finds no CUDA card"):
        accelerator.choose_cuda_card()
    monkeypatch.setattr(accelerator, "_explain_missing_graphics_card", lambda _: "")
    assert accelerator.choose_cuda_card() == "cuda"


def test_a_number_beyond_the_cards_is_refused(monkeypatch):
    """With how many there are."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    accelerator._explain_missing_graphics_card.cache_clear()
    try:
        assert accelerator._explain_missing_graphics_card("cuda:1") == ""
        assert "2 cards" in accelerator._explain_missing_graphics_card("cuda:2")
    finally:
        accelerator._explain_missing_graphics_card.cache_clear()


@pytest.mark.skipif(accelerator._DRIVER.exists(), reason="a machine with NVIDIA's driver")
def test_the_benchmark_says_so_in_a_line_where_there_is_no_card():
    """Exit code 0, and torch is not imported to look for one."""
    code = "import bench_gpu, sys; bench_gpu.main([]); assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Nothing to measure: no CUDA card (or no torch)."
