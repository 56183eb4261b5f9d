"""How a table of a paper is laid out, and where a run of ours has the same: its file, its rows and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from embassay.data.catalogue.suites import all_suites

Row = Mapping[str, str]
"""A line of a run's table, as CSV has it."""
ALL = "all tasks"


@dataclass(frozen=True)
class SuiteMean:
    """What a figure of a paper is a mean over: all sets of a `suite` for `task`, or for `ALL`. Without a suite it is of
    data that nobody else has."""

    suite: str
    task: str = ALL


Whole = Callable[[str, str], SuiteMean | None]
"""What the cell of a row and a column is a mean over; None for a cell of the one set that it names, or of none."""

CLASSICAL: Mapping[str, str] = {
    "bm25": "BM25 Score", "jaccard": "Jaccard Similarity", "levenshtein": "Levenshtein Ratio", "rouge": "ROUGE Score",
    "minilm": "all-MiniLM-L6-v2"
}  # fmt: skip
"""Names of ours -> the papers'; a model goes by the end of its name."""


@dataclass(frozen=True)
class Layout:
    """`table` of a paper, in the `file` (a pattern) of a run. `row` and `column` turn ours into the paper's: the row of
    a line, empty where that is none of this table, and the name of a column. `label` is the column that says whose line
    it is; with `others`, lines that the paper has no row for are shown too. `over` says what a cell is a mean over."""

    table: str
    title: str
    file: str
    row: Callable[[Row], str]
    column: Callable[[str], str] = str.lower
    label: str = "system"
    others: bool = True
    over: Whole = lambda row, column: None  # noqa: ARG005 - of one set


def mean_table(suite: str, task: str = ALL, *beginnings: str) -> Whole:
    """For a table whose cells are means over a suite; with `beginnings` only those of rows that begin so are."""

    def over(row: str, column: str) -> SuiteMean | None:
        del column
        return SuiteMean(suite, task) if not beginnings or row.startswith(beginnings) else None

    return over


def model_title(system: str) -> str:
    """What the papers call a system.

    >>> model_title("st:sentence-transformers/all-mpnet-base-v2?dims=64"), model_title("ollama:gemma3:27b")
    ('all-mpnet-base-v2', 'gemma3-27b')
    >>> model_title("rouge")
    'ROUGE Score'
    """
    plain = system.partition("?")[0]
    if plain.startswith("ollama:"):
        return plain.removeprefix("ollama:").rpartition("/")[2].replace(":", "-")
    return CLASSICAL.get(plain, plain.rpartition("/")[2].rpartition(":")[2])


def judge_title(name: str) -> str:
    """A chat model, by its name with or without the server.

    >>> judge_title("gpt-oss:20b"), judge_title("ollama:qwen3:32b")
    ('gpt-oss-20b', 'qwen3-32b')
    """
    return model_title(name if name.startswith("ollama:") else f"ollama:{name}")


def dataset_title(dataset: str) -> str:
    """A dataset as the papers' suites call it, whatever language of it stands behind the name."""
    name = dataset.partition(" ")[0]
    return _suite_titles().get(name, name)


def _suite_titles() -> Mapping[str, str]:
    return {
        member.dataset: member.title
        for name in ("sage", "pteb", "hume")
        for member in all_suites()[name].members
        if member.title
    }


def rename_columns(names: Mapping[str, str]) -> Callable[[str], str]:
    """A column by its name in the paper, in small letters where it is not among `names`."""
    return lambda column: names.get(column, column.lower())


def _make_column_name(name: str, of: Callable[[str], str] = str) -> Callable[[Row], str]:
    return lambda row: of(row[name])


# SAGE ---------------------------------------------------------------------------------------------------------------

_SAGE = {
    "Human Pref.": "human_preference", "cnn-dailymail": "cnn_dailymail", "sumpubmed": "scientific_papers",
    "amazon-polarity": "amazon_polarity", "paul-graham": "paul_graham"
}  # fmt: skip
_SAGE_TITLES = (
    "overall",
    "comparisons",
    "ratings",
    "robustness",
    "sensitivity to insertion",
    "sensitivity to removal",
)
_SAGE_TASKS = {"overall": ALL, "human_preference": "preference"}


