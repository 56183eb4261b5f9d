"""Systems and datasets that are objects of the caller: found again, named, and blamed by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay
from embassay.errors import ModelError, UsageError
from embassay.systems.objects import CallerObjectEncoder, find_passed_in_encoder, register_systems_and_list_specs

ROWS = [
    {
        "text": f"the {'cat' if n % 2 else 'hedge'} waits by gate {n}",
        "summary": f"a {'cat' if n % 3 else 'bag'} waits by the {'gate' if n % 5 else 'door'}",
        "overall": (n * 7) % 11 / 2,
    }
    for n in range(40)
]


class Mine:
    """Counts, as an encoder of three dimensions; notes what it was asked."""

    identity = "mine-1"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.roles: set[str | None] = set()

    def encode(self, texts: Sequence[str], role: str | None = None) -> list[list[int]]:
        self.asked += texts
        self.roles.add(role)
        return [[len(text), text.count("e"), text.count(" ") + 1] for text in texts]


def letters(texts: Sequence[str]) -> Any:
    """A function from texts to an array."""
    return np.array([[text.count(letter) + 1 for letter in "abcdefgh"] for text in texts])


def run(systems: Any, out: Path, **more: Any) -> Any:
    arguments = {"datasets": [ROWS], "tasks": ["preference"], "tokenizer": "words", **more}
    return embassay.sage.run(systems, out=out, cache=out.parent / "vectors.sqlite", **arguments)


def test_objects_functions_and_names_run_together(tmp_path: Path) -> None:
    """Each has its row, its interval and its rank; the frame lies beside the run as a file."""
    made = run([Mine(), letters, "jaccard"], tmp_path / "run")
    ranks = made.ranks("preference")
    assert {"Mine", "letters", "jaccard"} <= set(ranks["system"])
    assert ranks.filter(pl.col("system") == "Mine")["rank_low"][0] >= 1
    assert (tmp_path / "run-data" / "data-1.jsonl").read_text("utf-8").count("\n") == len(ROWS)
    assert "Mine" in str(made)
    assert "<p>" in made._repr_html_()
    assert made.report().read_text("utf-8").count("letters")


@pytest.mark.parametrize("frame", ["polars", "lazy", "arrow", "pandas", "rows"])
def test_a_frame_is_its_rows(tmp_path: Path, frame: str) -> None:
    """Whatever holds them, the file and so the values are the same."""
    rows: Any = ROWS
    if frame == "polars":
        rows = pl.DataFrame(ROWS)
    if frame == "lazy":
        rows = pl.LazyFrame(ROWS)
    if frame == "arrow":
        rows = pytest.importorskip("pyarrow").Table.from_pylist(ROWS)
    if frame == "pandas":
        rows = pytest.importorskip("pandas").DataFrame(ROWS)
    made = run(["jaccard"], tmp_path / "run", datasets={"notes": rows})
    expected = run(["jaccard"], tmp_path / "other", datasets={"notes": ROWS})
    assert (tmp_path / "run-data" / "notes.jsonl").read_bytes() == (
        tmp_path / "other-data" / "notes.jsonl"
    ).read_bytes()
    assert made.ranks("preference").equals(expected.ranks("preference"))


def test_a_run_goes_on_with_an_object_that_says_who_it_is(tmp_path: Path) -> None:
    """The same identity: nothing is encoded again, though the object is another."""
    first, again = Mine(), Mine()
    one = run({"mine": first}, tmp_path / "run")
    two = run({"mine": again}, tmp_path / "run")
    assert first.asked
    assert not set(again.asked) - {"dimensions"}
    assert one.results.equals(two.results)
    assert first.roles <= {None, "query", "document"}


def test_an_object_without_identity_is_never_taken_for_another(tmp_path: Path) -> None:
    """Two objects of one name in turn: the second one's own vectors count."""
    values = []
    for sign in (1, -1):

        def model(texts: Sequence[str], sign: int = sign) -> Any:
            return letters(texts) * sign + (np.arange(8) if sign < 0 else 0)

        values.append(
            find_passed_in_encoder(register_systems_and_list_specs({"model": model})[0].removeprefix("own:")).encode(
                ["a fox"]
            )[0]
        )
    assert not np.allclose(*values)


