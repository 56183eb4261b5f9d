"""Real language models' words: what their paraphrases do to scores, what checks catch, and how their judges grade.

    python benchmarks/real_words.py FOLDER [--system wordllama] [--system minilm] [--runs 5] [--part PART]... > PAGE

FOLDER holds `para_*.jsonl.gz` and `judge_*.jsonl.gz`: outputs of GPT-3.5, ChatGPT, Llama 3, Falcon and others beside
people's labels, as published by the authors named in `results/real_words.md`. Most of them state no licence, so they
are no part of Embassay: only the figures are. Everything is drawn and resampled by seed 1337.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import embassay as eb
from embassay.protocols.pteb.checks import describe_lost_number_or_name, explain_wording_as_answer, is_near_copy
from embassay.protocols.pteb.paraphrasing import make_paraphrase_verdict_of_answer
from embassay.protocols.rag.golden.panel import JudgeGrades, compare_judges_and_make_panel
from embassay.protocols.rag.judges.chat import MalformedJudgement, parse_grade_answer
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate, wilson
from embassay.stats.resampling import percentile_interval, resample_means
from embassay.systems import open_system
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.text import open_tokenizer

Row = dict[str, Any]
SEED, RESAMPLES = 1337, 2_000
PARAPHRASERS = {
    "gpt-3.5-turbo (repo: ChatGPT)": "GPT-3.5", "Llama-3 (repo: LLama3)": "Llama-3-8B",
    "back-translation MT (control, not a chat LLM)": "back-translation",
    "contextual word substitution (control, not a chat LLM)": "word substitution",
}  # fmt: skip


def rows_of(folder: Path, name: str) -> list[Row]:
    """The rows of a file."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def between(value: float, low: float, high: float, *, decimals: int = 1, signed: bool = False) -> str:
    """A value with its interval."""
    sign = "+" if signed else ""
    return f"{value:{sign}.{decimals}f} ({low:{sign}.{decimals}f} to {high:{sign}.{decimals}f})"


def percent(share: float, n: int) -> str:
    """A share in percent with its interval (Wilson)."""
    found = wilson(share, n)
    return between(100 * share, 100 * (found.low or 0.0), 100 * (found.high or 0.0))


def of_figure(found: Estimate | None, *, signed: bool = False) -> str:
    """A figure with its interval."""
    if found is None or found.value is None:
        return "n/a"
    return between(found.value, found.low or 0.0, found.high or 0.0, decimals=2, signed=signed)


def classification(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """PTEB's classification on four sets, by each paraphraser of the same originals."""
    yield "## Classification: what each paraphraser costs\n"
    yield (
        "Half of each label's originals train, the other half are classified as they are and reworded; five wordings "
        "of each. Change of accuracy in points, 95% intervals over texts (each with all its wordings).\n"
    )
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    labels: dict[tuple[str, str], str] = {}
    for row in rows_of(folder, "para_kinit_intents_sentiment"):
        key = row["dataset"], PARAPHRASERS[row["model"]]
        found[key].setdefault(row["original"], []).append(row["paraphrase"])
        labels[row["dataset"], row["original"]] = row["label"]
    with tempfile.TemporaryDirectory() as work:
        paths = [_written(Path(work), *key, texts, labels) for key, texts in found.items()]
        run = eb.pteb.run(
            given.system, datasets=paths, paraphraser="recorded", runs=given.runs, tasks=["classification"],
            tokenizer="words", seed=SEED, out=Path(work) / "run",
        )  # fmt: skip
        rows = [
            (dataset, paraphraser, system, *_change(run.path, f"{dataset}_{slugged(paraphraser)}", system))
            for system in given.system
            for dataset, paraphraser in sorted(found)
        ]
    yield table(["Set", "Paraphraser", "Model", "Texts", "Original", "Reworded", "Change (95%)"], rows)


def slugged(name: str) -> str:
    """A paraphraser in the name of a file."""
    return name.lower().replace(" ", "").replace("-", "").replace(".", "")


def _written(
    work: Path, dataset: str, paraphraser: str, texts: Mapping[str, list[str]], labels: Mapping[Any, str]
) -> str:
    path, seen = work / f"{dataset}_{slugged(paraphraser)}.jsonl", Counter[str]()
    with path.open("w", encoding="utf-8") as out:
        for number, (text, wordings) in enumerate(texts.items()):
            label = labels[dataset, text]
            split = "test" if seen[label] % 2 else "train"
            seen[label] += 1
            line = {"id": str(number), "text": text, "label": label, "split": split, "paraphrases": wordings}
            out.write(json.dumps(line) + "\n")
    return str(path)


def _change(run: Path, dataset: str, system: str) -> tuple[object, ...]:
    folder = run / "items" / "classification" / dataset / system
    runs = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("paraphrase*.parquet"))])
    after_each = runs.group_by("item_id").agg(pl.col("value").mean().alias("after"))
    # A text without a wording in any run is on neither side.
    both = pl.read_parquet(folder / "original.parquet").join(after_each, on="item_id").sort("item_id")
    before, after = both["value"].to_numpy(), both["after"].to_numpy()
    change = 100 * (after - before)
    low, high = percentile_interval(
        resample_means(change[:, None], n_resamples=RESAMPLES, rng=make_seeded_generator(SEED, "words", dataset))[:, 0]
    )
    return (
        len(before), f"{100 * before.mean():.1f}", f"{100 * after.mean():.1f}",
        between(float(change.mean()), low, high, signed=True),
    )  # fmt: skip


