"""What a choice says: its verdict, its page, and its view on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from embassay.document.blocks import (
    Block,
    CautionNotes,
    Column,
    CommandInSentence,
    Heading,
    PageFactsLine,
    ParagraphBlock,
    Part,
    Sentence,
    SystemNameInSentence,
    Table,
    TableCell,
    VerdictText,
    join_names_with_and,
    make_number_columns,
)
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.choose.belief import LIKELY, TRUSTED
from embassay.protocols.choose.options import AS_GOOD, FEW, UNLIKELY
from embassay.protocols.choose.studies import find_last_study
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, Relation, make_value_claim
from embassay.protocols.kernel.tables import SCORE
from embassay.protocols.questions import OF_MODELS
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.cards.findings import SystemFinding, make_finding
from embassay.report.matrix import question_matrix_blocks
from embassay.report.notes import list_run_notes, show_gravest_notes
from embassay.report.record import RunRecord, SystemOfRun, shorten_names_to_labels
from embassay.report.runs import ReportRun

TASK = "choice"
TO_GRADE = "to_grade.jsonl"
NAMED = 3
"""Systems that a heading names."""
SIGNALS = {"sentence": "a removed sentence", "half": "half of its shared words removed"}
"""What questions a passage asks of itself, by family."""
BIAS = (
    "Questions made from a passage's own words favour systems that match words, so they are also asked again with "
    "half of the shared rare words removed; the weights were fitted on public collections."
)


def choice_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict on which system to choose and how surely, or on what would decide."""
    del board
    choices = _read_choices_by_dataset(record)
    if not choices:
        return VerdictText(("No choice could be made",), (("Fewer than two systems have answered.",),))
    dataset, choice = next(iter(choices.items()))
    pick, picked = (
        _map_systems_to_sentence_names(record)[choice["pick"]],
        _make_claim_of_picked_system(record, dataset, choice),
    )
    chances, alike = _state_pick_chances(record, choice), _make_near_best_claims(choice)
    labels_needed = _make_labels_needed_claims(choice)
    odds = _state_possible_best_systems(record, dataset, choice)
    if picked.kind == "use":
        percent = numbers.format_percent(choice["p_best"])
        heading: Sentence = ("Use ", pick, f" ({percent} likely to be the best)")
    else:
        heading = ("Undecided: ", *_say_possible_best_systems(record, odds))
    lede = tuple(_write_choice_lede(record, dataset, choice, chances, alike, labels_needed))
    return VerdictText(heading, lede, (picked, *odds, *chances, *alike, *labels_needed))


def _find_chances_of_being_best(record: RunRecord, dataset: str) -> dict[str, float]:
    """How likely each system is the best."""
    return {
        system.name: row.value
        for system in record.list_non_reference_systems
        if (row := record.find(TASK, system.name, "p_best", dataset=dataset)) is not None and row.value is not None
    }


def _state_possible_best_systems(record: RunRecord, dataset: str, choice: Mapping[str, Any]) -> tuple[Claim, ...]:
    """State which systems may be the best, the likeliest first, and which hardly can be."""
    chances = _find_chances_of_being_best(record, dataset)
    names = sorted(chances, key=lambda name: (-chances[name], name != choice["pick"]))
    return tuple(
        Claim(
            name, "keeps" if chances[name] >= UNLIKELY else "misses", "p_best",
            value=chances[name], margin=UNLIKELY, kind="chance",
        )
        for name in names
    )  # fmt: skip


def _say_possible_best_systems(record: RunRecord, odds: Sequence[Claim]) -> Iterator[Part]:
    """Say which systems may be best and how likely: `minilm (50%) may be best; bm25 is unlikely`."""
    names = _map_systems_to_sentence_names(record)
    likely = [claim for claim in odds if claim.relation == "keeps"]
    for place, claim in enumerate(likely[:NAMED]):
        last = place == min(len(likely), NAMED) - 1 and len(likely) <= NAMED
        before = "" if not place else " or " if last else ", "
        yield before
        yield names[claim.subject]
        yield f" ({numbers.format_percent(claim.value or 0.0)})"
    if len(likely) > NAMED:
        yield f" or {numbers.format_small_count_in_words(len(likely) - NAMED)} more"
    yield " is the likeliest" if len(likely) == 1 else " may be best"
    unlikely = [names[claim.subject] for claim in odds if claim.relation == "misses"]
    if len(unlikely) > NAMED:
        yield f"; the other {numbers.format_small_count_in_words(len(unlikely))} are unlikely"
    elif unlikely:
        yield "; "
        yield from join_names_with_and(unlikely)
        yield f" {'is' if len(unlikely) == 1 else 'are'} unlikely"


