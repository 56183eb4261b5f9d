"""How good a golden set is whose judge errs by a known amount: Cranfield, whose graded judgements are the truth.

    python benchmarks/golden_cranfield.py CRANFIELD_FOLDER --out runs --markdown benchmarks/results/golden.md

The judge knows Cranfield's judgements and adds noise to each grade and each place. A golden set is made by
`embassay.rag.golden` from questions and corpus alone; its exported qrels are held against the true ones: grade by
grade, and by how they order twenty systems. For other noises the same pools are graded anew, as S4 does it. A second
part counts what each listwise call brings; a third has a simulated person edit the file of the human check. What is
done is kept in --out; several processes may share the work with --noise and --curves.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from embassay.data import open_dataset
from embassay.data.judged_runs import read_qrels_entries
from embassay.measures import evaluate_graded, ndcg
from embassay.measures.judgements import grade
from embassay.protocols.rag.golden.checks import (
    HumanCheckSampling,
    JudgedPassageOrder,
    compare_judgements_with_repeat,
    count_grade_transitions,
    estimate_grade_agreement,
    estimate_share_of_swapped_pairs,
    repeat_judge_calls,
    sample_keys_across_questions,
    score_edited_check_file,
    write_sampled_lists_for_human_check,
)
from embassay.protocols.rag.golden.grades import (
    Key,
    Pair,
    grade_all_pairs,
    make_question_passage_key,
    prune_to_best_grades,
)
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.protocol import golden
from embassay.protocols.rag.golden.summary import JudgeRepeatability
from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.judges.simulation import Grades, JudgeNoise, SimulatedJudge, read_known_grades
from embassay.protocols.rag.ranking import JudgeOrderAnswer, PoolPassage
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.protocols.rag.scoring.inputs import fuse_runs, retrieve_passages
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import format_value_as_json, write_file_atomically
from embassay.stats import Estimate
from embassay.text import open_tokenizer

NOISES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
CURVE_NOISES = (0.25, 0.5, 1.0)
NOISE, REPEATED = 0.5, 1_000
"""Of the golden set that the whole pipeline makes: the judge's noise, and how many passages it grades twice."""
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
"""Calls per passage of the pool."""
SYSTEMS = ("bm25", "wordllama", "jaccard", "levenshtein")
WORSE = (4, 12, 40)
"""Standard deviations, in ranks, of what degrades a system."""
MEASURES = ("nDCG@10", "RA-nWG@10", "N-Recall4+@10", "AP@100")
RANKINGS = {"grades": "grades", "bayes": "bayes:cap=0.9,stop=false", "locks": "locks"}
DEPTH, SEED, TOP = 100, 1337, 20

Run = Mapping[str, Sequence[str]]


@dataclass
class Agreement:
    """A golden set against the truth."""

    noise: float
    judged: int
    questions: int
    covered: float
    covered_good: float
    exact: float
    kappa: float
    repeat_exact: Estimate | None
    repeat_kappa: Estimate | None
    taus: dict[str, float]
    off: dict[str, float]


def systems(folder: Path) -> dict[str, Run]:
    """Twenty systems from good to useless: real ones, their fusion, and each with its ranks disturbed."""
    data = open_dataset(str(folder), mapping={"relevance": "code"}, grades="cranfield").load("retrieval").data
    passages = dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    questions = dict(zip(data.queries.ids, data.queries.texts, strict=True))
    tokenizer = open_tokenizer("words")
    scored = {name: retrieve_passages(name, passages, questions, DEPTH, tokenizer=tokenizer) for name in SYSTEMS}
    scored["rrf"] = fuse_runs([scored["bm25"], scored["wordllama"]], DEPTH)
    runs: dict[str, Run] = {
        name: {query: [doc for doc, _ in ranking] for query, ranking in run.items()} for name, run in scored.items()
    }
    for name, run in list(runs.items()):
        for sd in WORSE:
            runs[f"{name}~{sd}"] = {query: worse(docs, sd, name, query) for query, docs in run.items()}
    return runs


def worse(docs: Sequence[str], sd: float, *names: str) -> list[str]:
    """A ranking with noise on its ranks."""
    rng = make_seeded_generator(SEED, "worse", str(sd), *names)
    keys = np.arange(len(docs)) + sd * rng.standard_normal(len(docs))
    return [docs[place] for place in np.argsort(keys, kind="stable")]


def scores(qrels: Grades, runs: Mapping[str, Run]) -> dict[str, np.ndarray]:
    """Measure -> the value of each run."""
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for run in runs.values():
        graded = grade(qrels, {query: run[query] for query in qrels})
        for name, values in evaluate_graded(MEASURES, graded).items():
            found[name].append(float(np.nanmean(values)))
    return {name: np.array(values) for name, values in found.items()}


