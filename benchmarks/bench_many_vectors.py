"""Speed and memory of exact search with many vectors for a text, beside named peers in the same run:

    python benchmarks/bench_many_vectors.py [--passages 100000] [--tokens 100] [--queries 8] [--documents 100000]

Late interaction: passages of so many vectors of 128 dimensions, made block by block and never all in memory; the peer
is PyLate's scoring (pylate.scores), or sentence-transformers' maxsim where that is not installed, on the same blocks.
Sparse: documents of about 200 weights among 30,522 terms, and queries of about 30; the peer is scipy's sparse product
with a partial sort.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import parse_sizes

from embassay.search.maxsim import TokenVectors, search_by_maxsim
from embassay.search.sparse import InvertedIndex, SparseMatrix

DIM, TERMS, K, BLOCK = 128, 30_522, 10, 1024
QUERY_TOKENS = 32


def main() -> None:
    """Measure and print."""
    asked = _arguments()
    for line in (*late(asked.passages, asked.tokens, asked.queries), *sparse(asked.documents)):
        print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--documents", type=int, default=100_000)
    return parse_sizes(parser, passages=500, documents=1000, queries=2)


def late(passages: int, tokens: int, n: int) -> Iterator[str]:
    """Exact MaxSim over passages that are made as they are asked for."""
    queries = _units(np.random.default_rng(0), n * QUERY_TOKENS).reshape(n, QUERY_TOKENS, DIM)
    asked = TokenVectors.of(list(queries), DIM)
    search_by_maxsim(asked, _parts(BLOCK, tokens), K)  # machine code is loaded
    made = _timed(lambda: [part for _, part in _parts(passages, tokens) if part is None])[0]
    before = _peak()
    seconds, found = _timed(lambda: search_by_maxsim(asked, _parts(passages, tokens), K))
    whole = passages * tokens * DIM * 4 / 2**30
    yield (
        f"late interaction: {passages:,} passages of {tokens} vectors ({whole:.1f} GiB), {n} queries of "
        f"{QUERY_TOKENS}: "
        f"{seconds - made:.1f} s of search, {made:.1f} s of making vectors; peak memory {_peak():,} MiB, "
        f"{_peak() - before:,} MiB of it in the search"
    )
    name, score = _peer()
    seconds_peer, theirs = _timed(lambda: _searched(score, queries, passages, tokens))
    same = np.mean([len(set(a) & set(b)) / K for a, b in zip(found.indices.tolist(), theirs, strict=True)])
    yield (
        f"  {name}: {seconds_peer - made:.1f} s ({(seconds_peer - made) / max(seconds - made, 1e-9):.1f} times ours), "
        f"peak memory {_peak():,} MiB; {same:.1%} of its best {K} are ours"
    )


def _parts(passages: int, tokens: int) -> Iterator[tuple[NDArray[np.int64], TokenVectors]]:
    for start in range(0, passages, BLOCK):
        n = min(BLOCK, passages - start)
        values = _units(np.random.default_rng(start + 1), n * tokens)
        yield np.arange(start, start + n), TokenVectors(np.arange(0, n * tokens + 1, tokens), values)


def _units(rng: np.random.Generator, n: int) -> NDArray[np.float32]:
    made = rng.standard_normal((n, DIM), dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def _peer() -> tuple[str, Callable[[Any, Any], Any]]:
    """The peer's name, and its scores of queries (q, m, d) and documents (n, t, d), both torch tensors."""
    try:
        from pylate.scores import colbert_scores
    except ImportError:
        from sentence_transformers.util.similarity import maxsim

        return "sentence-transformers' maxsim", maxsim
    return "PyLate's colbert_scores", colbert_scores


def _searched(score: Callable[[Any, Any], Any], queries: Any, passages: int, tokens: int) -> list[list[int]]:
    import torch

    asked = torch.from_numpy(queries)
    best = torch.full((len(queries), K), -torch.inf)
    places = torch.full((len(queries), K), -1)
    for rows, part in _parts(passages, tokens):
        given = torch.from_numpy(part.values.reshape(len(part), tokens, DIM))
        scores = torch.cat([best, torch.as_tensor(score(asked, given))], dim=1)
        indices = torch.cat([places, torch.from_numpy(rows).expand(len(queries), -1)], dim=1)
        best, order = scores.topk(K, dim=1)
        places = indices.gather(1, order)
    return places.tolist()


def sparse(documents: int, n: int = 200) -> Iterator[str]:
    """Exact search of sparse vectors in an inverted index."""
    rng = np.random.default_rng(0)
    corpus, queries = _weights(rng, documents, 200), _weights(rng, n, 30)
    InvertedIndex.of(_weights(rng, 100, 50)).search(queries, K)
    built, index = _timed(lambda: InvertedIndex.of(corpus))
    seconds, found = _timed(lambda: index.search(queries, K))
    yield (
        f"sparse: {documents:,} documents of about 200 weights, {n} queries of about 30: {1000 * seconds / n:.2f} ms a "
        f"query, {built:.1f} s to index, {index.bytes / 2**20:,.0f} MiB"
    )
    ours, turned = _matrix(queries), _matrix(corpus).T.tocsr()
    seconds_peer, theirs = _timed(lambda: _by_scipy(ours, turned))
    same = np.mean([len(set(a) & set(b)) / K for a, b in zip(found.indices.tolist(), theirs, strict=True)])
    yield (
        f"  scipy: {1000 * seconds_peer / n:.2f} ms a query ({seconds_peer / seconds:.1f} times ours); "
        f"{same:.1%} of its best {K} are ours"
    )


def _weights(rng: np.random.Generator, n: int, mean: int) -> SparseMatrix:
    """Terms as often as words are: few are in most texts."""
    likely = 1 / np.arange(2, TERMS + 2)
    rows = []
    for size in rng.poisson(mean, n):
        terms = np.unique(rng.choice(TERMS, size=max(1, size), p=likely / likely.sum()))
        rows.append(np.column_stack([terms, rng.gamma(2, 0.5, len(terms))]).astype(np.float32))
    return SparseMatrix.of(rows, TERMS)


def _matrix(one: SparseMatrix) -> Any:
    from scipy.sparse import csr_array

    return csr_array((one.weights, one.places, one.starts), shape=(len(one), TERMS))


def _by_scipy(queries: Any, turned: Any) -> list[list[int]]:
    """The best of each row of the product with the documents' matrix, which is turned beforehand."""
    product, found = queries @ turned, []
    for row in range(product.shape[0]):
        part = slice(product.indptr[row], product.indptr[row + 1])
        scores, places = product.data[part], product.indices[part]
        best = np.argpartition(-scores, K)[:K] if len(scores) > K else np.arange(len(scores))
        found.append(places[best[np.argsort(-scores[best], kind="stable")]].tolist())
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, all cores together, which other work on the machine does not change."""
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