def _over_tasks(row: str, column: str) -> SuiteMean:
    del row
    return SuiteMean("sage", _SAGE_TASKS.get(column, column))


_SAGE_MEANS: Mapping[int, Whole] = {1: _over_tasks, **dict.fromkeys((2, 3), mean_table("sage", "preference"))}
SAGE = tuple(
    Layout(
        f"table {number}",
        title,
        f"sage_table{number}",
        _make_column_name("system", model_title),
        rename_columns(_SAGE),
        over=_SAGE_MEANS.get(number, Layout.over),
    )
    for number, title in enumerate(_SAGE_TITLES, 1)
)

# PTEB ---------------------------------------------------------------------------------------------------------------

_LONGER = {"MasakhaNEWS": "MasakhaNEWSClusteringS2S", "RuBQ": "RuBQReranking", "STSBenchmark": "STSB"}
_SHIFT = rename_columns({"ci_low": "hl_ci_low", "ci_high": "hl_ci_high"})
_PARAPHRASERS = {
    "Similarity": "semantic_similarity",
    "Edit distance": "edit_distance",
    "Runtime (s)": "runtime",
}
_JUDGES = {"HL": "hl_estimate", "CI low": "hl_ci_low", "CI high": "hl_ci_high"}
_LANGUAGES = {
    "ara": "Arabic", "fra": "French", "deu": "German", "hau": "Hausa", "rus": "Russian", "spa": "Spanish",
    "swa": "Swahili", "tur": "Turkish"
}  # fmt: skip
_PROMPTS = {"default": "Default", **{f"variant{number}": f"Variant {number}" for number in (1, 2, 3)}}


def _set_title(dataset: str) -> str:
    title = dataset_title(dataset)
    return _LONGER.get(title, title)


def _set_of(row: Row) -> str:
    """Set and model, or a model's mean; the STS sets of table 9 are one row. No mean over models: ours are others."""
    dataset, system = row["dataset"] or "Average", row["system"]
    if system == "Average":
        return ""
    several = row.get("task") == "sts" and dataset.endswith("datasets")
    return f"{'9 STS datasets' if several else _set_title(dataset)}, {model_title(system)}"


def _sts_title(row: Row) -> str:
    return model_title(row["system"]) if row["scope"] == "sts" else ""


def _size_of_qwen(row: Row) -> str:
    """The size of a Qwen3 embedding model: the paper's ablation."""
    name = model_title(row["system"])
    return name.rpartition("-")[2] if name.lower().startswith("qwen3-embedding-") else ""


def _format_parameters(row: Row) -> str:
    size = float(row["Parameters (billions)"] or 0)
    return f"{1000 * size:.0f}M" if size < 1 else f"{size:g}B"


_MEAN_STS = mean_table("pteb-sts", "sts")


def _seven_sets(row: str, column: str) -> SuiteMean | None:
    if row.startswith("9 STS datasets"):
        return _MEAN_STS(row, column)
    return SuiteMean("pteb-en") if row.startswith("Average") else None


