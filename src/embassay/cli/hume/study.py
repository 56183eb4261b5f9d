"""`embassay hume sample`, `serve`, `links`, `offline`, `annotate`, `hybrid`, `simulate`, `import`, `export`: a study is
drawn from data, people, models and scripts answer it, and answers come in from files and go out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from embassay.cli.options import PrintOptions, RunOptions, ServerOptions, add_options_from_record_parameters
from embassay.cli.terminal import format_command_line, print_as_json, print_table_to_fit_screen, print_view_blocks
from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.protocols.hume.options import (
    AnnotateRequest,
    AnnotationExportOptions,
    AnnotationImportOptions,
    GoldKind,
    LlmAnswerAcceptanceOptions,
    StudyDataOptions,
    StudyTaskOptions,
)
from embassay.protocols.kernel.request import OUTPUT, SERVER, SPEED, SYSTEMS, RunRequest, option, redeclare_option

if TYPE_CHECKING:
    from embassay.protocols.hume.exchange.intake import AnswerImportResult
    from embassay.protocols.hume.llms.protocol import LlmAnnotationSessionTotals
    from embassay.protocols.hume.sampling import SampledStudy, StudySampleRequest
    from embassay.protocols.hume.study import StudyTask
    from embassay.web.annotation.service import StudyRequestRules, StudyService

STUDY = "A study folder from `embassay hume sample`."
Study = Annotated[Path, typer.Argument(help=STUDY)]


@dataclass(frozen=True)
class StudyOutputOptions(PrintOptions):
    """Options for what is printed, and where the study is written."""

    out: Path | None = option(None, "New folder for the study; required unless --dry-run is given.", group=OUTPUT)
    dry_run: bool = option(False, "Show what would be sampled; write nothing.", name="--dry-run", group=SPEED)


@add_options_from_record_parameters()
def sample(asked: StudyDataOptions, writing: StudyOutputOptions) -> None:
    """Draw items for people to answer, with HUME's sizes and rules.

    The gold answers go into a separate file. The same command gives the same study.

    Example: embassay hume sample -d sample --out study
    """
    from embassay.cli.progress import StderrProgressNotice
    from embassay.protocols.hume.sampling import draw_study as drawn
    from embassay.protocols.hume.sampling import replace_absent_datasets_by_miniatures
    from embassay.protocols.hume.study import write_study
    from embassay.protocols.kernel.absentees import describe_datasets_sized_by_catalogue

    out, dry_run = writing.out, writing.dry_run
    if out is None and not dry_run:
        raise UsageError("The study needs a folder.", mend="Name one with --out FOLDER, or add --dry-run.")
    named = asked.name or (out.resolve().name if out else "study")
    request = _build_sample_request(asked, named)
    absent: list[str] = []
    with TemporaryDirectory(prefix="embassay-plan-") as folder, StderrProgressNotice() as waiting:
        if dry_run:
            request, absent = replace_absent_datasets_by_miniatures(request, Path(folder))
        study = drawn(request, limit=asked.limit, hear=waiting)
    if out is not None and not dry_run:
        write_study(out, study.study, study.items, study.gold)
    if writing.json:
        _print_sampled_study_json(None if dry_run else out, study, absent)
        return
    _show_sampled_study(study, writing.wide, absent)
    for reason in study.left_out:
        typer.echo(f"Left out: {reason}")
    if absent:
        typer.echo(f"{describe_datasets_sized_by_catalogue(absent)}.")
    typer.echo("")
    typer.echo(
        "Nothing was written (--dry-run)."
        if out is None or dry_run
        else _describe_written_study_and_next_step(out, study)
    )


def _build_sample_request(asked: StudyDataOptions, name: str) -> StudySampleRequest:
    from embassay.protocols.hume.sampling.options import read_sampling_config

    if asked.config is None:
        request = asked.request(name)
    elif (
        not asked.has_no_study_data_options
        or asked.ask
        or asked.own.build_task_file_settings() != StudyTaskOptions().build_task_file_settings()
    ):
        raise UsageError(
            "--config cannot be combined with data settings.", mend="Put all data and settings in the file."
        )
    else:
        request = read_sampling_config(asked.config)
    return request if asked.seed is None else request.model_copy(update={"seed": asked.seed})


def _show_sampled_study(sampled: SampledStudy, wide: bool, absent: Sequence[str]) -> None:

    tasks = sampled.study.tasks
    rows = [[task.name, task.family, task.lang, str(task.n), _name_dataset_of_task(task, absent)] for task in tasks]
    print_table_to_fit_screen(["task", "family", "lang", "n", "source"], rows, wide=wide)
    # Not in a column: a narrow screen would hide them, or fold them letter by letter.
    for task in tasks:
        if notes := _list_task_item_notes(sampled, task, absent):
            typer.echo(f"{task.name}: {'; '.join(notes)}.")


def _name_dataset_of_task(task: StudyTask, absent: Sequence[str]) -> str:
    """Name the dataset that a task is drawn from, and not its miniature's path where it is absent."""
    name = Path(task.source.dataset).stem
    if name in absent:
        return name
    split = task.source.drawn_from
    return f"{task.source.dataset} ({split})" if split else task.source.dataset


