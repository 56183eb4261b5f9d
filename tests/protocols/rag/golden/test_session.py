"""A golden set from the call to the finished folder: resumed, redone, refused, failed."""

import json
import shutil
from functools import partial

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden import protocol, stages
from embassay.protocols.rag.golden.corpus import CachedGoldenEncoder
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.stages import STAGES, read_json_line_rows
from embassay.protocols.rag.golden.summary import read_golden_record

from .conftest import SUBJECTS, artefacts, make_pack

LOCKS = "locks:stability_turns=2"
OPTIONS = GoldenOptions(depth=8, minimum=6, top=4)


def make(pack, out, judge=None, **changes):
    arguments = {"options": OPTIONS, "ranking": LOCKS, **pack.arguments, **changes}
    return protocol.golden("wordllama", judge or pack.judge(order_noise=0.5), out=out, **arguments)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A pack that is never changed, and a finished run of it."""
    folder = tmp_path_factory.mktemp("once")
    pack = make_pack(folder / "pack")
    return pack, make(pack, folder / "whole").path


@pytest.fixture
def pack(once):
    return once[0]


@pytest.fixture
def whole(once, tmp_path):
    """A finished run, to be changed at will."""
    shutil.copytree(once[1], tmp_path / "whole")
    return tmp_path / "whole"


@pytest.fixture
def own(tmp_path):
    """A pack to be changed at will."""
    return make_pack(tmp_path / "pack")


def test_every_stage_leaves_what_the_spec_says(whole):
    """Fields of each artefact of one question, and the manifests of run and stages."""
    folder = whole / "q01"
    first = json.loads((folder / "s1_rewrites" / "q01.json").read_text())
    assert {key: first[key] for key in ("qid", "text", "text_rewrite", "tags", "input_type", "output_dimension")} == {
        "qid": "Q1", "text": "What is known of tea?", "text_rewrite": "What is known of tea?", "tags": ["tea"],
        "input_type": "query", "output_dimension": 256,
    }  # fmt: skip
    assert len(first["embedding"]) == 256
    dense = read_json_line_rows(folder / "s2_candidates" / "dense" / "q01.top8.jsonl")
    assert [row["rank_dense"] for row in dense] == list(range(1, 9))
    assert {"qid", "question", "query_rewrite", "doc_id", "text", "metadata", "score_cos", "score_raw"} <= dense[
        0
    ].keys()
    sparse = read_json_line_rows(folder / "s2_candidates" / "sparse" / "q01.top8.jsonl")
    assert {"rank_sparse", "score_bm25", "bm25_query"} <= sparse[0].keys()
    assert sparse[0]["doc_id"].startswith("tea")
    merged = read_json_line_rows(folder / "s3_merge" / "q01.merge.jsonl")
    assert [row["rank_rrf"] for row in merged] == list(range(1, len(merged) + 1))
    assert {row["source"] for row in merged} <= {"dense", "sparse", "both"}
    scored = read_json_line_rows(folder / "s4_scores" / "q01.scores.jsonl")
    assert {row["doc_id"]: row["grade"] for row in scored if row["doc_id"].startswith("tea")}["tea-5"] == 5
    assert {"grade", "model", "temperature", "top_p", "ts", "rank_rrf"} <= scored[0].keys()
    pruned = read_json_line_rows(folder / "s5_pruned" / "q01.top6plus.jsonl")
    assert len(pruned) >= 6
    assert {"cut_stage", "cut_size", "cut_ts"} <= pruned[0].keys()
    ranked = read_json_line_rows(folder / "s6_ranked" / "q01.top4.jsonl")
    assert [row["final_rank"] for row in ranked] == [1, 2, 3, 4]
    assert {"final_score", "exposures", "info"} <= ranked[0].keys()
    assert all((folder / name / "_SUCCESS").read_bytes() == b"" for name in STAGES.values())
    asked = json.loads((whole / "questions_manifest.json").read_text())
    assert (asked["count"], asked["selected"]) == (4, ["Q1", "Q2", "Q3", "Q4"])
    manifest = json.loads((whole / "manifest.json").read_text())
    assert (manifest["protocol"], manifest["kind"], manifest["status"]) == ("rag", "golden", "finished")
    assert [cell["status"] for cell in manifest["cells"]] == ["done"] * 4
    assert manifest["inputs"]["corpus"][0]["sha256"]


def test_the_vector_reads_back_as_it_was(whole):
    """The shortest decimals that are the same float32."""
    found = json.loads((whole / "q02" / "s1_rewrites" / "q02.json").read_text())["embedding"]
    from embassay.systems.encoders.wordllama import WordLlamaEncoder

    own = WordLlamaEncoder().encode(["What is known of bees?"], role="query")[0]
    assert np.array_equal(np.array(found, dtype=np.float32), own)


def test_the_record_and_the_export_hold_what_was_found(whole):
    """Four questions, their grades and tokens; qrels with every graded passage."""
    golden = read_golden_record(whole / "golden.json")
    assert [one.status for one in golden.queries] == ["done"] * 4
    assert golden.tokens.n == sum(one.pool for one in golden.queries)
    assert golden.labels["grade5_count_median"] >= 1
    qrels = (whole / "export" / "qrels.tsv").read_text().splitlines()
    assert len(qrels) == 1 + sum(one.pool for one in golden.queries)
    assert "Q1\ttea-5\t5" in qrels


def test_the_same_call_again_asks_for_nothing(pack, whole):
    """All stages of all questions are kept, and nothing changes but the sessions."""
    before = artefacts(whole)
    run = make(pack, whole)
    told = run.manifest["stages"]
    assert [told[stage]["kept"] for stage in STAGES] == [4] * 6
    assert artefacts(whole) == before
    assert len(run.manifest["sessions"]) == 2


class Killed(BaseException):
    """Stands for a kill: nothing more is written."""


@pytest.mark.parametrize(
    "share", [0.02, 0.45, 0.97, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.15, 0.3, 0.6, 0.75, 0.9))]
)
def test_killed_at_any_write_it_ends_with_the_same_artefacts(pack, whole, tmp_path, monkeypatch, share):
    """Whichever file was about to be written: between artefact and manifest, manifest and _SUCCESS, two questions."""
    written = count_writes(pack, tmp_path / "counted", monkeypatch)
    out = tmp_path / "broken"
    with monkeypatch.context() as patch:
        patch.setattr(protocol.GoldenSetRunAttempt, "finish_run_attempt", lambda self: None)
        patch.setattr(stages, "write_file_atomically", killing(stages.write_file_atomically, round(share * written)))
        with pytest.raises(Killed):
            make(pack, out)
    make(pack, out)
    assert artefacts(out) == artefacts(whole)


def count_writes(pack, out, monkeypatch):
    count = [0]

    def counting(path, content, write=stages.write_file_atomically):
        count[0] += 1
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(stages, "write_file_atomically", counting)
        make(pack, out)
    return count[0]


def killing(write, after):
    left = [after]

    def write_or_die(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        write(path, content)

    return write_or_die


@pytest.mark.parametrize(
    ("changes", "stage"),
    [
        ({"options": GoldenOptions(depth=9, minimum=6, top=4)}, "S2"),
        ({"options": GoldenOptions(depth=8, minimum=6, top=4, rrf_c=30)}, "S3"),
        ({"options": GoldenOptions(depth=8, minimum=9, top=4)}, "S5"),
        ({"ranking": "grades"}, "S6"),
        ({"rewriter": "rules"}, "S1"),
    ],
)
def test_a_later_knob_needs_from_stage(pack, whole, changes, stage):
    """Refused, with the stage that would have to be redone; with it, that stage and later ones are, and no others."""
    with pytest.raises(UsageError, match=f"--from-stage {stage}"):
        make(pack, whole, **changes)
    told = make(pack, whole, from_stage=stage, **changes).manifest["stages"]
    assert [told[one]["done"] for one in STAGES] == [0 if one < stage else 4 for one in STAGES]


@pytest.mark.parametrize("changes", [{"seed": 1}, {"limit": 2}, {"mapping": {"text": "title"}}])
def test_another_question_set_is_refused_whatever_is_redone(pack, whole, changes):
    """Also with --force: it would be another golden set."""
    with pytest.raises(UsageError, match="Choose another --out"):
        make(pack, whole, force=True, **changes)


def test_force_redoes_all(pack, whole):
    """All six stages; the artefacts are the same."""
    before = artefacts(whole)
    told = make(pack, whole, force=True).manifest["stages"]
    assert [told[stage]["done"] for stage in STAGES] == [4] * 6
    assert artefacts(whole) == before


def test_a_changed_corpus_redoes_what_depends_on_it(own, tmp_path):
    """S1 stays, S2 and later are done again; passages that were graded are not graded again."""
    pack, whole = own, make(own, tmp_path / "whole").path
    corpus = pack.folder / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + json.dumps({"id": "new", "text": "green tea is new"}) + "\n")
    told = make(pack, whole).manifest["stages"]
    assert [told[stage]["done"] for stage in STAGES] == [0, 4, 4, 4, 4, 4]
    assert "new" in {row["doc_id"] for row in read_json_line_rows(whole / "q01" / "s4_scores" / "q01.scores.jsonl")}


def test_an_edited_artefact_is_taken_as_it_is(pack, whole):
    """Whoever corrects a grade by hand gets S5 and S6 of that question anew, and of no other."""
    path = whole / "q01" / "s4_scores" / "q01.scores.jsonl"
    path.write_text(path.read_text().replace('"grade": 5', '"grade": 4'))
    told = make(pack, whole).manifest["stages"]
    assert [told[stage]["done"] for stage in STAGES] == [0, 0, 0, 0, 1, 1]
    assert "Q1\ttea-5\t4" in (whole / "export" / "qrels.tsv").read_text()


def test_failed_questions_are_listed_and_never_graded(pack, tmp_path):
    """A judge that gives nothing: later stages are not run, nothing is exported of them, and they are tried again."""
    options = GoldenOptions(depth=8, minimum=6, top=4, failed="leave-out")
    judged = {"judge": pack.judge(failing=0.15), "ranking": "grades", "options": options}
    run = make(pack, tmp_path / "run", **judged)
    failed = [cell for cell in run.manifest["cells"] if cell["status"] == "failed"]
    assert 0 < len(failed) < 4
    assert all(cell["stage"] == "S4" and "6 attempts" in cell["reason"] for cell in failed)
    assert run.manifest["status"] == "partial"
    for cell in failed:
        assert not (run.path / cell["folder"] / "s5_pruned").exists()
        assert cell["query_id"] + "\t" not in (run.path / "export" / "qrels.tsv").read_text()
    golden = read_golden_record(run.path / "golden.json")
    assert "over 5%" in golden.notes[0]
    assert {one.query_id for one in golden.failed} == {cell["query_id"] for cell in failed}
    before = artefacts(run.path)
    again = make(pack, run.path, **judged)
    assert again.manifest["stages"]["S4"]["kept"] == 4 - len(failed)
    assert artefacts(run.path) == before


def test_an_unreadable_passage_does_not_lose_its_question(pack, tmp_path):
    """By default the question goes on, the passages without a grade are in no qrels, and a note counts them."""
    options = GoldenOptions(depth=8, minimum=6, top=4)
    run = make(pack, tmp_path / "run", judge=pack.judge(failing=0.15), options=options, ranking="grades")
    assert [cell["status"] for cell in run.manifest["cells"]] == ["done"] * 4
    rows = [row for path in run.path.glob("q*/s4_scores/*.jsonl") for row in read_json_line_rows(path)]
    ungraded = [row for row in rows if row["grade"] is None]
    assert ungraded
    assert len((run.path / "export" / "qrels.tsv").read_text().splitlines()) == 1 + len(rows) - len(ungraded)
    golden = read_golden_record(run.path / "golden.json")
    assert any(note.startswith(f"{len(ungraded)} of {len(rows)} passages") for note in golden.notes)
    assert golden.stages[3].counts["ungraded"] == len(ungraded)


def test_a_question_whose_order_cannot_be_had_fails_in_the_last_stage(pack, tmp_path):
    """It is graded, but in no export; tried again alone, the others stay as they are."""
    judge, depth = pack.judge(failing=0.15), GoldenOptions(depth=8, minimum=6, top=4, failed="ungraded")
    run = make(pack, tmp_path / "run", judge=judge, options=depth)
    failed = {
        cell["query_id"] for cell in run.manifest["cells"] if cell["stage"] == "S6" and cell["status"] == "failed"
    }
    assert 0 < len(failed) < 4
    before = artefacts(run.path)
    again = make(pack, run.path, judge=judge, options=depth)
    assert again.manifest["stages"]["S6"]["kept"] == 4 - len(failed)
    # The log of one that failed has another line: it failed again.
    logs = {
        f"{key.lower().replace('q', 'q0')}/s6_ranked/{key.lower().replace('q', 'q0')}.calls.jsonl" for key in failed
    }
    now = artefacts(run.path)
    assert {name for name in now if now[name] != before.get(name)} == logs


def test_a_text_that_cannot_be_encoded_fails_its_question(pack, tmp_path, monkeypatch):
    """S1 checks length and finiteness of every vector; the others go on."""
    own = CachedGoldenEncoder.vectors

    def broken(self, texts, role):
        vectors = own(self, texts, role)
        if role == "query":
            vectors[texts.index("What is known of bees?")] = np.nan
        return vectors

    monkeypatch.setattr(CachedGoldenEncoder, "vectors", broken)
    run = make(pack, tmp_path / "run")
    states = {cell["query_id"]: (cell["status"], cell["stage"]) for cell in run.manifest["cells"]}
    assert states == {"Q1": ("done", "S6"), "Q2": ("failed", "S1"), "Q3": ("done", "S6"), "Q4": ("done", "S6")}


def test_the_pack_may_bring_rewrites_and_queries_for_words(own, tmp_path):
    """A rewrite of the file wins over the rewriter, and is what is embedded; NFC composes it."""
    rows = [json.loads(line) for line in (own.folder / "queries.jsonl").read_text().splitlines()]
    rows[0] |= {"rewrite": "cafe\u0301 tea", "bm25_query": "glass"}
    (own.folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = make(own, tmp_path / "run", rewriter="rules")
    first = json.loads((run.path / "q01" / "s1_rewrites" / "q01.json").read_text())
    assert (first["text_rewrite"], first["bm25_query"]) == ("café tea", "glass")
    assert read_json_line_rows(run.path / "q01" / "s2_candidates" / "sparse" / "q01.top8.jsonl")[0][
        "doc_id"
    ].startswith("glass")


def test_documents_are_cut_into_chunks(pack, tmp_path):
    """Ids doc#n, a breadcrumb from title and date in front, and where in the document it is."""
    options = GoldenOptions(depth=8, minimum=6, top=4, chunk=8, overlap=2)
    run = make(pack, tmp_path / "run", options=options)
    row = read_json_line_rows(run.path / "q01" / "s3_merge" / "q01.merge.jsonl")[0]
    source, _, number = row["doc_id"].rpartition("#")
    assert source.rpartition("-")[0] in SUBJECTS
    assert (row["metadata"]["source"], row["metadata"]["chunk"]) == (source, int(number))
    assert row["text"].startswith(f"{source.partition('-')[0]}, 190")
    assert read_golden_record(run.path / "golden.json").tokens.sd > 0