PTEB = (
    Layout("table 1", "words per text", "pteb_table1", _make_column_name("dataset", _set_title), label="dataset"),
    Layout("table 2", "judges: Spearman with people x 100", "pteb_table2", _make_column_name("Dataset", _set_title),
           judge_title, "Dataset",
           over=mean_table("pteb-sts", "sts", "Average")),
    Layout("table 3", "judges by size", "pteb_table3", _format_parameters, rename_columns({"Score": "sts_score"}),
           "Judge",
           over=_MEAN_STS),
    Layout("table 4", "paraphrasers", "pteb_table4", _make_column_name("Paraphraser", judge_title),
           rename_columns(_PARAPHRASERS), "Paraphraser",
           over=_MEAN_STS),
    Layout("table 5", "the paraphraser by judge", "pteb_table5", _make_column_name("Judge", judge_title),
           rename_columns(_JUDGES), "Judge",
           over=_MEAN_STS),
    Layout("table 6", "STS", "pteb_table6", _set_of, over=mean_table("pteb-sts", "sts", "Average")),
    Layout("table 7", "shifts, runs pooled", "pteb_table7", _sts_title, _SHIFT, over=_MEAN_STS),
    Layout("table 8", "encoders by size", "pteb_table8", _size_of_qwen, rename_columns({"vram_gib": "vram_gb"}),
           others=False,
           over=mean_table("pteb-en")),
    Layout("table 9", "seven tasks", "pteb_table9", _set_of, over=_seven_sets),
    Layout("table 10", "other languages", "pteb_table10", _set_of, over=mean_table("pteb-multi", ALL, "Average")),
    Layout("table 11", "people's ratings", "pteb_table11", lambda row: _LANGUAGES.get(row["lang"], row["lang"]),
           rename_columns({"mean": "mean_similarity", "median": "median_similarity"}), "lang"),
    Layout("table 12", "prompts", "pteb_table12", lambda row: _PROMPTS.get(row["prompt"], row["prompt"]),
           over=_MEAN_STS),
    Layout("table 14", "shifts, runs averaged", "pteb_table14", _sts_title, _SHIFT, over=_MEAN_STS)
)  # fmt: skip

# RAG ----------------------------------------------------------------------------------------------------------------

_MEASURES = {
    f"{ours}@{k}": f"{theirs}@{k}"
    for ours, theirs in (("N-Recall4+", "n_recall4plus"), ("N-Recall5", "n_recall5"), ("RA-nWG", "ra_nwg"))
    for k in (10, 15, 20, 25, 30)
}
_CEILINGS = {f"PROC {ours}": theirs for ours, theirs in _MEASURES.items()}
_CHANGES = {
    **{f"{ours} %": f"{theirs}_change_percent" for ours, theirs in _MEASURES.items()},
    "Retrieve ms": "median_latency_ms", "Retrieve %": "median_latency_ms_change_percent"
}  # fmt: skip
_INDEXES = {"hnsw-f32": "hnsw-f32", "hnsw-int8": "hnsw-int8-fast50", "flat": "flat-cos-1024"}
_METHODS = {
    ("dense", "none"): "Dense-Only", ("hybrid", "none"): "Hybrid (RRF)", ("dense", "rerank-2.5"): "Rerank-2.5",
    ("dense", "rerank-2.5-lite"): "Rerank-2.5-lite", ("hybrid", "rerank-2.5"): "Hybrid + Rerank-2.5",
    ("hybrid", "rerank-2.5-lite"): "Hybrid + Rerank-2.5-lite"
}  # fmt: skip
_MARGINS = {"d_name": "delta_name", "d_topic": "delta_topic", "d_both": "delta_both"}
_PROBED = {"text-embedding-3-large": "OpenAI 3L", "voyage-3.5": "Voyage 3.5"}
_ABLATED = {"text-embedding-3-large": "OpenAI text-embedding-3-large"}
_NOISED = {"text-embedding-3-large": "large", "text-embedding-3-small": "small"}


def stack_title(row: Row) -> str:
    """Encoder, dimensions, reranker and depth of a dense pool in an exact index, as the paper's tables have them."""
    if row["Mode"] != "dense" or not row["Index"].startswith("flat"):
        return ""
    reranker = "" if row["Reranker"] == "none" else f"{model_title(row['Reranker'])}, "
    return f"{model_title(row['Encoder'])}, {row['Dimensions']}, {reranker}K={row['K']}"


def _unreranked_title(row: Row) -> str:
    layers = stack_title(row)
    return layers.rpartition(", ")[0] if layers and row["Reranker"] == "none" else ""


def _method_title(row: Row) -> str:
    """The six stacks that are compared are of 50 candidates."""
    method = _METHODS.get((row["Mode"], model_title(row["Reranker"])), "")
    return method if row["K"] == "50" and row["Index"].startswith("flat") else ""


def _reached_measure(row: Row) -> str:
    return row["Measure"] if _method_title(row) == "Hybrid + Rerank-2.5" else ""


def _index_title(row: Row) -> str:
    return _INDEXES.get(row["Index"].partition("?")[0], "") if row["Dimensions"] in ("1024", "") else ""


