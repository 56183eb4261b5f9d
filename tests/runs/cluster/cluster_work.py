"""Work for the cells of a test cluster; its machines import it by name."""

import os
import signal
import time
from functools import partial

import numpy as np

from embassay.errors import ModelError
from embassay.records import HeadlineComponent, Score, TaskOutcome
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.execution import HERE

TEXTS = [f"text {i}" for i in range(48)]


class Slow:
    """An encoder that takes a tenth of a second for a chunk of four."""

    name, identity, dim, max_tokens, chunk_size = "slow", "slow:1", 3, 6, 4

    def __init__(self, pause=0.1):
        self.pause = pause

    def encode(self, texts, *, role=None):
        time.sleep(self.pause)
        return np.array([[len(text), sum(text.encode()), i % 7] for i, text in enumerate(texts)], dtype=np.float32)

    def count_truncated(self, texts):
        return sum(len(text) > self.max_tokens for text in texts)


class Missing(Slow):
    """One whose model is not on the machine."""

    name = "missing"

    def encode(self, texts, *, role=None):
        raise ModelError("The model is not here.", mend="Fetch it.")


def squares(factor, number):
    time.sleep(0.1)
    return factor * number * number


def odd(number):
    if number % 2 == 0:
        raise ZeroDivisionError(f"{number} is even")
    return number


def outcome(value, items=()):
    columns = {"item_id": [str(i) for i in range(len(items))], "variant": [""] * len(items)}
    columns |= {"measure": ["m"] * len(items), "value": list(items)}
    return TaskOutcome((Score("m", value, 1),), {"m": HeadlineComponent(value, 1)}, columns)


def work(job, advance, spread=HERE):
    """`job` says what to do: a word, or a word and a path."""
    what, _, path = job.partition(" ")
    if what == "model":
        raise ModelError("The model broke.", mend="Mend it.")
    if what == "bug":
        raise ZeroDivisionError("division by zero")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what in ("encode", "missing"):
        made = Slow if what == "encode" else Missing
        cache = spread.cache(partial(EmbeddingCache.open, path))
        there = spread.open_encoder_remotely(made, False) or spread.encoder(made(), made)
        encoder = CachedEncoder(there, cache, progress=advance)
        vectors = encoder.encode(TEXTS)
        assert encoder.counts.truncated == Slow().count_truncated(TEXTS)
        return outcome(float(vectors.sum()), vectors.sum(axis=1).tolist())
    if what == "map":
        found = []
        for one in spread.map(partial(squares, 3), iter(range(40))):
            found.append(float(one))
            advance(1)
        return outcome(sum(found), found)
    if what == "odd":
        return outcome(float(sum(spread.map(odd, [1, 3, 4]))))
    if what == "score":
        advance(1)
        time.sleep(float(path))
    return outcome(1.0)


def started(**head):
    """A cluster of one node of this machine; begun again where that is so busy that Ray's daemon takes longer than the
    30 s that it is given."""
    from ray.cluster_utils import Cluster

    given = {"object_store_memory": 100 * 2**20, "include_dashboard": False, **head}
    for left in (2, 1, 0):
        try:
            return Cluster(initialize_head=True, head_node_args=given)
        except Exception:
            if not left:
                raise
    raise AssertionError("unreachable")
