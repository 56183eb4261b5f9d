"""The study in one file: nothing fetched, no gold, the same bytes, and answers that come back as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from embassay.cli.hume import app
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.adjudication import export_gold
from embassay.protocols.hume.collection import collect_study_annotations
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.store import open_answer_store
from embassay.protocols.hume.study import AnnotationRow, read_study
from embassay.web.annotation.page import (
    STATIC,
    bundle_script_modules,
    order_script_modules,
    render_annotator_html_page,
    render_annotator_page,
    write_annotator_file,
)

from .made_study import write_made_study

REPORT_STYLE = Path(__file__).parents[4] / "src/embassay/report/assets/report.css"


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    """A file is made of the study and the annotator only; another annotator gets another order."""
    study = read_study(write_made_study(tmp_path / "study"))
    assert render_annotator_html_page(study, "ann") == render_annotator_html_page(study, "ann")
    orders = [
        re.search(r'"items":(\[[^]]*\])', render_annotator_html_page(study, who)).group(1)  # type: ignore[union-attr]
        for who in ("ann", "bob", "cleo")
    ]
    assert len(set(orders)) > 1


def test_gold_is_not_even_read(tmp_path: Path) -> None:
    """The file can be written where there is no gold, so none of it can be inside."""
    folder = write_made_study(tmp_path / "study")
    (folder / "gold.jsonl").unlink()
    text = write_annotator_file(folder, "ann", tmp_path / "ann.html").read_text("utf-8")
    assert "groundwater contamination" in text
    assert "gold" not in text.replace("golden", "")


def test_text_of_the_study_cannot_end_its_script(tmp_path: Path) -> None:
    """Whatever stands in an item, the data stay data."""
    folder = write_made_study(tmp_path / "study", "emotion")
    lines = (folder / "items.jsonl").read_text("utf-8").replace("again", "</script><script>alert(1)//")
    (folder / "items.jsonl").write_text(lines, "utf-8")
    text = render_annotator_html_page(read_study(folder), "ann")
    assert "alert(1)" in text
    assert len(re.findall("</script>", text)) == 2


def test_who_and_what_is_refused(tmp_path: Path) -> None:
    """A name that no file could have, and a folder without a study."""
    folder = write_made_study(tmp_path / "study", "pairs")
    for name in ("../ann", "", "a b", "x" * 99):
        with pytest.raises(UsageError, match="is not a valid annotator name"):
            write_annotator_file(folder, name, tmp_path / "x.html")
    with pytest.raises(DataError, match="no study"):
        write_annotator_file(tmp_path, "ann", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`embassay hume offline` writes the file and names it."""
    monkeypatch.chdir(tmp_path)
    folder = write_made_study(tmp_path / "study", "pairs")
    done = CliRunner().invoke(app, ["offline", str(folder), "--annotator", "ann"])
    assert done.exit_code == 0
    assert done.stdout == "ann.html\n"
    assert (tmp_path / "ann.html").read_text("utf-8").startswith("<!doctype html>")