def _probe_title(names: Mapping[str, str]) -> Callable[[Row], str]:
    return lambda row: (
        f"{row['lang'].upper()}, {names.get(model_title(row['system']), model_title(row['system']))}"
    )


def _as_asked(row: Row) -> str:
    return _probe_title(_NOISED)(row) if row["wording"] == "as asked" else ""


def _ablation_title(lang: str) -> Callable[[Row], str]:
    return lambda row: (
        f"{lang}, {row['condition']}, {_ABLATED.get(model_title(row['system']), model_title(row['system']))}"
    )


def _of_qualities(row: str, column: str) -> SuiteMean | None:
    """The paper's corpus is its own: prices, sizes and times compare, and how good what was found is does not."""
    del row
    return (
        SuiteMean("")
        if column.startswith(("n_recall", "ra_nwg", "ceiling", "percent_proc", "avg_perf"))
        else None
    )


def _of_stack(
    table: str, title: str, file: str, row: Callable[[Row], str], names: Mapping[str, str]
) -> Layout:
    return Layout(table, title, file, row, rename_columns(names), "Stack", others=False, over=_of_qualities)


RAG = (
    _of_stack("5.1 dense", "dense pools", "rag_table1", _unreranked_title, {
        **_MEASURES, "Embed ms": "embedding_latency_ms", "Retrieve ms": "retrieval_latency_median_ms"}),
    _of_stack("5.1 stacks", "stacks with 50 candidates", "rag_stacks", _method_title, _MEASURES),
    _of_stack("5.1 hybrid ceiling", "the best order of hybrid pools", "rag_table3",
              lambda row: _method_title({**row, "Reranker": "none"}), _CEILINGS),
    _of_stack("5.2 %PROC", "actual and possible", "rag_table4", _reached_measure, {"%PROC": "percent_proc"}),
    _of_stack("5.2 leaderboard, @10", "best by RA-nWG@10", "rag_table5", stack_title,
              {"RA-nWG@10": "ra_nwg", "PROC": "ceiling_proc"}),
    _of_stack("5.2 leaderboard, @30", "best by RA-nWG@30", "rag_table6", stack_title,
              {"RA-nWG@30": "ra_nwg", "PROC": "ceiling_proc"}),
    Layout("5.3 indexes", "indexes of 1,024 dimensions", "rag_table7", _index_title, rename_columns(_CHANGES),
           "Encoder", False,
           over=_of_qualities),
    _of_stack("5.5 scenarios", "scenarios", "rag_stacks", stack_title,
              {**_MEASURES, "USD per 1,000": "cost_usd_per_1000_queries"}),
    _of_stack("A.1 efficiency", "efficiency", "rag_table9", stack_title, {
        "Per second of reranking": "efficiency", "AvgPerf": "avg_performance", "Rerank ms": "latency_ms"}),
    Layout("A.2 margins", "margins of names and topics", "rag_table10", _probe_title(_PROBED),
           rename_columns(_MARGINS)),
    Layout("A.3 name over topic", "names over topics", "rag_table11", _probe_title(_PROBED),
           rename_columns({"name/topic": "name_topic_ratio"})),
    Layout("4.1 names, EN", "changes of names, in percent of the margin", "name_margin_en", _ablation_title("EN"),
           rename_columns({"percent": "delta_name_change_percent"}), others=False),
    Layout("4.2 names, FR", "changes of names, in percent of the margin", "name_margin_fr", _ablation_title("FR"),
           rename_columns({"percent": "delta_name_change_percent"}), others=False),
    Layout("4.4 similarity", "similarity by small talk", "rag_table12", _as_asked),
    Layout("4.4 noise", "its drop in percent", "rag_table13", _as_asked, rename_columns({"drop %": "drop_percent"})),
    _of_stack("A.5 tokens", "tokens per candidate", "rag_table14",
              lambda row: f"{model_title(row['Reranker'])}, K={row['K']}" if stack_title(row) else "",
              {"Tokens per candidate": "mean_tokens", "SD": "std"}),
    _of_stack("A.6 reranking time", "time of reranking", "rag_table1[56]", stack_title,
              {"Rerank p50 ms": "median_latency_ms"}),
    _of_stack("A.8 rerank-2.5-lite", "the lesser reranker by depth", "rag_stacks", stack_title, _MEASURES),
    _of_stack("A.9 ceilings", "the best order of dense pools", "rag_table2[1-9]", stack_title, _CEILINGS)
)  # fmt: skip

