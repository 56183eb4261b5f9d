"""HUME runs as `embassay hume score` writes them: the paper's 26 pairs, and a small study of its own."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from embassay.measures import agreement_band
from embassay.protocols.hume.published.standings import (
    ADVICE,
    agreement_trust_level,
    name_pair_difficulty_for_people,
    percent_of_human,
)
from embassay.protocols.hume.record import (
    AnnotatorAgreement,
    AnnotatorScore,
    DatasetLanguageRecord,
    DisputedItem,
    PeopleWinCount,
    SeparationSampleSize,
    Summary,
    SystemMeanAndRank,
    SystemScore,
    write_summary,
)
from embassay.protocols.hume.study import Family
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.stats import Estimate

MODELS = {
    "sentence-transformers/all-MiniLM-L6-v2": 22.7, "sentence-transformers/all-mpnet-base-v2": 109,
    "intfloat/e5-mistral-7b-instruct": 7111, "google/embeddinggemma-300m": 300,
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct": 1780, "NovaSearch/jasper_en_vision_language_v1": 1999,
    "intfloat/multilingual-e5-base": 278, "intfloat/multilingual-e5-large": 560,
    "intfloat/multilingual-e5-small": 118, "mixedbread-ai/mxbai-embed-large-v1": 335,
    "Qwen/Qwen3-Embedding-0.6B": 596, "Salesforce/SFR-Embedding-Mistral": 7110,
    "NovaSearch/stella_en_1.5B_v5": None,
}  # fmt: skip
"""In the order of the columns below, with their parameters in millions."""
LLMS = ("G5", "G5m", "G41")
MEASURES = {"classification": "accuracy", "clustering": "V-measure", "reranking": "MAP", "sts": "Spearman"}
COEFFICIENTS = {
    "classification": "fleiss_kappa", "clustering": "ari", "reranking": "spearman", "sts": "spearman"
}  # fmt: skip
BANDS = {"fleiss_kappa": "kappa", "ari": "ari", "spearman": "correlation"}

# Pair, items, people (points), ends of their interval, agreement, single annotators; the models (spec hume 10).
PUBLISHED: dict[Family, str] = {
    "clustering": """
ArXiv eng 30 49.21545 35.2622 63.1687 -.001221 63.1687/35.2622
    61.8 56.0 77.2 73.0 70.8 83.9 31.9 51.1 30.5 48.3 69.1 75.5 84.6
Reddit eng 30 68.8119 63.2292 74.3945 .419702 74.3945/63.2292
    56.5 63.0 74.9 72.8 88.4 95.1 60.0 55.4 76.9 72.1 76.3 81.4 100
WikiCities eng 30 97.5745 95.149 100 .913605 100/95.149
    73.8 86.7 100 70.3 73.6 95.1 66.2 69.2 72.6 90.8 74.8 100 86.4
SIB200 ara 30 76.0156 58.4 87.8 - -
    35.2 21.4 68.5 19.2 73.7 64.3 35.9 34.6 35.5 26.5 78.8 73.1 36.8
SIB200 dan 30 62.6621 44.9 77.6 - -
    24.5 22.9 76.0 43.7 67.1 54.7 40.6 31.0 38.0 34.2 58.5 71.2 42.6
SIB200 rus 30 68.0515 50.2 81.9 - -
    31.4 36.9 77.7 36.9 72.2 43.7 36.2 46.9 59.1 30.5 68.3 68.9 46.7
SIB200 eng 30 53.998 41.7451 66.2509 .150855 66.2509/41.7451
    28.3 33.1 78.6 44.3 70.7 58.6 24.2 34.4 27.0 36.5 53.5 83.3 43.5
""",
    "classification": """
Emotion eng 48 45.8333 32.5752 59.7089 .386155 31.25/47.9167
    42.1 44.0 47.3 40.4 56.2 75.4 36.2 38.5 33.8 42.1 51.9 46.7 71.9
