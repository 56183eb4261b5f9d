"""`embassay pteb`: systems on fresh paraphrases, how much the prompt matters, which model rates as people do, which
rewords, and what people say of paraphrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from embassay.cli.options import (
    PrintOptions,
    RatingFiles,
    RunOptions,
    StudyFolder,
    TitledCommandApp,
    WorkerOptions,
    add_dataclass_options,
    add_memory_option,
    add_options_from_record_parameters,
    make_default_run_folder,
    stopping_at_memory,
)
from embassay.cli.session import StdoutFormatOptions, run_or_plan_protocol, show_run_plan
from embassay.cli.terminal import format_command_line, print_as_json, print_table_to_fit_screen, print_view_blocks
from embassay.errors import Interrupted
from embassay.protocols.kernel.request import OUTPUT, SYSTEMS, declare_label_price_option, option, redeclare_option
from embassay.protocols.pteb.candidates import ParaphraserSelectionRequest
from embassay.protocols.pteb.options import (
    PROMPT_NAMES,
    JudgeEvaluationRequest,
    RatingBatchOptions,
    RatingStudyPoolOptions,
    Request,
    SubmissionFilters,
)
from embassay.protocols.pteb.validation.study import RATERS, DrawnStudy, draw_rating_study, read_study
from embassay.protocols.wordings.pairs import LanguageAcceptanceRules, PairSampleSize

if TYPE_CHECKING:
    from embassay.protocols.pteb.validation.raters import LanguageRatingResult
    from embassay.protocols.pteb.validation.scoring import ScoredRatingStudy

app = TitledCommandApp("PTEB: how far benchmark scores drop when an LLM paraphrases every text.")
validation = TitledCommandApp("Have people check the paraphrases.")


@app.callback()
def group() -> None:
    """PTEB: how far benchmark scores drop when an LLM paraphrases every text."""


OF_CELLS = ("tokenizer", "tasks", "grades")
"""What is asked of a run over tasks, and of nothing that rates pairs."""


@app.command("judge")
@stopping_at_memory
@add_options_from_record_parameters(without=OF_CELLS)
def judge(request: JudgeEvaluationRequest, running: RunOptions) -> None:
    """Find the language model that rates pairs most like people do.

    Models rate pairs of texts from 0 to 5; their ratings are compared with gold scores.

    Example: embassay pteb judge -j ollama:gemma3:27b -d sample
    """
    from embassay.protocols.pteb.judging import JudgingProtocol

    run_or_plan_protocol(JudgingProtocol(), request, running, "judge")


@app.command("paraphrasers")
@stopping_at_memory
@add_options_from_record_parameters(without=OF_CELLS, defaults={"judge": ...})
def paraphrasers(request: ParaphraserSelectionRequest, running: RunOptions) -> None:
    """Select the paraphraser that keeps meaning and changes words.

    A fixed rule selects by rated similarity, edit distance and time. `pteb run -p stored:FOLDER` reuses the
    paraphrases.

    Example: embassay pteb paraphrasers -p ollama:gemma3:27b -j ollama:gemma3:27b
    """
    from embassay.protocols.pteb.selection import ParaphraserSelectionStep

    done = run_or_plan_protocol(ParaphraserSelectionStep(), request, running, "paraphrasers")
    if done is None:
        return
    selection = done.manifest["selection"]
    typer.echo(f"Selected: {selection['selected'] or 'none'}, {selection['because']}.", err=True)


UNTIL_CI = (
    "--until-ci reduces only the noise of paraphrasing: the interval over runs. It does not compensate for few "
    "items; both intervals are shown at the end."
)


@app.command("run")
@add_memory_option
@add_options_from_record_parameters(defaults={"paraphrasers": ()})
def run(request: Request, running: WorkerOptions) -> None:
    """Score systems on original texts and on fresh paraphrases.

    The paraphrases are kept in the run; `-p stored:FOLDER` reuses them without a model.

    Example: embassay pteb run -s minilm -p recorded
    """
    from embassay.protocols.pteb.protocol import PtebProtocol

    if request.until_ci is not None:
        typer.echo(UNTIL_CI, err=True)
    run_or_plan_protocol(PtebProtocol(), request, running, "pteb")


OF_RUNS = {
    "grades", "until_ci", "max_runs", "control", "baseline", "on_failure", "exclude_copied", "seed_per", "last_seeds",
    "original_only", "to_rate", "ratings"
}  # fmt: skip
"""What can be told a run, and means nothing where prompts are compared."""


@app.command("prompts")
@add_memory_option
@add_options_from_record_parameters(
    tasks=("sts",), without=OF_RUNS, defaults={"paraphrasers": ..., "prompts": PROMPT_NAMES, "runs": 1}
)
def prompts(request: Request, running: WorkerOptions) -> None:
    """Measure how much STS scores depend on the paraphrasing prompt.

    Example: embassay pteb prompts -s minilm -p ollama:gemma3:27b
    """
    from embassay.protocols.pteb.protocol import PtebProtocol

    run_or_plan_protocol(PtebProtocol(), request, running, "prompts")


@validation.callback()
def people() -> None:
    """Have people check the paraphrases."""


@dataclass(frozen=True)
class RatingStudyOptions:
    """Options for the rules by which ratings will be judged, and where the study is written."""

    out: Path | None = option(None, "New or empty folder for the study.", group=OUTPUT)
    ending: Literal["csv", "jsonl"] = option("csv", "Format of the raters' files.", name="--to --format", group=OUTPUT)
    rules: LanguageAcceptanceRules = field(default_factory=LanguageAcceptanceRules)


@validation.command("sample")
@stopping_at_memory
@add_options_from_record_parameters()
def sample(
    run_or_set: Annotated[Path, typer.Argument(help="A run from `embassay pteb run`, or a stored set of paraphrases.")],
    drawing: RatingStudyPoolOptions,
    size: PairSampleSize,
    drawn: RatingStudyOptions,
) -> None:
    """Draw pairs of texts for people to rate.

    Writes the raters' files, the key, and the rules, which are fixed before anyone rates.

    Example: embassay pteb validate sample runs/pteb --langs fra --out study
    """
    from embassay.protocols.wordings.sets import ParaphraseSet

    out = drawn.out or make_default_run_folder("pteb-validate")
    study = draw_rating_study(ParaphraseSet.open(run_or_set), out, drawing, size, drawn.rules, ending=drawn.ending)
    _show_rating_study(study)


@dataclass(frozen=True)
class CrowdBatchOptions:
    """Options for whom batches are written, and where."""

    platform: Literal["mturk", "prolific"] = option(MISSING, "The platform.")
    out: Path | None = option(None, "Output folder. Default: crowd/ in the study.", group=OUTPUT)
    batches: RatingBatchOptions = field(default_factory=RatingBatchOptions)


@validation.command("crowd")
@stopping_at_memory
@add_options_from_record_parameters()
def crowd(folder: StudyFolder, asked: CrowdBatchOptions) -> None:
    """Write a study's pairs for MTurk or Prolific.

    Every batch contains the dummy pairs. A pilot uses the first pairs; the main study leaves them out.

    Example: embassay pteb validate crowd study --platform mturk --pilot 20
    """
    from embassay.protocols.pteb.validation.crowd import write_platform_batches

    for path in write_platform_batches(
        read_study(folder), asked.platform, asked.batches, asked.out or folder / "crowd"
    ):
        typer.echo(path)


@validation.command("collect")
@stopping_at_memory
@add_dataclass_options(SubmissionFilters)
def collect(
    folder: StudyFolder,
    files: Annotated[list[Path], typer.Argument(help="Result files from MTurk or Prolific.", metavar="FILE...")],
    submissions: Annotated[
        list[Path] | None, typer.Option("--submissions", help="Prolific's export of submissions.")
    ] = None,
    options: SubmissionFilters = SubmissionFilters(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Read a crowd platform's results into the study.

    Submissions that were rejected, returned or filtered are left out and counted.

    Example: embassay pteb validate collect study Batch_1.csv --least-seconds 3
    """
    from embassay.protocols.kernel.tables import format_noun_count
    from embassay.protocols.pteb.validation.crowd import read_crowd_ratings, write_kept_ratings

    study = read_study(folder)
    kept = read_crowd_ratings(files, {item.pair_id: item for item in study.items}, options, submissions or ())
    path = folder / RATERS / "crowd.csv"
    write_kept_ratings(path, kept)
    raters = format_noun_count(len({row["rater_id"] for row in kept.rows}), "rater")
    typer.echo(f"{format_noun_count(len(kept.rows), 'rating')} of {raters} kept in {path}.")
    for reason, count in sorted(kept.left_out.items()):
        typer.echo(f"Left out, {reason}: {format_noun_count(count, 'row')}")
    typer.echo(f"Next: embassay pteb validate score {folder}")


