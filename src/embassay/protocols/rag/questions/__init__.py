"""Questions about a corpus: written by a language model and checked, or asked by the documents of themselves."""

from embassay.protocols.questions.options import QuestionsOptions
from embassay.protocols.rag.questions.options import QuestionsRequest
from embassay.protocols.rag.questions.protocol import questions

__all__ = ["QuestionsOptions", "QuestionsRequest", "questions"]