def test_weights_are_an_identity() -> None:
    """An object with `state_dict` is known by its weights, in any process."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 2)
    layer.encode = lambda texts: np.ones((len(texts), 2))
    (spec,) = register_systems_and_list_specs({"layer": layer})
    before = find_passed_in_encoder("layer").identity
    assert find_passed_in_encoder("layer").can_resume_run
    with torch.no_grad():
        layer.weight += 1
    other = torch.nn.Linear(2, 2)
    other.encode = layer.encode
    assert register_systems_and_list_specs({"layer": other}) == (spec,)
    assert find_passed_in_encoder("layer").identity != before


def test_what_is_no_system_is_refused(tmp_path: Path) -> None:
    """What was given, and what can be."""
    for wrong in ([3], [Mine], [object()]):
        with pytest.raises(UsageError, match=r"encode|class"):
            register_systems_and_list_specs(wrong)
    with pytest.raises(UsageError, match="workers"):
        register_systems_and_list_specs([letters], workers=2)
    with pytest.raises(UsageError, match="Two systems"):
        register_systems_and_list_specs([letters, letters])
    with pytest.raises(UsageError, match="no rows"):
        run(["jaccard"], tmp_path / "run", datasets=[[]])
    with pytest.raises(UsageError, match="frame"):
        run(["jaccard"], tmp_path / "run", datasets=[{1, 2}])
    with pytest.raises(ModelError, match="process"):
        run(["own:nobody"], tmp_path / "run")


@pytest.mark.parametrize("made", [lambda texts: [[1.0]] * (len(texts) + 1), lambda texts: texts, lambda texts: [1.0]])
def test_what_an_object_gives_is_checked(made: Any) -> None:
    """One vector per text, or the cell fails with the object's name."""
    (spec,) = register_systems_and_list_specs({"odd": made})
    with pytest.raises(ModelError, match="odd"):
        find_passed_in_encoder(spec.removeprefix("own:")).encode(["a", "b"])


@pytest.mark.parametrize("code", [0, 3, None, "bye"])
def test_an_object_that_calls_exit_ends_nobody(code: Any, tmp_path: Path) -> None:
    """Its cell has failed, with what it did; the caller goes on."""

    def leave(texts: Sequence[str]) -> Any:
        raise SystemExit(code)

    with pytest.raises(ModelError, match="SystemExit"):
        CallerObjectEncoder(leave, "leaving").encode(["a"])


class Rearranging:
    """Changes the list that it is handed, in its order or in its texts."""

    identity = "rearranging"

    def __init__(self, change: Any) -> None:
        self._change = change

    def encode(self, texts: list[str]) -> Any:
        self._change(texts)
        return [[len(text), text.count("e"), 1] for text in texts]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (list.sort, "in 1 of 2 calls, reordering it in 1 of them, so vectors belong to the wrong texts"),
        (lambda texts: texts.__setitem__(0, "z"), "in 2 of 2 calls"),
        (lambda texts: None, ""),
    ],
)
def test_an_object_that_changes_what_it_is_handed_is_told_of(change: Any, told: str, tmp_path: Path) -> None:
    """How often; the lists of others stay as they are."""
    encoder, texts = CallerObjectEncoder(Rearranging(change), "mine"), ["c", "b"]
    encoder.encode(texts)
    encoder.encode(["a"])
    assert texts == ["c", "b"]
    assert len(encoder.object_faults) == bool(told)
    assert told in "".join(encoder.object_faults)


def test_an_object_that_writes_into_one_array_gives_each_call_its_own() -> None:
    """Else the first vectors would become those of the last call."""
    held = np.zeros((1, 3), dtype=np.float32)

    def fill(texts: Sequence[str]) -> Any:
        held[:] = len(texts[0])
        return held

    encoder = CallerObjectEncoder(fill, "mine")
    first = encoder.encode(["four"])
    encoder.encode(["longer"])
    assert first.tolist() == [[4, 4, 4]]