def _make_claim_of_picked_system(record: RunRecord, dataset: str, choice: Mapping[str, Any]) -> Claim:
    """What the pick is: of least expected loss, and the one to use where that is little; else the likeliest best where
    it is that."""
    chances = _find_chances_of_being_best(record, dataset)
    others = tuple(name for name in chances if name != choice["pick"])
    # Who loses least in the mean need not be the likeliest best.
    least = Claim(choice["pick"], "least", "expected_regret", others, choice["expected_regret"])
    if choice["says"] == choice["pick"]:
        return replace(least, margin=choice["tolerance"], kind="use")
    if choice["p_best"] >= max(chances.values(), default=0.0):
        return Claim(choice["pick"], "most", "p_best", others, choice["p_best"])
    return least


def _state_pick_chances(record: RunRecord, choice: Mapping[str, Any]) -> tuple[Claim, ...]:
    """How likely the pick is the best and near it, of how many, and what is lost by it and by a random pick."""
    pick, n = choice["pick"], len(record.list_non_reference_systems) - len(choice["missing"])
    return (
        Claim(pick, "is", "p_best", value=choice["p_best"], of=n),
        make_value_claim(pick, "p_near", choice["p_near"]),
        make_value_claim(pick, "expected_regret", choice["expected_regret"]),
        make_value_claim("", "expected_regret", choice["regret_of_random"], kind="random pick"),
    )