def make(folder: Path, out: Path) -> Path:
    """The golden set over all questions, by the whole pipeline; an unfinished one is resumed."""
    judge = f"simulated:{folder}?grades=cranfield&grade_noise={NOISE}&order_noise={NOISE}"
    options = GoldenOptions(repeat=REPEATED)
    golden("wordllama", judge, dataset=str(folder), ranking="grades", out=out, seed=SEED, options=options)
    return out


def exported(run: Path) -> Grades:
    """The qrels that a golden set gives away."""
    grades: dict[str, dict[str, int]] = {}
    for query, doc, value in read_qrels_entries(run / "export" / "qrels.tsv").frame.iter_rows():
        grades.setdefault(query, {})[doc] = int(value)
    return grades


def graded_by(judge: SimulatedJudge, pairs: Sequence[Pair]) -> Grades:
    """What a judge says of all pairs, as S4 asks for it."""
    found: dict[str, dict[str, int]] = {}
    grading = asyncio.run(grade_all_pairs(judge, pairs, {}, lambda *_: None))
    for (query, doc), verdict in grading.verdicts.items():
        found.setdefault(query, {})[doc] = verdict.grade
    return found


def again(judge: SimulatedJudge, pairs: Sequence[Pair], given: Grades) -> JudgeRepeatability:
    """The same passages graded twice, as `--repeat` does it."""
    chosen = set(sample_keys_across_questions([make_question_passage_key(pair) for pair in pairs], REPEATED, SEED))
    second = asyncio.run(
        repeat_judge_calls(judge, [pair for pair in pairs if make_question_passage_key(pair) in chosen], [])
    )
    return compare_judgements_with_repeat(
        {(query, doc): given[query][doc] for query, doc in chosen}, [], second, seed=SEED
    )


def against(
    truth: Grades,
    true_scores: Mapping[str, np.ndarray],
    runs: Mapping[str, Run],
    given: Grades,
    twice: JudgeRepeatability,
    noise: float,
) -> Agreement:
    """How far the judgements of a golden set are the truth."""
    both = [(grade, given[query].get(doc)) for query in given for doc, grade in truth.get(query, {}).items()]
    useful = [own is not None for grade, own in both if grade >= 2]
    good = [own is not None for grade, own in both if grade >= 4]
    pairs = [(truth.get(query, {}).get(doc, 1), own) for query, docs in given.items() for doc, own in docs.items()]
    agreement = estimate_grade_agreement(count_grade_transitions(pairs)[None])
    golden_scores = scores(given, runs)
    return Agreement(
        noise, len(pairs), len(given), float(np.mean(useful)), float(np.mean(good)), agreement["exact"].value or 0.0,
        agreement["kappa"].value or 0.0, twice.exact, twice.kappa,
        {name: float(kendalltau(true_scores[name], golden_scores[name]).statistic) for name in MEASURES},
        {name: float(np.abs(true_scores[name] - golden_scores[name]).mean()) for name in MEASURES},
    )  # fmt: skip


@dataclass
class Curve:
    """What an engine's orders are worth after so many calls, means over questions; `systems` is the tau of system
    orders when the places of the first 20 are the gains."""

    engine: str
    noise: float
    share: float
    calls: float
    tau: float
    overlap: float
    systems: float


Pool = tuple[Question, tuple[PoolPassage, ...], tuple[Passage, ...]]


def pairs_of(run: Path) -> tuple[list[Pair], dict[Key, int]]:
    """Everything that was graded for a golden set, and the places by fusion."""
    rows = [json.loads(line) for line in (run / "export" / "golden.jsonl").read_text("utf-8").split("\n") if line]
    pairs = [(Question(row["query_id"], row["question"]), Passage(row["doc_id"], row["text"])) for row in rows]
    return pairs, {(row["query_id"], row["doc_id"]): row["rank_rrf"] for row in rows}