def _disputed(tmp_path: Path) -> Path:
    """A study of feelings in which two people say another of two items, and the same of a third."""
    folder = write_made_study(tmp_path / "study", "emotion")
    for who, values in (("ann", (4, 0, 5)), ("bob", (4, 1, 2))):
        lines = [
            {"item_id": f"emotion/{n}", "annotator_id": who, "value": one}
            for n, one in zip((0, 1, 3), values, strict=True)
        ]
        (tmp_path / f"{who}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        import_files(folder, [tmp_path / f"{who}.jsonl"])
    return folder


def test_an_adjudicators_file_and_what_comes_back(tmp_path: Path) -> None:
    """Disputed items alone, with what people said and no name; decisions are kept as such and are no annotation."""
    folder = _disputed(tmp_path)
    text = write_annotator_file(folder, "judy", tmp_path / "judy.html", adjudicates=True).read_text("utf-8")
    assert not re.search(r'"(ann|bob)"', text)
    told = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert set(told["payloads"]) == {"emotion/1", "emotion/3"}
    assert told["payloads"]["emotion/1"]["others"]["values"] == [{"value": 0, "people": 1}, {"value": 1, "people": 1}]
    assert [task["items"] for task in told["told"]["tasks"]] == [["emotion/1", "emotion/3"]]

    sent = tmp_path / "judy.answers.jsonl"
    line = {"item_id": "emotion/1", "annotator_id": "judy", "value": 1, "kind": "adjudicator", "flag": "", "seconds": 2}
    sent.write_text(json.dumps(line) + "\n")
    people = collect_study_annotations(read_study(folder))
    done = import_files(folder, [sent])
    assert (done.decisions, done.answers, done.new_annotators) == ({("judy", "emotion"): 1}, {}, ())
    assert import_files(folder, [sent]).replaced == 0
    assert collect_study_annotations(read_study(folder)) == people
    store = open_answer_store(read_study(folder), read_only=True)
    assert {item: one.value for item, one in store.list_adjudicator_decisions()["judy"].items()} == {"emotion/1": 1}
    store.close()
    export_gold(folder.absolute(), "adjudicated", tmp_path / "gold")
    why = {
        row["item_id"]: row["why"]
        for row in map(json.loads, (tmp_path / "gold" / "corrections.jsonl").read_text("utf-8").splitlines())
    }
    assert why["emotion/1"] in ("kept", "changed")
    assert why["emotion/3"] == "open"


def test_decisions_that_cannot_be_taken(tmp_path: Path) -> None:
    """Another decision than before without --replace, and one of somebody who annotated; nothing to decide yet."""
    folder = _disputed(tmp_path)
    sent = tmp_path / "judy.answers.jsonl"

    def send(who: str, value: int) -> None:
        line = {"item_id": "emotion/1", "annotator_id": who, "value": value, "kind": "adjudicator"}
        sent.write_text(json.dumps(line) + "\n")

    send("judy", 1)
    import_files(folder, [sent])
    send("judy", 2)
    with pytest.raises(UsageError, match="decided 1 of these items differently"):
        import_files(folder, [sent])
    assert import_files(folder, [sent], replace=True).replaced == 1
    send("ann", 1)
    with pytest.raises(UsageError, match="ann annotated this study"):
        import_files(folder, [sent])
    with pytest.raises(UsageError, match="do not disagree"):
        write_annotator_file(
            write_made_study(tmp_path / "new", "emotion"), "judy", tmp_path / "x.html", adjudicates=True
        )


def test_every_module_is_in_the_bundle() -> None:
    """No script lies about unused, none imports what another does not give, and each comes after what it needs."""
    names = [path.name for path in order_script_modules(STATIC)]
    assert sorted(names) == sorted(path.name for path in STATIC.glob("*.js"))
    text = bundle_script_modules()
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    for path in order_script_modules(STATIC):
        for wanted, source in re.findall(r'import \{([^}]*)\} from "\./([\w-]+\.js)"', path.read_text("utf-8")):
            given = re.findall(
                r"^export (?:async )?(?:function|class|const) ([\w$]+)",
                (STATIC / source).read_text("utf-8"),
                re.MULTILINE,
            )
            assert {one.strip() for one in wanted.split(",")} <= set(given), (path.name, source)
            assert names.index(source) < names.index(path.name)


def test_modules_and_budget() -> None:
    """Scripts are short, and script and style together stay small."""
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in STATIC.glob("*.js")}
    assert {name: n for name, n in lengths.items() if n > 350} == {}
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 135_000


def test_no_markup_from_data() -> None:
    """The one place that writes markup takes the rendered guidelines; nothing is evaluated or from elsewhere."""
    text = "".join(path.read_text("utf-8") for path in STATIC.glob("*.js"))
    assert re.findall(r"innerHTML.*", text) == ["innerHTML = task.guidelines_html;"]
    assert not re.search(r"outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://", text)


def test_colours_are_those_of_the_report() -> None:
    """Both sheets name the same tokens with the same colours, whose contrasts a test of the report measures."""

    def tokens(path: Path) -> dict[str, str]:
        return dict(re.findall(r"(--[\w-]+): (light-dark\([^)]*\))", path.read_text("utf-8")))

    report, own = tokens(REPORT_STYLE), tokens(STATIC / "annotate.css")
    own.pop("--on-link")
    assert own.items() <= report.items()


def test_frame_escapes_the_name() -> None:
    """The study's name is text, and every script is linked beside its link."""
    page = render_annotator_page("<b>&", "key\"'")
    assert "<title>&lt;b&gt;&amp;</title>" in page
    assert "<b>" not in page
    assert 'content="key&#34;&#39;"' in page
    assert page.count("modulepreload") == len(list(STATIC.glob("*.js")))


