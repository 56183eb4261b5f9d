"""`embassay hume score`: people, models and language models on the same items."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.cli.options import default_out

if TYPE_CHECKING:
    from embassay.cli.session import Display
    from embassay.protocols.hume.results.options import PublishedRequest, StudyRequest
    from embassay.protocols.kernel.outcome import Run


class Rule(StrEnum):
    """How the answers of several people become one score."""

    paper = "paper"
    pooled = "pooled"
    mean = "mean"
    first = "first"


class Ap(StrEnum):
    """How documents with equal marks are ordered."""

    tie_aware = "tie_aware"
    display_order = "display_order"
    expected = "expected"


class Alone(StrEnum):
    """The interval of one annotator's clusters or rankings."""

    wilson = "wilson"
    none = "none"


class Which(StrEnum):
    """Which systems of result files are models."""

    study = "study"
    all = "all"


Study = Annotated[
    Path | None, typer.Argument(metavar="[STUDY]", help="A study folder from `embassay hume sample`.")
]
Systems = Annotated[
    list[str] | None,
    typer.Option("--system", "-s", help="A system from `embassay list systems`."),
]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="A task of the study. Default: all.")]
Answers = Annotated[
    list[Path] | None,
    typer.Option(
        "--answers", metavar="FILE", rich_help_panel="Data",
        help="Only these annotations (JSONL). Default: all of the study.",
    ),
]  # fmt: skip
FromMteb = Annotated[
    list[Path] | None,
    typer.Option(
        "--from-mteb", metavar="FILE|FOLDER",
        help="MTEB result files, instead of a study.",
    ),
]  # fmt: skip
LlmScores = Annotated[
    list[Path] | None,
    typer.Option(
        "--llm-scores", metavar="FILE|FOLDER",
        help="With --from-mteb: CSV of dataset, lang, human, and a column per language model.",
    ),
]  # fmt: skip
Models = Annotated[
    Which,
    typer.Option("--models", help="With --from-mteb: the paper's models, or all in the files."),
]
Aggregation = Annotated[
    Rule,
    typer.Option("--aggregation", help="How several people's answers become one score."),
]
ApMode = Annotated[
    Ap, typer.Option("--human-ap-mode", help="How people's MAP orders documents with equal marks.")
]
OneAnnotator = Annotated[
    Alone,
    typer.Option(
        "--one-annotator", help="Interval for a single annotator's clusters or marks; the paper gives none."
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples-per-label", min=1,
        help="Training texts per label. Default: 16 for Emotion and Toxic, 32 for Tweet, else 8.",
    ),
]  # fmt: skip
MinAnswered = Annotated[
    float,
    typer.Option(
        "--min-answered", min=0, max=1, metavar="SHARE",
        help="Leave out annotators with less than this share of the most answers given.",
    ),
]  # fmt: skip
MinShared = Annotated[
    int,
    typer.Option(
        "--min-shared", min=1, help="Fewest shared items to compare two annotators, unless they share all."
    ),
]
GiveK = Annotated[
    bool,
    typer.Option(
        "--give-k/--no-give-k",
        help="Give systems the number of gold clusters; else they find one, as people do who are not told.",
    ),
]
SmallestGroup = Annotated[
    int,
    typer.Option("--smallest-group", min=2, help="Withhold scores by profile of groups with fewer people."),
]
Resamples = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the items.")]