def pools(run: Path, judge: SimulatedJudge, n: int) -> list[Pool]:
    """Some questions of a golden set, spread over it, with what S5 keeps of the judge's grades."""
    pairs, ranks = pairs_of(run)
    names = list(dict.fromkeys(question.id for question, _ in pairs))
    chosen = set(names[:: max(1, len(names) // n)][:n])
    own = [pair for pair in pairs if pair[0].id in chosen]
    given, found = graded_by(judge, own), []
    for name in (name for name in names if name in chosen):
        texts = {passage.id: passage for question, passage in own if question.id == name}
        rows = [{"doc_id": doc, "grade": grade, "rank_rrf": ranks[name, doc]} for doc, grade in given[name].items()]
        kept_rows = prune_to_best_grades(rows).rows
        candidates = tuple(PoolPassage(row["doc_id"], row["grade"], row["rank_rrf"]) for row in kept_rows)
        question = next(question for question, _ in own if question.id == name)
        found.append((question, candidates, tuple(texts[row["doc_id"]] for row in kept_rows)))
    return found


def curves(
    name: str, spec: str, judge: SimulatedJudge, own: Sequence[Pool], runs: Mapping[str, Run], noise: float
) -> Iterator[Curve]:
    """Orders as they stand after shares of calls, all questions in lockstep."""
    engine = ENGINES.build(spec)
    rankers = {
        question.id: engine.start(candidates, query=question.id, top=TOP, seed=SEED) for question, candidates, _ in own
    }
    looks: dict[str, dict[float, tuple[int, tuple[int, ...]]]] = {question.id: {} for question, *_ in own}
    made = dict.fromkeys(looks, 0)

    def look(query: str, size: int, *, end: bool = False) -> None:
        for share in SHARES:
            if made[query] <= share * size or end:
                looks[query][share] = made[query], rankers[query].ranking().order

    going = True
    while going:
        going = False
        for question, candidates, passages in own:
            ranker, size = rankers[question.id], len(candidates)
            look(question.id, size)
            capped = name == "bayes" and made[question.id] >= max(SHARES) * size
            proposals = () if capped else ranker.propose_batches()
            if proposals:
                calls = [asyncio.run(answer(judge, question, passages, shown)) for shown in proposals]
                ranker.learn(calls)
                made[question.id] += len(calls)
                going = True
        engine.share(rankers)
    last = {question.id: (made[question.id], rankers[question.id].ranking().order) for question, *_ in own}
    utilities = {
        question.id: np.array([judge.compute_true_utility(question, one) for one in passages])
        for question, _, passages in own
    }
    shares = SHARES if name == "bayes" else (None,)
    for share in shares:
        orders = last if share is None else {query: look[share] for query, look in looks.items()}
        yield curve(name, noise, share, orders, utilities, own, runs)


async def answer(
    judge: SimulatedJudge, question: Question, passages: Sequence[Passage], shown: tuple[int, ...]
) -> JudgeOrderAnswer:
    """The judge's order of a batch."""
    found = await judge.order(question, [passages[place] for place in shown])
    return JudgeOrderAnswer(shown, tuple(shown[place] for place in found.order))


def curve(
    engine: str,
    noise: float,
    share: float | None,
    orders: Mapping[str, tuple[int, tuple[int, ...]]],
    utilities: Mapping[str, np.ndarray],
    own: Sequence[Any],
    runs: Mapping[str, Run],
) -> Curve:
    """Means over questions of what the orders are worth."""
    taus, overlaps, gains, true_gains = [], [], {}, {}
    for question, candidates, _ in own:
        order, useful = np.array(orders[question.id][1]), utilities[question.id]
        true = np.argsort(-useful, kind="stable")
        places = np.empty(len(order))
        places[order] = np.arange(len(order))
        taus.append(kendalltau(-places, useful).statistic)
        overlaps.append(len(set(order[:TOP]) & set(true[:TOP])) / min(TOP, len(order)))
        for kept, ranking in ((gains, order), (true_gains, true)):
            kept[question.id] = {candidates[at].id: float(TOP - i) for i, at in enumerate(ranking[:TOP])}
    values = [
        [np.mean([ndcg(own_gains[query], list(run[query]), 10) for query in own_gains]) for run in runs.values()]
        for own_gains in (gains, true_gains)
    ]
    calls = float(np.mean([made for made, _ in orders.values()]))
    sizes = np.mean([len(candidates) for _, candidates, _ in own])
    return Curve(
        engine, noise, float(calls / sizes) if share is None else share, calls, float(np.mean(taus)),
        float(np.mean(overlaps)), float(kendalltau(*values).statistic),
    )  # fmt: skip


def discordant(judge: SimulatedJudge, own: Sequence[Pool]) -> Estimate:
    """The share of pairs that the judge orders otherwise when it is asked again, over lists of five of each pool."""
    lists = []
    for question, _, passages in own:
        for start in range(0, len(passages) - 5, 10):
            five = passages[start : start + 5]
            lists.append(JudgedPassageOrder(question, five, asyncio.run(judge.order(question, five)).order))
    second = asyncio.run(repeat_judge_calls(judge, [], lists))
    return estimate_share_of_swapped_pairs(
        [(one, order) for one, order in zip(lists, second.orders, strict=True) if order is not None]
    )


def person(run: Path, file: Path, truth: Grades) -> Any:
    """The human check with a person who knows the truth: grades are corrected, and passages moved to where they belong
    where the judge is two grades off."""
    file.unlink(missing_ok=True)
    write_sampled_lists_for_human_check(run, file, HumanCheckSampling(seed=SEED))
    rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"))))
    for row in rows:
        true = truth.get(row["query_id"], {}).get(row["doc_id"], 1)
        if true != int(row["grade"]):
            row["grade"] = str(true)
            if abs(true - int(row["judge_grade"])) >= 2:
                above = [one for one in rows if one["query_id"] == row["query_id"] and int(one["judge_grade"]) > true]
                row["place"] = f"{len(above) + 0.5:g}"
                row["remark"] = f"is a {true}"
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    file.write_bytes(buffer.getvalue().encode("utf-8-sig"))
    return score_edited_check_file(run, file)


def shown(one: Estimate | None, digits: int = 2) -> str:
    """A figure with its interval."""
    if one is None or one.value is None:
        return "n/a"
    return f"{one.value:.{digits}f}" + (f" ({one.low:.{digits}f}-{one.high:.{digits}f})" if one.low is not None else "")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "|".join("---" for _ in titles) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def page(found: Mapping[str, Any]) -> str:
    """The page of results."""
    agreements: list[Agreement] = found["agreements"]
    first = table(
        ("Noise", "Same grade as the truth", "Weighted kappa", "Same grade again", "Kappa of both times",
         *(f"Tau of systems, {name}" for name in MEASURES), "nDCG@10 off by"),
        [
            [f"{one.noise:g}", f"{one.exact:.1%}", f"{one.kappa:.3f}", shown(one.repeat_exact), shown(one.repeat_kappa),
             *(f"{one.taus[name]:.3f}" for name in MEASURES), f"{one.off['nDCG@10']:.3f}"]
            for one in agreements
        ],
    )  # fmt: skip
    second = table(
        ("Judge", "Pairs otherwise when asked again", "Ranking", "Calls per question", "Tau", "Top-20 overlap",
         "Tau of systems"),
        [
            [f"{one.noise:g}", shown(found["discordant"][one.noise]), one.engine, f"{one.calls:.1f}", f"{one.tau:.3f}",
             f"{one.overlap:.3f}", f"{one.systems:.3f}"]
            for one in found["curves"]
        ],
    )  # fmt: skip
    check = found["person"]
    base = agreements[0]
    return TEXT.format(
        questions=base.questions, judged=base.judged, covered=f"{base.covered:.0%}", good=f"{base.covered_good:.0%}",
        first=first, second=second, n=found["n"], queries=check.queries, items=check.items, moved=check.moved,
        changed=check.changed, tau=shown(check.tau), swapped=shown(check.swapped, 3), kappa=shown(check.kappa),
        exact=shown(check.exact), remarks=len(check.remarks),
    )  # fmt: skip


TEXT = """\
# Golden sets against the truth

Made by `benchmarks/golden_cranfield.py`. Cranfield has {questions} questions with graded judgements, which here are the
truth (grade map `cranfield`; what is not judged is irrelevant). The golden set is made from questions and corpus alone:
`wordllama` and BM25 find 50 passages each, a judge grades all {judged:,} of them. The judge is simulated: it knows the
true grades and adds normal noise, in grades, to each of its answers. The pools hold {covered} of the passages that the
truth calls useful (grade 2 or more) and {good} of those of grade 4 or 5; no judge can find the others.

## What noisy grades do to a comparison of systems

Twenty systems: `bm25`, `wordllama`, `jaccard`, `levenshtein`, a fusion of the first two, and each of these with noise
of 4, 12 and 40 ranks. Each measure is taken with the true qrels and with the exported ones; tau is Kendall's between
the two orders of systems, and the last column the mean difference of the values. *Again*: 1,000 passages graded a
second time (`--repeat`), with 95% intervals over questions; this is what a user sees, who has no truth.

{first}

Even without noise the two do not agree wholly: passages outside the pools are unjudged in the golden set, and in the
truth some of them are relevant.

## What each listwise call brings

{n} questions, all passages that were kept (median pool of more than 75, since Cranfield has few relevant passages, so
the whole buckets down to grade 1 are kept), grades with the same noise as orders. Tau and overlap are with the order of
the judge's true utilities. *Tau of systems*: the twenty systems ordered by nDCG@10 with the places of the first 20
passages as gains (20, 19 ... 1), against the same with the true order.

{second}

## The human check

A sample of 40% of the questions, {queries} with {items:,} passages, edited by a script in place of a person who knows
the truth, in the golden set of noise 0.5: grades are corrected, and passages that are two grades off are moved where
they belong, with a remark. `embassay rag check score` says of the edited file: {moved:,} moved, {changed:,} with
another grade, {remarks:,} remarks; tau {tau}, pairs put the other way {swapped}, same grade {exact}, weighted kappa
{kappa}.
"""


def kept(path: Path, do: Callable[[], Any]) -> Any:
    """What `do` gives, as plain values; kept in a file and not done again."""
    if not path.exists():
        print(f"{path.stem} ...", flush=True)
        write_file_atomically(path, format_value_as_json(do(), indent=1) + "\n")
    return json.loads(path.read_text("utf-8"))


@dataclass
class Bench:
    """The parts of the benchmark, each kept in the folder `parts`."""

    folder: Path
    out: Path
    questions: int

    @cached_property
    def truth(self) -> Grades:
        return read_known_grades(self.folder, "cranfield", "code")

    @cached_property
    def runs(self) -> dict[str, Run]:
        return systems(self.folder)

    @property
    def run(self) -> Path:
        """The golden set that the pipeline made."""
        return self.out / "golden"

    def judge(self, noise: float) -> SimulatedJudge:
        """A judge that errs by this much."""
        return SimulatedJudge(self.truth, JudgeNoise(grade_noise=noise, order_noise=noise), seed=SEED)

    def noise(self, noise: float) -> Agreement:
        """The judgements of a judge of this noise against the truth."""

        def do() -> dict[str, Any]:
            judge, (pairs, _) = self.judge(noise), pairs_of(self.run)
            given = graded_by(judge, pairs)
            if noise == NOISE and given != exported(self.run):
                raise AssertionError("the pipeline exports other grades than the judge gives")
            true_scores = {name: np.array(values) for name, values in self.true_scores().items()}
            return asdict(against(self.truth, true_scores, self.runs, given, again(judge, pairs, given), noise))

        plain = kept(self.out / "parts" / f"noise-{noise:g}.json", do)
        figures = {name: plain[name] and Estimate(**plain[name]) for name in ("repeat_exact", "repeat_kappa")}
        return Agreement(**{**plain, **figures})

    def true_scores(self) -> dict[str, list[float]]:
        """Measure -> the value of each system by the true judgements."""
        path = self.out / "parts" / "truth.json"
        return kept(path, lambda: {name: values.tolist() for name, values in scores(self.truth, self.runs).items()})

    def curves(self, noise: float) -> tuple[Estimate, list[Curve]]:
        """How often the judge of this noise contradicts itself, and what orders are worth after how many calls."""

        def do() -> dict[str, Any]:
            judge = self.judge(noise)
            own = pools(self.run, judge, self.questions)
            found = [
                asdict(one)
                for name, spec in RANKINGS.items()
                for one in curves(name, spec, judge, own, self.runs, noise)
            ]
            return {"discordant": asdict(discordant(judge, own)), "curves": found}

        plain = kept(self.out / "parts" / f"curves-{noise:g}-{self.questions}.json", do)
        return Estimate(**plain["discordant"]), [Curve(**one) for one in plain["curves"]]

    def all_of_it(self) -> dict[str, Any]:
        """Everything that the page says."""
        both = {noise: self.curves(noise) for noise in CURVE_NOISES}
        return {
            "agreements": [self.noise(noise) for noise in NOISES],
            "discordant": {noise: figure for noise, (figure, _) in both.items()},
            "curves": [one for _, found in both.values() for one in found],
            "person": person(self.run, self.out / "check.csv", self.truth),
            "n": self.questions,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="Cranfield: corpus, queries and qrels with the column code")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs and of what is found in them")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--questions", type=int, default=16, help="of the second part")
    parser.add_argument("--noise", type=float, nargs="*", help="do only the golden sets of these judges")
    parser.add_argument("--curves", type=float, nargs="*", help="do only the second part of these judges")
    given = parser.parse_args()
    bench = Bench(given.folder, given.out, given.questions)
    make(given.folder, bench.run)
    for noise in given.noise or ():
        bench.noise(noise)
    for noise in given.curves or ():
        bench.curves(noise)
    if given.markdown:
        given.markdown.write_text(page(bench.all_of_it()), encoding="utf-8")


if __name__ == "__main__":
    main()