@dataclass(frozen=True)
class RatingScoreOptions(PrintOptions):
    """Options for what is read beside the ratings, and what estimates may cost."""

    judges: tuple[str, ...] = option(
        (), "A language model that first estimates every pair; the paper uses two.",
        name="--judge -j", group=SYSTEMS
    )  # fmt: skip
    estimates: tuple[Path, ...] = option((), "A file with language models' estimates.")
    decisions: Path | None = option(None, "File with the inspector's decisions. Default: inspect.csv.")
    max_cost: float | None = redeclare_option(RunOptions, "max_cost")
    dry_run: bool = redeclare_option(RunOptions, "dry_run")
    price: float | None = declare_label_price_option()


@validation.command("score")
@stopping_at_memory
@add_options_from_record_parameters()
def score(folder: StudyFolder, asked: RatingScoreOptions, files: RatingFiles = None) -> None:
    """Decide in which languages people accept the paraphrases.

    Applies the rules to the ratings: dummies, estimates, low ratings, inspection, rejection of raters.

    Example: embassay pteb validate score study
    """
    from embassay.protocols.pteb.validation import scoring

    study, json, wide = read_study(folder), asked.json, asked.wide
    if asked.dry_run:
        _show_judge_rating_plan(study, asked.judges, json, wide)
        return
    _have_llm_judges_rate_pairs(study, asked.judges, asked.max_cost)
    scored = scoring.score_rating_study(study, files or (), estimates=asked.estimates, decisions=asked.decisions)
    written = scoring.write_scored_rating_study(scored, command=format_command_line())
    if json:
        results = [row.as_dict() for row in written.read_results()]
        print_as_json({"results": results, "warnings": scored.warnings})
        return
    _show_scored_rating_study(scored, wide, asked.price)