def score(
    study: Study = None,
    system: Systems = None,
    task: Tasks = None,
    answers: Answers = None,
    from_mteb: FromMteb = None,
    llm_scores: LlmScores = None,
    models: Models = Which.study,
    aggregation: Aggregation = Rule.paper,
    human_ap_mode: ApMode = Ap.tie_aware,
    one_annotator: OneAnnotator = Alone.wilson,
    samples_per_label: Samples = None,
    resamples: Resamples = 10_000,
    min_answered: MinAnswered = 0.5,
    min_shared: MinShared = 10,
    give_k: GiveK = True,
    smallest_group: SmallestGroup = 5,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "cl100k",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Score people, systems and language models on the same items.

    Reads a study, or published results with --from-mteb. The same command with the same --out adds what people
    have answered since.

    Example: embassay hume score study -s minilm
    """
    from embassay.cli.session import Display

    display, place = Display(json, wide), out or default_out("hume")
    crew = 1 if dry_run else given.crew(workers, engine, address)
    if from_mteb:
        other = {"human_ap_mode": human_ap_mode is not Ap.tie_aware, "no_give_k": not give_k}
        _refuse("--from-mteb", study=study, task=task, answers=answers, **other)
        wanted = _published_request(
            from_mteb, llm_scores, models.value, aggregation.value, one_annotator.value, seed,
            system, samples_per_label, resamples, tokenizer,
        )  # fmt: skip
        of_files(wanted, out, display, crew, max_cost, samples_per_label, dry_run=dry_run)
        return
    _refuse("a study", llm_scores=llm_scores)
    request = _study_request(
        study, system, task, answers, aggregation.value, human_ap_mode.value, one_annotator.value,
        samples_per_label, resamples, seed, tokenizer, min_answered, min_shared, give_k, smallest_group,
    )  # fmt: skip
    if dry_run:
        plan_study(request, place, display)
    else:
        run_study(request, place, display, workers=crew, max_usd=max_cost)


def run_published(request: PublishedRequest, out: Path, display: Display, *, report: bool = True) -> None:
    """Carry out a request for published results."""
    from embassay.protocols.hume.published.protocol import run_published as carry_out_published

    run = carry_out_published(request, out, shlex.join(["embassay", *sys.argv[1:]]))
    _show(run.path, display, report)


def of_files(
    request: PublishedRequest, out: Path | None, display: Display, crew: Any, max_cost: float | None,
    samples: int | None, *, dry_run: bool,
) -> None:  # fmt: skip
    """Carry out a request for result files: with systems, evaluate these on the items that people answered and place
    them among people and published models, or show what that would take."""
    if not request.systems:
        _refuse("--from-mteb without -s", samples_per_label=samples, dry_run=dry_run, max_cost=max_cost)
        run_published(request, out or default_out("hume"), display)
        return
    if dry_run:
        plan_own(request, display)
        return
    from embassay.cli.session import carry_out
    from embassay.errors import UsageError
    from embassay.protocols.hume.published.protocol import read_published
    from embassay.protocols.hume.published.protocol import run_published as carry_out_published
    from embassay.protocols.hume.results.entrants import evaluated

    if out is None:
        raise UsageError(
            "-s beside --from-mteb needs a folder.", mend="Name one with --out, which resumes it."
        )
    read_published(request)  # what is wrong with the files is said before anything is evaluated

    def whole(*, out: Path, command: str, **more: Any) -> Run:
        own = evaluated(request, out, command=command, **more)
        return carry_out_published(request, out, command, own)

    carry_out(whole, out, display=display, show=_show, workers=crew, max_usd=max_cost)


def plan_own(request: PublishedRequest, display: Display) -> None:
    """Show what evaluating own systems would take."""
    from tempfile import TemporaryDirectory

    from embassay.cli.session import show_plan
    from embassay.protocols.hume.results.entrants import Entering, lay_out, study_request

    with TemporaryDirectory() as folder:
        items = Path(folder) / "items"
        for note in lay_out(items):
            typer.echo(note, err=True)
        show_plan(partial(Entering().foreseen, study_request(request, items)), display)


def run_study(
    request: StudyRequest, out: Path, display: Display, *, report: bool = True, **arguments: Any
) -> None:
    """Carry out a request for a study."""
    from embassay.cli.session import carry_out
    from embassay.protocols.hume.results.protocol import Scoring

    carry_out(
        partial(Scoring().carry_out, request), out, display=display, report=report, show=_show, **arguments
    )


def plan_study(request: StudyRequest, out: Path, display: Display) -> None:  # noqa: ARG001
    """Show what a request would take."""
    from embassay.cli.session import show_plan
    from embassay.protocols.hume.results.protocol import Scoring

    show_plan(partial(Scoring().foreseen, request), display)


def _show(path: Path, display: Display, report: bool) -> None:
    from embassay.cli.session import show_run
    from embassay.report.hume.conclusions import hume_view

    show_run(path, display, report, view=hume_view)


def _published_request(
    results: list[Path], llms: list[Path] | None, models: str, aggregation: str, one_annotator: str, seed: int,
    systems: list[str] | None, *of_systems: Any,
) -> PublishedRequest:  # fmt: skip
    from embassay.protocols.hume.results.options import PublishedRequest

    own = (tuple(systems), *of_systems) if systems else ()
    rest: Any = (models, aggregation, one_annotator, seed, *own)
    return PublishedRequest(_texts(results), _texts(llms), *rest)


def _study_request(study: Path | None, system: list[str] | None, *rest: Any) -> StudyRequest:
    from embassay.errors import UsageError
    from embassay.protocols.hume.results.options import StudyRequest

    if study is None:
        raise UsageError(
            "There is nothing to score.",
            mend="Give the folder of a study, or published results with --from-mteb FILE.",
        )
    task, answers, *others, give_k, smallest = rest
    own: dict[str, Any] = {"give_k": give_k, "smallest_group": smallest}
    plain = dict(zip(_OTHERS, others, strict=True))
    return StudyRequest(str(study), tuple(system or ()), tuple(task or ()), _texts(answers), **plain, **own)


_OTHERS = (
    "aggregation", "human_ap_mode", "one_annotator", "samples_per_label", "resamples", "seed", "tokenizer",
    "min_answered", "min_shared",
)  # fmt: skip


def _refuse(beside: str, **arguments: Any) -> None:
    """UsageError for an option that means nothing here."""
    from embassay.errors import UsageError

    wrong = [name for name, value in arguments.items() if value not in (None, False, [])]
    if wrong:
        name = "STUDY" if wrong[0] == "study" else f"--{wrong[0].replace('_', '-')}"
        raise UsageError(f"{name} means nothing beside {beside}.", mend="Leave out one of the two.")


def _texts(paths: list[Path] | None) -> tuple[str, ...]:
    return tuple(map(str, paths or ()))
