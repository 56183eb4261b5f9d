"""What a run would find here: the machine, what is installed, and whether what is bundled works."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.machine import VARIABLE, choose_cuda_card
from embassay.runs.cluster.connection import (
    NodeFindings,
    check_cluster_nodes,
    count_cluster_cpus,
    hold_ray_cluster_connection,
    list_cluster_nodes,
    make_node_schedule_strategy,
    make_thread_count_variables,
)
from embassay.runs.cluster.connection import inspect_cluster_nodes as look_at
from embassay.runs.cluster.pools import plan_actor_placements
from embassay.runs.execution import RayWorkers
from embassay.runs.folder import measure_installed_memory

State = Literal["ok", "absent", "broken"]


@dataclass(frozen=True)
class DoctorCheck:
    """What was tried and what came of it: `absent` is what a user may add, `broken` what should work and does not."""

    name: str
    state: State
    told: str
    mend: str = ""


def run_installation_checks(cache: Path) -> Iterator[DoctorCheck]:
    """Try the sample data, the bundled encoder, minilm, the paper's tokenizer, the cache and the vendors' keys."""
    yield _run_doctor_check("sample data", _try_sample_data_and_describe_result, "broken")
    yield _run_doctor_check("wordllama", lambda: _try_encoder_and_describe_result("wordllama"), "broken")
    yield _run_doctor_check("minilm", lambda: _try_encoder_and_describe_result("minilm"), "absent")
    yield _run_doctor_check("cl100k", _try_vocabulary_and_describe_result, "absent")
    yield _run_doctor_check("cache", lambda: _try_cache_and_describe_result(cache), "broken")
    yield _make_vendor_key_check()


def _run_doctor_check(name: str, do: Callable[[], str], otherwise: State) -> DoctorCheck:
    """Run a check: `do` tells what it found, or raises."""
    from embassay.errors import EmbassayError

    try:
        return DoctorCheck(name, "ok", do())
    except EmbassayError as error:
        return DoctorCheck(name, otherwise, error.message, error.mend or "")
    except Exception as error:  # a damaged installation fails in any way
        return DoctorCheck(name, "broken", f"{type(error).__name__}: {error}".partition("\n")[0], "Install it again.")


def _try_sample_data_and_describe_result() -> str:
    from embassay.data import open_dataset

    loaded = open_dataset("sample").load("labelled")
    return f"{len(loaded.data):,} labelled texts"


def _try_encoder_and_describe_result(name: str) -> str:
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    system = open_system(name, tokenizer=open_tokenizer("words"))
    similar = system.pairs(["A cat sleeps.", "Rain fell."], ["A cat is asleep.", "The invoice is late."])
    if not similar[0] > similar[1]:
        raise ValueError(
            f"similar texts scored {similar[0]:.3f}, which is not above {similar[1]:.3f} for unrelated texts"
        )
    return f"similar {similar[0]:.2f}, unrelated {similar[1]:.2f}"


def _try_vocabulary_and_describe_result() -> str:
    from embassay.errors import ModelError
    from embassay.text import open_tokenizer
    from embassay.text.tokenizers import is_vocabulary_cached

    if not is_vocabulary_cached():
        raise ModelError(
            "the vocabulary is missing; the first run that counts cl100k tokens downloads it",
            mend="Set TIKTOKEN_CACHE_DIR to a folder that contains it, or use --tokenizer words.",
        )
    return f"{len(open_tokenizer('cl100k').encode('Hello world'))} tokens in Hello world"


def _try_cache_and_describe_result(cache: Path) -> str:
    """Check that a file can be made, read and removed in the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    probe = cache / f".doctor-{os.getpid()}"
    probe.write_bytes(b"embassay")
    try:
        if probe.read_bytes() != b"embassay":
            raise OSError("the text read back differs from the text written")
    finally:
        probe.unlink(missing_ok=True)
    return "can be written"


def _make_vendor_key_check() -> DoctorCheck:
    """Check which vendors' keys are set; a key itself is never looked at."""
    from embassay.systems.remote.http import COHERE, GEMINI, JINA, VOYAGE

    names = ("OPENAI_API_KEY", *(name for vendor in (COHERE, VOYAGE, JINA, GEMINI) for name in vendor.keys))
    present = [name for name in names if os.environ.get(name, "").strip()]
    if present:
        return DoctorCheck("keys", "ok", f"{', '.join(present)} set")
    return DoctorCheck("keys", "absent", "no API key is set; hosted models need one", f"export {names[0]}=...")