Toxic eng 45 73.3333 58.9612 84.0351 .55 73.3333/73.3333
    66.4 60.4 68.0 66.4 78.7 86.7 66.0 63.3 65.1 68.7 74.4 67.3 82.9
Tweet eng 45 84.4444 71.2 92.3 .413568 71.1111/86.6667
    59.6 58.4 75.8 67.8 79.3 90.9 69.1 65.3 69.6 65.8 87.8 75.6 89.1
MultiSent ara 40 95 83.5 98.6 - -
    57.2 53.5 74.5 71.0 75.2 63.5 75.8 77.0 72.2 57.2 77.2 77.5 65.8
MultiSent nob 40 85 70.9 92.9 - -
    51.7 47.0 70.5 54.0 70.8 70.5 73.8 75.0 69.2 52.2 59.8 68.8 67.0
MultiSent rus 40 92.5 80.1 97.4 - -
    55.5 60.5 70.0 73.5 74.5 79.8 77.2 80.0 81.2 59.0 74.8 72.5 79.2
MultiSent eng 40 77.5 62.5 87.7 .238095 80/72.5
    67.2 85.0 88.8 59.8 91.8 95.5 87.5 92.5 80.2 89.0 84.8 89.5 92.2
""",
    "reranking": """
Core17 eng 20 85.2183 83.6111 86.8254 .796002 86.8254/83.6111
    95.6 98.6 98.8 84.2 97.5 98.2 96.2 95.7 95.6 97.2 97.0 97.9 98.6
News21 eng 31 92.6779 91.2954 94.0604 .848196 94.0604/91.2954
    98.8 98.6 99.5 91.4 99.2 100 98.6 97.8 98.1 98.0 100 99.7 100
Robust04 eng 49 88.4516 82.151 94.7522 .751323 94.7522/82.151
    96.3 97.8 98.8 89.8 98.5 98.7 96.9 97.2 97.5 98.6 98.5 98.8 98.3
Wikipedia dan 30 91.4286 76.2 97.3 - -
    78.4 79.0 90.6 74.3 84.3 90.1 92.2 95.0 88.6 90.8 90.0 89.2 91.7
Wikipedia nob 30 89.7619 74.1 96.4 - -
    71.2 80.5 86.1 71.4 87.8 90.0 87.5 92.2 88.3 82.0 83.6 86.1 88.6
Wikipedia eng 30 82.3611 75.6349 89.0873 .636487 89.0873/75.6349
    83.9 78.1 88.6 82.2 86.1 86.4 85.8 90.6 85.8 84.2 86.7 88.6 87.2
""",
    "sts": """
SICK-R eng 40 82.6478 69.3519 90.4992 .628621 85.5095/68.4359
    91.5 89.8 93.2 72.6 93.4 93.8 91.5 89.4 88.6 93.4 93.3 94.1 92.3
STS12 eng 50 91.2131 84.9 94.9 .773740 89.4953/80.6303
    85.7 83.7 89.1 77.9 86.9 92.0 86.5 89.9 87.6 91.1 91.8 89.2 89.1
STSB eng 50 80.3532 67.7 88.4 .579409 83.0338/63.5562
    81.8 78.4 85.9 58.3 80.0 88.7 82.9 83.6 81.9 88.9 90.9 86.4 87.1
STS22 ara 30 67.5452 41.7 83.3 - -
    6.2 13.2 16.0 36.7 28.8 40.9 31.0 33.8 28.8 12.7 38.0 15.3 37.2
STS22 rus 30 58.7268 28.8 78.2 - -
    33.1 42.2 63.0 66.2 54.2 69.5 62.7 68.8 60.3 43.7 60.3 64.0 62.1
STS22 eng 30 78.3585 59.0 89.2 .751453 77.5307/67.0298
    74.9 80.1 75.6 70.7 75.9 77.8 80.0 82.3 82.9 77.1 77.8 76.1 78.5
