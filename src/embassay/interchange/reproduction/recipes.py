"""The papers' experiments as commands: what each step is given, what of its own it needs, and the tables it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.errors import UsageError

Arguments = tuple[tuple[str, str], ...]
"""Options with their values, in the order of the command; an option may stand several times."""
SHORT = {"-s": "--system", "-d": "--dataset", "-p": "--paraphraser", "-t": "--task", "-j": "--judge"}
"""Short options of the commands."""


@dataclass(frozen=True)
class Step:
    """One command of a paper: `command` without `embassay`, what it is given by default, which of the paper's `tables`
    come of it, and `yours`: options without which there is nothing to do, with what to give them."""

    name: str
    command: tuple[str, ...]
    arguments: Arguments
    tables: str
    yours: Mapping[str, str]

    def words(self, more: Sequence[str] = ()) -> list[str]:
        """The whole command with more words behind it; an option among these takes the place of the paper's."""
        said = {_long(word) for word in more if word.startswith("-")}
        said |= {"--baseline"} if "--system" in said else set()  # which is one of the paper's systems
        kept = [word for name, value in self.arguments if _long(name) not in said for word in (name, value)]
        return [*self.command, *kept, *more]

    def lacking(self, more: Sequence[str]) -> list[tuple[str, str]]:
        """The options that are yours to give, and are not among the words."""
        said = {_long(word) for word in more if word.startswith("-")}
        return [(name, about) for name, about in self.yours.items() if _long(name) not in said]


@dataclass(frozen=True)
class Recipe:
    """A paper: its name in tables, what it is, the suite its datasets are, and its steps, the first the headline's."""

    paper: str
    source: str
    suite: str
    steps: tuple[Step, ...]
    caveat: str

    def step(self, name: str) -> Step:
        """A step by name, the first for none. UsageError for one that there is not."""
        names = [one.name for one in self.steps]
        if not name:
            return self.steps[0]
        if name not in names:
            raise UsageError(f"{self.paper} has no step {name!r}.", mend=f"Its steps: {', '.join(names)}.")
        return self.steps[names.index(name)]


def _long(word: str) -> str:
    plain = word.partition("=")[0]
    return SHORT.get(plain, plain)


def _each(option: str, *values: str) -> Arguments:
    return tuple((option, value) for value in values)


_MPNET = "st:sentence-transformers/all-mpnet-base-v2"
_WORDS = _each("-p", "ollama:gemma3:27b")
_CANDIDATES = ("ollama:gemma3:27b", "ollama:gpt-oss:20b", "ollama:qwen3:32b")
_ENGLISH = (
    _MPNET,
    "st:google/embeddinggemma-300m",
    "st:mixedbread-ai/mxbai-embed-large-v1",
    "st:intfloat/e5-mistral-7b-instruct",
    "st:Qwen/Qwen3-Embedding-8B",
)
_OTHERS = (
    "st:sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
    "st:google/embeddinggemma-300m",
    "st:intfloat/multilingual-e5-large-instruct",
    "st:Qwen/Qwen3-Embedding-8B",
)
_SIZES = tuple(f"ollama:gemma3:{size}" for size in ("270m", "1b", "4b", "12b", "27b"))
_SAGE_SYSTEMS = (
    "openai:text-embedding-3-small", "openai:text-embedding-3-large", "cohere:embed-v4.0", "voyage:voyage-3-large",
    "gemini:gemini-embedding-001", "levenshtein", "rouge", "jaccard", "bm25",
)  # fmt: skip
_PROBED = ("openai:text-embedding-3-large", "voyage:voyage-3.5")
_NOISED = ("openai:text-embedding-3-large", "openai:text-embedding-3-small")

SAGE = Recipe(
    "SAGE", "Goel, Lee, Ramchandran: SAGE, 2025", "sage",
    (Step("run", ("sage", "run"), (("-d", "sage"), *_each("-s", *_SAGE_SYSTEMS), ("--text-tokens", "512")),
          "tables 1 to 6", {}),),
    "The paper names no documents that were left out, no seeds and no versions of the models behind the APIs.",
)  # fmt: skip
PTEB = Recipe(
    "PTEB", "PTEB, 2025", "pteb",
    (
        Step("english", ("pteb", "run"),
             (("-d", "pteb-en"), *_WORDS, *_each("-s", *_ENGLISH), ("--baseline", _MPNET)),
             "tables 1, 6 to 9 and 14", {}),
        Step("multilingual", ("pteb", "run"),
             (("-d", "pteb-multi"), *_WORDS, *_each("-s", *_OTHERS), ("--languages", "pooled")), "table 10", {}),
        Step("judges", ("pteb", "judge"), (("-d", "pteb-sts"), *_each("-j", *_CANDIDATES)), "table 2", {}),
        Step("sizes", ("pteb", "judge"), (("-d", "pteb-sts"), *_each("-j", *_SIZES)), "table 3", {}),
        Step("paraphrasers", ("pteb", "paraphrasers"),
             (("-d", "pteb-sts"), *_each("-p", *_CANDIDATES), ("--judge", "ollama:gemma3:27b"),
              *_each("--cross-judge", *_CANDIDATES[1:], "ollama:mistral-small3.2:24b")), "tables 4 and 5", {}),
        Step("prompts", ("pteb", "prompts"), (("-d", "pteb-sts"), *_WORDS, ("-s", _MPNET)), "table 12", {}),
    ),
    "The paper's prompts and its paraphrases are not published; table 10 of the paper pools languages. Table 11 is of "
    "people: `embassay pteb validate`.",
)  # fmt: skip
RAG = Recipe(
    "RAG", "Dallaire: Practical RAG Evaluation, arXiv 2511.09545, 2025", "",
    (
        Step("sweep", ("rag", "sweep", "paper"), (), "sections 5.1 to 5.5, A.1, A.5 to A.9",
             {"-d": "your corpus with queries and grades: the paper's is not published"}),
        Step("names", ("rag", "probe", "names"), _each("-s", *_PROBED), "sections 4.1, 4.2, A.2 and A.3", {}),
        Step("noise", ("rag", "probe", "noise"), _each("-s", *_NOISED), "sections 4.4 and A.4", {}),
    ),
    "The paper's corpus and questions are not published: prices and sizes compare, qualities are of your data.",
)  # fmt: skip
HUME = Recipe(
    "HUME", "HUME, 2025", "hume",
    (Step("score", ("hume", "score"), (), "tables 1 to 13",
          {"--from-mteb": "the public result files (embeddings-benchmark/results: a bundle, or its folders)",
           "--llm-scores": "a folder with tables 10 to 12 as CSV"}),),
    "Add -s MODEL to place your own among people and the published models.",
)  # fmt: skip

RECIPES: Mapping[str, Recipe] = {"sage": SAGE, "pteb": PTEB, "rag": RAG, "hume": HUME}