PURPOSES: Mapping[str, str] = MappingProxyType({
    "onnx": "minilm and other ONNX models, without torch",
    "openvino": "faster inference with minilm and other ONNX models",
    "static": "model2vec models",
    "torch": "sentence-transformers models",
    "spelling": "spelling correction of English texts before scoring (?clean=spelling)",
    "mteb": "models from the mteb registry",
    "documents": "PDF, Word, PowerPoint and EPUB files in a folder of documents",
    "hub": "datasets from the Hugging Face Hub",
    "llm": "chat and embedding models on a server",
    "mcp": "MCP server tools as retrievers (--retriever mcp:...)",
    "ray": "runs on a cluster (--engine ray)",
    "ann": "approximate indexes",
    "pg": "indexes and studies in PostgreSQL",
    "elastic": "indexes in Elasticsearch",
    "web": "annotation pages and leaderboards",
    "ir": "Embassay's measures in ir_measures",
    "mlflow": "logging runs to MLflow",
    "figures": "figures as SVG and PDF files",
    "wandb": "logging runs to Weights & Biases",
    "trackio": "logging runs to Trackio",
    "chunkers": "text splitters from other libraries for the chunk axis of a sweep",
    "train": "evaluation during training with sentence-transformers"
})  # fmt: skip
"""What a user has of each extra; those for developers are not among them."""
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*(?P<versions>[^;]*?)\s*"
    r"(?:;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"].*)?"
)
_LEAST = re.compile(r">=\s*([0-9][0-9.]*)")


@dataclass(frozen=True)
class PackageExtra:
    """An extra. `missing` are its packages that are not installed, `old` those below the version that is needed, each
    with both versions."""

    name: str
    purpose: str
    missing: tuple[str, ...] = ()
    old: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether all of it is installed."""
        return not self.missing and not self.old

    @property
    def mend(self) -> str:
        """The command that installs the extra."""
        return f"pip install 'embassay[{self.name}]'"


def list_package_extras(distribution: str = "embassay") -> tuple[PackageExtra, ...]:
    """The extras of an installed distribution, in the order of PURPOSES; empty where it is not installed."""
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ()
    packages: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        match = _REQUIREMENT.fullmatch(line)
        if match and match["extra"]:
            packages.setdefault(match["extra"], []).append((match["name"], match["versions"]))
    return tuple(_find_missing_packages_of_extra(name, packages[name]) for name in PURPOSES if name in packages)


def _find_missing_packages_of_extra(name: str, packages: list[tuple[str, str]]) -> PackageExtra:
    missing, old = [], []
    for package, versions in packages:
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            missing.append(package)
            continue
        least = _LEAST.search(versions)
        if least and _parse_version(installed) < _parse_version(least[1]):
            old.append(f"{package} {installed} (needs {least[1]})")
    return PackageExtra(name, PURPOSES[name], tuple(missing), tuple(old))


def _parse_version(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with; enough to compare with a lower bound of ours.

    >>> _parse_version("1.20.0rc1") < _parse_version("1.20.1"), _parse_version("2") >= _parse_version("2.0")
    (True, True)
    """
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


_SECONDS = 60.0


@dataclass(frozen=True)
class ClusterNodeFacts:
    """A machine: what it offers Ray and has installed (`seen`), the accelerators that NVIDIA's driver names there, the
    extras that are installed, those of them that only this machine has (`lacks`), and the bytes free for a cache."""

    seen: NodeFindings
    accelerators: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    disk_free: int | None = None


@dataclass(frozen=True)
class ClusterFacts:
    """The machines and what a run would use of them together, and whether it could: `cells` at a time, processes of an
    encoder without a GPU (`encoders`) and with one (`accelerated`; 0 where GPUs stay idle), threads of each. `device`
    is where this machine computes vectors, which decides for all."""

    address: str
    nodes: tuple[ClusterNodeFacts, ...]
    cells: int
    gpus: int
    encoders: int
    accelerated: int
    threads: int
    device: str
    check: DoctorCheck


def examine_ray_cluster(address: str | None) -> ClusterFacts:
    """Join the cluster, or start the one that a run of this machine alone would have, look, and leave. UsageError where
    there is none."""
    device = choose_cuda_card() or "cpu"
    with hold_ray_cluster_connection(RayWorkers(address)) as ray:
        machines = list_cluster_nodes(ray)
        seen = look_at(ray, machines)
        gpus = sum(int(node.gpus) for node in machines)
        used = len(plan_actor_placements(machines, accelerated=True, models=1)) if gpus and device != "cpu" else 0
        return ClusterFacts(
            "started for the run" if address is None else ray.get_runtime_context().gcs_address,
            tuple(_read_node_facts(ray, node) for node in seen),
            sum(node.cpus for node in machines), gpus,
            len(plan_actor_placements(machines, accelerated=False, models=1)), used,
            int(make_thread_count_variables()["OMP_NUM_THREADS"]), device, _make_cluster_nodes_check(seen)
        )  # fmt: skip


