"""A strict reader of HTEB's files, made from the rules of the authors' code and from nothing of ours (spec hteb 12)."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

AXES = ("paraphrasing", "backtranslation", "style_change", "expansion", "summarise", "summarised_expansion",
        "translation", "cross_translation")  # fmt: skip
IDENTITY = ("generator_model", "transformation", "dataset", "seed_transform")
NUMBERS = {"max_model_length": 1, "max_tokens": 1, "max_retries": 0, "seed_transform": 0}
VISIBLE = ("records_total", "records_targeted", "text_fields_total", "records_with_fallback",
           "text_fields_with_fallback", "unchanged_outputs")  # fmt: skip
HISTORY = ("retried_text_fields", "recovered_after_retry_text_fields", "fallback_reasons")
WHY = {"prompt_too_long", "invalid_json_after_retries", "invalid_text_after_retries", "output_length_after_retries",
       "backend_failure"}  # fmt: skip
EXTRA = {"data_filtering", "source_revision", "translation_language_selection", "max_tokens_expansion",
         "transform_corpus", "clustering_format"}  # fmt: skip


def strict(data: Path, metadata: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The metadata and the rows of a pair of files; an AssertionError for whatever the authors' code would refuse."""
    parquet = pytest.importorskip("pyarrow.parquet")
    told = json.loads(metadata.read_text("utf-8"))
    _keys(told)
    assert data.parts[-5:-1] == (_folder(told["generator_model"]), told["dataset"], told["transformation"],
                                 str(told["seed_transform"]))  # fmt: skip
    date = told["generation_datetime"]
    named = {name: told[name] for name in IDENTITY} | ({"generation_datetime": date} if date else {})
    compact = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    own = f"data_{hashlib.sha256(compact.encode()).hexdigest()}.parquet"
    assert data.name in (own, "data.parquet")
    assert metadata.name == data.name.replace("data", "metadata", 1).replace(".parquet", ".JSON")
    with parquet.ParquetFile(data) as file:
        schema = file.schema_arrow
        assert not schema.metadata
        assert schema.names == ["original", f"{told['transformation']}_seed_{told['seed_transform']}"]
        assert schema.types[0] == schema.types[1]
        assert str(schema.types[0]).startswith("struct")
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        rows = file.read().to_pylist()
    assert len(rows) == told["generation_statistics"]["records_total"]
    _statistics(told["generation_statistics"], told["max_retries"])
    return told, rows


def _folder(model: str) -> str:
    return quote(model, safe="").replace("~", "%7E").replace("%", "~")


def _keys(told: dict[str, Any]) -> None:
    required = {*IDENTITY, *NUMBERS, "generation_datetime", "generation_statistics"}
    assert required <= told.keys()
    assert told.keys() - required <= EXTRA, "an extra key"
    assert all(type(told[name]) is int and told[name] >= least for name, least in NUMBERS.items())
    assert told["transformation"] in AXES
    date = told["generation_datetime"]
    assert date is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", date)
    assert told.get("translation_language_selection") == (
        "dataset" if told["transformation"] == "translation" else None
    )
    expansion = told.get("max_tokens_expansion")
    assert (expansion is not None) == (told["transformation"] == "summarised_expansion")
    assert expansion is None or 0 < expansion < told["max_model_length"]


def _statistics(counts: dict[str, Any], retries: int) -> None:
    assert set(counts) == {*VISIBLE, *HISTORY}
    assert all(type(counts[name]) is int and counts[name] >= 0 for name in VISIBLE)
    total, targeted, texts, rows, failed, unchanged = (counts[name] for name in VISIBLE)
    assert targeted <= min(total, texts)
    assert rows <= min(targeted, failed)
    assert failed + unchanged <= texts
    assert bool(rows) == bool(failed)
    assert bool(targeted) == bool(texts)
    retried, recovered, reasons = (counts[name] for name in HISTORY)
    if retried == recovered == reasons == "":
        return
    assert retried <= texts
    assert recovered <= min(retried, texts - failed)
    assert not (retries == 0 and retried)
    assert set(reasons) <= WHY
    assert all(type(count) is int and count > 0 for count in reasons.values())
    assert sum(reasons.values()) == failed