def test_the_same_weights_in_another_model_are_another_identity() -> None:
    """Other prompts, other parts, or methods by role: nothing is taken from the cache of the other."""
    torch = pytest.importorskip("torch")

    def model(*parts: Any, **attributes: Any) -> Any:
        made = torch.nn.Sequential(torch.nn.Linear(2, 2), *parts)
        with torch.no_grad():
            made[0].weight.fill_(1)
            made[0].bias.fill_(1)
        for name, value in {"encode": letters, **attributes}.items():
            object.__setattr__(made, name, value)
        return made

    variants = [
        model(), model(torch.nn.Tanh()), model(prompts={"query": "q: "}), model(max_seq_length=9),
        model(encode_query=letters, encode_document=letters),
    ]  # fmt: skip
    assert len({CallerObjectEncoder(one, "mine").identity for one in variants}) == len(variants)
    assert CallerObjectEncoder(model(), "mine").identity == CallerObjectEncoder(model(), "mine").identity


def test_queries_and_documents_go_to_methods_of_their_own() -> None:
    """Where the object has both; a role that it takes itself comes first."""

    class Both:
        def encode(self, texts: Sequence[str]) -> Any:
            return [[0.0, 1]] * len(texts)

        def encode_query(self, texts: Sequence[str]) -> Any:
            return [[1.0, 0]] * len(texts)

        def encode_document(self, texts: Sequence[str]) -> Any:
            return [[2.0, 0]] * len(texts)

    encoder = CallerObjectEncoder(Both(), "both")
    assert [encoder.encode(["a"], role=role)[0, 0] for role in ("query", "document", None)] == [1, 2, 0]


def test_what_encoders_of_other_libraries_give_is_taken() -> None:
    """Half precision of torch, which numpy has not; a generator; a function that embeds documents."""

    class Half:
        """A tensor of bfloat16, as far as it is asked for."""

        def detach(self) -> Half:
            return self

        cpu = detach

        def float(self) -> Any:
            return np.ones((2, 3))

        def __array__(self, *arguments: Any, **more: Any) -> Any:
            raise TypeError("Got unsupported ScalarType BFloat16")

    assert CallerObjectEncoder(lambda texts: Half(), "half").encode(["a", "b"]).shape == (2, 3)
    assert CallerObjectEncoder(lambda texts: ([1.0, 2.0] for _ in texts), "lazy").encode(["a", "b"]).shape == (2, 2)


def test_what_is_no_array_is_told_for_what_it_is() -> None:
    """A coroutine, a mapping, a class and an embedder of another library: each with what to write."""

    async def later(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    class Embedder:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

    with pytest.raises(ModelError, match=r"asyncio\.run"):
        CallerObjectEncoder(later, "later").encode(["a"])
    with pytest.raises(ModelError, match="dense_vecs"):
        CallerObjectEncoder(lambda texts: {"dense_vecs": [[1.0]]}, "keyed").encode(["a"])
    with pytest.raises(ModelError, match="complex numbers"):
        CallerObjectEncoder(lambda texts: [[1 + 2j]], "waves").encode(["a"])
    for wrong, mend in ((Mine, "Mine("), (Embedder(), "model.embed_documents")):
        with pytest.raises(UsageError) as told:
            register_systems_and_list_specs([wrong])
        assert mend in told.value.mend


@pytest.mark.parametrize("call", [embassay.sage.run, embassay.pteb.run])
def test_arguments_of_another_type_are_refused_before_anything_is_done(call: Any, tmp_path: Path) -> None:
    """A seed that is no number had spoilt the results of a whole run; no system at all made an empty one."""
    wrong = {"seed": "a", "limit": 2.5, "systems": []}
    for name, value in wrong.items():
        with pytest.raises(UsageError, match=r"whole number|no system"):
            call(**{"systems": ["jaccard"], "out": tmp_path / "run", name: value})
    with pytest.raises(UsageError, match="resamples"):
        embassay.sage.SageOptions(resamples="a")
    assert not (tmp_path / "run").exists()


def test_one_task_may_be_named_by_itself(tmp_path: Path) -> None:
    found = run(["jaccard"], tmp_path / "run", tasks="preference")
    assert "jaccard" in set(found.ranks("preference")["system"])


def test_runs_that_begin_within_a_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"datasets": [ROWS], "tasks": ["preference"], "tokenizer": "words"}
    found = [embassay.sage.run(["jaccard"], cache=tmp_path / "vectors.sqlite", **asked) for _ in range(3)]
    assert len({one.path for one in found}) == 3