def _make_near_best_claims(choice: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Who would do as well: near the best with a high chance."""
    return tuple(Claim(name, "keeps", "p_near", margin=AS_GOOD, kind="as good") for name in choice.get("as_good") or ())


def _make_labels_needed_claims(choice: Mapping[str, Any]) -> tuple[Claim, ...]:
    """How many judged questions more are likely to bring the expected loss within the tolerance, or that not even the
    most that are looked at are; none where it is."""
    # A run from before there were chances says nothing of labels.
    if choice["expected_regret"] <= choice["tolerance"] or not choice.get("chance_with_labels"):
        return ()
    return (_state_chance_to_decide(choice),)


def _state_chance_to_decide(choice: Mapping[str, Any]) -> Claim:
    # The last that was looked at: the first that is likely to decide, or the most.
    most, chance = list(choice["chance_with_labels"].items())[-1]
    relation: Relation = "misses" if choice["labels"] is None else "keeps"
    return Claim("", relation, "chance_with_labels", value=chance, margin=LIKELY, n=int(most))


def _map_systems_to_sentence_names(record: RunRecord) -> dict[str, SystemNameInSentence]:
    """System -> its name as a sentence shows it."""
    label = record.system_labels
    return {system.name: SystemNameInSentence(label[system.name], system.index) for system in record.systems}


def _write_choice_lede(
    record: RunRecord, dataset: str, told: Mapping[str, Any], chances: Sequence[Claim], alike: Sequence[Claim],
    labels_needed: Sequence[Claim]
) -> Iterator[Sentence]:  # fmt: skip
    best, near, loss, random = chances
    p_best, p_near = numbers.format_percent(best.value or 0.0), numbers.format_percent(near.value or 0.0)
    regret, lot = SCORE.text(loss.value or 0.0), SCORE.text(random.value or 0.0)
    if not told.get("enough", True):
        asked = numbers.format_noun_count(told["questions"], "passage")
        few = f"Questions could be made from only {asked}, which is too few."
        lost = "Almost no passage is found by its own sentence, so no choice can be made."
        yield (f"{few if told['questions'] < FEW else lost} What the questions suggest:",)
    yield (
        _map_systems_to_sentence_names(record)[told["pick"]],
        f" has {_add_article_to_percentage(p_best)} chance of being best of {best.of} on {dataset} and "
        f"{_add_article_to_percentage(p_near)} chance of being within {told['tolerance']:g} nDCG@10 of the best. "
        f"Expected loss: {regret} (random pick: {lot})."
    )  # fmt: skip
    if alike:
        names = record.system_labels
        would = ", ".join(names[claim.subject] for claim in alike)
        yield (
            f"Just as good, with a chance of at least {AS_GOOD:.0%} of being within {told['tolerance']:g} of "
            f"the best: {would}.",
        )
    if told.get("written"):
        yield (_say_model_written_questions(record, told),)
    if told["judged"]:
        yield (f"This includes your {numbers.format_noun_count(told['judged'], 'judged question')}.",)
    else:
        yield ("No labels were used.",)
    for claim in labels_needed:
        yield (_say_labels_needed(told, claim),)


def _add_article_to_percentage(percent: str) -> str:
    """A percentage after `a`, or `an` where its first word begins with a vowel."""
    return f"{'an' if percent.startswith('8') or percent in ('11%', '18%') else 'a'} {percent}"


def _say_model_written_questions(record: RunRecord, choice: Mapping[str, Any]) -> str:
    asker = record.manifest.get("questions") or {}
    spent = (record.manifest.get("spent") or {}).get("usd")
    cost = f" (${spent:.2f})" if spent else ""
    asked, by = numbers.format_noun_count(choice["written"], "question"), asker.get("by", "a model")
    # Two of a real model moved P(best) from 45% to 56%.
    few = ", but so few can mislead; get more with --written-per-kind" if choice["written"] < TRUSTED else ""
    return f"A third signal is {asked} written by {shorten_names_to_labels([by])[by]}{cost}{few}."


def _say_what_would_decide(choice: Mapping[str, Any]) -> str:
    """What would decide; that nothing more is needed, or that too little was asked to say."""
    if claims := _make_labels_needed_claims(choice):
        return _say_labels_needed(choice, claims[0])
    if choice["says"] == choice["pick"]:
        return f"Nothing more is needed: the expected loss is within {choice['tolerance']:g}."
    return "There are too few questions to decide; more documents or judged questions would help."


def _say_labels_needed(choice: Mapping[str, Any], claim: Claim) -> str:
    more = " more" if choice["judged"] else ""
    chance = numbers.format_percent(claim.value or 0.0)
    if claim.relation == "misses":
        return f"Even {claim.n}{more} judged questions would decide this with a chance of only {chance}."
    return f"{claim.n}{more} judged questions would decide this with a chance of {chance}."


def _read_choices_by_dataset(record: RunRecord) -> dict[str, Mapping[str, Any]]:
    return dict(record.compared.get("choice", {}))


def list_choice_findings_for_system(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find a system's strength in a choice: that it is the pick, and how likely the best."""
    for dataset, choice in _read_choices_by_dataset(run.record).items():
        if choice["pick"] == system:
            basis = (
                numbers.format_noun_count(choice["judged"], "judged question") if choice["judged"] else "without labels"
            )
            chance = _add_article_to_percentage(numbers.format_percent(choice["p_best"]))
            clause = f"is the pick for {dataset}, with {chance} chance of being best ({basis})"
            yield make_finding(run, clause, weight=1.5)


def choice_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Build the page of a choice: who is likely to be best, what each signal says, what to grade."""
    record, board = run.record, run.board
    choices = _read_choices_by_dataset(record)
    yield PageFactsLine.of(
        "", "Choice", numbers.format_noun_count(len(record.list_non_reference_systems), "system"),
        numbers.format_date(record.manifest.get("updated", ""))
    )  # fmt: skip
    yield choice_verdict(record, board)
    yield from show_gravest_notes((*list_run_notes(record),), run.mark)
    for dataset, choice in choices.items():
        yield Heading("Which system, and how certain", "choose-systems")
        yield replace(_move_regret_columns_first(_make_best_system_chances_table(record, dataset)), title=dataset)
        yield ParagraphBlock(
            "Regret is the expected distance below the best nDCG@10. Price is per "
            "million tokens; time is for the system's cell on this machine; cached vectors took no time."
        )
        yield Heading("Signals from the documents alone", "choose-signals")
        yield ParagraphBlock(BIAS)
        yield replace(_make_question_family_signals_table(record, dataset), title=f"nDCG@10 on {dataset}")
        yield from _show_outcomes_of_question_drafts(record, dataset)
        yield Heading("What would decide", "choose-labels")
        yield ParagraphBlock(_say_what_would_decide(choice))
        if (record.path / TO_GRADE).exists():
            yield ParagraphBlock(
                ("Questions to judge next: ", CommandInSentence(TO_GRADE), f" ({_say_amount_to_judge(record.path)}).")
            )
            yield from _next_command_blocks(record)
        yield replace(_more_labels_table(choice), title="What judged questions would achieve")
        yield ParagraphBlock(f"The weights of the signals were fitted on {', '.join(choice['trained_on'])}.")
    yield from question_matrix_blocks(record.path) if alone else ()


def choice_view(run: Path, record: RunRecord, board: SystemBoard, wide: bool) -> Iterator[Block]:
    """Show a choice on a terminal: verdict, systems, what is missing, and what to do next."""
    yield choice_verdict(record, board)
    notes = [note.plain for note in list_run_notes(record)]
    for dataset, choice in _read_choices_by_dataset(record).items():
        yield _make_best_system_chances_table(record, dataset)
        if wide:
            yield _make_question_family_signals_table(record, dataset)
        notes += [f"{name} did not answer and is left out." for name in choice["missing"]]
    notes += _iterate_missing_model_question_notes(record)
    yield CautionNotes(tuple(notes), more=(BIAS,))
    if (run / TO_GRADE).exists():
        yield ParagraphBlock(
            ("To judge next: ", CommandInSentence(str(run / TO_GRADE)), f" ({_say_amount_to_judge(run)})")
        )
        yield from _next_command_blocks(record)


def _say_amount_to_judge(run: Path) -> str:
    """How much there is to judge."""
    rows = [
        parse_json_written_by_embassay(line)
        for line in read_bounded_file(run / TO_GRADE, WHOLE).splitlines()
        if line.strip()
    ]
    passages = sum(len(row["passages"]) for row in rows)
    asked, graded = (numbers.format_noun_count(len(rows), "question"), numbers.format_noun_count(passages, "passage"))
    return f"{asked}, {graded}"


def _iterate_missing_model_question_notes(record: RunRecord) -> Iterator[str]:
    """Note what is missing of the questions that a model wrote."""
    said = record.manifest.get("questions") or {}
    if failed := said.get("failed"):
        reason = next(iter(failed.values()))
        yield (
            f"{numbers.format_noun_count(len(failed), 'question')} could not be obtained from {said['by']} "
            f"({reason}). Repeat the command to try again."
        )
    elif said and not sum(said["kept"].values()):
        yield f"None of the questions that {said['by']} wrote passed the checks, so they do not count in the choice."


def _show_outcomes_of_question_drafts(record: RunRecord, dataset: str) -> Iterator[Block]:
    """Tell what became of the drafts that a model wrote."""
    counts: Mapping[str, Mapping[str, int]] = ((record.manifest.get("questions") or {}).get("drafts") or {}).get(
        dataset, {}
    )
    outcomes = list(dict.fromkeys(name for drafts in counts.values() for name in drafts))
    if outcomes:
        yield Heading("Questions that a model wrote", "choose-drafts")
        heads: list[str | Column] = ["Kind", *make_number_columns(*(name.capitalize() for name in outcomes))]
        rows: list[list[str | TableCell]] = [
            [kind, *(TableCell(f"{own.get(name, 0):,}") for name in outcomes)] for kind, own in counts.items()
        ]
        yield replace(Table.of(f"drafts-{dataset}", heads, rows), title="Questions by outcome")


def _next_command_blocks(record: RunRecord) -> Iterator[Block]:
    """Blocks with the next commands: those that have the questions judged, and that choose again."""
    if people := suggest_human_study_commands(record):
        yield ParagraphBlock("By hand, in a browser:")
        for command in people:
            yield ParagraphBlock((CommandInSentence(command),))
        yield ParagraphBlock("Or with a language model (--dry-run shows the cost):")
    for command in suggest_golden_set_commands(record):
        yield ParagraphBlock((CommandInSentence(command),))


def suggest_human_study_commands(record: RunRecord) -> tuple[str, ...]:
    """Suggest the commands that serve the questions to people and choose with their marks."""
    study = find_last_study(record.path)
    if study is None:
        return ()
    return f"embassay hume serve {quote(str(study))} -a me", _build_choose_again_command(record, str(study))


def _build_choose_again_command(record: RunRecord, labels: str) -> str:
    systems = " ".join(f"-s {quote(system)}" for system in record.arguments["systems"])
    systems += "".join(f" --retriever {quote(given)}" for given in record.arguments.get("retrievers", ()))
    out = quote(f"{record.path}-labelled")
    return f"embassay choose {quote(record.arguments['datasets'][0])} {systems} --labels {quote(labels)} --out {out}"


def suggest_golden_set_commands(record: RunRecord) -> tuple[str, ...]:
    """Suggest the commands that make a golden set of the questions to judge, and choose with it."""
    arguments, run = record.arguments, str(record.path)
    corpus = quote(arguments["datasets"][0])
    dataset = next(iter(_read_choices_by_dataset(record)), "")
    encoders = [system.name for system in _sort_systems_by_regret(record, dataset) if system.kind == "embedding"]
    judge = arguments["options"].get("llm") or "MODEL"
    golden = f"{run}-golden"
    runs = [f"--add-run {quote(str(path))}" for path in sorted((record.path / "contenders").glob("*.jsonl"))]
    return (
        f"embassay rag golden --corpus {corpus} --queries {quote(f'{run}/{TO_GRADE}')} "
        f"-s {quote(encoders[0] if encoders else 'wordllama')} -j {quote(judge)} --ranking grades --depth 10 "
        f"{' '.join(runs)} --out {quote(golden)}",
        _build_choose_again_command(record, golden),
    )


def _sort_systems_by_regret(record: RunRecord, dataset: str) -> list[SystemOfRun]:
    def find_regret(system: SystemOfRun) -> float:
        row = record.find(TASK, system.name, "expected_regret", dataset=dataset)
        return row.value if row is not None and row.value is not None else float("inf")

    return sorted(record.list_non_reference_systems, key=find_regret)


def _make_best_system_chances_table(record: RunRecord, dataset: str) -> Table:
    label = record.system_labels
    tolerance = record.arguments["options"]["tolerance"]
    heads: list[str | Column] = [
        "System", *make_number_columns("P(best)", f"P(within {tolerance:g})", "Regret", "Against the first, 95%",
                                  "$ / 1M", "Time")
    ]  # fmt: skip
    systems = _sort_systems_by_regret(record, dataset)
    rows: list[list[str | TableCell]] = [
        [label[system.name], *_make_choice_table_cells_of_system(record, dataset, system)] for system in systems
    ]
    table = Table.of(f"choice-{dataset}", heads, rows)
    kinds = [system.kind for system in systems]
    return replace(table, lines=tuple(replace(line, kind=kind) for line, kind in zip(table.lines, kinds, strict=True)))


def _move_regret_columns_first(table: Table) -> Table:
    """Regret and the interval beside the chance of being best: a phone shows three columns."""
    best, near, *others = range(len(table.columns))
    order = (best, *others[:2], near, *others[2:])
    lines = tuple(replace(line, entries=tuple(line.entries[place] for place in order)) for line in table.lines)
    return replace(table, columns=tuple(table.columns[place] for place in order), lines=lines)


def _make_choice_table_cells_of_system(record: RunRecord, dataset: str, system: SystemOfRun) -> Iterator[TableCell]:
    rows = {
        name: record.find(TASK, system.name, name, dataset=dataset)
        for name in ("p_best", "p_near", "expected_regret", "against_pick")
    }
    for name in ("p_best", "p_near"):
        yield _value_entry(rows[name], numbers.format_percent)
    yield _value_entry(rows["expected_regret"], SCORE.text)
    yield _difference_to_pick_entry(rows["against_pick"])
    if system.kind == "run":
        why = "a retriever is billed and timed per question: see the notes"
        yield from (TableCell(numbers.NONE, why=why), TableCell(numbers.NONE, why=why))
        return
    price = system.facts.get("usd_per_million_tokens")
    yield TableCell("0" if price is None else f"{price:g}")
    seconds = sum(cell.seconds or 0.0 for cell in record.list_system_cells_of_task_by_dataset(TASK, system.name))
    yield TableCell(numbers.format_duration(seconds), exact=str(seconds))


def _value_entry(row: ResultRow | None, written: Any) -> TableCell:
    if row is None or row.value is None:
        return TableCell(numbers.NONE, why="no answers")
    return TableCell(written(row.value), exact=str(row.value))


def _difference_to_pick_entry(row: ResultRow | None) -> TableCell:
    if row is None or row.value is None or row.ci_low is None or row.ci_high is None:
        return TableCell(numbers.NONE, why="the first itself" if row is not None else "no answers")
    ends = (row.ci_low, row.ci_high)
    small = f"{numbers.format_change(ends[0])} to {numbers.format_change(ends[1])}"
    return TableCell(numbers.format_change(row.value), small, ",".join(map(str, (row.value, *ends))))


def _make_question_family_signals_table(record: RunRecord, dataset: str) -> Table:
    """A table of what each family of questions signals, a line per system."""
    label = record.system_labels
    asked = {f"model: {kind}": f"a model's: {kind}" for kind in OF_MODELS}
    named = {**SIGNALS, **asked}
    families = [name for name in named if _has_results_for_question_family(record, dataset, name)]
    titles = ("Passages", *(named[name].capitalize() for name in families))
    heads: list[str | Column] = ["System", *make_number_columns(*titles)]
    rows: list[list[str | TableCell]] = [
        [
            label[system.name],
            _make_passage_count_cell(record, dataset, system.name),
            *(_score_entry(record, dataset, system.name, name) for name in families),
        ]
        for system in _sort_systems_by_regret(record, dataset)
    ]
    return Table.of(f"signals-{dataset}", heads, rows)


def _has_results_for_question_family(record: RunRecord, dataset: str, family: str) -> bool:
    return any(
        record.find(TASK, system.name, "found", dataset=dataset, variant=family)
        for system in record.list_non_reference_systems
    )


def _make_passage_count_cell(record: RunRecord, dataset: str, system: str) -> TableCell:
    """A table cell with the number of passages that the system was asked about."""
    row = record.find(TASK, system, "found", dataset=dataset, variant="sentence")
    return TableCell(numbers.NONE) if row is None else TableCell(f"{row.n:,}", exact=str(row.n))


def _score_entry(record: RunRecord, dataset: str, system: str, family: str) -> TableCell:
    row = record.find(TASK, system, "found", dataset=dataset, variant=family)
    if row is None or row.value is None:
        return TableCell(numbers.NONE, why="no answers")
    ends = () if row.ci_low is None or row.ci_high is None else (row.ci_low, row.ci_high)
    small = SCORE.interval(*ends) if len(ends) == 2 else ""
    return TableCell(SCORE.text(row.value), small, ",".join(map(str, (row.value, *ends))))


def _more_labels_table(choice: Mapping[str, Any]) -> Table:
    """What judged questions bring: the chance that they decide, and the regret that is left in the mean."""
    chances = choice.get("chance_with_labels", {})
    heads: list[str | Column] = ["Judged questions", *make_number_columns("Chance to decide", "Regret left")]
    rows: list[list[str | TableCell]] = [
        [n, _make_probability_table_cell(chances.get(n)), TableCell(SCORE.text(regret), exact=str(regret))]
        for n, regret in choice["regret_with_labels"].items()
    ]
    return Table.of("choice-labels", heads, rows)


def _make_probability_table_cell(chance: float | None) -> TableCell:
    """A table cell with a chance; runs from before there was this column have none."""
    if chance is None:
        return TableCell(numbers.NONE, why="not recorded in this run")
    return TableCell(numbers.format_percent(chance), exact=str(chance))
