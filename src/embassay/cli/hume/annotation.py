"""`embassay hume serve`, `links`, `offline`, `annotate`, `hybrid`, `simulate`: people, models and scripts answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import AllowHost, Json, ProxyHeaders
from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.protocols.hume.llms.hybrid import HybridOptions

if TYPE_CHECKING:
    from embassay.protocols.hume.llms.annotator import AnnotateRequest
    from embassay.protocols.hume.llms.hybrid import Hybrid
    from embassay.protocols.hume.llms.protocol import Outcome
    from embassay.web.annotation.service import ServeOptions, Service


Annotators = Annotated[
    list[str] | None,
    typer.Option("--annotator", "-a", help="An annotator to add."),
]
Adjudicators = Annotated[
    list[str] | None,
    typer.Option("--adjudicator", help="Somebody who decides what annotators disagree on; sees no names."),
]
Simulated = Annotated[
    list[str] | None,
    typer.Option("--simulated", help="A scripted annotator, marked as such in every table."),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database", metavar="URL",
        help="PostgreSQL, or the variable that holds its URL. Default: a file in STUDY.",
    ),
]  # fmt: skip
NewLinks = Annotated[bool, typer.Option("--new-links", help="Make new links and void the earlier ones.")]
LinksJson = Annotated[bool, typer.Option("--json", help="Print the links as one JSON object.")]


@dataclass(frozen=True)
class Links:
    """What is handed out: the name, kind and link of each of the people, and the owner's link."""

    study: str
    people: tuple[tuple[str, str, str], ...]
    owner: str


UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="STUDY is of `rag score --until-decided`: people grade passages until it is decided.",
    ),
]
Calibrated = Annotated[
    Path | None,
    typer.Option(
        "--calibration", metavar="FILE",
        help="A file of `calibrate`: the owner's page shows answers that it did not expect.",
    ),
]  # fmt: skip


def serve(
    study: Study,
    annotator: Annotators = None,
    simulated: Simulated = None,
    adjudicator: Adjudicators = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    database: Database = None,
    public_url: Annotated[
        str | None,
        typer.Option("--public-url", metavar="URL", help="Address that people open, for their links."),
    ] = None,
    allow_host: AllowHost = None,
    proxy_headers: ProxyHeaders = False,
    new_links: NewLinks = False,
    until_decided: UntilDecided = False,
    calibration: Calibrated = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the owner's page in a browser.")] = False,
    json: LinksJson = False,
) -> None:
    """Serve a study's pages, with a personal link for each annotator.

    Answers go to STUDY/answers.sqlite3 and survive a crash; the links stay. No page reads gold or another's
    answers. Ctrl-C stops it.

    Example: embassay hume serve study -a ann -a bob
    """
    from embassay.web import server
    from embassay.web.annotation.service import ServeOptions, serve_study

    public = _base(public_url) if public_url else None
    options = ServeOptions(
        hosts=server.hosts_answered(host, public, tuple(allow_host or ())),
        origins=(server.origin_of(public),) if public else (),
        public_url=public,
    )
    with ExitStack() as held:
        listening = held.enter_context(server.listen(host, port))
        service = held.enter_context(
            closing(
                _opened(
                    study, (annotator, simulated, adjudicator), database, options, until_decided, calibration
                )
            )
        )
        shown = _linked(service, public or server.base_url(host, listening), renew=new_links)

        def ready() -> None:
            _show_links(shown, json)
            _say(service, host, public)
            if open_browser:
                typer.launch(shown.owner)

        serve_study(service, listening, proxy_headers=proxy_headers, ready=ready)


def links(
    study: Study,
    annotator: Annotators = None,
    adjudicator: Adjudicators = None,
    database: Database = None,
    public_url: Annotated[
        str, typer.Option("--public-url", metavar="URL", help="Address that people open.")
    ] = "http://127.0.0.1:8000",
    new_links: NewLinks = False,
    json: LinksJson = False,
) -> None:
    """Show a study's personal links, and add annotators.

    A running server knows new ones at once.

    Example: embassay hume links study -a ann
    """
    with closing(_opened(study, (annotator, None, adjudicator), database, None)) as service:
        _show_links(_linked(service, _base(public_url), renew=new_links), json)