def test_the_judge_may_be_asked_again_and_a_person_too(pack, tmp_path):
    """--repeat and --human: agreement with itself, and a file to edit, which is never overwritten."""
    options = GoldenOptions(depth=8, minimum=6, top=4, repeat=10, human=0.5)
    judge = pack.judge(grade_noise=0.6, order_noise=0.6)
    run = make(pack, tmp_path / "run", judge=judge, options=options)
    golden = read_golden_record(run.path / "golden.json")
    assert golden.repeated.items == 10
    assert 0 < golden.repeated.exact.value < 1
    check = run.path / "human_check.csv"
    check.write_text("edited", encoding="utf-8")
    make(pack, run.path, judge=judge, options=options)
    assert check.read_text() == "edited"


def test_a_limit_draws_questions(pack, tmp_path):
    """As many as are asked for; the corpus stays as it is whole."""
    run = make(pack, tmp_path / "run", limit=2)
    assert len(run.manifest["cells"]) == 2
    assert run.manifest["datasets"][0]["tasks"]["golden"]["n"] == 2


CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        (CORPUS, '{"id": "a"}\n', "no column 'text'"),
        (CORPUS, '{"id": "a", "text": 3}\n', "corpus.jsonl:1: .*a text"),
        (CORPUS, '{"id": "a", "text": "b"}\n{', "corpus.jsonl:2: "),
        (QUERIES, "", "queries.jsonl: the file is empty"),
        (QUERIES, '{"id": "a", "text": " "}\n', "no row can be used"),
        (QUERIES, '{"id": "a", "text": "b"}\n' * 2, "appears twice"),
    ],
)
def test_broken_input_is_named_before_anything_is_made(own, tmp_path, file, text, error):
    """File, line and what is wrong; no folder is left."""
    (own.folder / file).write_text(text)
    with pytest.raises(DataError, match=error):
        make(own, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda make: make(corpus="", queries=""), "needs documents and questions"),
        (lambda make: make(queries=""), "--queries is missing"),
        (lambda make: make(dataset="sample"), "Both a dataset and files"),
        (lambda make: make(corpus="gone.jsonl"), "no file 'gone.jsonl'"),
        (lambda make: make(ranking="lock"), "no engine called 'lock'"),
        (lambda make: make(rewriter="rule"), "no rewriter called 'rule'"),
        (lambda make: make(from_stage="S7"), "no stage 'S7'"),
        (lambda make: make(limit=0), "at least 1 question"),
        (lambda make: make(judge="simulate:x"), "no judge called 'simulate'"),
    ],
)
def test_what_cannot_be_meant_is_refused(pack, tmp_path, call, error):
    """Before anything is made."""
    with pytest.raises(UsageError, match=error):
        call(partial(make, pack, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_an_encoder_is_needed(pack, tmp_path):
    """bm25 has no vectors."""
    with pytest.raises(UsageError, match="makes no vectors"):
        protocol.golden("bm25", pack.judge(), out=tmp_path / "run", **pack.arguments)


def test_a_folder_of_another_run_is_left_alone(pack, tmp_path):
    """Whatever protocol it is of."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text('{"schema": 1, "protocol": "sage", "arguments": {}}')
    with pytest.raises(UsageError, match="different kind"):
        make(pack, tmp_path / "run")


def test_it_is_called_from_python(pack, tmp_path):
    """`eb.rag.golden(...)`, whatever was imported before."""
    import embassay as eb

    run = eb.rag.golden(
        "wordllama", pack.judge(), out=tmp_path / "run", ranking="grades", options=eb.rag.GoldenOptions(depth=8),
        limit=1, **pack.arguments,
    )  # fmt: skip
    assert run.manifest["status"] == "finished"
    assert "label_summary" in {path.stem for path in (run.path / "tables").glob("*.csv")}


def test_a_passage_that_cannot_be_encoded_is_found_by_words_alone(pack, tmp_path, monkeypatch):
    """And said so."""
    own = CachedGoldenEncoder.vectors

    def broken(self, texts, role):
        vectors = own(self, texts, role)
        if role == "document":
            vectors[[place for place, text in enumerate(texts) if text.startswith("tea")]] = np.nan
        return vectors

    monkeypatch.setattr(CachedGoldenEncoder, "vectors", broken)
    monkeypatch.setattr(CachedGoldenEncoder, "failures", {"tea green tea leaves. Note 0.": "not taken"})
    run = make(pack, tmp_path / "run", limit=1)
    rows = [row for path in run.path.glob("q*/s3_merge/*.jsonl") for row in read_json_line_rows(path)]
    assert {row["source"] for row in rows if row["doc_id"].startswith("tea")} <= {"sparse"}
    assert "could not encode, so only BM25 can find them: 1 (tea-0)" in run.manifest["warnings"][0]