# HUME ---------------------------------------------------------------------------------------------------------------

_SHORT = {
    "EmotionClassification": "Emotion", "MultilingualSentiment": "Multilingual Sentiment",
    "MultilingualSentimentClassification": "Multilingual Sentiment",
    "ToxicConversations": "Toxic Conversations", "ToxicConversationsClassification": "Toxic Conversations",
    "TweetSentimentExtraction": "Tweet Sentiment", "TweetSentimentExtractionClassification": "Tweet Sentiment",
    "Core17Instruction": "Core17", "News21Instruction": "News21", "Robust04Instruction": "Robust04",
    "WikipediaMultilingual": "Wikipedia"
}  # fmt: skip
_LLMS = {
    "gpt5_full": "GPT-5 Full", "gpt5_mini": "GPT-5 Mini", "gpt41_full": "GPT-4.1 Full", "gpt41_mini": "GPT-4.1 Mini",
    "gemini25_flash": "Gemini 2.5 Flash", "mistral_small_24b": "Mistral Small", "qwen3_30b": "Qwen3-30B",
    "qwen3_32b": "Qwen3-32B", "qwen3_coder": "Qwen3-Coder", "average of all LLMs": "Average (all LLMs)"
}  # fmt: skip
_FAMILIES = {"sts": "STS"}


def _family_title(row: Row) -> str:
    return _FAMILIES.get(row["category"], row["category"].capitalize())


def _pair_title(row: Row) -> str:
    return f"{row['task']} ({row['lang']})"


def _short_pair(row: Row) -> str:
    return f"{_SHORT.get(row['dataset'], row['dataset'])} ({row['lang']})" if row["lang"] else row["dataset"]


_HUME_SETS = ((4, "clustering"), (5, "classification"), (6, "reranking"), (7, "STS"))
HUME = (
    Layout(
        "table 1",
        "people among models, by family and language",
        "hume_table1",
        _make_column_name("model", model_title),
        label="model",
    ),
    Layout("table 2", "language models by family", "hume_table2", _family_title, label="category"),
    *(
        Layout(
            f"table {number}",
            title,
            f"hume_table{number}",
            _make_column_name("model", model_title),
            label="model",
        )
        for number, title in _HUME_SETS
    ),
    Layout(
        "table 8",
        "people, pair by pair",
        "hume_table8",
        _pair_title,
        rename_columns({"outside_interval": "significant"}),
        "task",
    ),
    Layout("table 9", "sizes of models", "hume_table9", _make_column_name("model"), label="model"),
    *(
        Layout(
            f"table {number}",
            f"language models on {title}",
            f"hume_table{number}",
            _short_pair,
            label="dataset",
        )
        for number, title in ((10, "classification"), (11, "reranking"), (12, "STS"))
    ),
    Layout(
        "table 13",
        "language models and people: same difficulty?",
        "hume_table13",
        lambda row: _LLMS.get(row["llm"], row["llm"]),
        label="llm",
    ),
)

# HTEB ---------------------------------------------------------------------------------------------------------------

_WHOLE_BANKING77 = 13_000
"""Texts from which on a run has all of Banking77: 13,069 in the published files, which leave some out."""


def _transformed_run(row: Row) -> str:
    whole = row["dataset"] == "banking77" and int(row["texts"]) >= _WHOLE_BANKING77
    return f"{row['transformation']}, seed {row['seed']}" if whole else ""


HTEB = (
    Layout("files of Banking77", "texts that came back unchanged, failed or were requested again", "hteb_texts",
           _transformed_run, label="dataset", others=False),
)  # fmt: skip

LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "SAGE": SAGE, "PTEB": PTEB, "HTEB": HTEB, "RAG": RAG, "HUME": HUME
}  # fmt: skip