def _list_task_item_notes(sampled: SampledStudy, task: StudyTask, absent: Sequence[str]) -> list[str]:
    """List notes on a task's items; where its dataset is absent, only their sizes."""
    return [] if _name_dataset_of_task(task, absent) in absent else [*sampled.about_gold[task.name], *task.notes]


def _describe_written_study_and_next_step(out: Path, sampled: SampledStudy) -> str:
    return (
        f"Written to {out}: study.json and items.jsonl for people, and gold.jsonl for you only. Guidelines "
        f"{sampled.study.guidelines_version}.\nNext: embassay hume serve {out} --annotator NAME --annotator NAME"
    )


def _print_sampled_study_json(out: Path | None, sampled: SampledStudy, absent: Sequence[str]) -> None:
    tasks = [
        {
            "task": task.name, "family": task.family, "lang": task.lang, "n": task.n,
            "source": name if (name := _name_dataset_of_task(task, absent)) in absent else task.source.dataset,
            "notes": _list_task_item_notes(sampled, task, absent),
        }
        for task in sampled.study.tasks
    ]  # fmt: skip
    study = {
        "study": None if out is None else str(out), "content": sampled.study.content, "tasks": tasks,
        "left_out": sampled.left_out, **({"not_fetched": absent} if absent else {})
    }  # fmt: skip
    print_as_json(study)


@dataclass(frozen=True)
class AnnotatorOptions:
    """Options for who annotates, where answers are kept, and how people are told their links."""

    annotators: tuple[str, ...] = option((), "An annotator to add.", name="--annotator -a", group=SYSTEMS)
    simulated: tuple[str, ...] = option((), "A scripted annotator, marked as such in every table.", group=SYSTEMS)
    adjudicators: tuple[str, ...] = option(
        (), "A person who settles disagreements and sees no names.", name="--adjudicator"
    )
    database: str | None = option(
        None, "PostgreSQL URL, or an environment variable that contains it. Default: a file in STUDY.",
        value="URL", group=SERVER
    )  # fmt: skip
    public_url: str | None = option(None, "Base URL of the personal links.", value="URL", group=SERVER)
    new_links: bool = option(
        False, "Create new links and invalidate the earlier ones.", name="--new-links", group=SERVER
    )
    json: bool = redeclare_option(PrintOptions, "json", help="Print the links as one JSON object.")
    until_decided: bool = option(
        False, "STUDY comes from `rag score --until-decided`: people grade passages until the comparison is decided.",
        name="--until-decided"
    )  # fmt: skip
    calibration: Path | None = option(
        None, "A file from `calibrate`; the owner's page shows answers that contradict it.", value="FILE"
    )


@dataclass(frozen=True)
class StudyLinkList:
    """The links of a study that are handed out: each person's name, kind and link, and the owner's."""

    study: str
    people: tuple[tuple[str, str, str], ...]
    owner: str


@add_options_from_record_parameters()
def serve(study: Study, server: ServerOptions, people: AnnotatorOptions) -> None:
    """Serve a study's pages, with a personal link for each annotator.

    Answers are kept in STUDY/answers.sqlite3 and survive a crash; the links stay the same. No page reads the gold
    answers or other people's answers. Press Ctrl-C to stop.

    Example: embassay hume serve study -a ann -a bob
    """
    from embassay.web import server as serving
    from embassay.web.annotation.service import StudyRequestRules, serve_study

    host = server.host
    public = _check_and_strip_public_url(people.public_url) if people.public_url else None
    options = StudyRequestRules(
        hosts=serving.list_allowed_host_names(host, public, server.allow_host),
        origins=(serving.extract_url_host_and_port(public),) if public else (),
        public_url=public,
    )
    with ExitStack() as held:
        listening = held.enter_context(serving.open_listening_socket(host, server.port))
        service = held.enter_context(closing(_open_study_service(study, people, options)))
        shown = _make_annotator_links(
            service, public or serving.build_base_url(host, listening), renew=people.new_links
        )

        def announce_server_ready() -> None:
            _print_annotator_links(shown, people.json)
            _announce_served_study(service, host, public)
            if server.open:
                typer.launch(shown.owner)

        serve_study(service, listening, proxy_headers=server.proxy_headers, ready=announce_server_ready)