Similarities = Callable[[Sequence[str], Sequence[str]], np.ndarray]


def vectors_of(name: str) -> Callable[[Sequence[str]], np.ndarray]:
    """A model's vectors of length 1."""
    system: Any = open_system(name, tokenizer=open_tokenizer("words"), seed=SEED)
    return lambda texts: scale_rows_to_unit_length(
        np.asarray(system.encoder.encode(list(texts), role=None), dtype=np.float32)
    )


def pairs(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """Pair classification: does the cosine tell ChatGPT's paraphrases from what people say is none?"""
    yield "## Pairs: ChatGPT's rewordings that are paraphrases, and those that are not\n"
    rows = [row for row in rows_of(folder, "para_apty_chatgpt_mrpc") if row["human_is_paraphrase"] is not None]
    gold = np.array([row["human_is_paraphrase"] for row in rows], dtype=bool)
    yield (
        f"{len(rows):,} pairs, {int(gold.sum())} of them paraphrases to a person. Area under the curve of the cosine "
        "(0.5 is chance), by the text as it came and as the authors cleaned it of remarks; 95% over originals.\n"
    )
    originals = sorted({row["original"] for row in rows})
    precise = _precisions(rows, given)
    lines = []
    for name in given.system:
        embed = vectors_of(name)
        for kind in KINDS:
            a, b = embed([row["original"] for row in rows]), embed([row[kind] or "" for row in rows])
            cosines = np.einsum("nd,nd->n", a, b)
            value, low, high = _area(cosines, gold, [row["original"] for row in rows], originals)
            lines.append((name, kind.replace("_", ", "), between(value, low, high, decimals=3), precise[name, kind]))
    yield table(["Model", "Text", "AUC (95%)", "PTEB's average precision (95%)"], lines)


KINDS = ("paraphrase", "paraphrase_cleaned")


def _precisions(rows: Sequence[Row], given: argparse.Namespace) -> dict[tuple[str, str], str]:
    """The headline of PTEB's pair classification on the same pairs."""
    with tempfile.TemporaryDirectory() as work:
        for kind in KINDS:
            pairs = [
                {"id": str(i), "text": row["original"], "text2": row[kind], "label": int(row["human_is_paraphrase"])}
                for i, row in enumerate(rows)
                if row[kind]
            ]
            (Path(work) / f"{kind}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs), "utf-8")
        run = eb.pteb.run(
            given.system, datasets=[str(Path(work) / f"{kind}.jsonl") for kind in KINDS], paraphraser="copied", runs=1,
            tasks=["pair_classification"], tokenizer="words", seed=SEED, out=Path(work) / "run",
        )  # fmt: skip
        return {
            (row["system"], row["dataset"]): between(row["value"], row["ci_low"], row["ci_high"], decimals=3)
            for row in run.results.to_dicts()
            if row["variant"] == "original" and row["dataset"] and row["ci_low"] is not None
        }


def _area(scores: np.ndarray, gold: np.ndarray, of: Sequence[str], groups: Sequence[str]) -> tuple[float, float, float]:
    """Wins of a positive over a negative pair, by groups of the originals that are drawn together."""
    place = {one: i for i, one in enumerate(groups)}
    group = np.array([place[one] for one in of])
    wins = (scores[gold][:, None] > scores[~gold]) + 0.5 * (scores[gold][:, None] == scores[~gold])
    weights = resample_means(
        np.eye(len(groups)), n_resamples=RESAMPLES, rng=make_seeded_generator(SEED, "words", "pairs")
    ) * len(groups)  # fmt: skip
    up, down = weights[:, group[gold]], weights[:, group[~gold]]
    replicates = np.einsum("bi,ij,bj->b", up, wins, down) / np.maximum(up.sum(1) * down.sum(1), 1e-9)
    low, high = percentile_interval(replicates)
    return float(wins.mean()), low, high


def validity(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """How much of a drop is the paraphrases' fault: is a text found again by its rewording, all and valid ones."""
    yield "## How much invalid paraphrases inflate a drop\n"
    yield (
        "A rewording is to find its original among all originals of the file by cosine (100 without rewording). *All*: "
        "every rewording. *Valid*: those that people call valid. *Kept*: those that pass the checks with `--meaning`. "
        "Drops in points; inflation is the drop of all less that of the valid, 95% over originals.\n"
    )
    lines = []
    for title, rows, is_invalid in labelled(folder):
        originals = sorted({row["original"] for row in rows})
        bad = np.array([is_invalid(row) for row in rows])
        kept = np.array([not _caught(row) for row in rows])
        for name in given.system:
            embed = vectors_of(name)
            near = (embed([row["paraphrase"] for row in rows]) @ embed(originals).T).argmax(axis=1)
            right = np.array([originals[i] == row["original"] for i, row in zip(near, rows, strict=True)])
            lines.append(
                (title, name, len(rows), f"{100 * bad.mean():.1f}%", *_drops(rows, originals, right, bad, kept))
            )
    yield table(
        ["File", "Model", "Rewordings", "Invalid", "Drop, all", "Drop, valid", "Drop, kept", "Inflation (95%)",
         "Left after the checks (95%)"], lines,
    )  # fmt: skip


def labelled(folder: Path) -> Iterator[tuple[str, list[Row], Callable[[Row], bool]]]:
    """Files with people's labels, and what is invalid in each."""
    falcon = rows_of(folder, "para_falcon40b_validity")
    yield "Falcon-40B, bank questions", falcon, lambda row: bool(row["human_invalid"])
    snips = [row for row in rows_of(folder, "para_tpme_snips") if row.get("human_error")]
    meaning = ("semantic", "slot", "answering", "questioning", "incoherent")
    yield "five models, SNIPS", snips, lambda row: any(one in row["human_error"] for one in meaning)
    chat = [row for row in rows_of(folder, "para_apty_chatgpt_mrpc") if row["human_is_paraphrase"] is not None]
    yield "ChatGPT, news", chat, lambda row: not row["human_is_paraphrase"]


def _caught(row: Row) -> bool:
    return not make_paraphrase_verdict_of_answer(row["original"], row["paraphrase"], lang="en", meaning=True).usable


def _drops(
    rows: Sequence[Row], originals: Sequence[str], right: np.ndarray, bad: np.ndarray, kept: np.ndarray
) -> tuple[str, ...]:
    """Drops of all, valid and kept ones, and the differences with their intervals."""
    place = {one: i for i, one in enumerate(originals)}
    group = np.array([place[row["original"]] for row in rows])
    sums = []
    for chosen in (np.ones_like(bad), ~bad, kept):
        sums += [
            np.bincount(group[chosen], right[chosen], len(originals)),
            np.bincount(group[chosen], minlength=len(originals)),
        ]
    columns = np.column_stack(sums).astype(np.float64)
    drawn = resample_means(columns, n_resamples=RESAMPLES, rng=make_seeded_generator(SEED, "words", "validity"))
    drop = 100 * (1 - columns.sum(0)[::2] / columns.sum(0)[1::2])
    drops = 100 * (1 - drawn[:, ::2] / np.maximum(drawn[:, 1::2], 1e-9))
    ends = [percentile_interval(drops[:, i] - drops[:, 1]) for i in (0, 2)]
    return (
        *(f"{value:.1f}" for value in drop),
        between(drop[0] - drop[1], *ends[0], signed=True), between(drop[2] - drop[1], *ends[1], signed=True),
    )  # fmt: skip


def checks(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """What the checks of the paraphrasing step catch, and how often they are right."""
    del given
    yield "## What the checks catch\n"
    yield (
        "Of the half of the originals (by a hash) that nobody looked at while the checks were written. *Gate*: what is "
        "always on. *Meaning*: with `--meaning`, which adds answers in place of a rewording, and lost or added numbers "
        "and names. Precision is the share of people's invalid ones among "
        "what is rejected, recall the share of theirs that is.\n"
    )
    wanted: list[tuple[str, list[Row], Callable[[Row], bool], Callable[[Row], bool], str]] = []
    for title, rows, is_invalid in labelled(folder):
        wanted += [(title, rows, is_invalid, _gated, "gate"), (title, rows, is_invalid, _caught, "meaning")]
    snips = [row for row in rows_of(folder, "para_tpme_snips") if row.get("human_error")]
    chat = [row for row in rows_of(folder, "para_apty_chatgpt_mrpc") if row["human_clean_format"] is not None]

    def says(*words: str) -> Callable[[Row], bool]:
        return lambda row: any(word in row["human_error"] for word in words)

    wanted += [
        ("SNIPS: slots", snips, says("slot"),
         lambda row: bool(describe_lost_number_or_name(row["original"], row["paraphrase"])), "slots"),
        ("SNIPS: answering, questioning", snips, says("answering", "questioning"),
         lambda row: bool(explain_wording_as_answer(row["original"], row["paraphrase"])), "answers"),
        ("SNIPS: duplication", snips, says("duplication"),
         lambda row: row["original"].strip() == row["paraphrase"].strip(), "copies, before"),
        ("SNIPS: duplication", snips, says("duplication"),
         lambda row: is_near_copy(row["original"], row["paraphrase"]), "copies"),
        ("ChatGPT: remarks around it", chat, lambda row: not row["human_clean_format"],
         lambda row: bool(explain_wording_as_answer(row["original"], row["paraphrase"])), "answers"),
    ]  # fmt: skip
    yield table(
        ["Labels", "Check", "Rewordings", "Invalid", "Rejected", "Precision (95%)", "Recall (95%)"],
        (_rates(*one) for one in wanted),
    )
    fine = rows_of(folder, "para_kinit_intents_sentiment")
    lines = []
    for model, name in PARAPHRASERS.items():
        own = [row for row in fine if row["model"] == model]
        shares = [np.mean([check(row) for row in own]) for check in (_gated, _caught, _near)]
        lines.append((name, len(own), *(f"{100 * share:.1f}%" for share in shares)))
    yield "What they reject of unlabelled paraphrases (`near copy` is counted, not rejected):\n"
    yield table(["Paraphraser", "Wordings", "Gate", "Meaning", "Near copy"], lines)


def _near(row: Row) -> bool:
    return is_near_copy(row["original"], row["paraphrase"])


def _gated(row: Row) -> bool:
    return not make_paraphrase_verdict_of_answer(row["original"], row["paraphrase"], lang="en").usable


def _rates(
    title: str, rows: list[Row], is_invalid: Callable[[Row], bool], rejects: Callable[[Row], bool], check: str
) -> tuple[object, ...]:
    own = [row for row in rows if zlib.crc32(row["original"].encode()) % 2 == 1]
    bad, hit = np.array([is_invalid(row) for row in own]), np.array([rejects(row) for row in own])

    def share(of: np.ndarray) -> str:
        if not of.any():
            return "n/a"
        return percent(float((bad & hit).sum() / of.sum()), int(of.sum()))

    return title, check, len(own), int(bad.sum()), int(hit.sum()), share(hit), share(bad)


def reading(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """Every odd answer is a grade or is refused with its reason."""
    del given
    yield "## Odd answers of judges\n"
    kinds: dict[str, list[str]] = defaultdict(list)
    for row in rows_of(folder, "odd_judge_outputs"):
        try:
            kinds[f"read as {parse_grade_answer(row['response'])}"].append(row["response"])
        except MalformedJudgement as error:
            kinds[f"refused: {error.kind}"].append(row["response"])
    total = sum(map(len, kinds.values()))
    yield f"{total} answers to others' prompts, none in the form that ours ask for; each is asked for again.\n"
    yield table(
        ["What becomes of it", "Answers"], sorted(((k, len(v)) for k, v in kinds.items()), key=lambda one: -one[1])
    )


def judges(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """How judges agree with people, with themselves and with each other; panels of them."""
    del given
    rows = rows_of(folder, "judge_llmjudge2024")
    grades: dict[tuple[str, int], dict[tuple[str, str], int]] = defaultdict(dict)
    people: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["query_id"], row["doc_id"]
        people[key] = _of_trec(row["human_grade"])
        if row["llm_grade"] in range(4):
            grades[row["judge"], row["run"]][key] = _of_trec(row["llm_grade"])
    named = [JudgeGrades(f"{name}-{run}", own) for (name, run), own in sorted(grades.items())]
    gold = JudgeGrades("people", people)
    yield "## Judges beside people: TREC DL 2023, 25 questions, 4,423 passages\n"
    yield "Grades 0 to 3 as 1, 3, 4, 5; intervals over questions. Shift is the judge's mean grade less people's.\n"
    whole = compare_judges_and_make_panel(named, gold, seed=SEED)
    ordered = sorted(whole.judges, key=lambda one: -(one.people["kappa"].value or 0.0))
    lines = [
        (one.name, one.items,
         *(of_figure(one.people[name], signed=name == "shift") for name in ("kappa", "exact", "shift")),
         f"{whole.learned[one.name]:.2f}")
        for one in ordered
    ]  # fmt: skip
    head = ["Judge", "Grades", "Weighted kappa (95%)", "Same grade (95%)", "Shift (95%)", "Right, by the model"]
    yield table(head, lines)
    yield f"Krippendorff's alpha of all {len(named)}: {of_figure(whole.alpha)}.\n"
    yield "### Panels\n"
    some = {
        f"all {len(named)}": named,
        "three of different makers": [one for one in named if one.name in (
            "NISTRetrieval-instruct-0", "RMITIR-llama70B-0", "h2oloo-zeroshot1-0")],
        "the five best": [next(j for j in named if j.name == one.name) for one in ordered[:5]],
        "the five worst": [next(j for j in named if j.name == one.name) for one in ordered[-5:]],
    }  # fmt: skip
    lines = []
    for title, members in some.items():
        made = compare_judges_and_make_panel(members, gold, seed=SEED)
        best = max(made.judges, key=lambda one: one.people["kappa"].value or 0.0)
        cells = [of_figure(one.people["kappa"]) for one in (best, *made.panels)]
        lines.append((title, of_figure(made.alpha), *cells))
    yield table(["Panel", "Alpha (95%)", "Its best judge, kappa", "Median, kappa", "Dawid and Skene, kappa"], lines)
    yield "### The same prompt again\n"
    lines = []
    for name in ("NISTRetrieval-instruct", "NISTRetrieval-reason"):
        own = [one for one in named if one.name.rpartition("-")[0] == name]
        for pair in compare_judges_and_make_panel(own, seed=SEED).pairs:
            lines.append((pair.first, pair.second, *(of_figure(pair.figures[one]) for one in ("exact", "kappa"))))
    yield table(["First", "Second", "Same grade (95%)", "Weighted kappa (95%)"], lines)


def _of_trec(grade: int) -> int:
    return (1, 3, 4, 5)[grade]


def order(folder: Path, given: argparse.Namespace) -> Iterator[str]:
    """What the order does in which a prompt lists its grades, and text that is put into passages."""
    del given
    yield "## The order in which a prompt lists its grades\n"
    found: dict[str, dict[str, dict[tuple[str, str], int]]] = defaultdict(lambda: defaultdict(dict))
    people: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for row in rows_of(folder, "judge_trema_llama_flan"):
        if row["prompt"].startswith("direct") and row["llm_grade"] in range(4):
            key = row["query_id"], row["doc_id"]
            found[row["collection"]][row["prompt"][-4:]][key] = _of_trec(row["llm_grade"])
            people[row["collection"]][key] = _of_trec(row["human_grade"])
    lines = []
    for name, own in sorted(found.items()):
        if len(own) < 2:
            continue
        made = compare_judges_and_make_panel(
            [JudgeGrades("3210", own["3210"]), JudgeGrades("0123", own["0123"])],
            JudgeGrades("people", people[name]),
            seed=SEED,
        )
        pair, (down, up) = made.pairs[0], made.judges
        useful = [100 * np.mean([grade >= 4 for grade in own[one].values()]) for one in ("3210", "0123")]
        truth = 100 * np.mean([grade >= 4 for grade in people[name].values()])
        lines.append((
            name, pair.items, of_figure(pair.figures["exact"]), of_figure(pair.figures["shift"], signed=True),
            *(of_figure(one.people["kappa"]) for one in (down, up)), *(f"{one:.1f}%" for one in (*useful, truth)),
        ))  # fmt: skip
    yield "Llama-3-8B, two prompts that differ in this alone. Shift: 0123 less 3210. Useful: grade 2 or 3 of 0 to 3.\n"
    yield table(
        ["Collection", "Passages", "Same grade (95%)", "Shift (95%)", "Kappa with people, 3210", "Kappa, 0123",
         "Useful, 3210", "Useful, 0123", "Useful, people"], lines,
    )  # fmt: skip
    yield "## Text put into passages\n"
    yield (
        "Share of passages that are graded above 0 with the question (or a description of the best grade) put into "
        "them: passages that people and the same judge had graded 0, and random text that is about nothing asked. By "
        "model, over the three prompts; 95% (Wilson).\n"
    )
    graded = [row for row in rows_of(folder, "judge_injection_tests") if row["llm_grade"] is not None]
    tests = sorted({row["test"] for row in graded})
    lines = []
    for judge in sorted({row["judge"] for row in graded}):
        cells = []
        for test in tests:
            own = [
                row["llm_grade"] > 0 for row in graded
                if (row["judge"], row["test"]) == (judge, test) and ("query" in row["field"] or "query" not in test)
            ]  # fmt: skip
            if len(own) < 20:
                cells.append("n/a")
                continue
            cells.append(f"{percent(float(np.mean(own)), len(own))}, {len(own)}")
        lines.append((judge.partition(":")[0].removesuffix("-v1"), *cells))
    yield table(["Judge", *(test.replace("_", " ") for test in tests)], lines)


PARTS = {
    "classification": classification, "pairs": pairs, "validity": validity, "checks": checks, "reading": reading,
    "judges": judges, "order": order,
}  # fmt: skip
HEAD = """# Real language models' words

Made by `benchmarks/real_words.py`. The files are published outputs of language models: paraphrases of kinit-sk
(llms_vs_nlpaug_data_aug, Crowd-vs-GPT-intent-class), AudayBerro (TPME) and worta (APTY); judgements of LLM4Eval's
LLMJudge challenge, naghmefarzi (llmjudge) and MarwahAlaofi (humans-vs-LLM-as-judge). Nothing of them is in Embassay.
"""


def main() -> None:
    """Print the page, or some of its parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--part", action="append", choices=list(PARTS), default=[])
    given = parser.parse_args()
    given.system = given.system or ["wordllama"]
    print(HEAD)
    for part in given.part or PARTS:
        for piece in PARTS[part](given.folder, given):
            print(piece, flush=True)
        print(f"done: {part}", file=sys.stderr)


if __name__ == "__main__":
    main()