""",
}  # fmt: skip


def published(*, llms: bool = True) -> Summary:
    """The paper's study: 26 pairs, 13 models, and with `llms` three language models on 19 pairs."""
    pairs = tuple(
        _published(line.split(), family, llms=llms)
        for family, text in PUBLISHED.items()
        for line in text.replace("\n    ", " ").strip().splitlines()
    )
    return summary("HUME, published results", "published", pairs, MODELS)


def _published(cells: Sequence[str], family: Family, *, llms: bool) -> DatasetLanguageRecord:
    dataset, lang, n, human, low, high, agreed, singles, *scores = cells
    items, value = int(n), float(human) / 100
    bar = Estimate(value=value, low=float(low) / 100, high=float(high) / 100, n=items, method=_method(family, singles))
    people = [] if singles == "-" else [float(one) / 100 for one in singles.split("/")]
    draw = random.Random(f"{dataset} {lang}")
    judges = LLMS if llms and family != "clustering" else ()
    return pair(
        dataset, lang, family, bar, people, None if agreed == "-" else float(agreed),
        tuple(system(name, "embedding", float(one) / 100, bar) for name, one in zip(MODELS, scores, strict=True)),
        tuple(system(name, "llm", value * draw.uniform(0.7, 1.05), bar) for name in judges),
        group="multilingual" if dataset in ("SIB200", "MultiSent", "STS22", "Wikipedia") else "English only",
    )  # fmt: skip


def _method(family: Family, singles: str) -> str:
    if family in ("classification", "sts"):
        return "Wilson" if family == "classification" else "Fisher z"
    return "Wilson" if singles == "-" else "range of 2 annotators"


def system(name: str, kind: Any, score: float, human: Estimate, **fields: Any) -> SystemScore:
    """A system's score beside that of people."""
    known = human.low is not None and human.high is not None and human.value is not None
    return SystemScore(
        system=name, kind=kind, score=Estimate(value=score, n=human.n),
        outside=not (human.low or 0.0) <= score <= (human.high or 0.0) if known else None,
        percent_of_human=percent_of_human(score, human.value or 0.0), **fields,
    )  # fmt: skip


def pair(
    dataset: str, lang: str, family: Family, human: Estimate, people: Sequence[float], agreed: float | None,
    models: tuple[SystemScore, ...], llms: tuple[SystemScore, ...] = (), *, group: str = "", kind: Any = "person",
    **fields: Any,
) -> DatasetLanguageRecord:  # fmt: skip
    """A pair with all that follows from its numbers."""
    coefficient, found = COEFFICIENTS[family], agreement_trust_level(family, agreed)
    above = any(one.outside and (one.score.value or 0.0) > (human.value or 0.0) for one in models)
    noisy = found == "low" and above
    singles = list(people) or [human.value or 0.0]
    return DatasetLanguageRecord(
        task=f"{dataset}-{lang}".lower(),
        dataset=dataset,
        lang=lang,
        family=family,
        measure=MEASURES[family],
        group=group,
        n=human.n,
        human=human,
        annotators=tuple(
            AnnotatorScore(id=f"annotator-{i + 1}", kind=kind, score=one, items=human.n, seconds=4.2 + i, flagged=i)
            for i, one in enumerate(singles)
        ),
        conventions={"paper": human.value, "mean": fmean(singles), "first": singles[0]},
        agreement=None
        if agreed is None
        else AnnotatorAgreement(
            coefficient=coefficient,
            value=Estimate(value=agreed, low=agreed - 0.12, high=min(1.0, agreed + 0.1), n=human.n),
            band=agreement_band(agreed, BANDS[coefficient]),
            annotators=len(singles),
            items=human.n,
            annotations=human.n * len(singles),
            extras={"cohen_kappa": agreed} if coefficient == "fleiss_kappa" else {},
        ),
        models=models,
        llms=llms,
        difficulty=name_pair_difficulty_for_people(human.value or 0.0),
        trust=found,
        superhuman_on_noise=noisy,
        advice=ADVICE if found == "low" else "",
        **fields,
    )


