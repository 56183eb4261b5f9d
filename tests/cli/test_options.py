"""Options made from a dataclass."""

import errno
import os
import subprocess
import sys
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Literal

import pytest
import typer
from typer.testing import CliRunner

from embassay.cli import main
from embassay.cli.main import _reject_empty_out_option
from embassay.cli.options import (
    RunOptions,
    add_dataclass_options,
    add_options_from_record_parameters,
    check_finite_numbers,
    make_default_run_folder,
)
from embassay.cli.session import make_file_access_error
from embassay.errors import UsageError
from embassay.protocols.kernel.request import RunRequest, option, parse_column_map, redeclare_option


@dataclass(frozen=True)
class Knobs:
    shape: Literal["round", "square"] = field(default="round", metadata={"help": "Its shape."})
    loud: bool = field(default=False, metadata={"help": "How loud."})
    size: int = field(default=3, metadata={"help": "Its size."})


@pytest.fixture
def app():
    made = typer.Typer(rich_markup_mode=None)

    @made.command()
    @add_dataclass_options(Knobs)
    def turn(name: str, options: Knobs) -> None:
        """Turn the knobs."""
        typer.echo(f"{name} {options}")

    return made


def test_every_field_is_an_option(app):
    """A Literal is a choice, a bool a pair of flags, and the command gets them as one object."""
    run = CliRunner().invoke(app, ["x", "--shape", "square", "--loud", "--size", "5"])
    assert run.output.strip() == "x Knobs(shape='square', loud=True, size=5)"
    assert CliRunner().invoke(app, ["x"]).output.strip() == "x Knobs(shape='round', loud=False, size=3)"
    assert CliRunner().invoke(app, ["x", "--shape", "oval"]).exit_code == 2
    assert "Its shape." in CliRunner().invoke(app, ["--help"]).output


@dataclass(frozen=True)
class Asked:
    systems: tuple[str, ...] = option(MISSING, "Systems.", name="--system -s", value="NAME")
    langs: tuple[Literal["en", "fr"], ...] = option((), "Languages.", name="--lang")
    kept: Literal["leave out", "original"] = option("leave out", "What is kept.")
    copied: bool = option(False, "Without copies.", name="--without", words={"copies": True})
    split: str | None = redeclare_option(RunRequest, "split")
    mapping: dict[str, str] = redeclare_option(RunRequest, "mapping", help="Columns.")
    limit: int | None = redeclare_option(RunRequest, "limit", default=7)
    runs: int = option(3, "Runs.", least=1)
    knobs: Knobs = field(default_factory=Knobs)


def _asks(**how):
    made = typer.Typer(rich_markup_mode=None)

    @made.command()
    @add_options_from_record_parameters(**how)
    def ask(request: Asked, running: RunOptions) -> None:
        """Ask."""
        typer.echo(f"{request} {running.json}")

    return lambda *words: CliRunner().invoke(made, words)


def test_a_record_is_made_of_what_was_given():
    """Lists become tuples, words the values that they stand for, a record within has options too."""
    ask = _asks()
    given = ("--kept", "original", "--without", "copies", "--map", "a=b,c=d", "--lang", "fr", "--lang", "en", "--loud")
    done = ask("-s", "x", "--system", "y", *given, "--json")
    wanted = Asked(("x", "y"), ("fr", "en"), "original", True, None, {"a": "b", "c": "d"}, 7, 3, Knobs(loud=True))
    assert done.output.strip() == f"{wanted} True"
    assert ask("-s", "x").output.strip() == f"{Asked(('x',))} False"


@pytest.mark.parametrize(
    "words", [(), ("-s", "x", "--kept", "all"), ("-s", "x", "--lang", "de"), ("-s", "x", "--runs", "0")]
)
def test_a_record_is_not_made_of_what_does_not_fit(words):
    """What must be given, what few words there are, and what is too small."""
    assert _asks()(*words).exit_code == 2


