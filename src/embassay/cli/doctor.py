"""`embassay list`, `doctor` and `cache`: what can be named, what works here, what the caches hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay import __version__
from embassay.cli.options import (
    PrintOptions,
    TitledCommandApp,
    WorkerOptions,
    add_options_from_record_parameters,
    choose_worker_count_or_ray_cluster,
)
from embassay.cli.terminal import print_as_json, print_table_to_fit_screen
from embassay.errors import UsageError
from embassay.machine import find_cache_folder, find_corpus_folder
from embassay.protocols.kernel.request import SYSTEMS, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embassay.doctor import ClusterFacts, ClusterNodeFacts, DoctorCheck, MachineFacts, PackageExtra
    from embassay.runs.store import BaseSqliteFileStore


class ListableKind(StrEnum):
    """A kind of things that can be listed."""

    systems = "systems"
    rerankers = "rerankers"
    llms = "llms"
    paraphrasers = "paraphrasers"
    judges = "judges"
    engines = "engines"
    rewriters = "rewriters"
    indexes = "indexes"
    models = "models"
    datasets = "datasets"
    suites = "suites"
    tasks = "tasks"
    measures = "measures"
    perturbations = "perturbations"
    tokenizers = "tokenizers"
    protocols = "protocols"
    pages = "pages"


@add_options_from_record_parameters()
def show(
    what: Annotated[ListableKind, typer.Argument(help=f"One of {', '.join(ListableKind)}.")], printed: PrintOptions
) -> None:
    """List available names: systems, datasets, measures and so on.

    Example: embassay list systems --wide
    """
    if what is ListableKind.models:
        rows, shown = _list_facts_of_known_models(), list(_MODEL_COLUMNS)
    elif what is ListableKind.suites:
        rows, shown = list(_list_dataset_suite_rows()), ["protocol", "sets", "datasets", "here"]
    else:
        rows, shown = list(_list_registry_entries(what)), []
    if printed.json:
        print_as_json(rows)
        return

    facts = list(dict.fromkeys(key for row in rows for key in row if key not in ("name", "summary")))
    last = ["summary"] if any("summary" in row for row in rows) else []
    columns = ["name", *(facts if printed.wide else shown or facts[:1]), *last]
    titles = [_MODEL_COLUMNS.get(column, column) for column in columns]
    print_table_to_fit_screen(
        titles, [[str(row.get(column, "")) for column in columns] for row in rows], wide=printed.wide
    )


_MODEL_COLUMNS = {
    "dims": "dims",
    "context": "context",
    "usd_per_million_input": "$/M in",
    "usd_per_million_output": "$/M out",
    "priced_on": "priced on",
}


def _list_dataset_suite_rows() -> Iterator[dict[str, Any]]:
    """List the papers' dataset suites: how many sets and datasets each has, and how many are here."""
    from embassay.data.catalogue.entries import describe_dataset_source
    from embassay.data.catalogue.suites import read_all_suites

    at_hand = ("mirror", "part of mirror", "cache")
    for suite in read_all_suites().values():
        present = [describe_dataset_source(member.record) in at_hand for member in suite.members if member.record]
        yield {
            "name": suite.name, "protocol": suite.protocol, "sets": len(suite.sets), "datasets": len(suite.members),
            "here": sum(present), "source": suite.source, "summary": suite.title
        }  # fmt: skip


def _list_facts_of_known_models() -> list[dict[str, Any]]:
    """List what is known of models, without what is not."""

    from embassay.systems.models import list_known_models

    models = (asdict(model).items() for model in list_known_models())
    return [{key: value for key, value in model if value not in (None, ())} for model in models]