def _have_llm_judges_rate_pairs(study: DrawnStudy, judges: Sequence[str], max_cost: float | None) -> None:
    """Have the judges estimate every pair; what was asked before is not asked again."""
    if not judges:
        return
    from embassay.cli.progress import make_progress_listener
    from embassay.protocols.kernel.session import open_spending_ledger
    from embassay.protocols.pteb.validation.scoring import write_model_ratings_of_pairs

    heard = make_progress_listener()
    heard.announce_paraphrasing("Estimates", len(study.items) * len(judges))
    with open_spending_ledger(study.path, max_cost) as ledger:
        try:
            write_model_ratings_of_pairs(study, judges, ledger=ledger, hear=heard.advanced_by)
        except KeyboardInterrupt:
            raise Interrupted(
                "Stopped. The answers so far are kept.", mend=f"Resume with: {format_command_line()}"
            ) from None
        finally:
            getattr(heard, "stop", lambda: None)()


def _show_judge_rating_plan(study: DrawnStudy, judges: Sequence[str], json: bool, wide: bool) -> None:
    from embassay.protocols.pteb.validation.scoring import forecast_model_ratings

    show_run_plan(lambda _: forecast_model_ratings(study, judges), StdoutFormatOptions(json, wide))


def _show_rating_study(study: DrawnStudy) -> None:

    rows = [
        [lang, f"{n['pairs']:,}", f"{n['dummies']:,}", f"{n['copies']:,}", f"{n['candidates']:,}"]
        for lang, n in study.facts["languages"].items()
    ]
    pairs = sum(n["pairs"] for n in study.facts["languages"].values())
    typer.echo(f"{pairs:,} pairs drawn for {study.raters} ratings each; the rules are fixed.\n")
    print_table_to_fit_screen(["Language", "Pairs", "Dummies", "Copies", "Drawn from"], rows, wide=False)
    wanted = study.facts["sample"]["pairs"]
    if short := [lang for lang, n in study.facts["languages"].items() if n["pairs"] < wanted]:
        typer.echo(f"\nFewer than {wanted} pairs in {', '.join(short)}: no more are available.")
    if "mul" in study.facts["languages"]:
        typer.echo("\nmul: texts in several languages in one list; raters must read all these languages.")
    for lang, language in study.facts["languages"].items():
        if language["other_language"]:
            typer.echo(f"\n{language['other_language']:,} texts that are clearly not in {lang} were left out.")
    typer.echo(f"\nSHA-256 of rules.json: {study.facts['sha256']['rules.json']}")
    typer.echo("Check the dummies in key.jsonl, then send only the files in for-raters.")
    typer.echo(f"When the files are back, run: embassay pteb validate score {study.path}")