def test_a_command_asks_for_less_or_otherwise():
    """What is fixed or left out is no option; a default is its own, and ... none."""
    ask = _asks(systems=("x",), without=("langs",), defaults={"runs": 9, "split": ...})
    assert ask("--split", "a").output.strip() == f"{Asked(('x',), split='a', runs=9)} False"
    assert ask().exit_code == 2
    assert ask("--split", "a", "--lang", "en").exit_code == 2
    assert ask("--split", "a", "-s", "y").exit_code == 2


@dataclass(frozen=True)
class Scored:
    runs: tuple[str, ...] = option(MISSING, "Runs.", name="--run")
    cutoffs: tuple[int, ...] = option((10, 30), "Cutoffs.", name="-k", least=1)
    corpus: str = option("", "Texts.")
    mode: Literal["all", "few"] = option("all", "Only a few.", name="--few", flag="few")
    share: float = option(0.5, "A share.", least=0, most=1)


@dataclass(frozen=True)
class Decided:
    files: tuple[str, ...] = redeclare_option(Scored, "runs", name="--run")
    measure: str = "P"
    corpus: str | None = redeclare_option(Scored, "corpus", default=None)
    place: str = option("", "A place.", name="PLACE")


def _decides():
    made = typer.Typer(rich_markup_mode=None)

    @made.command()
    @add_options_from_record_parameters()
    def decide(scored: Scored, decided: partial[Decided]) -> None:
        """Decide."""
        typer.echo(f"{scored} {decided(measure='R')} {sorted(decided.keywords)}")

    return lambda *words: CliRunner().invoke(made, words)


def test_two_records_share_an_option_and_one_is_made_later():
    """What is not given is each record's own default; a name without dashes is an argument, a flag has a value."""
    decide = _decides()
    done = decide("--run", "a", "--run", "b", "-k", "5", "--few", "there")
    wanted = Scored(("a", "b"), (5,), "", "few"), Decided(("a", "b"), "R", None, "there")
    assert done.output.strip() == f"{wanted[0]} {wanted[1]} ['files', 'place']"
    assert decide("--run", "a").output.strip() == f"{Scored(('a',))} {Decided(('a',), 'R')} ['files']"
    both = decide("--run", "a", "--corpus", "c").output.strip()
    assert both == f"{Scored(('a',), corpus='c')} {Decided(('a',), 'R', 'c')} ['corpus', 'files']"
    assert decide("--run", "a", "-k", "0").exit_code == 2
    assert decide("--run", "a", "-k", "x").exit_code == 2
    assert decide("--run", "a", "--share", "1.5").exit_code == 2
    assert decide().exit_code == 2


def test_options_by_hand_only_become_fewer():
    """Commands that have a request take their options from it: what is written out is theirs alone."""
    import re
    from pathlib import Path

    folder = Path(__file__).parents[2] / "src" / "embassay" / "cli"
    counts = {
        path.relative_to(folder).as_posix(): len(re.findall(r"typer\.(?:Option|Argument)\(", path.read_text("utf-8")))
        for path in folder.rglob("*.py")
    }
    assert not {name: n for name, n in counts.items() if n > BY_HAND.get(name, 0)}


BY_HAND = {
    "calibrate.py": 1,
    "choose.py": 1,
    "data.py": 3,
    "doctor.py": 1,
    "hteb.py": 9,
    "hume/results.py": 1,
    "hume/study.py": 6,
    "watch/fingerprints.py": 1,
    "main.py": 2,
    "options.py": 3,
    "pteb.py": 3,
    "rag/golden.py": 3,
    "rag/score.py": 1,
    "rag/sweep.py": 1,
    "runs.py": 5,
    "session.py": 2,
}
"""Options and arguments that a module writes out itself; may only fall."""


def test_column_map():
    """Repeatable and comma-separated; anything else is a usage error."""
    assert parse_column_map(None) == {}
    assert parse_column_map(["text=body,label=topic", "id=key"]) == {"text": "body", "label": "topic", "id": "key"}
    with pytest.raises(UsageError, match="--map"):
        parse_column_map(["text"])


def test_a_run_without_a_name_gets_a_folder_of_its_own():
    """Named by command and time, under runs/."""
    assert make_default_run_folder("sage").parts[0] == "runs"
    assert make_default_run_folder("sage").name.startswith("sage-2")


