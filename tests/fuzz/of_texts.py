"""Texts: what datasets hold, which everything is done to, and what language models say instead of what was asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.target import JSON, Target, text_of

_WORDS = (
    "\ud83d", "\x00", "\x1b[2J", "\u202e", "\u2066", "\ufeff", "\u0300", "\u200d", "\U0001f9d1", "\x85", "\u2028",
    "\r\n", "# ", "\n\n", "```", "Dr. ", "e.g. ", "...", "!?", "not ", "n't ", "(", "))))", '"""', "<think>",
    "A" * 40, " " * 40,
)  # fmt: skip


def texts(content: bytes, folder: Path) -> object:
    """Every edit, cut and count of a text, half surrogate pairs among them, as JSON may hold them."""
    from embassay.data.language import count_letters_by_script, explain_why_languages_of_texts_differ
    from embassay.protocols.rag.rewriters import rewrite_by_rules
    from embassay.text import PERTURBATIONS, open_tokenizer, perturb
    from embassay.text.chunking import Chunking, chunk, find_sentence_ends, split_sections
    from embassay.text.perturbations import split_sentences
    from embassay.text.tokenizers import encode_as_utf8

    try:
        text = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = text_of(content)
    words = open_tokenizer("words")
    assert b"".join(words.pieces(text)) == encode_as_utf8(text)
    chunks = chunk(text, chunking=Chunking(limit=8, overlap=3))
    made: list[Any] = [
        chunks,
        split_sections(text),
        list(find_sentence_ends(text)),
        split_sentences(text),
        count_letters_by_script(text),
    ]
    for name in ("capitalize", "delete10", "numerize", "negate", "sentence_shuffle", "word_shuffle"):
        made.append(perturb(PERTURBATIONS.build(name), text, seed=1, text_id="d1"))
    for name in ("insertion:p=0.15,q=0", "removal:p=0.1,q=0.5"):
        made.append(perturb(PERTURBATIONS.build(name, tokenizer=words), text, seed=1, text_id="d1"))
    made += [explain_why_languages_of_texts_differ(text, text[::-1]), rewrite_by_rules(text)]
    return made


def similarities(content: bytes, folder: Path) -> object:
    """Lexical systems and the encoder that comes along, on two texts."""
    import numpy as np

    from embassay.systems import SYSTEMS, open_system
    from embassay.text import open_tokenizer

    first, _, second = content.decode("utf-8", "replace").partition("\n--\n")
    words = open_tokenizer("words")
    made = []
    for name in ("levenshtein", "jaccard", "rouge", "bm25", "wordllama"):
        assert name in SYSTEMS
        found = open_system(name, tokenizer=words).pairs([first, second], [second, ""])
        assert found.shape == (2,)
        assert np.isfinite(found).all(), name
        made.append(found)
    return made


def wordings(content: bytes, folder: Path) -> object:
    """What language models say instead of a wording, a rewriting, a rating, an object: refusals, thoughts, markup."""
    from embassay.protocols.hteb.transformers import parse_transformed_text
    from embassay.protocols.pteb.paraphrasing import make_paraphrase_verdict_of_answer
    from embassay.protocols.rag import rewriters as rewriting
    from embassay.protocols.rag.judges.chat import OrderAnswer
    from embassay.systems.chat.answers import UnfitAnswerError, extract_answer_json, strip_thinking
    from embassay.systems.chat.server import parse_schema_answer

    text, made = text_of(content), list[Any]()
    tried: tuple[Callable[[], Any], ...] = (
        lambda: rewriting.parse_rewriting(text, "What is known of foxes?"),
        lambda: extract_answer_json(text),
        lambda: parse_schema_answer(extract_answer_json(text), OrderAnswer),
        lambda: parse_schema_answer(text, OrderAnswer),
        lambda: make_paraphrase_verdict_of_answer("A fox.", text),
        lambda: make_paraphrase_verdict_of_answer(text, "A fox."),
        lambda: strip_thinking(text),
        lambda: parse_transformed_text(text),
    )
    for attempt in tried:
        try:
            made.append(attempt())
        except UnfitAnswerError:
            continue
    return made


def shown(content: bytes, folder: Path) -> object:
    """A text on its way to LaTeX, a terminal, a file's name and a gate's report."""
    from xml.etree import ElementTree

    from embassay.protocols.gate import ThresholdVerdict, format_verdicts_as_junit, format_verdicts_as_markdown
    from embassay.protocols.kernel.tables import escape_latex
    from embassay.runs.folder import slugify_name

    text = text_of(content)
    name = slugify_name(text)
    assert 0 < len(name.encode()) < 256
    assert name not in (".", "..", "")
    assert os.sep not in name
    verdict = ThresholdVerdict(0.5, bar=text, met=False, reason=text)
    report = ElementTree.fromstring(format_verdicts_as_junit([verdict]))
    assert report.tag == "testsuite"
    assert "\x1b" not in format_verdicts_as_markdown([verdict])
    return escape_latex(text), name


TARGETS: tuple[Target, ...] = (
    Target(
        "texts", texts,
        (b"# Foxes\n\nDr. Fox said: it is not 3.5 m long! Is it?\n\nYes (e.g. twice).", "Der Füchse 狐狸。𝔘".encode()),
        _WORDS,
    ),
    Target("similarities", similarities, (b"One fox.\n--\nTwo foxes.",), ("\n--\n", *_WORDS)),
    Target(
        "wordings", wordings,
        (b'{"order": ["A", "B"]}', b"<think>Hm.</think>Foxes are known.", b'Sure: ```json {"question": "Foxes?"}```'),
        (*JSON, *_WORDS, "As an AI language model", "I'm sorry, but I can't", "query", "rewritten"),
    ),
    Target(
        "shown", shown, (b"org/model_v2 & co", b"../../etc/passwd"),
        (*_WORDS, "../", "\\", "$", "_", "&", "]]>", "<", "|"),
    ),
)  # fmt: skip