def _show_scored_rating_study(scored: ScoredRatingStudy, wide: bool, price: float | None = None) -> None:
    from embassay.document.blocks import Column, Table, make_number_columns

    typer.echo(_describe_accepted_languages(scored) + "\n")
    titles = ("Median", "At the threshold", "Alpha", "Pairs", "Ratings", "Rejected")
    heads: list[str | Column] = [
        "Language",
        *make_number_columns("Mean", "95%"),
        "Verdict",
        *make_number_columns(*titles),
    ]
    print_view_blocks(
        [
            Table.of(
                "languages", heads, (_make_language_rating_row(result, scored.results) for result in scored.results)
            )
        ],
        wide,
    )
    _show_value_of_more_pairs(scored, wide, price)
    _show_corrected_judge_ratings(scored, wide, price)
    for rater in scored.checked.raters:
        if rater.fate != "kept":
            typer.echo(f"- {rater.rater_id} {rater.fate}: {rater.reason}")
    for warning in scored.warnings:
        typer.echo(f"- {warning}")
    typer.echo(f"\n{scored.study.path / 'tables' / 'pteb_table11.md'}")


def _show_value_of_more_pairs(scored: ScoredRatingStudy, wide: bool, price: float | None) -> None:
    """Show what more pairs would achieve for the languages whose verdict they could turn."""
    from embassay.report.notes import UndecidedDifference, undecided_outlook_table

    bar, ratings = scored.study.rules.threshold, float(scored.study.raters)
    open_ = [
        UndecidedDifference(result.lang, result.mean.point - bar, result.mean.width / 2, result.rated, 1, ratings)
        for result in scored.results
        if result.lang and result.mean is not None and result.mean.contains(bar)
    ]
    if open_:
        typer.echo(
            f"\nOther pairs could reverse these verdicts. What more pairs would achieve, with {ratings:g} ratings each:"
        )
        chance = "Chance of a decision"
        print_view_blocks(
            [undecided_outlook_table("What more pairs would achieve", "Pairs", open_, price=price, chance=chance)], wide
        )


def _show_corrected_judge_ratings(scored: ScoredRatingStudy, wide: bool, price: float | None) -> None:
    """Show each judge's mean ratings of all pairs, corrected by people's."""

    from embassay.report.rag.decision import show_judge_assisted_means

    for judge in dict.fromkeys(language.judge for language in scored.corrected):
        # All languages together come first: what more labels would buy is told of these.
        languages = sorted(
            (language for language in scored.corrected if language.judge == judge),
            key=lambda language: bool(language.lang),
        )
        means = [replace(language.mean, name=language.lang or "all pairs") for language in languages]
        typer.echo("")
        bar = scored.study.rules.threshold
        title, ratings = f"Mean rating with {judge}", float(scored.study.raters)
        print_view_blocks(show_judge_assisted_means(means, languages[0].off, title, bar, price, ratings), wide)


def _describe_accepted_languages(scored: ScoredRatingStudy) -> str:
    langs = [result for result in scored.results if result.lang]
    bar = f"mean rating of {scored.study.rules.threshold:g} or more"
    parts = [f"{len(scored.accepted)} of {len(langs)} languages accepted ({bar})"]
    if rejected := [lang.lang for lang in langs if lang.accepted is False]:
        parts.append(f"rejected: {', '.join(rejected)}")
    if undecided := [lang.lang for lang in langs if lang.accepted is None]:
        parts.append(f"no verdict: {', '.join(undecided)}")
    return f"{'; '.join(parts)}."


def _make_language_rating_row(result: LanguageRatingResult, results: Sequence[LanguageRatingResult]) -> list[str]:
    from embassay.protocols.kernel import tables as numbers
    from embassay.protocols.pteb.validation.scoring import TOTAL, describe_rating_verdict_of_language

    mean, share = result.mean, result.share
    return [
        result.lang or TOTAL,
        "n/a" if mean is None else f"{mean.point:.2f}",
        "n/a" if mean is None or mean.low is None else numbers.format_interval(*mean.ends, 2),
        describe_rating_verdict_of_language(result, results),
        "n/a" if result.median is None else f"{result.median:.2f}",
        "n/a" if share is None else numbers.format_percent(share.point),
        "n/a" if result.alpha is None else numbers.format_score(result.alpha.point, 2),
        f"{result.rated} of {result.pairs}",
        f"{result.ratings:,}",
        f"{result.rejected} of {result.raters}",
    ]


app.add_typer(validation, name="validate")