@add_options_from_record_parameters(
    simulated=(), until_decided=False, calibration=None, defaults={"public_url": "http://127.0.0.1:8000"}
)
def links(study: Study, people: AnnotatorOptions) -> None:
    """Show a study's personal links, and add annotators.

    A running server accepts new annotators at once.

    Example: embassay hume links study -a ann
    """
    with closing(_open_study_service(study, people)) as service:
        base = _check_and_strip_public_url(people.public_url or "")
        _print_annotator_links(_make_annotator_links(service, base, renew=people.new_links), people.json)


def _open_study_service(
    study: Path, people: AnnotatorOptions, options: StudyRequestRules | None = None
) -> StudyService:
    """Open the study's service, ready for annotators, scripts and adjudicators."""
    from embassay.protocols.rag.decision.protocol import TERMS
    from embassay.web.annotation.service import open_study_service

    if (study / TERMS).is_file() and not people.until_decided:
        raise UsageError(f"{study} was made by `rag score --until-decided`.", mend="Add --until-decided.")
    return open_study_service(
        study, people.annotators, people.simulated, adjudicators=people.adjudicators,
        database=people.database, options=options, until_decided=people.until_decided,
        calibrated=people.calibration
    )  # fmt: skip


def _make_annotator_links(service: StudyService, base: str, *, renew: bool) -> StudyLinkList:
    people = tuple(
        (annotator.id, annotator.kind, base + service.annotator_link(annotator.id, renew=renew))
        for annotator in (*service.store.annotators(), *service.store.list_adjudicators())
    )
    return StudyLinkList(service.folder.study.name, people, base + service.owner_link(renew=renew))


_KINDS = {"simulated": "simulated", "adjudicator": "adjudicates"}


def _print_annotator_links(links: StudyLinkList, json: bool) -> None:
    """Print the annotators' links: one line each on stdout, links in a column."""
    if json:
        people = [{"id": name, "kind": kind, "link": link} for name, kind, link in links.people]
        typer.echo(dumps({"study": links.study, "annotators": people, "owner": links.owner}, ensure_ascii=False))
        return
    rows = [(name + ("" if kind == "person" else f" ({_KINDS[kind]})"), link) for name, kind, link in links.people]
    width = max(len(name) for name, _ in (*rows, ("the owner", "")))
    for name, link in (*rows, ("the owner", links.owner)):
        typer.echo(f"{name:<{width}}  {link}")


def _announce_served_study(service: StudyService, host: str, public_url: str | None) -> None:
    from embassay.web.server import is_local_only_host

    study = service.folder.study
    counts = f"{len(study.tasks)} task{'s' * (len(study.tasks) != 1)}, {len(service.items)} items"
    typer.echo(f"{study.name}: {counts}. Answers are kept in {service.store.database.place}.", err=True)
    if not is_local_only_host(host) and not (public_url or "").startswith("https://"):
        typer.echo(
            "Others on the network can reach this server, and links and answers are sent unencrypted. "
            "Put a TLS proxy in front of it (docs/hume_serving.md).", err=True
        )  # fmt: skip
    typer.echo("Press Ctrl-C to stop. Answers are kept, and the links stay the same.", err=True)


def _check_and_strip_public_url(public_url: str) -> str:
    """A base address without its last stroke. Raises UsageError for what is none."""
    from urllib.parse import urlsplit

    parts = urlsplit(public_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"--public-url must be an http or https address, but it is {public_url!r}.",
            mend="For example: https://annotate.example.org.",
        )
    return public_url.rstrip("/")