def _list_registry_entries(what: ListableKind) -> Iterator[dict[str, Any]]:
    """List what the registries of a kind hold; each task says whose it is."""
    from importlib import import_module

    homes = {
        ListableKind.systems: ("embassay.systems", "SYSTEMS"),
        ListableKind.rerankers: ("embassay.systems.rerankers", "RERANKERS"),
        ListableKind.llms: ("embassay.systems.chat", "CHAT_MODELS"),
        ListableKind.paraphrasers: ("embassay.protocols.pteb.paraphrasing", "PARAPHRASERS"),
        ListableKind.judges: ("embassay.protocols.rag.judges", "JUDGES"),
        ListableKind.engines: ("embassay.protocols.rag.ranking.engines", "ENGINES"),
        ListableKind.rewriters: ("embassay.protocols.rag.rewriters", "REWRITERS"),
        ListableKind.indexes: ("embassay.search.indexes", "INDEXES"),
        ListableKind.datasets: ("embassay.data", "DATASETS"),
        ListableKind.measures: ("embassay.measures", "MEASURES"),
        ListableKind.perturbations: ("embassay.text", "PERTURBATIONS"),
        ListableKind.tokenizers: ("embassay.systems", "TOKENIZERS"),
        ListableKind.protocols: ("embassay.protocols.kernel.evaluation", "PROTOCOLS"),
        ListableKind.pages: ("embassay.report.runs", "PAGES"),
    }
    tasks = [({"protocol": name}, (f"embassay.protocols.{name}", "TASKS")) for name in ("sage", "pteb")]
    no_more: dict[str, str] = {}
    for more, (module, name) in tasks if what is ListableKind.tasks else [(no_more, homes[what])]:
        for entry in getattr(import_module(module), name).described():
            yield {"name": entry.name, "summary": entry.summary, **more, **dict(entry.facts)}


_SIGNS = {"ok": "ok", "absent": "-", "broken": "BROKEN"}


@add_options_from_record_parameters(workers=1, wide=False, out=None, max_cost=None, dry_run=False)
def doctor(running: WorkerOptions) -> None:
    """Show what is installed, and whether it works.

    Nothing is sent or downloaded. With --engine ray or --address, also shows the cluster's nodes. Exit code 3:
    something is broken; a missing extra is not an error.

    Example: embassay doctor
    """
    from embassay.doctor import examine_machine, list_package_extras, run_installation_checks

    if running.engine == "ray" or running.address is not None:
        _show_ray_cluster(running.address, running.json)
        return
    machine, known = examine_machine(find_cache_folder()), list_package_extras()
    checks = list(run_installation_checks(machine.cache))
    if running.json:
        _print_machine_json(machine, known, checks)
    else:
        _print_machine_report(machine, known, checks)
    if machine.device is None or any(check.state == "broken" for check in checks):
        raise typer.Exit(3)


def _print_machine_report(machine: MachineFacts, known: Sequence[PackageExtra], checks: Sequence[DoctorCheck]) -> None:

    typer.echo(f"embassay {__version__}, Python {machine.python}, {machine.platform}")
    typer.echo(
        f"{_describe_cpu_cores(machine)}; memory: {_format_gib(machine.memory)}, {_format_gib(machine.free)} free"
    )
    typer.echo(f"Accelerators: {'; '.join(machine.accelerators) or 'the NVIDIA driver finds none'}")
    typer.echo(f"Vectors are computed and searched on: {machine.device_words}")
    typer.echo(f"Cache: {machine.cache}, {_format_gib(machine.disk_free)} free on its disk\n")
    print_table_to_fit_screen(
        ["Extra", "State", "Purpose"],
        [
            [extra.name, "ok" if extra.is_installed else "-", f"{extra.purpose}{_describe_missing_extra(extra)}"]
            for extra in known
        ],
        wide=False,
    )
    typer.echo("")
    rows = [
        [check.name, _SIGNS[check.state], f"{check.told}{f'. {check.mend}' if check.mend else ''}"] for check in checks
    ]
    print_table_to_fit_screen(["Check", "State", "Result"], rows, wide=False)


def _show_ray_cluster(address: str | None, json: bool) -> None:
    from embassay.doctor import examine_ray_cluster

    choose_worker_count_or_ray_cluster(1, "ray", address)
    facts = examine_ray_cluster(address)
    if json:
        print_as_json(asdict(facts))
    else:
        _print_cluster_facts(facts)
    if facts.check.state == "broken":
        raise typer.Exit(3)


def _print_cluster_facts(facts: ClusterFacts) -> None:

    typer.echo(f"embassay {__version__}; Ray cluster: {facts.address}\n")
    finds = [node.seen for node in facts.nodes]
    rows = [
        [n.node.host, str(n.node.cpus), f"{n.node.gpus:g}", _format_gib(n.node.memory),
         _format_gib(n.node.object_store),
         n.python, n.ray, n.embassay or n.error]
        for n in finds
    ]  # fmt: skip
    heads = ["Node", "CPUs", "GPUs", "Memory", "Object store", "Python", "Ray", "Embassay"]
    print_table_to_fit_screen(heads, rows, wide=False, numbers=False)
    typer.echo("")
    for line in _describe_cluster_node_packages(facts.nodes):
        typer.echo(line)
    typer.echo(f"\n{_describe_cluster_use(facts)}")
    mend = f" {facts.check.mend}" if facts.check.mend else ""
    typer.echo(f"{_SIGNS[facts.check.state]}: {facts.check.told.rstrip('.')}.{mend}")


