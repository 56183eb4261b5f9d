"""Lay the development datasets out as a mirror of the catalogue (docs/data.md).

python benchmarks/lay_out_mirror.py DATA MIRROR [--stand-ins]
EMBASSAY_DATA=MIRROR embassay data list

Files whose rows are those of a table are linked; the others are written from the rows they hold. Some hold a part
of the dataset only: 5,427 of SICK-R's pairs, 2,000 of the newsgroups' posts, 50 bills. With --stand-ins also datasets
under the name of one that is not at hand: TweetEval's emotions, MRPC for tweets, WikiQA for AskUbuntu.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]

LINKED: Mapping[str, str] = {
    "stsbenchmark/test": "sts/stsb_en_test",
    "sts12/test": "sts/sts12_test",
    "sts13/test": "sts/sts13_test",
    "sts17/test/en-en": "sts/sts17_en-en_test",
    "sts17/test/ar-ar": "sts/sts17_ar-ar_test",
    "sts17/test/en-ar": "sts/sts17_ar-en_test",
    "sickr/test": "sts/sick_r_test_trial",
    "banking77/train": "classification/banking77_train",
    "banking77/test": "classification/banking77_test",
    "sib200/test/eng_Latn": "classification/sib200_eng_Latn",
    "sib200/test/dan_Latn": "classification/sib200_dan_Latn",
    "scifact/corpus": "retrieval/scifact/corpus",
    "billsum/test": "summarization/billsum",
    "cnn-dailymail/test": "summarization/cnn_dailymail_100",
    "sumpubmed/test": "summarization/sumpubmed_150",
}
"""Table of the mirror: file of the data, both without .jsonl.gz."""


def _split(name: str) -> Callable[[Iterable[Row]], Iterator[Row]]:
    return lambda rows: (row for row in rows if row["split"] == name)


def _headlines(rows: Iterable[Row]) -> Iterator[Row]:
    return ({"text": row["headline"], "label": row["label"]} for row in rows if row["split"] == "test")


def _subjects(rows: Iterable[Row]) -> Iterator[Row]:
    return ({"text": row["subject"], "label": row["label"]} for row in rows)


WRITTEN: Mapping[str, tuple[str, Callable[[Iterable[Row]], Iterator[Row]]]] = {
    "scifact/queries": ("retrieval/scifact/queries", _split("dev")),
    "scifact/qrels": ("retrieval/scifact/qrels", _split("dev")),
    "masakhanews/test/hau": ("classification/masakhanews_hau", _headlines),
    "masakhanews/test/swa": ("classification/masakhanews_swa", _headlines),
    "twentynewsgroups/test": ("clustering/20newsgroups_sample", _subjects),
}
"""Table of the mirror: file of the data, and what becomes of its rows."""

STAND_INS: Mapping[str, tuple[str, Callable[[Iterable[Row]], Iterator[Row]]]] = {
    "emotion/train": ("classification/tweeteval_emotion", _split("train")),
    "emotion/test": ("classification/tweeteval_emotion", _split("test")),
    "twitter-semeval2015/test": ("pair_classification/mrpc_test", _split("test")),
    "askubuntu/reranking": ("reranking/wikiqa_test", _split("test")),
}


def lay_out(data: Path, mirror: Path, *, stand_ins: bool = False) -> list[str]:
    """The names of the datasets that are in `mirror` now."""
    for table, file in LINKED.items():
        target = _target(mirror, table)
        target.unlink(missing_ok=True)
        target.symlink_to(os.path.relpath(data / f"{file}.jsonl.gz", target.parent))
    written = {**WRITTEN, **(STAND_INS if stand_ins else {})}
    for table, (file, change) in written.items():
        _write(_target(mirror, table), change(_rows(data / f"{file}.jsonl.gz")))
    _write(_target(mirror, "summeval/test"), _rated(data / "summarization"))
    return sorted({table.split("/")[0] for table in (*LINKED, *written, "summeval/test")})


def _rated(folder: Path) -> Iterator[Row]:
    """One row per document of SummEval, as MTEB has it: all human and all machine summaries."""
    machine: dict[str, list[Row]] = {}
    for row in _rows(folder / "summeval_summaries.jsonl.gz"):
        machine.setdefault(row["doc_id"], []).append(row)
    for row in _rows(folder / "summeval_documents.jsonl.gz"):
        yield {
            "text": row["text"],
            "human_summaries": row["references"],
            "machine_summaries": [one["summary"] for one in machine[row["doc_id"]]],
            "relevance": [one["relevance"] for one in machine[row["doc_id"]]],
        }


def _target(mirror: Path, table: str) -> Path:
    path = mirror / f"{table}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _rows(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _write(path: Path, rows: Iterable[Row]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    """Lay out, and say what is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--stand-ins", action="store_true")
    given = parser.parse_args()
    print(*lay_out(given.data.resolve(), given.mirror.resolve(), stand_ins=given.stand_ins), sep="\n")


if __name__ == "__main__":
    main()