def test_a_spec_keeps_its_own_name() -> None:
    """A name that would be passed over in silence is refused; its own may stand in a mapping beside named objects."""
    with pytest.raises(UsageError, match="jaccard"):
        register_systems_and_list_specs({"words": "jaccard"})
    assert register_systems_and_list_specs({"jaccard": "jaccard"}) == ("jaccard",)


@pytest.mark.parametrize(
    ("call", "wrong", "near"),
    [
        (lambda **more: embassay.sage.run(["jaccard"], **more), "task", "tasks"),
        (lambda **more: embassay.pteb.run(["jaccard"], **more), "paraphrasers", "paraphraser"),
        (lambda **more: embassay.rag.score({"q": {"a": 1}}, {"r": {"q": ["a"]}}, **more), "measure", "measures"),
        (lambda **more: embassay.rag.probe_names(["jaccard"], out="x", **more), "querys", "queries"),
        (lambda **more: embassay.pteb.judge(["recorded"], out="x", **more), "dataset", "datasets"),
    ],
)
def test_an_argument_that_there_is_not_has_the_nearest_as_its_mend(call: Any, wrong: str, near: str) -> None:
    """In every protocol, before anything is opened or written."""
    with pytest.raises(UsageError) as told:
        call(**{wrong: ("x",)})
    assert wrong in told.value.message
    assert repr(near) in told.value.mend


def test_an_object_that_fails_is_told_with_its_place():
    """The file and the line of the caller's code, since no traceback is shown."""

    class Failing:
        def encode(self, texts):
            return {}["oops"]

    with pytest.raises(ModelError, match=r"failed on a text: KeyError: 'oops' \(test_objects.py, line \d+\)"):
        CallerObjectEncoder(Failing(), "failing").encode(["one"])


@pytest.mark.parametrize("vector", [[0.0, 0, 0], [1.0, 2, 3]])
def test_a_system_that_tells_no_texts_apart_has_no_score(vector: Any, tmp_path: Path) -> None:
    """Of zeros, as servers send them for base64, or of any other vector: the order of ties is no value."""
    corpus = [{"id": str(place), "text": row["text"], "text2": row["summary"], "score": row["overall"]}
              for place, row in enumerate(ROWS)]  # fmt: skip
    done = embassay.pteb.run(
        {"same": lambda texts: [vector] * len(texts)}, datasets=[corpus], tasks=["sts"], original_only=True,
        tokenizer="words", out=tmp_path / "run",
    )  # fmt: skip
    mine = [row for row in done.results.to_dicts() if row["system"] == "same"]
    assert mine
    assert all(row["value"] is None for row in mine)
    assert any("the same vector" in row["reason"] for row in mine)


def test_a_caller_outlives_a_system_that_calls_exit(tmp_path: Path) -> None:
    """Before the run it is an error as any other; within it the cell has failed, and the others go on."""

    def leave(texts: Sequence[str]) -> Any:
        if list(texts) == ["dimensions"]:
            return [[1.0, 2]]
        raise SystemExit(5)

    def leave_at_once(texts: Sequence[str]) -> Any:
        raise SystemExit(5)

    with pytest.raises(ModelError, match="SystemExit: 5"):
        embassay.sage.run({"leaving": leave_at_once}, datasets=[ROWS], tokenizer="words", out=tmp_path / "none")
    done = embassay.sage.run(
        {"leaving": leave, "jaccard": "jaccard"}, datasets=[ROWS], tasks=["preference"], tokenizer="words",
        out=tmp_path / "run",
    )  # fmt: skip
    valued = {row["system"] for row in done.results.to_dicts() if row["value"] is not None}
    assert "jaccard" in valued
    assert "leaving" not in valued