def _describe_cluster_node_packages(nodes: Sequence[ClusterNodeFacts]) -> list[str]:
    """Describe what is installed on the nodes, once for all on which it is the same."""
    groups: dict[tuple[tuple[str, ...], ...], list[ClusterNodeFacts]] = {}
    for node in nodes:
        if node.extras:
            groups.setdefault((node.accelerators, node.extras, node.lacks), []).append(node)
    lines = []
    for (accelerators, extras, lacks), alike in groups.items():
        free = _format_gib(
            min((node_facts.disk_free for node_facts in alike if node_facts.disk_free is not None), default=None)
        )
        lines += [
            ", ".join(sorted({node_facts.seen.node.host for node_facts in alike})),
            f"  Accelerators: {'; '.join(accelerators) or 'the NVIDIA driver finds none'}",
            f"  Extras: {', '.join(extras)}",
            f"  Cache disk: {free} free",
        ]
        if lacks:
            lines.append(f"  Installed on this machine but missing there: pip install 'embassay[{','.join(lacks)}]'")
    return lines


def _describe_cluster_use(facts: ClusterFacts) -> str:
    """Describe what a run would use of the cluster."""
    pools = f"{facts.encoders} process{'es' * (facts.encoders != 1)} with {facts.threads} threads each"
    cells = f"A run would compute {facts.cells} cell{'s' * (facts.cells != 1)} at a time; each encoder has {pools}."
    gpus = f"{facts.gpus} GPU{'s' * (facts.gpus != 1)}"
    if facts.accelerated:
        return f"{cells}\ntorch models (st:, mteb:) would use {gpus}, with one process per GPU."
    if not facts.gpus:
        return f"{cells}\nRay reports no GPU on these nodes."
    return (
        f"{cells}\n{gpus} would stay idle, because all nodes use the CPU, as this machine does (torch finds no "
        "GPU here, or EMBASSAY_DEVICE is cpu)."
    )


def _describe_missing_extra(extra: PackageExtra) -> str:
    if extra.is_installed:
        return ""
    parts = [f"lacks {', '.join(extra.missing)}"] if extra.missing else []
    return f" ({'; '.join([*parts, *extra.old])}): {extra.mend}"


def _describe_cpu_cores(machine: MachineFacts) -> str:
    if machine.cores == machine.cores_built_in:
        return f"{machine.cores} core{'s' if machine.cores > 1 else ''}"
    return f"{machine.cores} of {machine.cores_built_in} cores can be used"