def _opened(
    study: Path,
    people: tuple[list[str] | None, list[str] | None, list[str] | None],
    database: str | None,
    options: ServeOptions | None,
    until_decided: bool = False,
    calibrated: Path | None = None,
) -> Service:
    """Ready for annotators, scripts and adjudicators."""
    from embassay.web.annotation.service import open_service

    annotators, simulated, adjudicators = (names or () for names in people)
    return open_service(
        study,
        annotators,
        simulated,
        adjudicators=adjudicators,
        database=database,
        options=options,
        until_decided=until_decided,
        calibrated=calibrated,
    )


def _linked(service: Service, base: str, *, renew: bool) -> Links:
    people = tuple(
        (one.id, one.kind, base + service.annotator_link(one.id, renew=renew))
        for one in (*service.store.annotators(), *service.store.adjudicators())
    )
    return Links(service.folder.study.name, people, base + service.owner_link(renew=renew))


_KINDS = {"simulated": "simulated", "adjudicator": "adjudicates"}


def _show_links(links: Links, json: bool) -> None:
    """One line each on stdout, links in a column."""
    if json:
        from json import dumps

        people = [{"id": name, "kind": kind, "link": link} for name, kind, link in links.people]
        typer.echo(
            dumps({"study": links.study, "annotators": people, "owner": links.owner}, ensure_ascii=False)
        )
        return
    rows = [
        (name + ("" if kind == "person" else f" ({_KINDS[kind]})"), link) for name, kind, link in links.people
    ]
    width = max(len(name) for name, _ in (*rows, ("the owner", "")))
    for name, link in (*rows, ("the owner", links.owner)):
        typer.echo(f"{name:<{width}}  {link}")


def _say(service: Service, host: str, public_url: str | None) -> None:
    from embassay.web.server import is_local

    study = service.folder.study
    counts = f"{len(study.tasks)} task{'s' * (len(study.tasks) != 1)}, {len(service.items)} items"
    typer.echo(f"{study.name}: {counts}. Answers are kept in {service.store.database.place}.", err=True)
    if not is_local(host) and not (public_url or "").startswith("https://"):
        typer.echo(
            "Others on the network can reach this server, and links and answers travel unencrypted: put a proxy with "
            "TLS before it (docs/hume_serving.md).", err=True,
        )  # fmt: skip
    typer.echo("Ctrl-C stops it: what was answered is kept, and the links stay the same.", err=True)


def _base(public_url: str) -> str:
    """A base address without its last stroke. Raises UsageError for what is none."""
    from urllib.parse import urlsplit

    parts = urlsplit(public_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"{public_url!r} is not an address that people can open.",
            mend="Write it like https://annotate.example.org.",
        )
    return public_url.rstrip("/")


