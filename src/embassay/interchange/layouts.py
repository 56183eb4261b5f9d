"""How a table of a paper is laid out, and where a run of ours has the same: its file, its rows and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from embassay.data.catalogue.suites import read_all_suites

Row = Mapping[str, str]
"""A line of a run's table, as CSV has it."""
ALL = "all tasks"


@dataclass(frozen=True)
class PaperMeanScope:
    """What a figure of a paper is a mean over: all sets of a `suite` for `task`, or for `ALL`. Without a suite it is of
    data that nobody else has."""

    suite: str
    task: str = ALL


Whole = Callable[[str, str], PaperMeanScope | None]
"""What the cell of a row and a column is a mean over; None for a cell of the one set that it names, or of none."""

CLASSICAL: Mapping[str, str] = {
    "bm25": "BM25 Score", "jaccard": "Jaccard Similarity", "levenshtein": "Levenshtein Ratio", "rouge": "ROUGE Score",
    "minilm": "all-MiniLM-L6-v2"
}  # fmt: skip
"""Names of ours -> the papers'; a model goes by the end of its name."""


@dataclass(frozen=True)
class PaperTableLayout:
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


def make_suite_mean_scope_finder(suite: str, task: str = ALL, *beginnings: str) -> Whole:
    """For a table whose cells are means over a suite; with `beginnings` only those of rows that begin so are."""

    def find_suite_mean_scope(row: str, column: str) -> PaperMeanScope | None:
        del column
        return PaperMeanScope(suite, task) if not beginnings or row.startswith(beginnings) else None

    return find_suite_mean_scope


def format_paper_model_title(system: str) -> str:
    """Format a model's title as the papers call it.

    >>> (format_paper_model_title("st:sentence-transformers/all-mpnet-base-v2?dims=64"),
    ... format_paper_model_title("ollama:gemma3:27b"))
    ('all-mpnet-base-v2', 'gemma3-27b')
    >>> format_paper_model_title("rouge")
    'ROUGE Score'
    """
    plain = system.partition("?")[0]
    if plain.startswith("ollama:"):
        return plain.removeprefix("ollama:").rpartition("/")[2].replace(":", "-")
    return CLASSICAL.get(plain, plain.rpartition("/")[2].rpartition(":")[2])


def format_judge_model_title(name: str) -> str:
    """A chat model, by its name with or without the server.

    >>> format_judge_model_title("gpt-oss:20b"), format_judge_model_title("ollama:qwen3:32b")
    ('gpt-oss-20b', 'qwen3-32b')
    """
    return format_paper_model_title(name if name.startswith("ollama:") else f"ollama:{name}")


def format_paper_dataset_title(dataset: str) -> str:
    """A dataset as the papers' suites call it, whatever language of it stands behind the name."""
    name = dataset.partition(" ")[0]
    return _map_datasets_to_suite_titles().get(name, name)


def _map_datasets_to_suite_titles() -> Mapping[str, str]:
    return {
        member.dataset: member.title
        for name in ("sage", "pteb", "hume")
        for member in read_all_suites()[name].members
        if member.title
    }


def make_paper_column_renamer(names: Mapping[str, str]) -> Callable[[str], str]:
    """Make a function that gives a column's name in the paper."""
    return lambda column: names.get(column, column.lower())


def _make_cell_reader(name: str, of: Callable[[str], str] = str) -> Callable[[Row], str]:
    return lambda row: of(row[name])


# SAGE ---------------------------------------------------------------------------------------------------------------

_SAGE = {
    "Human Pref.": "human_preference", "cnn-dailymail": "cnn_dailymail", "sumpubmed": "scientific_papers",
    "amazon-polarity": "amazon_polarity", "paul-graham": "paul_graham"
}  # fmt: skip
_SAGE_TITLES = ("overall", "comparisons", "ratings", "robustness", "sensitivity to insertion", "sensitivity to removal")
_SAGE_TASKS = {"overall": ALL, "human_preference": "preference"}


def _find_task_mean_scope(row: str, column: str) -> PaperMeanScope:
    del row
    return PaperMeanScope("sage", _SAGE_TASKS.get(column, column))