def _format_gib(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GiB"


def _print_machine_json(machine: MachineFacts, known: Sequence[PackageExtra], checks: Sequence[DoctorCheck]) -> None:

    facts = {
        "machine": {**asdict(machine), "cache": str(machine.cache)},
        "extras": [{**asdict(extra), "installed": extra.is_installed} for extra in known],
        "checks": [asdict(check) for check in checks],
    }
    print_as_json(facts)


caches = TitledCommandApp("Show or empty the caches.")


@caches.command("info")
@add_options_from_record_parameters(wide=False)
def info(shown: PrintOptions) -> None:
    """Show where the caches are, their sizes, and what they contain.

    Example: embassay cache info
    """

    from embassay.data.column import summarize_kept_corpora
    from embassay.data.documents.conversion import summarize_kept_conversions
    from embassay.runs.embeddings import EmbeddingCache
    from embassay.runs.store import ChatAnswerCache, RerankScoreCache, find_kept_indexes_folder
    from embassay.search.indexes.store import count_stored_indexes_by_kind

    indexes = count_stored_indexes_by_kind(find_kept_indexes_folder())
    cache_info, answers = (
        EmbeddingCache.open(None).summarise_cache_contents(),
        ChatAnswerCache.open(None).summarise_cache_contents(),
    )
    pairs, corpora = (
        RerankScoreCache.open(None).summarise_cache_contents(),
        summarize_kept_corpora(find_corpus_folder()),
    )
    documents = summarize_kept_conversions()
    if shown.json:
        records: dict[str, Any] = {
            "answers": answers, "pairs": pairs, "indexes": indexes, "corpora": corpora,
            "documents": documents
        }  # fmt: skip
        facts = {name: _copy_record_with_path_as_text(asdict(record)) for name, record in records.items()}
        typer.echo(dumps({**_copy_record_with_path_as_text(asdict(cache_info)), **facts}))
        return
    _print_cache_contents(cache_info, "chunks", "texts", cache_info.encoders)
    _print_cache_contents(answers, "answers", "answers", answers.models)
    _print_cache_contents(pairs, "entries", "scores", pairs.rerankers)
    typer.echo(f"{indexes.path}\n{sum(indexes.kinds.values()):,} indexes, {indexes.bytes / 1e6:,.1f} MB")
    for kind, count in sorted(indexes.kinds.items()):
        typer.echo(f"  {count:>12,} of kind {kind}")
    typer.echo(f"{corpora.path}\n{len(corpora.corpora):,} corpora, {corpora.bytes / 1e6:,.1f} MB")
    for corpus in corpora.corpora:
        held = "damaged" if corpus.documents is None else f"{corpus.documents:,} documents of {corpus.source}"
        typer.echo(f"  {corpus.bytes / 1e6:>9,.1f} MB {held}")
    typer.echo(f"{documents.path}\n{documents.entries:,} converted documents, {documents.bytes / 1e6:,.1f} MB")


def _copy_record_with_path_as_text(about: dict[str, Any]) -> dict[str, Any]:
    return {**about, "path": str(about["path"])}


def _print_cache_contents(held: Any, entries: str, of: str, owners: Any) -> None:
    typer.echo(f"{held.path}\n{held.entries:,} {entries}, {held.bytes / 1e6:,.1f} MB")
    for name, count in sorted(owners.items()):
        typer.echo(f"  {count:>12,} {of}  {name}")


@dataclass(frozen=True)
class CacheClearOptions:
    """Options for which caches are cleared; without any, all are."""

    encoder: str | None = option(None, "Remove only this encoder's vectors.", group=SYSTEMS)
    llm: str | None = option(None, "Remove only this language model's answers.", group=SYSTEMS)
    reranker: str | None = option(None, "Remove only this reranker's scores.", group=SYSTEMS)
    indexes: bool = option(False, "Remove only the indexes of sweeps.", name="--indexes")
    corpora: bool = option(False, "Remove only the texts of large corpora.", name="--corpora")
    documents: bool = option(False, "Remove only converted documents.", name="--documents")


@caches.command("clear")
@add_options_from_record_parameters()
def clear(only: CacheClearOptions) -> None:
    """Empty the caches; finished runs keep their results.

    Example: embassay cache clear --indexes
    """
    from embassay.data.column import clear_kept_corpora
    from embassay.data.documents.conversion import clear_kept_conversions
    from embassay.runs.embeddings import EmbeddingCache
    from embassay.runs.store import ChatAnswerCache, RerankScoreCache, find_kept_indexes_folder
    from embassay.search.indexes.store import delete_kept_indexes_and_count_bytes

    choices: list[tuple[str, str | None, type[BaseSqliteFileStore]]] = [
        ("encoder", only.encoder, EmbeddingCache),
        ("llm", only.llm, ChatAnswerCache),
        ("reranker", only.reranker, RerankScoreCache),
    ]
    chosen = [choice for choice in choices if choice[1] is not None]
    everything = not (chosen or only.indexes or only.corpora or only.documents)
    if everything:
        chosen = choices
    opened = [(kind, name, cache.open(None)) for kind, name, cache in chosen]
    for kind, name, store in opened:
        _check_model_has_cache(kind, name, store)
    freed = sum(store.clear(name) for _, name, store in opened)
    if only.indexes or everything:
        freed += delete_kept_indexes_and_count_bytes(find_kept_indexes_folder())
    if only.corpora or everything:
        freed += clear_kept_corpora(find_corpus_folder())
    if only.documents or everything:
        freed += clear_kept_conversions()
    typer.echo(f"{freed / 1e6:,.1f} MB freed")


def _check_model_has_cache(option: str, name: str | None, cache: BaseSqliteFileStore) -> None:
    """UsageError when nothing is kept of the model."""
    if name is not None and not cache.has_entries_of_model(name):
        raise UsageError(
            f"The cache contains nothing for {name!r} (--{option}).",
            mend="`embassay cache info` shows what it contains.",
        )