def offline(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study folder from `embassay hume sample`.")
    ],
    annotator: Annotated[str, typer.Option("--annotator", "-a", help="Who the file is for.")] = "",
    adjudicator: Annotated[
        str, typer.Option("--adjudicator", help="Who decides: the file has what people answered differently.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="The file. Default: NAME.html.")] = None,
) -> None:
    """Write one person's annotation pages as one offline HTML file.

    It holds the items, no gold and nobody else's answers; for an adjudicator the disputed items, with answers and
    without names. The person sends back NAME.answers.jsonl for `embassay hume import`.

    Example: embassay hume offline study -a ann
    """
    from embassay.web.annotation.page import write_single

    if bool(annotator) == bool(adjudicator):
        raise UsageError("The file is for one person.", mend="Give --annotator NAME, or --adjudicator NAME.")
    who = annotator or adjudicator
    path = write_single(study, who, out or Path(f"{who}.html"), adjudicates=bool(adjudicator))
    typer.echo(path)
    typer.echo(
        f"Send it to {who}. What comes back, {who}.answers.jsonl: embassay hume import {study} FILE", err=True
    )


Study = Annotated[Path, typer.Argument(help="A study folder from `embassay hume sample`.")]
Llms = Annotated[
    list[str],
    typer.Option("--llm", help="A chat model, such as ollama:gemma3:27b?temperature=0.7."),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", "-t", help="A task of the study. Default: all but clustering."),
]
Binary = Annotated[
    bool,
    typer.Option(
        "--binary", help="In reranking, mark relevant documents as people do, rather than rank all."
    ),
]
Runs = Annotated[int, typer.Option("--runs", min=1, max=100, help="Answers per item; scores average them.")]
Replace = Annotated[bool, typer.Option("--replace", help="Discard earlier answers of these models.")]
ONCE = ("--replace",)


def annotate(
    study: Study,
    llm: Llms,
    task: Tasks = None,
    binary: Binary = False,
    runs: Runs = 1,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    replace: Replace = False,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Have language models answer a study's items.

    They read what people read. Answers are kept at once, and no item is asked twice. Clustering is left out.

    Example: embassay hume annotate study --llm ollama:gemma3:27b
    """
    from embassay.protocols.hume.llms.annotator import AnnotateRequest

    request = AnnotateRequest(
        tuple(llm), "binary" if binary else "ranking", runs, seed, tuple(task or ()), limit
    )
    if dry_run:
        _plan(study, request, replace=replace, json=json, wide=wide)
        return
    outcome = _carried_out(study, request, replace=replace, max_usd=max_cost)
    _show(outcome, json=json, wide=wide)
    if outcome.failed:
        raise ModelError(
            f"{outcome.failed} calls failed; their items have no answer.",
            mend=f"The rest is kept in {study / 'llm'}; the same command tries these again.",
        )


def _plan(study: Path, request: AnnotateRequest, *, replace: bool, json: bool, wide: bool) -> None:
    from embassay.cli.session import Display, show_plan
    from embassay.protocols.hume.folder import read_study
    from embassay.protocols.hume.llms.protocol import forecast, plan_work

    show_plan(lambda ledger: forecast(study, request, ledger, replace=replace), Display(json, wide))
    _say_left_out([task.name for task in plan_work(read_study(study), request).left_out])


def _carried_out(study: Path, request: AnnotateRequest, *, replace: bool, max_usd: float | None) -> Outcome:
    """The session, with what to type to go on where it is stopped."""
    from embassay.cli.progress import listener
    from embassay.cli.session import stopping
    from embassay.protocols.hume.llms.protocol import annotate

    command = shlex.join(["embassay", *(word for word in sys.argv[1:] if word not in ONCE)])
    kept = f"Answers are kept in {study / 'llm'}."
    heard = listener()
    try:
        with stopping(kept, command):
            return annotate(study, request, listener=heard, max_usd=max_usd, replace=replace)
    except BudgetExceeded as error:
        raise BudgetExceeded(
            f"{error.message} {kept}", mend=f"Resume with a higher --max-cost: {command}"
        ) from None
    finally:
        getattr(heard, "stop", lambda: None)()


def _show(outcome: Outcome, *, json: bool, wide: bool) -> None:
    from embassay.runs.spending import dollars, in_one_line

    if json:
        from embassay.runs.folder import to_json

        rows = [one.as_dict() for one in outcome.annotated]
        typer.echo(to_json({"annotated": rows, "spent": outcome.spent, "left_out": list(outcome.left_out)}))
    else:
        from embassay.cli.terminal import show_table

        titles = ["model", "task", "family", "asked", "read", "mended", "unread", "failed", "tokens", "cost"]
        names = ("ok", "completed", "unparsed", "failed")
        rows_shown = [
            [one.model, one.task, one.family, f"{one.asked:,}", *(f"{one.statuses.get(name, 0):,}" for name in names),  # type: ignore[call-overload]
             f"{one.tokens:,}", dollars(one.usd)]
            for one in outcome.annotated
        ]  # fmt: skip
        show_table(titles, rows_shown, wide=wide, numbers=True)
        typer.echo(f"\nScore them beside people: embassay hume score {shlex.quote(str(outcome.path))}")
    _say_left_out(outcome.left_out)
    if paid := in_one_line(outcome.spent):
        typer.echo(paid, err=True)


def _say_left_out(tasks: Sequence[str]) -> None:
    if tasks:
        typer.echo(
            f"Left out: {', '.join(tasks)}. Ids of clusters are hard to ask for consistently.", err=True
        )


@given.settings(HybridOptions)
def hybrid(
    study: Study,
    llm: Annotated[
        str, typer.Option("--llm", help="Whose answers. Default: the one model that answered.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="File of the items. Default: hybrid.jsonl in the study.")
    ] = None,
    json: Json = False,
    wide: given.Wide = False,
    options: HybridOptions = HybridOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Tell which items people must answer, and which a model may.

    A language model's answer stands where its draws agree and a sample that people answer too does not contradict it.
    The same command later counts what people have answered since.

    Example: embassay hume hybrid study --check 0.3
    """
    from embassay.protocols.hume.folder import read_study
    from embassay.protocols.hume.llms.hybrid import study_hybrid, write_hybrid

    found = study_hybrid(read_study(study), llm, options)
    path = out or study / "hybrid.jsonl"
    write_hybrid(path, found)
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps([asdict(one) for one in found], ensure_ascii=False))
        return
    _show_hybrid(found, path, wide)


def _show_hybrid(found: Sequence[Hybrid], path: Path, wide: bool) -> None:
    from collections import Counter

    from embassay.cli.terminal import show_table
    from embassay.protocols.kernel.tables import interval, percent

    rows = []
    for one in found:
        why, wrong = Counter(one.why.values()), one.contradicted
        said = (
            "not yet"
            if wrong is None
            else f"{percent(wrong.estimate)} ({interval(wrong.low, wrong.high, 2)})"
        )
        counts = [f"{why[name]:,}" for name in ("agreed", "check", "disagree", "unread", "biased")]
        rows.append([one.task, *counts, said, f"{len(one.open):,}", percent(one.share_of_people)])
    heads = [
        "task",
        "model's",
        "sample",
        "disagree",
        "unread",
        "biased",
        "contradicted, 95%",
        "open",
        "people's share",
    ]
    show_table(heads, rows, wide=wide)
    biased = [one.task for one in found if one.biased]
    if biased:
        typer.echo(
            f"\n{', '.join(biased)}: people contradict the sample, so the model's answers are not used there."
        )
    saved, every = sum(one.saved for one in found), sum(len(one.why) for one in found)
    typer.echo(
        f"\n{saved:,} of {every:,} items need no person; {sum(len(one.open) for one in found):,} wait for one."
    )
    typer.echo(f"Items: {path}")


def simulate(
    study: Annotated[Path, typer.Argument(help="A study folder from `embassay hume sample`.")],
    annotators: Annotated[int, typer.Option("--annotators", min=1, help="Number of scripts.")] = 2,
    noise: Annotated[
        float,
        typer.Option(
            "--noise",
            min=0,
            max=1,
            help="Share of wrong labels and marks; of ratings, error as a share of the scale.",
        ),
    ] = 0.15,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1,
    json: Json = False,
) -> None:
    """Try a study out with scripted annotators: NOBODY ANNOTATED.

    Scripts read the gold and err at random. Their answers go to annotations/simulated.jsonl; every table marks
    them as simulated.

    Example: embassay hume simulate study
    """
    from embassay.protocols.hume.collection import KIND, check_nobody_answered, simulated_rows
    from embassay.protocols.hume.folder import read_study, write_annotations

    folder = read_study(study)
    check_nobody_answered(folder)
    rows = simulated_rows(folder, annotators, noise=noise, seed=seed)
    file = write_annotations(study, KIND, rows)
    if json:
        from json import dumps

        told = {"file": str(file), "annotators": annotators, "answers": len(rows), "kind": KIND}
        typer.echo(dumps(told, ensure_ascii=False))
        return
    typer.echo(f"{len(rows)} answers of {annotators} simulated annotators, noise {noise:g}: {file}")
    typer.echo(
        "Nobody annotated: these answers are the gold with known errors, and say nothing about people."
    )