_SAGE_MEANS: Mapping[int, Whole] = {
    1: _find_task_mean_scope,
    **dict.fromkeys((2, 3), make_suite_mean_scope_finder("sage", "preference")),
}
SAGE = tuple(
    PaperTableLayout(
        f"table {number}",
        title,
        f"sage_table{number}",
        _make_cell_reader("system", format_paper_model_title),
        make_paper_column_renamer(_SAGE),
        over=_SAGE_MEANS.get(number, PaperTableLayout.over),
    )
    for number, title in enumerate(_SAGE_TITLES, 1)
)

# PTEB ---------------------------------------------------------------------------------------------------------------

_LONGER = {"MasakhaNEWS": "MasakhaNEWSClusteringS2S", "RuBQ": "RuBQReranking", "STSBenchmark": "STSB"}
_SHIFT = make_paper_column_renamer({"ci_low": "hl_ci_low", "ci_high": "hl_ci_high"})
_PARAPHRASERS = {"Similarity": "semantic_similarity", "Edit distance": "edit_distance", "Runtime (s)": "runtime"}
_JUDGES = {"HL": "hl_estimate", "CI low": "hl_ci_low", "CI high": "hl_ci_high"}
_LANGUAGES = {
    "ara": "Arabic", "fra": "French", "deu": "German", "hau": "Hausa", "rus": "Russian", "spa": "Spanish",
    "swa": "Swahili", "tur": "Turkish"
}  # fmt: skip
_PROMPTS = {"default": "Default", **{f"variant{number}": f"Variant {number}" for number in (1, 2, 3)}}


def _format_dataset_title(dataset: str) -> str:
    title = format_paper_dataset_title(dataset)
    return _LONGER.get(title, title)


def _format_dataset_and_model(row: Row) -> str:
    """Set and model, or a model's mean; the STS sets of table 9 are one row. No mean over models: ours are others."""
    dataset, system = row["dataset"] or "Average", row["system"]
    if system == "Average":
        return ""
    several = row.get("task") == "sts" and dataset.endswith("datasets")
    return f"{'9 STS datasets' if several else _format_dataset_title(dataset)}, {format_paper_model_title(system)}"


def _format_model_title_of_sts_row(row: Row) -> str:
    return format_paper_model_title(row["system"]) if row["scope"] == "sts" else ""


def _find_qwen_size(row: Row) -> str:
    """The size of a Qwen3 embedding model: the paper's ablation."""
    name = format_paper_model_title(row["system"])
    return name.rpartition("-")[2] if name.lower().startswith("qwen3-embedding-") else ""


def _format_parameter_count(row: Row) -> str:
    size = float(row["Parameters (billions)"] or 0)
    return f"{1000 * size:.0f}M" if size < 1 else f"{size:g}B"


_MEAN_STS = make_suite_mean_scope_finder("pteb-sts", "sts")


def _find_seven_dataset_mean_scope(row: str, column: str) -> PaperMeanScope | None:
    if row.startswith("9 STS datasets"):
        return _MEAN_STS(row, column)
    return PaperMeanScope("pteb-en") if row.startswith("Average") else None


