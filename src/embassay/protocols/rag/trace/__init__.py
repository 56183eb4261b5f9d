"""Trace: at which stage of a retrieval pipeline needed passages are lost.

`read_pipeline` takes the lists that a pipeline has after each stage from files, `make_pipeline` makes them with an
encoder, BM25 and a reranker; `trace_passages` follows each needed passage through them, and `find_losses` says what is
lost where.
"""
