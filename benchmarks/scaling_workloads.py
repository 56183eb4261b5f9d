"""What the whole of SAGE, PTEB and HUME has to do, from the published sizes of their datasets.

Where a size comes from, and what was compared with what (November 2026):

- numbers of documents and queries: the papers and the datasets' cards, as the catalogue has them; those of BEIR again
  in MTEB's descriptive statistics (`mteb/descriptive_stats` of its repository), without a difference;
- mean characters of documents: those statistics. They go with the words of BEIR's paper (Thakur et al., 2021, table 1),
  which are taken where MTEB has no usable figure (`words`, not checked);
- other lengths: words and tokens of the papers of SAGE and PTEB, characters of MTEB for Amazon, bioRxiv, medRxiv and
  Reddit P2P. Those marked `assumed` are our guess.
"""

from __future__ import annotations

from dataclasses import dataclass

TOKENS_PER_WORD = 1.33
"""cl100k tokens of an English word with its share of punctuation; 1.5 in scientific texts."""
VERSIONS = 19
LETTERS = 4.7
"""Bytes of a cl100k token of English prose: 4.68 in SciFact, 4.63 in passages of news, laws and abstracts."""


@dataclass(frozen=True)
class Corpus:
    """A collection to search in: `tokens` is the mean length of a document, in cl100k tokens of so many `letters`; with
    its 18 perturbed versions, or fewer (`versions` counts the clean one). Of fewer, `mean` and `longest` are the tokens
    of a version, and of the longest, over those of all 19."""

    name: str
    documents: int
    tokens: float
    queries: int
    versions: int = VERSIONS
    letters: float = LETTERS
    mean: float = 1.0
    longest: float = 1.0

    @property
    def texts(self) -> int:
        """All versions of all documents."""
        return self.documents * self.versions


@dataclass(frozen=True)
class Pairs:
    """Documents of which each is compared with `versions` - 1 other texts, of about its length."""

    name: str
    documents: int
    tokens: float
    versions: int

    @property
    def texts(self) -> int:
        """All versions of all documents."""
        return self.documents * self.versions


@dataclass(frozen=True)
class Sets:
    """Texts to be clustered, in so many sets, all against all within a set of at most `cap`."""

    name: str
    texts: int
    tokens: float
    sets: int
    cap: int = 10_000

    @property
    def size(self) -> int:
        """Texts of a set."""
        return min(self.cap, self.texts // self.sets)


def _tokens(characters: float) -> float:
    return characters / LETTERS


def _beir(name: str, documents: int, characters: float, queries: int) -> Corpus:
    return Corpus(name, documents, _tokens(characters), queries)


def _of_words(name: str, documents: int, words: float, queries: int) -> Corpus:
    return Corpus(name, documents, words * TOKENS_PER_WORD, queries)


MS_MARCO = _beir("MS MARCO", 8_841_823, 336.8, 6_980)
BEIR = (
    MS_MARCO,
    _beir("TREC-COVID", 171_332, 1_117.8, 50),
    _beir("NFCorpus", 3_633, 1_590.8, 323),
    _beir("NQ", 2_681_468, 493.2, 3_452),
    _beir("HotpotQA", 5_233_329, 288.9, 7_405),
    _beir("FiQA-2018", 57_638, 768.2, 648),
    _beir("ArguAna", 8_674, 1_029.5, 1_406),
    _of_words("Touche-2020 (words)", 382_545, 292.37, 49),
    _of_words("CQADupStack (words)", 457_199, 129.09, 13_145),
    _beir("Quora", 522_931, 63.2, 10_000),
    _beir("DBPedia", 4_635_922, 310.2, 400),
    _beir("SCIDOCS", 25_657, 1_204.4, 1_000),
    _beir("FEVER", 5_416_568, 539.2, 6_666),
    _beir("Climate-FEVER", 5_416_593, 539.2, 1_535),
    _beir("SciFact", 5_183, 1_499.4, 300),
)

ROBUSTNESS = (
    Pairs("Scientific papers, articles", 33_772, 4_227 * TOKENS_PER_WORD, 8),
    Pairs("CNN/DailyMail", 11_490, 781, 8),
    Pairs("BillSum", 3_269, 1_382 * TOKENS_PER_WORD, 8),
)
SENSITIVITY = (
    Pairs("Amazon Polarity", 400_000, _tokens(431.4), VERSIONS),
    Pairs("ArguAna", 8_674, 166.80 * TOKENS_PER_WORD, VERSIONS),
    Pairs("BillSum", 3_269, 1_382 * TOKENS_PER_WORD, VERSIONS),
    Pairs("CNN/DailyMail", 11_490, 781, VERSIONS),
    Pairs("Paul Graham (length assumed)", 215, 4_000, VERSIONS),
    Pairs("Scientific papers, abstracts", 33_772, 277 * TOKENS_PER_WORD, VERSIONS),
)
PREFERENCE = (Pairs("Summarise from feedback (length assumed)", 100_983, 200, 3),)
CLUSTERING = (
    Sets("Arxiv P2P (length assumed)", 732_723, 270, 30),
    Sets("Arxiv S2S (length assumed)", 732_723, 14, 30),
    Sets("Biorxiv P2P", 75_000, _tokens(1_664.0), 10),
    Sets("Biorxiv S2S", 75_000, _tokens(101.7), 10),
    Sets("Medrxiv P2P", 37_500, _tokens(1_981.2), 10),
    Sets("Medrxiv S2S (length assumed)", 37_500, 22, 10),
    Sets("Reddit (length assumed)", 420_464, 16, 25),
    Sets("Reddit P2P", 459_399, _tokens(727.7), 50),
    Sets("StackExchange (length assumed)", 373_850, 14, 25),
    Sets("StackExchange P2P (length assumed)", 75_000, 230, 10),
    Sets("Twenty Newsgroups (length assumed)", 59_545, 8, 10),
)

PTEB_RUNS = 6
PTEB = (
    Pairs("STS, nine sets", 46_422, 13.7 * TOKENS_PER_WORD, 1),
    Pairs("Banking77 (length assumed)", 13_083, 15, 1),
    Pairs("Twenty Newsgroups, distinct (length assumed)", 5_242, 8, 1),
    Pairs("TwitterSemEval, distinct (length assumed)", 17_800, 16, 1),
    Pairs("AskUbuntu (length assumed)", 7_581, 13, 1),
    Pairs("ArguAna, queries", 1_406, 192.98 * TOKENS_PER_WORD, 1),
    Pairs("SummEval (length assumed)", 2_700, 90, 1),
)
"""Texts that are paraphrased in each run; ArguAna's documents are encoded once more, and not paraphrased."""
HUME = (Pairs("16 datasets, 26 pairs of dataset and language, with their training texts (assumed)", 60_000, 40, 1),)