def offline(
    study: Study,
    annotator: Annotated[str, typer.Option("--annotator", "-a", help="The person who gets the file.")] = "",
    adjudicator: Annotated[
        str, typer.Option("--adjudicator", help="The adjudicator; the file contains the disputed items.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="The file. Default: NAME.html.")] = None,
) -> None:
    """Write one person's annotation pages as one offline HTML file.

    The file contains the items, but no gold and no other person's answers. For an adjudicator, it contains the disputed
    items, with answers but without names. The person sends back NAME.answers.jsonl for `embassay hume import`.

    Example: embassay hume offline study -a ann
    """
    from embassay.web.annotation.page import write_annotator_file

    if bool(annotator) == bool(adjudicator):
        raise UsageError("Each file is for one person.", mend="Pass either --annotator NAME or --adjudicator NAME.")
    who = annotator or adjudicator
    path = write_annotator_file(study, who, out or Path(f"{who}.html"), adjudicates=bool(adjudicator))
    typer.echo(path)
    typer.echo(f"Send it to {who}. When {who}.answers.jsonl is back, run: embassay hume import {study} FILE", err=True)


@dataclass(frozen=True)
class ModelAnnotationOptions(RunOptions):
    """Options for how models are asked to annotate."""

    replace: bool = option(False, "Discard earlier answers of these models.", name="--replace", group=SPEED)


ONCE = ("--replace",)


@add_options_from_record_parameters(out=None)
def annotate(study: Study, request: AnnotateRequest, running: ModelAnnotationOptions) -> None:
    """Have language models answer a study's items.

    They see the same information as people. Each answer is saved at once, and no item is sent twice. Clustering
    tasks are left out.

    Example: embassay hume annotate study --llm ollama:gemma3:27b
    """
    replace, json, wide = running.replace, running.json, running.wide
    if running.dry_run:
        _show_annotation_plan(study, request, replace=replace, json=json, wide=wide)
        return
    outcome = _run_llm_annotation_session(study, request, replace=replace, max_usd=running.max_cost)
    _print_annotation_session_outcome(outcome, json=json, wide=wide)
    if outcome.failed:
        from embassay.protocols.kernel.tables import format_noun_count

        raise ModelError(
            f"{format_noun_count(outcome.failed, 'call')} failed, so some items have no answer.",
            mend=f"The other answers are kept in {study / 'llm'}; repeat the command to try again.",
        )


def _show_annotation_plan(study: Path, request: AnnotateRequest, *, replace: bool, json: bool, wide: bool) -> None:
    from embassay.cli.session import StdoutFormatOptions, show_run_plan
    from embassay.protocols.hume.llms.protocol import forecast_annotation, plan_annotation_work
    from embassay.protocols.hume.study import read_study

    show_run_plan(
        lambda ledger: forecast_annotation(study, request, ledger, replace=replace), StdoutFormatOptions(json, wide)
    )
    _report_tasks_left_out([task.name for task in plan_annotation_work(read_study(study), request).left_out])


def _run_llm_annotation_session(
    study: Path, request: AnnotateRequest, *, replace: bool, max_usd: float | None
) -> LlmAnnotationSessionTotals:
    """Run the annotation session, saying what to type to go on where it is stopped."""
    from embassay.cli.progress import make_progress_listener
    from embassay.cli.session import stop_on_signal
    from embassay.protocols.hume.llms.protocol import annotate

    command = format_command_line(word for word in sys.argv[1:] if word not in ONCE)
    kept = f"Answers are kept in {study / 'llm'}."
    heard = make_progress_listener()
    try:
        with stop_on_signal(kept, command):
            return annotate(study, request, listener=heard, max_usd=max_usd, replace=replace)
    except BudgetExceeded as error:
        raise BudgetExceeded(f"{error.message} {kept}", mend=f"Resume with a higher --max-cost: {command}") from None
    finally:
        getattr(heard, "stop", lambda: None)()


def _print_annotation_session_outcome(outcome: LlmAnnotationSessionTotals, *, json: bool, wide: bool) -> None:
    from embassay.runs.folder import format_value_as_json
    from embassay.runs.spending import format_dollars, summarise_spending

    if json:
        rows = [row.as_dict() for row in outcome.annotated]
        typer.echo(
            format_value_as_json({"annotated": rows, "spent": outcome.spent, "left_out": list(outcome.left_out)})
        )
    else:
        titles = ["model", "task", "family", "asked", "read", "mended", "unread", "failed", "tokens", "cost"]
        names = ("ok", "completed", "unparsed", "failed")
        rows_shown = [
            [row.model, row.task, row.family, f"{row.asked:,}", *(f"{row.statuses.get(name, 0):,}" for name in names),  # type: ignore[call-overload]
             f"{row.tokens:,}", format_dollars(row.usd)]
            for row in outcome.annotated
        ]  # fmt: skip
        print_table_to_fit_screen(titles, rows_shown, wide=wide, numbers=True)
        typer.echo(f"\nCompare them with people: embassay hume score {shlex.quote(str(outcome.path))}")
    _report_tasks_left_out(outcome.left_out)
    if paid := summarise_spending(outcome.spent):
        typer.echo(paid, err=True)


def _report_tasks_left_out(tasks: Sequence[str]) -> None:
    if tasks:
        typer.echo(f"Left out: {', '.join(tasks)}. A language model does not name clusters consistently.", err=True)


@dataclass(frozen=True)
class LlmAnswerAcceptanceCommandOptions(PrintOptions):
    """Options for whose answers are taken, and where it is written what people are to answer."""

    llm: str = option("", "The model whose answers are checked. Default: the only one.", group=SYSTEMS)
    by: Literal["draws", "agreement"] = option(
        "draws", "Divide items by the model's draws, or whole tasks by how well people agree.", name="--by"
    )
    out: Path | None = option(None, "File for the items. Default: hybrid.jsonl in the study.", group=OUTPUT)
    options: LlmAnswerAcceptanceOptions = field(default_factory=LlmAnswerAcceptanceOptions)


@add_options_from_record_parameters()
def hybrid(study: Study, asked: LlmAnswerAcceptanceCommandOptions) -> None:
    """Decide which items need people and which a model can answer.

    Keeps a language model's answers if its draws agree and people, who answer a sample, do not contradict them.
    With --by agreement, divides whole tasks: people keep those on which they agree, and the model gets the others.
    Repeat the command to include people's new answers.

    Example: embassay hume hybrid study --check 0.3
    """
    from embassay.protocols.hume.llms.protocol import (
        divide_study_tasks,
        make_records_of_tasks_divided_with_llm,
        write_hybrid_answers,
    )
    from embassay.protocols.hume.record import write_tasks_divided_with_llm
    from embassay.protocols.hume.study import read_study
    from embassay.report.hume.conclusions import view_items_divided_between_llm_people

    if asked.by == "agreement":
        _show_tasks_for_llm_or_people(study, asked)
        return
    splits = divide_study_tasks(read_study(study), asked.llm, asked.options)
    path = asked.out or study / "hybrid.jsonl"
    write_hybrid_answers(path, splits)
    rows = make_records_of_tasks_divided_with_llm(splits)
    write_tasks_divided_with_llm(study, rows)
    if asked.json:
        print_as_json([asdict(split) for split in splits])
        return
    print_view_blocks(view_items_divided_between_llm_people(rows), asked.wide)
    typer.echo(f"Items: {path}")
    typer.echo(f"To show them in the report: embassay hume score {shlex.quote(str(study))} --out RUN")


def _show_tasks_for_llm_or_people(study: Path, asked: LlmAnswerAcceptanceCommandOptions) -> None:

    from embassay.protocols.hume.llms.protocol import decide_task_owners
    from embassay.protocols.hume.study import read_study
    from embassay.report.hume.conclusions import task_owners_view
    from embassay.runs.folder import format_value_as_json, write_file_atomically

    tasks = decide_task_owners(read_study(study), asked.llm)
    lines = [format_value_as_json(asdict(task)) for task in tasks]
    path = asked.out or study / "hybrid_tasks.jsonl"
    write_file_atomically(path, "".join(f"{line}\n" for line in lines))
    if asked.json:
        typer.echo(f"[{', '.join(lines)}]")
        return
    print_view_blocks(task_owners_view(tasks), asked.wide)
    typer.echo(f"Tasks: {path}")


@dataclass(frozen=True)
class ScriptedAnnotatorOptions:
    """Options for the scripted annotators, and how they err."""

    annotators: int = option(2, "Number of scripts.", least=1, group=SYSTEMS)
    noise: float = option(
        0.15, "Share of wrong labels and marks; for ratings, error as a share of the scale.",
        least=0, most=1, group=SYSTEMS
    )  # fmt: skip
    seed: int = redeclare_option(RunRequest, "seed", default=1)


@add_options_from_record_parameters(wide=False)
def simulate(study: Study, scripts: ScriptedAnnotatorOptions, shown: PrintOptions) -> None:
    """Try out a study with scripted annotators. NOBODY ANNOTATED.

    Scripts read the gold and make random errors. Their answers go to annotations/simulated.jsonl; every table marks
    them as simulated.

    Example: embassay hume simulate study
    """
    from embassay.protocols.hume.collection import KIND, check_nobody_answered, simulate_annotators
    from embassay.protocols.hume.study import read_study, write_annotations

    annotators, noise = scripts.annotators, scripts.noise
    folder = read_study(study)
    check_nobody_answered(folder)
    rows = simulate_annotators(folder, annotators, noise=noise, seed=scripts.seed)
    file = write_annotations(study, KIND, rows)
    if shown.json:
        facts = {"file": str(file), "annotators": annotators, "answers": len(rows), "kind": KIND}
        print_as_json(facts)
        return
    typer.echo(f"{len(rows)} answers of {annotators} simulated annotators, noise {noise:g}: {file}")
    typer.echo("No one annotated: these answers are the gold with random errors, and show nothing about people.")


Files = Annotated[list[Path], typer.Argument(help="Annotation files.")]


@add_options_from_record_parameters(wide=False)
def import_(study: Study, files: Files, asked: AnnotationImportOptions, shown: PrintOptions) -> None:
    """Import annotations from files into a study.

    Reads CSV, JSONL (as the offline page writes it), Label Studio and Argilla. All files are checked before anything is
    written.

    Example: embassay hume import study ann.answers.jsonl
    """
    from embassay.protocols.hume.exchange.intake import import_files
    from embassay.runs.folder import format_value_as_json

    form = None if asked.form == "auto" else asked.form
    done = import_files(study, files, form=form, annotator=asked.annotators, replace=asked.replace)
    if shown.json:
        typer.echo(format_value_as_json(done.as_dict()))
        return
    _report_imported_answers(done)


def _report_imported_answers(done: AnswerImportResult) -> None:
    for name, kind in done.files:
        typer.echo(f"Read {name} as {kind}.")
    for (who, task), n in done.answers.items():
        open_ = done.open.get((who, task), 0)
        typer.echo(f"{who}, {task}: {n} answers" + (f", {open_} items open" if open_ else ", complete"))
    for (who, task), n in done.decisions.items():
        typer.echo(f"{who}, {task}: {n} decisions")
    if done.impossible:
        typer.echo(f"Items marked as impossible to judge: {done.impossible}.")
    if done.replaced:
        typer.echo(f"Earlier answers replaced: {done.replaced}.")
    for reason, n in done.left_out.items():
        typer.echo(f"Left out: {n} {reason}.")
    if done.new_annotators:
        typer.echo(f"New annotators: {', '.join(done.new_annotators)}.")
    for remark in done.remarks:
        typer.echo(f"Note: {remark}.".replace("..", "."), err=True)
    typer.echo(f"Written: {', '.join(map(str, done.written))}")


Out = Annotated[Path, typer.Option("--out", help="Output file (csv, jsonl) or folder (other formats).")]


@add_options_from_record_parameters()
def export(study: Study, out: Out, asked: AnnotationExportOptions) -> None:
    """Write answers, tasks for other tools, scores for MTEB, or gold.

    Tasks contain no answers unless you use --answers. Gold is written only with --gold, and profiles only with
    --profiles.

    Example: embassay hume export study --to csv --out answers.csv
    """
    from embassay.protocols.hume.exchange.export import export

    more: dict[str, Any] = {"tasks": asked.tasks, "answers": asked.answers, "exposed": asked.exposed}
    if asked.form is None:
        _export_gold(study, asked.gold or "original", out, **more)
        return
    done = export(study, asked.form, out, profiles=asked.profiles, revision=asked.revision, **more)
    for path in done.files:
        typer.echo(f"Written: {path}")
    if done.answers:
        typer.echo(f"{done.answers} answers of {len(done.annotators)} annotators: {', '.join(done.annotators)}.")
    if asked.form in ("label-studio", "argilla") and not asked.answers:
        typer.echo("The export contains no answers. Import new answers with `embassay hume import`.")


def _export_gold(study: Path, gold: GoldKind, out: Path, **more: Any) -> None:
    from embassay.protocols.hume.adjudication import DATA, export_gold

    done = export_gold(study, gold, out, **more)
    for line in done.describe_task_outcomes():
        typer.echo(line)
    if done.emptied:
        typer.echo(f"Left out because none of their items can be judged: {', '.join(done.emptied)}.", err=True)
    first = next(path for path in done.files if path.parent.name == DATA)
    typer.echo(
        f"Written to {out}. To use it: -d {shlex.quote(str(first))}, or embassay hume score {shlex.quote(str(out))}"
    )