PTEB = (
    PaperTableLayout(
        "table 1", "words per text", "pteb_table1", _make_cell_reader("dataset", _format_dataset_title), label="dataset"
    ),
    PaperTableLayout(
        "table 2",
        "judges: Spearman correlation with people x 100",
        "pteb_table2",
        _make_cell_reader("Dataset", _format_dataset_title),
        format_judge_model_title,
        "Dataset",
        over=make_suite_mean_scope_finder("pteb-sts", "sts", "Average"),
    ),
    PaperTableLayout(
        "table 3",
        "judges by size",
        "pteb_table3",
        _format_parameter_count,
        make_paper_column_renamer({"Score": "sts_score"}),
        "Judge",
        over=_MEAN_STS,
    ),
    PaperTableLayout(
        "table 4",
        "paraphrasers",
        "pteb_table4",
        _make_cell_reader("Paraphraser", format_judge_model_title),
        make_paper_column_renamer(_PARAPHRASERS),
        "Paraphraser",
        over=_MEAN_STS,
    ),
    PaperTableLayout(
        "table 5",
        "paraphraser scores by judge",
        "pteb_table5",
        _make_cell_reader("Judge", format_judge_model_title),
        make_paper_column_renamer(_JUDGES),
        "Judge",
        over=_MEAN_STS,
    ),
    PaperTableLayout(
        "table 6",
        "STS",
        "pteb_table6",
        _format_dataset_and_model,
        over=make_suite_mean_scope_finder("pteb-sts", "sts", "Average"),
    ),
    PaperTableLayout(
        "table 7", "shifts, runs pooled", "pteb_table7", _format_model_title_of_sts_row, _SHIFT, over=_MEAN_STS
    ),
    PaperTableLayout(
        "table 8",
        "encoders by size",
        "pteb_table8",
        _find_qwen_size,
        make_paper_column_renamer({"vram_gib": "vram_gb"}),
        others=False,
        over=make_suite_mean_scope_finder("pteb-en"),
    ),
    PaperTableLayout(
        "table 9", "seven tasks", "pteb_table9", _format_dataset_and_model, over=_find_seven_dataset_mean_scope
    ),
    PaperTableLayout(
        "table 10",
        "other languages",
        "pteb_table10",
        _format_dataset_and_model,
        over=make_suite_mean_scope_finder("pteb-multi", ALL, "Average"),
    ),
    PaperTableLayout(
        "table 11",
        "people's ratings",
        "pteb_table11",
        lambda row: _LANGUAGES.get(row["lang"], row["lang"]),
        make_paper_column_renamer({"mean": "mean_similarity", "median": "median_similarity"}),
        "lang",
    ),
    PaperTableLayout(
        "table 12", "prompts", "pteb_table12", lambda row: _PROMPTS.get(row["prompt"], row["prompt"]), over=_MEAN_STS
    ),
    PaperTableLayout(
        "table 14", "shifts, runs averaged", "pteb_table14", _format_model_title_of_sts_row, _SHIFT, over=_MEAN_STS
    ),
)

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


def format_dense_stack_title(row: Row) -> str:
    """Encoder, dimensions, reranker and depth of a dense pool in an exact index, as the paper's tables have them."""
    if row["Mode"] != "dense" or not row["Index"].startswith("flat"):
        return ""
    reranker = "" if row["Reranker"] == "none" else f"{format_paper_model_title(row['Reranker'])}, "
    return f"{format_paper_model_title(row['Encoder'])}, {row['Dimensions']}, {reranker}K={row['K']}"


def _format_stack_title_without_reranker(row: Row) -> str:
    layers = format_dense_stack_title(row)
    return layers.rpartition(", ")[0] if layers and row["Reranker"] == "none" else ""


def _format_retrieval_method_title(row: Row) -> str:
    """Format the title of a compared retrieval method; empty for all other stacks."""
    method = _METHODS.get((row["Mode"], format_paper_model_title(row["Reranker"])), "")
    return method if row["K"] == "50" and row["Index"].startswith("flat") else ""


def _find_measure_of_hybrid_stack_row(row: Row) -> str:
    return row["Measure"] if _format_retrieval_method_title(row) == "Hybrid + Rerank-2.5" else ""


def _format_paper_index_title(row: Row) -> str:
    return _INDEXES.get(row["Index"].partition("?")[0], "") if row["Dimensions"] in ("1024", "") else ""


def _make_probe_row_titler(names: Mapping[str, str]) -> Callable[[Row], str]:
    return lambda row: f"{row['lang'].upper()}, {names.get(title := format_paper_model_title(row['system']), title)}"


def _format_probe_title_of_queries_as_asked(row: Row) -> str:
    return _make_probe_row_titler(_NOISED)(row) if row["wording"] == "as asked" else ""


def _make_ablation_titler(lang: str) -> Callable[[Row], str]:
    return lambda row: (
        f"{lang}, {row['condition']}, "
        f"{_ABLATED.get(format_paper_model_title(row['system']), format_paper_model_title(row['system']))}"
    )


