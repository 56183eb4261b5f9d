"""Two lists of candidates as one."""

from embassay.protocols.rag.golden.candidates import fuse_dense_and_sparse


def row(doc, rank, kind, **more):
    own = {"dense": {"rank_dense": rank, "score_cos": 1 / rank, "score_raw": 1 / rank},
           "sparse": {"rank_sparse": rank, "score_bm25": 10 / rank, "bm25_query": "q"}}[kind]  # fmt: skip
    head = {"qid": "Q1", "question": "?", "query_rewrite": "q", "doc_id": doc, "text": doc, "metadata": {"a": 1}}
    return {**head, **own, **more}


def test_the_example_of_the_spec():
    """dense a,b,c,d and sparse c,a,e: both ranks and scores, the source, fused score and rank."""
    dense = [row(doc, rank, "dense") for rank, doc in enumerate("abcd", 1)]
    sparse = [row(doc, rank, "sparse") for rank, doc in enumerate("cae", 1)]
    rows = fuse_dense_and_sparse(dense, sparse, 60)
    assert [(one["doc_id"], one["source"], one["rank_rrf"]) for one in rows] == [
        ("a", "both", 1), ("c", "both", 2), ("b", "dense", 3), ("e", "sparse", 4), ("d", "dense", 5),
    ]  # fmt: skip
    assert (rows[0]["rank_dense"], rows[0]["rank_sparse"], rows[0]["score_bm25"]) == (1, 2, 5)
    assert (rows[3]["rank_dense"], rows[3]["score_cos"], rows[2]["score_bm25"]) == (None, None, None)


def test_what_one_list_lacks_is_taken_from_the_other():
    """Text and metadata, whichever side has them."""
    rows = fuse_dense_and_sparse([row("a", 1, "dense", text="", metadata={})], [row("a", 1, "sparse")], 60)
    assert (rows[0]["text"], rows[0]["metadata"]) == ("a", {"a": 1})
    rows = fuse_dense_and_sparse([row("a", 1, "dense")], [row("a", 1, "sparse", text=None, metadata=None)], 60)
    assert (rows[0]["text"], rows[0]["metadata"]) == ("a", {"a": 1})


def test_a_document_that_a_list_holds_twice_counts_once():
    """With its first rank and score."""
    rows = fuse_dense_and_sparse([row("a", 1, "dense"), row("a", 2, "dense"), row("b", 3, "dense")], [], 60)
    assert [(one["doc_id"], one["rank_dense"]) for one in rows] == [("a", 1), ("b", 2)]
    assert rows[0]["score_cos"] == 1
