"""Answers from the passages of runs, and whether they are right: what retrieval is for (spec rag 1.4, Acc|Hit).

`embassay.rag.answer(...)` is `protocol.answer`.
"""