def _find_quality_column_mean_scope(row: str, column: str) -> PaperMeanScope | None:
    """Find the mean of a quality column, which a corpus other than the paper's cannot compare."""
    del row
    return (
        PaperMeanScope("") if column.startswith(("n_recall", "ra_nwg", "ceiling", "percent_proc", "avg_perf")) else None
    )


def _make_paper_table_layout_of_stacks(
    table: str, title: str, file: str, row: Callable[[Row], str], names: Mapping[str, str]
) -> PaperTableLayout:
    return PaperTableLayout(
        table,
        title,
        file,
        row,
        make_paper_column_renamer(names),
        "Stack",
        others=False,
        over=_find_quality_column_mean_scope,
    )


RAG = (
    _make_paper_table_layout_of_stacks(
        "5.1 dense",
        "dense pools",
        "rag_table1",
        _format_stack_title_without_reranker,
        {**_MEASURES, "Embed ms": "embedding_latency_ms", "Retrieve ms": "retrieval_latency_median_ms"},
    ),
    _make_paper_table_layout_of_stacks(
        "5.1 stacks", "stacks with 50 candidates", "rag_stacks", _format_retrieval_method_title, _MEASURES
    ),
    _make_paper_table_layout_of_stacks(
        "5.1 hybrid ceiling",
        "best possible order of hybrid pools",
        "rag_table3",
        lambda row: _format_retrieval_method_title({**row, "Reranker": "none"}),
        _CEILINGS,
    ),
    _make_paper_table_layout_of_stacks(
        "5.2 %PROC", "actual and possible", "rag_table4", _find_measure_of_hybrid_stack_row, {"%PROC": "percent_proc"}
    ),
    _make_paper_table_layout_of_stacks(
        "5.2 leaderboard, @10",
        "best by RA-nWG@10",
        "rag_table5",
        format_dense_stack_title,
        {"RA-nWG@10": "ra_nwg", "PROC": "ceiling_proc"},
    ),
    _make_paper_table_layout_of_stacks(
        "5.2 leaderboard, @30",
        "best by RA-nWG@30",
        "rag_table6",
        format_dense_stack_title,
        {"RA-nWG@30": "ra_nwg", "PROC": "ceiling_proc"},
    ),
    PaperTableLayout(
        "5.3 indexes",
        "indexes of 1,024 dimensions",
        "rag_table7",
        _format_paper_index_title,
        make_paper_column_renamer(_CHANGES),
        "Encoder",
        False,
        over=_find_quality_column_mean_scope,
    ),
    _make_paper_table_layout_of_stacks(
        "5.5 scenarios",
        "scenarios",
        "rag_stacks",
        format_dense_stack_title,
        {**_MEASURES, "USD per 1,000": "cost_usd_per_1000_queries"},
    ),
    _make_paper_table_layout_of_stacks(
        "A.1 efficiency",
        "efficiency",
        "rag_table9",
        format_dense_stack_title,
        {"Per second of reranking": "efficiency", "AvgPerf": "avg_performance", "Rerank ms": "latency_ms"},
    ),
    PaperTableLayout(
        "A.2 margins",
        "name and topic margins",
        "rag_table10",
        _make_probe_row_titler(_PROBED),
        make_paper_column_renamer(_MARGINS),
    ),
    PaperTableLayout(
        "A.3 name over topic",
        "names over topics",
        "rag_table11",
        _make_probe_row_titler(_PROBED),
        make_paper_column_renamer({"name/topic": "name_topic_ratio"}),
    ),
    PaperTableLayout(
        "4.1 names, EN",
        "change of the name margin, in percent",
        "name_margin_en",
        _make_ablation_titler("EN"),
        make_paper_column_renamer({"percent": "delta_name_change_percent"}),
        others=False,
    ),
    PaperTableLayout(
        "4.2 names, FR",
        "change of the name margin, in percent",
        "name_margin_fr",
        _make_ablation_titler("FR"),
        make_paper_column_renamer({"percent": "delta_name_change_percent"}),
        others=False,
    ),
    PaperTableLayout(
        "4.4 similarity", "similarity by small-talk level", "rag_table12", _format_probe_title_of_queries_as_asked
    ),
    PaperTableLayout(
        "4.4 noise",
        "similarity drop in percent",
        "rag_table13",
        _format_probe_title_of_queries_as_asked,
        make_paper_column_renamer({"drop %": "drop_percent"}),
    ),
    _make_paper_table_layout_of_stacks(
        "A.5 tokens",
        "tokens per candidate",
        "rag_table14",
        lambda row: (
            f"{format_paper_model_title(row['Reranker'])}, K={row['K']}" if format_dense_stack_title(row) else ""
        ),
        {"Tokens per candidate": "mean_tokens", "SD": "std"},
    ),
    _make_paper_table_layout_of_stacks(
        "A.6 reranking time",
        "time of reranking",
        "rag_table1[56]",
        format_dense_stack_title,
        {"Rerank p50 ms": "median_latency_ms"},
    ),
    _make_paper_table_layout_of_stacks(
        "A.8 rerank-2.5-lite", "rerank-2.5-lite by depth", "rag_stacks", format_dense_stack_title, _MEASURES
    ),
    _make_paper_table_layout_of_stacks(
        "A.9 ceilings", "best possible order of dense pools", "rag_table2[1-9]", format_dense_stack_title, _CEILINGS
    ),
)

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