def summary(
    title: str, source: Any, pairs: tuple[DatasetLanguageRecord, ...], sizes: dict[str, Any], **fields: Any
) -> Summary:
    """The record of pairs, with places and wins."""
    return Summary(
        title=title, source=source, seed=1337, pairs=pairs, places=_places(pairs, sizes), wins=tuple(_wins(pairs)),
        **fields,
    )  # fmt: skip


def _places(pairs: Sequence[DatasetLanguageRecord], sizes: dict[str, Any]) -> tuple[SystemMeanAndRank, ...]:
    means = {"Human": fmean(one.human.value or 0.0 for one in pairs)}
    kinds: dict[str, Any] = {"Human": "human"} | {one.system: one.kind for one in pairs[0].models}
    for one in pairs[0].models:
        scores = [model.score.value for pair in pairs for model in pair.models if model.system == one.system]
        means[one.system] = fmean(score for score in scores if score is not None)
    return tuple(
        SystemMeanAndRank(
            system=name, kind=kinds[name], mean=Estimate(value=mean, n=len(pairs)),
            rank=1 + sum(other > mean + 1e-12 for other in means.values()), parameters_millions=sizes.get(name),
        )
        for name, mean in sorted(means.items(), key=lambda item: -item[1])
    )  # fmt: skip


def _wins(pairs: Sequence[DatasetLanguageRecord]) -> Iterable[PeopleWinCount]:
    from embassay.protocols.hume.published.standings import ROUNDING

    groups: dict[tuple[str, str], list[DatasetLanguageRecord]] = {}
    for one in pairs:
        for by, name in (("all", "all"), ("family", one.family), ("lang", one.lang), ("group", one.group)):
            if name:
                groups.setdefault((by, name), []).append(one)
    for (by, name), own in groups.items():
        for reference, of in (("best", max), ("median", median), ("mean", fmean)):
            won = 0
            for one in own:
                scores = [model.score.value for model in one.models if model.score.value is not None]
                won += (one.human.value or 0.0) - of(scores) > ROUNDING
            yield PeopleWinCount(by=by, group=name, reference=reference, wins=won, pairs=len(own))  # type: ignore[arg-type]


SYSTEMS = {"wordllama": "embedding", "potion-retrieval-32M": "embedding", "bm25": "classical", "jaccard": "classical"}
JUDGE = "openai:http://127.0.0.1:9/v1?model=stub-judge"


def study(*, kind: Any = "simulated", n: int = 40, judge: str = JUDGE, name: str = "lakes") -> Summary:
    """Four tasks of 40 items, two annotators (one on clustering), four systems, a language model that failed twice."""
    given: tuple[tuple[str, Family, float, tuple[float, ...], float | None, tuple[float, ...]], ...] = (
        ("STS-B", "sts", 0.884, (0.861, 0.842), 0.792, (0.812, 0.803, 0.664, 0.631)),
        ("TweetEval emotion", "classification", 0.575, (0.525, 0.575), 0.31, (0.842, 0.615, 0.41, 0.452)),
        ("SIB-200", "clustering", 0.713, (0.713,), None, (0.522, 0.604, 0.301, 0.284)),
        (f"Cranfield {name}", "reranking", 0.842, (0.871, 0.813), 0.655, (0.801, 0.816, 0.824, 0.702)),
    )  # fmt: skip
    pairs = tuple(_own(one, kind, n, judge) for one in given)
    notes = ("SIB-200 (eng): no agreement, because it has one annotator.",)
    return summary(name, "study", pairs, {"wordllama": 16.3}, notes=notes)