@pytest.mark.browser
@pytest.mark.slow
def test_from_the_file_to_the_answers(tmp_path: Path, visit: Callable[..., Any]) -> None:
    """Without any connection: annotate, close, come back, finish, download; the rows can be read and scored."""
    folder = write_made_study(tmp_path / "study", "halves", "news")
    path = write_annotator_file(folder, "ann", tmp_path / "ann.html")
    person = visit(path.as_uri(), offline=True)
    requests: list[str] = []
    person.page.on("request", lambda request: requests.append(request.url))
    person.tab_to("Your name")
    person.press("Enter")
    person.tab_to("Begin Pairs in half steps")
    person.press("Enter", "Enter", "3", "ArrowRight", "Enter")
    context = person.page.context
    person.page.close()

    again = visit(path.as_uri(), context=context)
    again.until("document.querySelector('.place').textContent === '2 of 2'")
    again.page.get_by_role("button", name="Flag").click()
    again.type("no text")
    again.page.get_by_role("button", name="Cannot judge").click()
    again.press("Enter")
    again.tab_to("Finish this task")
    again.press("Enter")
    again.tab_to("Next:")
    again.press("Enter")
    again.tab_to("Skip the practice")
    again.press("Enter", *"1222222", "Enter", *"2122222", "Enter")
    again.tab_to("Finish this task")
    again.press("Enter")
    with again.page.expect_download() as downloading:
        again.page.get_by_role("button", name="Download the answers").click()
    assert downloading.value.suggested_filename == "ann.answers.jsonl"
    file = Path(downloading.value.path())
    rows = [AnnotationRow.model_validate(json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    values = [row.value for row in rows]
    assert sorted(values, key=str) == [3.5, None, [0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]]
    assert [row.flag for row in rows if row.value is None] == ["no text"]
    assert {(row.annotator_id, row.kind) for row in rows} == {("ann", "person")}
    assert all(row.ts.endswith("Z") and row.seconds is not None for row in rows)
    assert len(collect_study_annotations(read_study(folder), [file])) == 4
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []


@pytest.mark.browser
@pytest.mark.slow
def test_an_adjudicator_without_a_connection(tmp_path: Path, visit: Callable[..., Any]) -> None:
    """What people said is on the page; what is downloaded is a decision that can be imported."""
    folder = _disputed(tmp_path)
    path = write_annotator_file(folder, "judy", tmp_path / "judy.html", adjudicates=True)
    judy = visit(path.as_uri() + "#item/emotion/0", offline=True)
    judy.page.wait_for_selector(".option")
    assert len(judy.page.locator(".others li").all_inner_texts()) == 2
    judy.press("2", "Enter")
    judy.page.get_by_role("button", name="Check list").click()
    with judy.page.expect_download() as downloading:
        judy.page.get_by_role("button", name="Download so far").click()
    file = Path(downloading.value.path())
    assert {json.loads(line)["kind"] for line in file.read_text("utf-8").splitlines()} == {"adjudicator"}
    assert import_files(folder, [file], form="jsonl").decisions == {("judy", "emotion"): 1}


@pytest.mark.browser
@pytest.mark.slow
def test_a_browser_that_keeps_nothing(tmp_path: Path, browser: Any, visit: Callable[..., Any]) -> None:
    """It says so, warns before leaving, and the answers can still be downloaded."""
    path = write_annotator_file(write_made_study(tmp_path / "study", "halves"), "ann", tmp_path / "ann.html")
    context = browser.new_context(offline=True)
    context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    person = visit(path.as_uri() + "#item/halves/0", context=context)
    person.page.wait_for_selector(".option")
    person.until("document.querySelector('#saved').textContent.startsWith('this browser stores nothing')")
    person.press("3", "Enter", "1")
    person.page.get_by_role("button", name="Check list").click()
    asked: list[str] = []
    person.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    with person.page.expect_event("dialog"):
        person.page.close(run_before_unload=True)
    assert asked == ["beforeunload"]
    with person.page.expect_download() as downloading:
        person.page.get_by_role("button", name="Download so far").click()
    assert len(Path(downloading.value.path()).read_text("utf-8").splitlines()) == 2
    person.page.close(run_before_unload=True)
    context.close()
    assert asked == ["beforeunload"]
