"""Progress in words: never a promise before a tenth is done, lines without control codes elsewhere."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from embassay.cli.progress import BRIEF, ProgressLines, estimate_seconds_left, format_duration
from embassay.cli.session import StdoutFormatOptions, show_run_plan
from embassay.cli.terminal import make_name_shortener, print_table_to_fit_screen
from embassay.runs.folder import RunCell, make_failed_cell_record
from embassay.runs.forecast import CellForecast, RunForecast

CELLS = [
    RunCell("robustness", "notes", f"system{i}", f"key{i}", units, job=None) for i, units in enumerate((0, 90, 10))
]


class Plan:
    cells = CELLS


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.4, "59 s"), (90, "2 min"), (3 * 3600 + 720, "3 h 12 min")]
)
def test_times_in_words(seconds, words):
    """Seconds, minutes, hours and minutes."""
    assert format_duration(seconds) == words


def test_nothing_is_left_to_say_before_a_tenth_is_done():
    """Then the straight line."""
    assert estimate_seconds_left(100, 0.05) is None
    assert estimate_seconds_left(100, 0.5) == 100


def test_lines_weigh_cells_by_their_texts(capsys):
    """The share follows the texts done, inside a cell too; a failure is a word with its reason; no control codes."""
    lines = ProgressLines()
    lines.on_plan_made(Plan, CELLS, {})
    lines.started(CELLS[1])
    lines.advanced(CELLS[1], 45)
    assert lines.share == pytest.approx(0.33)
    lines.ended(CELLS[1], make_failed_cell_record(CELLS[1], "out of memory", 1.0))
    lines.ended(CELLS[0], make_failed_cell_record(CELLS[0], "out of memory", 1.0))
    assert lines.share == pytest.approx(91 / 101)
    heard = capsys.readouterr().err
    assert "FAILED: out of memory" in heard
    assert heard.startswith("3 cells, 0 done already\n")
    assert "\x1b" not in heard


def test_lines_weigh_cells_by_the_seconds_forecast_for_them(capsys, monkeypatch):
    """A cell that takes 99 of 100 seconds is nearly all of the share, and a part of it shows in texts and time."""
    monkeypatch.setattr("embassay.cli.progress.PERIOD", 0.0)
    lines = ProgressLines()
    lines.on_plan_made(Plan, CELLS, {"key0": 0.5, "key1": 99.0, "key2": 0.5})
    for cell in (CELLS[0], CELLS[2]):
        lines.started(cell)
        lines.ended(cell, make_failed_cell_record(cell, "", 0.0))
    assert lines.share == pytest.approx(0.01)
    lines.started(CELLS[1])
    lines.advanced(CELLS[1], 45)
    assert lines.share == pytest.approx(0.01 + 0.99 / 2)
    assert "45 of 90 texts" in capsys.readouterr().err
    lines.advanced(CELLS[1], 450)
    assert lines.share == pytest.approx(1)


def test_the_time_left_is_never_less_than_a_cell_in_work_needs(monkeypatch, capsys):
    """A cell that was forecast to take a hundredth of the run, and has taken as long for its half as all before."""
    now = [0.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    lines = ProgressLines()
    lines.on_plan_made(Plan, CELLS[1:], {"key1": 99.0, "key2": 1.0})
    lines.started(CELLS[1])
    now[0] = 1000.0
    lines.advanced(CELLS[1], 90)
    lines.ended(CELLS[1], make_failed_cell_record(CELLS[1], "", 1000.0))
    lines.started(CELLS[2])
    assert lines.describe_time_left() == "7 s to 15 s left"
    now[0] = 2000.0
    lines.advanced(CELLS[2], 5)
    assert lines.describe_time_left() == "12 min to 25 min left"
    lines.ended(CELLS[2], make_failed_cell_record(CELLS[2], "", 1000.0))
    assert lines.describe_time_left() == "1 s left"


def test_a_stage_counts_in_its_own_unit():
    """Of unknown length, without a total; what comes before any stage breaks nothing."""
    lines = ProgressLines()
    lines.advanced_by(1)
    lines.stage("S4 grades", 1200, "passages")
    lines.advanced_by(300)
    assert lines.describe_stage_progress() == "300 of 1,200 passages"
    lines.stage("S6 orders", 0, "calls")
    lines.advanced_by(7)
    assert (lines.describe_stage_progress(), lines.describe_remaining_time()) == ("7 calls", "")
    lines.stop()


def test_the_first_ten_answers_set_the_pace(monkeypatch, capsys):
    """A slow server: after ten of 500 texts the time left is said at once, not after a tenth."""
    now = [0.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    lines = ProgressLines()
    lines.stage("paraphrasing", 500)
    for answers in range(1, 11):
        assert lines.describe_remaining_time() == ""
        now[0] = 2.5 * answers
        lines.advanced_by(1)
    # 490 more at 2.5 s are 20 min, told from 0.7 to 1.5 times.
    assert capsys.readouterr().err == "paraphrasing: 10 of 500 texts  14 min to 31 min left\n"
    lines.stop()


def test_answers_kept_from_before_set_no_pace(monkeypatch):
    """Resumed with 16 of 46 passages graded, those at once: ten more in 140 s leave 20 for 280 s, not for 108 s."""
    now = [0.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    lines = ProgressLines(brief=True)
    lines.stage("S4 grades", 46, "passages")
    for _ in range(16):
        now[0] += 0.01
        lines.advanced_by(1)
    assert lines.describe_remaining_time() == ""
    for _ in range(10):
        now[0] += 14.0
        lines.advanced_by(1)
    assert lines.describe_remaining_time() == "3 min to 7 min left"  # 280 s, from 0.7 to 1.5 times
    lines.stop()


def test_answers_of_the_cache_that_come_slowly_are_soon_forgotten(monkeypatch):
    """On a busy machine 48 of 96 paraphrases were read one by one, half a second each; then 3 s each: after twenty more
    the 28 that are left take 84 s, not a mean of both."""
    now = [0.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    lines = ProgressLines(brief=True)
    lines.stage("paraphrases", 96)
    for place in range(68):
        now[0] += 0.5 if place < 48 else 3.0
        lines.advanced_by(1)
    assert lines.describe_remaining_time() == "59 s to 2 min left"  # 84 s, from 0.7 to 1.5 times
    lines.stop()


def test_a_model_behind_a_server_goes_by_its_label(capsys):
    """Its address is longer than what is to be read; two of one label keep apart."""
    spec = "openai:qwen1.5b?base_url=http://127.0.0.1:8091/v1&concurrency=4"
    other = spec.replace("8091", "8092")
    assert make_name_shortener([spec, "bm25"])(f"{spec}: 74 requests") == "openai:qwen1.5b: 74 requests"
    assert len({make_name_shortener([spec, other])(name) for name in (spec, other)}) == 2
    lines = ProgressLines()
    lines.stage(f"S4 grades by {spec}", 46, "passages")
    assert lines.title == "S4 grades by openai:qwen1.5b"
    lines.stop()


def test_answers_on_the_way_to_a_question_are_shown(monkeypatch, capsys):
    """A question takes several answers: something moves while none is decided."""
    now = [0.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    lines = ProgressLines()
    lines.stage("writing questions", 12, "questions")
    for second in (10, 31, 50, 62):
        now[0] = float(second)
        lines.heard()
    shown = capsys.readouterr().err.splitlines()
    assert shown == [f"writing questions: 0 of 12 questions, {n} answers" for n in (2, 4)]
    lines.stop()


def test_a_stage_has_a_line_once_it_takes_a_second(capsys, monkeypatch):
    """Its title and total, and what is opened; what is over before, or follows at once, is not told of."""
    late = []
    monkeypatch.setattr("embassay.cli.progress.threading.Timer", lambda *how: late.append(Late(*how)) or late[-1])
    lines = ProgressLines()
    lines.on_systems_opening(["st:nosuch/model", "bm25"])
    late[-1].ring()
    assert capsys.readouterr().err == "opening st:nosuch/model, bm25 and the data\n"
    lines.on_planning_begun(Plan)
    lines.stage("S4 grades", 1200, "passages")
    lines.stage("S6 orders", 0, "calls")
    assert {one.seconds for one in late} == {BRIEF}
    assert [one.cancelled for one in late] == [True, True, True, False]
    assert capsys.readouterr().err == ""
    late[-1].ring()
    assert capsys.readouterr().err == "S6 orders\n"
    lines.stop()
    assert late[-1].cancelled


def test_a_plan_says_what_it_opens_meanwhile(capsys, monkeypatch):
    """After a second, and no more once the plan is there."""
    late = []
    monkeypatch.setattr("embassay.cli.progress.threading.Timer", lambda *how: late.append(Late(*how)) or late[-1])

    def planned(_):
        late[-1].ring()
        return RunForecast(())

    show_run_plan(planned, StdoutFormatOptions(json=False, wide=False), ["st:nosuch/model"])
    assert "st:nosuch/model" in capsys.readouterr().err
    assert late[-1].cancelled


class Late:
    """A timer that rings when it is told to."""

    def __init__(self, seconds, do, arguments):
        self.seconds, self.ring, self.cancelled = seconds, lambda: do(*arguments), False

    def start(self):
        pass

    def cancel(self):
        self.cancelled = True


def test_a_plan_of_a_model_behind_a_server_shows_its_time(capsys, monkeypatch):
    """On 80 columns an address used to hide all but task and dataset; --wide has it whole."""
    monkeypatch.setenv("COLUMNS", "80")
    spec = "openai:qwen1.5b?answers=schema&base_url=http://127.0.0.1:8091/v1&concurrency=4"
    cell = CellForecast("S4 grade", "cranfield", spec, 46, 46, 45_626, requests=46, usd=None, seconds=495.0)
    show_run_plan(lambda _: RunForecast((cell,)), StdoutFormatOptions(json=False, wide=False))
    head, _, row, *_ = capsys.readouterr().out.splitlines()
    assert ("time" in head, "495.0 s" in row) == (True, True)
    show_run_plan(lambda _: RunForecast((cell,)), StdoutFormatOptions(json=False, wide=True))
    assert spec in capsys.readouterr().out
    print_table_to_fit_screen(["model", "task", "answered"], [[spec, "stsb", "4 of 4"]], wide=False)
    assert "4 of 4" in capsys.readouterr().out


def test_brief_lines_begin_with_what_is_done(capsys):
    """Nothing of what lies ahead; the end is told."""
    lines = ProgressLines(brief=True)
    lines.on_plan_made(Plan, CELLS, {})
    lines.announce_run_end()
    assert capsys.readouterr().err.count("\n") == 1


def test_a_long_run_says_so_and_proposes_a_short_one_first(capsys):
    """From two minutes on, where all items are taken; a short run and one with a limit say nothing."""
    for seconds, limit, said in ((200.0, None, True), (200.0, 50, False), (20.0, None, False)):
        plan = SimpleNamespace(cells=CELLS, request=SimpleNamespace(limit=limit))
        ProgressLines().on_plan_made(plan, CELLS, dict.fromkeys(("key0", "key1", "key2"), seconds))
        heard = capsys.readouterr().err
        assert ("--limit" in heard) == said
        assert ("about" in heard) == (seconds > 100)


def test_a_cell_of_under_a_second_has_no_line(capsys, monkeypatch):
    """Those of a second or more and those that failed have; among short ones the count is told every 30 s; at the end
    there is one line of all."""
    now = [100.0]
    monkeypatch.setattr("embassay.cli.progress.time.monotonic", lambda: now[0])
    cells = [RunCell("sts", "notes", f"system{i}", f"key{i}", 1, job=None) for i in range(60)]
    lines = ProgressLines()
    lines.on_plan_made(SimpleNamespace(cells=cells), cells, {})
    for i, cell in enumerate(cells):
        lines.started(cell)
        took = 2.0 if i == 7 else 0.9
        now[0] += took
        lines.ended(cell, make_failed_cell_record(cell, "lost", took) if i == 9 else record(cell, took))
    lines.announce_run_end()
    first, *heard, last = capsys.readouterr().err.splitlines()
    assert first == "60 cells, 0 done already"
    assert [line.split("  ")[1] for line in heard if "notes" in line] == ["sts notes system7", "sts notes system9"]
    assert len(heard) == 3
    assert last == "60 cells in 55 s, 1 failed"


def record(cell, seconds):
    """A cell that is done."""
    return replace(make_failed_cell_record(cell, "", seconds), status="done")