def _own(given: Any, kind: Any, n: int, judge: str) -> DatasetLanguageRecord:
    dataset, family, value, people, agreed, scores = given
    half = 1.96 * math.sqrt(value * (1 - value) / n)
    method = "Fisher z" if family == "sts" else "Wilson"
    human = Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n, method=method)
    if family == "reranking":
        human = Estimate(value=value, low=min(people), high=max(people), n=n, method="range of 2 annotators")
    models = tuple(
        system(
            name, SYSTEMS[name], score, human, p=0.003 if abs(score - value) > 0.15 else 0.21, among_people=0.5,
            against_people=Estimate(value=score - 0.05, low=score - 0.15, high=score, n=n, method="bootstrap"),
            difference=Estimate(
                value=score - value, low=score - value - 0.09, high=score - value + 0.08, n=n, method="bootstrap"
            ),
        )
        for name, score in zip(SYSTEMS, scores, strict=True)
    )  # fmt: skip
    judged = system(judge, "llm", value - 0.06, human, failed=2 if family == "classification" else 0)
    best = max(models, key=lambda one: one.score.value or 0.0)
    return pair(
        dataset,
        "eng",
        family,
        human,
        people,
        agreed,
        models,
        () if family == "clustering" else (judged,),
        kind=kind,
        ceiling=Estimate(value=value - 0.04, low=value - 0.12, high=value + 0.03, n=n, method="bootstrap over items")
        if len(people) > 1
        else None,
        need=SeparationSampleSize(
            system=best.system, items=380 if family == "sts" else None, annotators=None, smallest=0.12
        ),
        flags=("3 of 40 texts are also in the training data",) if family == "classification" else (),
        disputed=(
            DisputedItem(
                item=f"{dataset}-007",
                texts=("The lake lies still.", f"Nothing moves on {dataset}."),
                gold="2.5",
                answers={"annotator-1": "5", "annotator-2": "1"},
                apart=0.8,
            ),
        )
        if len(people) > 1
        else (),
    )


def write_hume_run(path: Path, made: Summary | None = None, *, name: str = "") -> Path:
    """The folder of a run with this summary: the small study's unless told otherwise."""
    made = study() if made is None else made
    folder = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    folder.write_results([_row(one, model) for one in made.pairs for model in (*one.models, *one.llms)])
    write_summary(path, made)
    (path / "tables").mkdir(exist_ok=True)
    rows = "\n".join(f"| {one.name} | {100 * (one.human.value or 0.0):.1f} |" for one in made.pairs)
    (path / "tables" / "hume_pairs.md").write_text(f"**HUME: people by pair**\n\n| Pair | Human |\n|---|---|\n{rows}\n")
    folder.write_manifest(_manifest(name or path.name, made))
    return path


def _row(one: DatasetLanguageRecord, of: SystemScore) -> ResultRow:
    return ResultRow(
        "hume", one.family, one.dataset, "", one.lang, "", of.system, one.measure, of.score.value, one.n, None, None,
        "", 1337, of.score.reason,
    )  # fmt: skip


def _manifest(name: str, made: Summary) -> dict[str, Any]:
    systems = {one.system: one.kind for pair in made.pairs for one in (*pair.models, *pair.llms)}
    return {
        "embassay": "0.1.0", "protocol": "hume", "kind": "score", "name": name, "status": "finished",
        "created": "2026-11-20T09:00:00+00:00", "updated": "2026-11-21T09:00:00+00:00",
        "command": "embassay hume score study --out runs/hume", "arguments": {"seed": 1337},
        "systems": [{"name": name, "kind": kind, "identity": "1", "facts": {}} for name, kind in systems.items()],
        "datasets": [
            {
                "name": one.dataset, "source": one.dataset, "lang": one.lang, "fingerprint": "9f",
                "tasks": {one.family: {"n": one.n}},
            }
            for one in made.pairs
        ],
        "hardware": {"cpu": "made", "cores": 2, "memory_gib": 24.0, "platform": "Linux"},
        "versions": {"python": "3.11"}, "cells": [],
        "sessions": [{"started": "2026-11-21T09:00:00+00:00", "seconds": 12.0}], "problems": {"failed_cells": 0},
    }  # fmt: skip
