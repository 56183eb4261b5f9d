"""What a process may use of a machine."""

from __future__ import annotations

import os
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from embassay import doctor
from embassay import machine as accelerator
from embassay.doctor import choose_device_and_reason, examine_machine


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A container's limits, as files."""
    folder = tmp_path / "cgroup"
    folder.mkdir()
    monkeypatch.setattr(doctor, "_GROUP", folder)
    return folder


def test_without_limits_it_is_what_psutil_finds(group: Path, tmp_path: Path) -> None:
    """Cores by affinity, all memory, the disk of the nearest folder that exists."""
    found = examine_machine(tmp_path / "not" / "yet")
    assert found.cores == len(psutil.Process().cpu_affinity())
    assert found.cores_built_in == os.cpu_count()
    assert found.memory == psutil.virtual_memory().total
    assert found.free == pytest.approx(psutil.virtual_memory().available, rel=0.2)
    assert found.disk_free == pytest.approx(psutil.disk_usage(str(tmp_path)).free, rel=0.05)


def test_a_container_allows_less(group: Path, tmp_path: Path) -> None:
    """Its limits count, and what is used within them."""
    (group / "memory.max").write_text("1073741824\n")
    (group / "memory.current").write_text("805306368\n")
    (group / "cpu.max").write_text("150000 100000\n")
    found = examine_machine(tmp_path)
    assert (found.memory, found.free, found.cores) == (2**30, 2**28, 1)


@pytest.mark.parametrize("text", ["max\n", "9223372036854771712\n", "", "nonsense"])
def test_no_limit_in_any_spelling(group: Path, tmp_path: Path, text: str) -> None:
    """A limit above what is built in is none."""
    (group / "memory.max").write_text(text)
    (group / "cpu.max").write_text("max 100000\n")
    found = examine_machine(tmp_path)
    assert found.memory == psutil.virtual_memory().total
    assert found.cores == len(psutil.Process().cpu_affinity())


def test_accelerators_are_what_the_driver_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each; none where the program fails or is not there."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H100, 81559 MiB'\necho 'NVIDIA H100, 81559 MiB'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert examine_machine(tmp_path).accelerators == ("NVIDIA H100, 81559 MiB",) * 2
    program.write_text("#!/bin/sh\necho broken driver\nexit 9\n")
    assert examine_machine(tmp_path).accelerators == ()


def test_the_device_that_a_run_would_use_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The card, the processor with the reason, or nothing with the mend."""
    monkeypatch.delenv(accelerator.VARIABLE, raising=False)
    monkeypatch.setattr(accelerator, "_is_cuda_card_possible", lambda: True)
    monkeypatch.setattr(accelerator, "_explain_missing_graphics_card", lambda _: "")
    assert choose_device_and_reason(["NVIDIA H100"]) == ("cuda", "cuda")
    monkeypatch.setattr(accelerator, "_explain_missing_graphics_card", lambda _: "torch finds no CUDA card")
    device, said = choose_device_and_reason(["NVIDIA H100"])
    assert device == "cpu"
    assert "though there is a GPU: torch for CUDA is not installed" in said
    assert choose_device_and_reason([]) == ("cpu", "the CPU: there is no CUDA GPU")
    monkeypatch.setenv(accelerator.VARIABLE, "cpu")
    assert choose_device_and_reason(["NVIDIA H100"]) == ("cpu", "the CPU, set by EMBASSAY_DEVICE")
    for asked, why in (("cuda:1", "torch finds no CUDA card"), ("gpu", "not a device")):
        monkeypatch.setenv(accelerator.VARIABLE, asked)
        device, said = choose_device_and_reason([])
        assert device is None
        assert why in said
        assert "cpu" in said
