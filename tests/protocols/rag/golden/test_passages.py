"""Documents as passages."""

import pytest

from embassay.errors import DataError
from embassay.protocols.rag.golden.corpus import CorpusDocument, make_passages_from_documents
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")


def test_whole_documents_stand_in_the_order_of_their_ids():
    """The title before the text, as in retrieval sets."""
    documents = [CorpusDocument("b", "Bees", "They dance.", {"year": 1946}), CorpusDocument("a", "", "Tea.", {})]
    found = make_passages_from_documents(documents, GoldenOptions(), WORDS)
    assert (found.ids, found.texts) == (("a", "b"), ("Tea.", "Bees They dance."))
    assert found.metadata[1] == {"year": 1946}


def test_chunks_say_where_they_are_from():
    """Breadcrumb of section, title, authors and date; id, source and place of each."""
    metadata = {"section": "Results", "subsection": "", "authors": ["A. Lee", "B. Ray"], "date": 1961, "paper": None}
    document = CorpusDocument("d", "On jets", "One two three. Four five six. Seven eight nine.", metadata)
    found = make_passages_from_documents([document], GoldenOptions(chunk=8, overlap=4), WORDS)
    assert found.ids == ("d#1", "d#2")
    assert found.texts[0] == "Results > On jets, A. Lee, B. Ray, 1961\nOne two three. Four five six."
    assert found.texts[1].endswith("\nFour five six. Seven eight nine.")
    place = found.metadata[1]
    assert (place["source"], place["chunk"], document.text[place["start"] : place["end"]].strip()) == (
        "d", 2, "Four five six. Seven eight nine.",
    )  # fmt: skip


def test_a_corpus_without_text_is_no_corpus():
    """Nothing could be found in it."""
    with pytest.raises(DataError, match="no passage"):
        make_passages_from_documents([], GoldenOptions(), WORDS)