def test_knobs_are_none_until_they_are_given():
    """Other places may set them; the help says what holds otherwise."""
    import inspect
    from dataclasses import dataclass
    from typing import Literal

    from embassay.cli.options import add_dataclass_options_default_none
    from embassay.protocols.kernel.request import option

    @dataclass(frozen=True)
    class Knobs:
        depth: int = option(50, "How deep.")
        way: Literal["a", "b"] = option("a", "Which way.")
        some: int | None = option(None, "Some.")
        loud: bool = option(True, "Whether it is loud.")

    @add_dataclass_options_default_none(Knobs)
    def command(given={}):  # noqa: B006
        return given

    assert command(depth=None, way=None, some=3, loud=False) == {"some": 3, "loud": False}
    parameters = inspect.signature(command).parameters
    assert all(one.default is None for one in parameters.values())
    helps = {name: one.annotation.__metadata__[0].help for name, one in parameters.items()}
    assert helps == {
        "depth": "How deep. Default: 50.", "way": "Which way. Default: a.", "some": "Some.",
        "loud": "Whether it is loud. Default: yes.",
    }  # fmt: skip


def test_what_is_given_only_once_is_not_in_the_command_that_resumes():
    """With its value where it has one."""
    from embassay.cli.session import _drop_command_line_flags

    words = ["rag", "golden", "--force", "-d", "sample", "--from-stage", "S3", "--out", "x", "--from-stage=S4"]
    assert _drop_command_line_flags(words, ("--force", "--from-stage=")) == [
        "rag",
        "golden",
        "-d",
        "sample",
        "--out",
        "x",
    ]


LITTLE = {
    "doctor", "list", "data list", "data show", "data fetch", "cache info", "cache clear", "hume links", "rag prompts",
    "reproduce", "mcp",
}  # fmt: skip
"""Commands that read none of a user's data, and so little that there is nothing to promise; `reproduce` hands the
promise on to the command that it calls, and what `mcp` starts are commands of their own."""


def test_every_command_that_reads_data_takes_a_promise():
    """--memory: nowhere forgotten."""
    from embassay.cli.main import build_app_with_commands

    def commands(one, name=""):
        if hasattr(one, "commands"):
            for word, below in one.commands.items():
                yield from commands(below, f"{name} {word}".strip())
        else:
            yield name, {option for parameter in one.params for option in parameter.opts}

    found = dict(commands(typer.main.get_command(build_app_with_commands())))
    assert {name for name, options in found.items() if "--memory" not in options} == LITTLE


@pytest.mark.slow
def test_a_command_without_cells_is_stopped_where_it_holds_more(tmp_path, embassay):
    """One line says what it held and what helps; exit code 2."""
    graded = (f"q{row // 20} 0 d{row * 7919 % 10**6}x{row} {row % 5 + 1}\n" for row in range(400_000))
    found = (f"q{row // 100} Q0 d{row * 104729 % 10**6}x{row} {row % 100} {-row} a\n" for row in range(2_000_000))
    (tmp_path / "qrels").write_text("".join(graded))
    (tmp_path / "run").write_text("".join(found))
    done = embassay("rag", "score", "--qrels", "qrels", "--run", "run", "--memory", "512MiB", check_code=2)
    assert "over the limit of 512 MiB, and was stopped." in done.stderr
    assert "raise --memory" in done.stderr


@pytest.mark.parametrize("words", [["sage", "run", "--out", ""], ["sage", "run", "--out="], ["x", "--out", " "]])
def test_an_empty_out_is_refused(words):
    """It would be the present folder, and a run would be written among what lies there."""
    with pytest.raises(UsageError, match="--out is empty"):
        _reject_empty_out_option(words)
    _reject_empty_out_option(["--out", "here"])


