"""`embassay hume serve`, `hume links` and `hume offline`: people annotate a study in the browser."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import AllowHost, ProxyHeaders

if TYPE_CHECKING:
    from embassay.web.annotation.service import ServeOptions, Service

Study = Annotated[Path, typer.Argument(metavar="STUDY", help="A study folder from `embassay hume sample`.")]
Annotators = Annotated[
    list[str] | None,
    typer.Option("--annotator", "-a", help="An annotator to add."),
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
Json = Annotated[bool, typer.Option("--json", help="Print the links as one JSON object.")]


@dataclass(frozen=True)
class Links:
    """What is handed out: the name, kind and link of each of the people, and the owner's link."""

    study: str
    people: tuple[tuple[str, str, str], ...]
    owner: str


def serve(
    study: Study,
    annotator: Annotators = None,
    simulated: Simulated = None,
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
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="STUDY is of `rag score --until-decided`: people grade passages until it is decided.",
        ),
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the owner's page in a browser.")] = False,
    json: Json = False,
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
            closing(_opened(study, annotator, simulated, database, options, until_decided))
        )
        shown = _linked(service, public or server.base_url(host, listening), renew=new_links)

        def ready() -> None:
            _show(shown, json)
            _say(service, host, public)
            if open_browser:
                typer.launch(shown.owner)

        serve_study(service, listening, proxy_headers=proxy_headers, ready=ready)


def links(
    study: Study,
    annotator: Annotators = None,
    database: Database = None,
    public_url: Annotated[
        str, typer.Option("--public-url", metavar="URL", help="Address that people open.")
    ] = "http://127.0.0.1:8000",
    new_links: NewLinks = False,
    json: Json = False,
) -> None:
    """Show a study's personal links, and add annotators.

    A running server knows new ones at once.

    Example: embassay hume links study -a ann
    """
    with closing(_opened(study, annotator, None, database, None)) as service:
        _show(_linked(service, _base(public_url), renew=new_links), json)


def _opened(
    study: Path,
    annotators: list[str] | None,
    simulated: list[str] | None,
    database: str | None,
    options: ServeOptions | None,
    until_decided: bool = False,
) -> Service:
    from embassay.web.annotation.service import open_service

    return open_service(
        study,
        annotators or (),
        simulated or (),
        database=database,
        options=options,
        until_decided=until_decided,
    )


def _linked(service: Service, base: str, *, renew: bool) -> Links:
    people = tuple(
        (one.id, one.kind, base + service.annotator_link(one.id, renew=renew))
        for one in service.store.annotators()
    )
    return Links(service.folder.study.name, people, base + service.owner_link(renew=renew))


def _show(links: Links, json: bool) -> None:
    """One line each on stdout, links in a column."""
    if json:
        from json import dumps

        people = [{"id": name, "kind": kind, "link": link} for name, kind, link in links.people]
        typer.echo(
            dumps({"study": links.study, "annotators": people, "owner": links.owner}, ensure_ascii=False)
        )
        return
    rows = [
        (name + (" (simulated)" if kind == "simulated" else ""), link) for name, kind, link in links.people
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

    from embassay.errors import UsageError

    parts = urlsplit(public_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"{public_url!r} is no address that people can open.",
            mend="Write it like https://annotate.example.org.",
        )
    return public_url.rstrip("/")


def offline(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study folder from `embassay hume sample`.")
    ],
    annotator: Annotated[str, typer.Option("--annotator", "-a", help="Who the file is for.")],
    out: Annotated[Path | None, typer.Option("--out", help="The file. Default: ANNOTATOR.html.")] = None,
) -> None:
    """Write one person's annotation pages as one offline HTML file.

    It holds the items, no gold and nobody else's answers. The person sends back ANNOTATOR.answers.jsonl for
    `embassay hume import`.

    Example: embassay hume offline study -a ann
    """
    from embassay.web.annotation.page import write_single

    path = write_single(study, annotator, out or Path(f"{annotator}.html"))
    typer.echo(path)
    typer.echo(
        f"Send it to {annotator}. What comes back, {annotator}.answers.jsonl: embassay hume import {study} FILE",
        err=True,
    )