def _read_node_facts(ray: Any, seen: NodeFindings) -> ClusterNodeFacts:
    """Read what Embassay finds on a node; nothing where it is not there or does not answer."""
    if seen.error:
        return ClusterNodeFacts(seen)
    strategy = make_node_schedule_strategy(ray, seen.node.id)
    answer = ray.remote(_examine_cluster_node).options(num_cpus=0, scheduling_strategy=strategy).remote()
    try:
        accelerators, installed, disk_free = ray.get(answer, timeout=_SECONDS)
    except (ray.exceptions.RayError, ValueError):  # another version of Embassay; that is said elsewhere
        return ClusterNodeFacts(seen)
    lacks = tuple(extra.name for extra in list_package_extras() if extra.is_installed and extra.name not in installed)
    return ClusterNodeFacts(seen, accelerators, installed, lacks, disk_free)


def _examine_cluster_node() -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """Examine the node it runs on: accelerators, extras, free bytes."""
    from embassay.machine import find_cache_folder

    machine = examine_machine(find_cache_folder())
    return (
        machine.accelerators,
        tuple(extra.name for extra in list_package_extras() if extra.is_installed),
        machine.disk_free,
    )


def _make_cluster_nodes_check(seen: Sequence[NodeFindings]) -> DoctorCheck:
    try:
        count_cluster_cpus([node.node for node in seen])
        check_cluster_nodes(seen)
    except UsageError as error:
        return DoctorCheck("cluster", "broken", error.message, error.mend)
    return DoctorCheck("cluster", "ok", "all nodes are ready for a run")


_GROUP = Path("/sys/fs/cgroup")
# A control group without a limit may state a number near 2^63.
_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class MachineFacts:
    """Cores that this process may use of those there are; memory in bytes, `free` what could be had now, both within
    the limit of a container; the accelerators that NVIDIA's driver names; the `device` that a run would use (`cuda`,
    `cuda:1`, `cpu`), in `device_words` with the reason; the cache folder and the bytes free on its
    disk. What cannot be found is None."""

    python: str
    platform: str
    cores: int
    cores_built_in: int
    memory: int | None
    free: int | None
    accelerators: tuple[str, ...]
    device: str | None
    device_words: str
    cache: Path
    disk_free: int | None


def examine_machine(cache: Path) -> MachineFacts:
    """Look at this machine; `cache` need not exist yet."""
    total, free = _read_memory_sizes()
    built_in = os.cpu_count() or 1
    accelerators = _find_accelerators()
    device, words = choose_device_and_reason(accelerators)
    return MachineFacts(
        platform.python_version(), f"{platform.system()} {platform.machine()}", _count_cores(built_in), built_in,
        total, free, accelerators, device, words, cache, _read_free_disk(cache)
    )  # fmt: skip


def choose_device_and_reason(accelerators: Sequence[str]) -> tuple[str | None, str]:
    """What vectors would be made and searched on, and why; None, with the mend, where what is asked for is not there.
    `accelerators` are those that the driver names."""
    named = os.environ.get(VARIABLE, "").strip()
    try:
        device = choose_cuda_card()
    except UsageError as error:
        return None, f"none, so every run that needs vectors fails. {error}"
    if device is not None:
        return device, f"{device}{f', set by {VARIABLE}' if named else ''}"
    if named.lower() == "cpu":
        return "cpu", f"the CPU, set by {VARIABLE}"
    if accelerators:
        return ("cpu", "the CPU, although there is a GPU: torch for CUDA is not installed or does not detect it")
    return "cpu", "the CPU: there is no CUDA GPU"


def _count_cores(built_in: int) -> int:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else built_in
    quota = _read_text_or_empty(_GROUP / "cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit() and int(quota[1]) > 0:
        # A quota is of time: below one core there still runs one.
        return max(1, min(affinity, int(quota[0]) // int(quota[1])))
    return affinity


def _read_memory_sizes() -> tuple[int | None, int | None]:
    """Read the memory built in, and what /proc calls available; less where a container allows less."""
    rows = (line.split() for line in _read_text_or_empty(Path("/proc/meminfo")).splitlines())
    available = next((row[1] for row in rows if row[:1] == ["MemAvailable:"] and row[1:]), "")
    total, free = measure_installed_memory(), int(available) * 1024 if available.isdigit() else None
    limit = _read_number_from_file(_GROUP / "memory.max") or _read_number_from_file(
        _GROUP / "memory" / "memory.limit_in_bytes"
    )
    if total is None or limit is None or limit >= min(total, _UNLIMITED):
        return total, free
    used = (
        _read_number_from_file(_GROUP / "memory.current")
        or _read_number_from_file(_GROUP / "memory" / "memory.usage_in_bytes")
        or 0
    )
    return limit, limit - used if free is None else min(free, limit - used)


def _find_accelerators() -> tuple[str, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in listing.splitlines() if line.strip())


def _read_free_disk(folder: Path) -> int | None:
    existing = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), None)
    try:
        return None if existing is None else shutil.disk_usage(existing).free
    except OSError:
        return None


def _read_number_from_file(path: Path) -> int | None:
    text = _read_text_or_empty(path).strip()
    return int(text) if text.isdigit() else None


def _read_text_or_empty(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