@pytest.mark.parametrize(
    ("number", "said", "mend"),
    [
        (errno.ENOSPC, "No space left", "Free some space"),
        (errno.EFBIG, "File too large", "ulimit -f"),
        (errno.EMFILE, "Too many open files", "ulimit -n"),
        (errno.ENOTDIR, "a/b: Not a directory", "Check the path"),
    ],
)
def test_what_the_system_says_of_files_is_one_line(number, said, mend):
    """With the path where there is one, and what to do."""
    path = "a/b" if number == errno.ENOTDIR else None
    told = make_file_access_error(OSError(number, os.strerror(number), path))
    assert said in told.message
    assert mend in told.mend
    assert told.exit_code == (4 if path else 1)


@pytest.mark.parametrize("given", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused_by_name(given):
    """Whatever the range of an option: nan passes every comparison that would refuse it. Lists too."""
    with pytest.raises(UsageError, match=r"--until-ci is (nan|-?inf)\. Give a finite number"):
        check_finite_numbers({"runs": 3, "dataset": ["a"], "until_ci": given})
    with pytest.raises(UsageError, match="--share"):
        check_finite_numbers({"share": [0.5, given]})
    check_finite_numbers({"runs": 3, "max_cost": None, "until_ci": 0.5, "share": (0.1,)})


def test_a_command_refuses_them_before_it_begins(embassay):
    """One line with the option's name, and nothing is made."""
    done = embassay("pteb", "run", "-s", "jaccard", "-p", "permuted", "--until-ci", "nan", "--out", "run", check_code=2)
    assert "--until-ci is nan" in done.stderr


def test_help_shows_options_in_panels(capsys):
    """Under the same titles everywhere, what is required first."""
    from embassay.cli.main import app
    from embassay.cli.options import DETAILS, PANELS

    app(["sage", "run", "--help"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    titles = [line.removesuffix(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == [panel for panel in PANELS if panel != "Server"]
    first = lines.index("Systems and models:") + 1
    assert lines[first].startswith("  -s, --system NAME... ")
    assert lines[first].endswith("[required]")
    assert any(line.startswith("  --[no-]exclude-self ") for line in lines[lines.index(f"{DETAILS}:") :])


@pytest.mark.parametrize("words", [["sage", "--help"], ["-h", "sage"], ["-s", "jaccard", "sage", "-h"]])
def test_help_shows_the_options_of_the_protocol_that_is_named(capsys, words):
    """Wherever it stands among the words; without one there are none."""
    from embassay.cli.main import app
    from embassay.protocols.sage.options import SageOptions

    app(["run", *words], standalone_mode=False)
    said = capsys.readouterr().out
    assert "Options of sage:" in said
    for own in fields(SageOptions):
        assert f"  -o {own.name}=VALUE" in said
    app(["run", "--help"], standalone_mode=False)
    assert "-o resamples" not in capsys.readouterr().out


class PanicException(BaseException):
    """As libraries in Rust raise it, past `Exception`."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        PanicException("failed to spawn a cleaner thread"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lack_of_memory_is_one_line(error, monkeypatch, capsys):
    """Whatever it is raised as, also past `Exception`."""

    def fails():
        raise error

    monkeypatch.setattr(main, "app", fails)
    monkeypatch.setattr(sys, "argv", ["embassay"])
    with pytest.raises(SystemExit) as ended:
        main._run_app_and_exit_on_error()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "not enough memory" in said
    assert "Traceback" not in said


def test_a_panic_that_is_none_of_memory_keeps_its_traceback(monkeypatch, capsys):
    """It is a fault of a library or of ours."""

    def fails():
        raise PanicException("index out of range")

    monkeypatch.setattr(main, "app", fails)
    monkeypatch.setattr(main, "_read_shell_memory_limit", lambda: None)
    monkeypatch.setattr(sys, "argv", ["embassay"])
    with pytest.raises(SystemExit) as ended:
        main._run_app_and_exit_on_error()
    assert ended.value.code == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v limits nothing elsewhere")
@pytest.mark.parametrize("kilobytes", [250_000, 1_500_000])
def test_a_limit_of_the_shell_is_one_line(kilobytes, tmp_path):
    """A process that gets too little says so and shows no traceback of Python."""
    command = f"ulimit -v {kilobytes}; exec {sys.executable} -m embassay sage run -s jaccard -d sample --out x"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "not enough memory" in done.stderr