def _format_row_category_title(row: Row) -> str:
    return _FAMILIES.get(row["category"], row["category"].capitalize())


def _format_task_language_title(row: Row) -> str:
    return f"{row['task']} ({row['lang']})"


def _format_dataset_language_title(row: Row) -> str:
    return f"{_SHORT.get(row['dataset'], row['dataset'])} ({row['lang']})" if row["lang"] else row["dataset"]


_HUME_SETS = ((4, "clustering"), (5, "classification"), (6, "reranking"), (7, "STS"))
HUME = (
    PaperTableLayout(
        "table 1",
        "people compared with models, by task family and language",
        "hume_table1",
        _make_cell_reader("model", format_paper_model_title),
        label="model",
    ),
    PaperTableLayout(
        "table 2", "language models by task family", "hume_table2", _format_row_category_title, label="category"
    ),
    *(
        PaperTableLayout(
            f"table {number}",
            title,
            f"hume_table{number}",
            _make_cell_reader("model", format_paper_model_title),
            label="model",
        )
        for number, title in _HUME_SETS
    ),
    PaperTableLayout(
        "table 8",
        "people, by task and language",
        "hume_table8",
        _format_task_language_title,
        make_paper_column_renamer({"outside_interval": "significant"}),
        "task",
    ),
    PaperTableLayout("table 9", "sizes of models", "hume_table9", _make_cell_reader("model"), label="model"),
    *(
        PaperTableLayout(
            f"table {number}",
            f"language models on {title}",
            f"hume_table{number}",
            _format_dataset_language_title,
            label="dataset",
        )
        for number, title in ((10, "classification"), (11, "reranking"), (12, "STS"))
    ),
    PaperTableLayout(
        "table 13",
        "do language models and people find the same pairs hard?",
        "hume_table13",
        lambda row: _LLMS.get(row["llm"], row["llm"]),
        label="llm",
    ),
)

# HTEB ---------------------------------------------------------------------------------------------------------------

_WHOLE_BANKING77 = 13_000
"""Texts from which on a run has all of Banking77: 13,069 in the published files, which leave some out."""


def _format_transformation_and_seed(row: Row) -> str:
    whole = row["dataset"] == "banking77" and int(row["texts"]) >= _WHOLE_BANKING77
    return f"{row['transformation']}, seed {row['seed']}" if whole else ""


HTEB = (
    PaperTableLayout("files of Banking77", "texts that came back unchanged, failed or were requested again",
        "hteb_texts",
           _format_transformation_and_seed, label="dataset", others=False),
)  # fmt: skip

LAYOUTS: Mapping[str, tuple[PaperTableLayout, ...]] = {
    "SAGE": SAGE, "PTEB": PTEB, "HTEB": HTEB, "RAG": RAG, "HUME": HUME
}  # fmt: skip
