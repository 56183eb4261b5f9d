"""The `embassay` command: one app, one group per module, errors turned into one line and an exit code."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from embassay import __version__
from embassay.cli.options import CommandGroupWithTitledHelp, TitledCommandApp, stopping_at_memory
from embassay.cli.terminal import announce_slow_file_reading, escape_control_characters_in_output
from embassay.errors import EmbassayError, UsageError
from embassay.registry import import_attribute

SETTINGS: dict[str, Any] = {
    "name": "embassay",
    "help": "Compare embedding models, similarity metrics and retrieval stacks on your own data.",
    "no_args_is_help": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
COMMANDS = {
    "demo": "Try every protocol on the sample data, in about a minute.",
    "doctor": "Show what is installed, and whether it works.",
    "list": "List available names: systems, datasets, measures and so on.",
    "report": "Write one self-contained HTML report for any set of runs.",
    "run": "Run any protocol by name, including another package's.",
    "compare": "Test whether two systems, or two runs, really differ.",
    "gate": "Fail a build when a score is too low or has dropped.",
    "reproduce": "Repeat a paper's experiment and compare its tables with yours.",
    "calibrate": "Find what a similarity means, and where to set a threshold.",
    "choose": "Choose a system for your documents, without labels.",
    "serve": "Serve a folder of runs as live leaderboards.",
    "mcp": "Let coding agents check data, plan, run, score and gate (MCP).",
    "export": "Export runs for model pages, other tools and trackers.",
    "import": "Read published results of MTEB or Every Eval Ever as a run.",
}
GROUPS = {
    "sage": "SAGE: preference, robustness, sensitivity, clustering, retrieval.",
    "pteb": "PTEB: how far benchmark scores drop when an LLM paraphrases every text.",
    "hteb": "HTEB: how far scores drop under eight transformations on three axes.",
    "rag": "RAG: do the top K passages contain the evidence?",
    "hume": "HUME: how well would people do on the same items?",
    "watch": "Watch: is the model still the one you measured, and does it matter?",
    "data": "Check your data; list and fetch public datasets.",
    "cache": "Show or empty the caches.",
}
"""What `embassay --help` says of each command and group; the module that holds it loads when it is called."""
OWN_MEMORY = ("doctor", "list", "run", "calibrate", "choose", "reproduce", "mcp")
"""Commands that read no data and promise no memory, or that do cells, which keep a promise one by one."""
HOMES = {
    "list": "doctor:show", "run": "session:run", "cache": "doctor:caches",
    "compare": "runs:compare", "gate": "runs:gate", "report": "runs:report",
    "serve": "runs:serve", "mcp": "runs:serve_agents", "export": "runs:export", "import": "runs:import_"
}  # fmt: skip
"""Where a command is, if not under its own name in a module called like it."""


PLAIN = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
    "Input should be": "it must be",
    "Got unexpected extra argument(s)": "Unexpected argument:",
}
"""What typer says, as everything else here is said."""
MENDS = {
    r"No such command '(version|help)'": "Write `embassay --{said}`. ",
    r"No such command '(evaluate|eval|test|bench|benchmark|score)'": "Choose a protocol: `embassay sage run`, "
    "`embassay pteb run`, `embassay rag score`, `embassay hume score`. ",
    r"Missing argument 'protocol'": "For example, `embassay sage run -s minilm -s bm25`. "
    "`embassay list protocols` also shows protocols from other packages. ",
    r"Missing option '--system'": "For example, {path} -s minilm -s bm25. `embassay list systems` shows all systems. ",
    r"Unexpected argument": "Every system, dataset and task has its own option: -s minilm -s bm25 -d notes.jsonl. ",
    r"No such option:? '?(-m|--model|--encoder)\b": "Name a system with -s NAME. ",
    r"No such option:? '?(-o|--output)\b": "Set the folder of a run with --out DIR. ",
    r"No such option:? '?--add\b": (
        "To add to a run, repeat its command with the same --out, and name the old and the new systems, "
        "datasets and tasks. "
    ),
    r"No such option:? '?--data\b": "Name a dataset with -d NAME or -d FILE. ",
    r"path '.+' is not readable": "Ask its owner for access, or run `chmod u+rX` if you own it. ",
    r"No such option:? '?-[sdt]\b": "This option belongs to a command, such as `{path} run`. ",
}
"""What to write in place of the commonest mistakes, by what is said of them."""


class CommandsByPurpose(CommandGroupWithTitledHelp):
    """The group of all commands, listed under what they are for."""

    def list_commands_by_title(self, ctx: Any) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """List the commands by title, as `embassay` alone shows them."""
        return {"Start": ("demo",), "Measure": (*MEASURE, "run"), **ROOMS}


class LazyCommands(CommandsByPurpose):
    """Commands that are known by their names until one is called or completed."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Make click's context of the options before a command."""
        with _translate_usage_errors():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of a command, and carry it out."""
        with _translate_usage_errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, the command and its own arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, listed, rest
        return name, typer.main.get_group(build_app_with_commands(name)).commands[name], rest


@contextmanager
def _translate_usage_errors() -> Iterator[None]:
    """What is wrong with the words of a command is said as every mistake is, with what to write in their place."""
    try:
        yield
    except Exception as error:
        # Which module typer's classes of errors are in differs between its versions; one of them asks for help.
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise _make_usage_error(error) from None


def _make_usage_error(error: Any) -> UsageError:
    message = re.sub(r"\s*\n\s*", " ", error.format_message())
    for raw, plain in PLAIN.items():
        message = message.replace(raw, plain)
    path = error.ctx.command_path if getattr(error, "ctx", None) else "embassay"
    mends = (mend for pattern, mend in MENDS.items() if re.search(pattern, message))
    mend = next(mends, "").format(path=path, said=_find_last_word_of_message(message)) or _format_did_you_mean_question(
        message, error
    )
    mend = mend or (_find_command_example(error) if message.startswith("Missing") else "")
    message = message if message.endswith("?") else f"{message.rstrip('.')}."
    return UsageError(message, mend=f"{mend}`{path} -h` shows all.")


def _find_command_example(error: Any) -> str:
    """Find the command's example, as its help has it; empty for one that has none."""
    text = getattr(error.ctx.command, "help", None) or ""
    example = " ".join(text.partition("Example: ")[2].split())
    return f"For example `{example}`. " if example else ""


def _format_did_you_mean_question(message: str, error: Any) -> str:
    """A question after commands that look like what was asked for, and after the long option of a letter; typer asks
    so of other options itself."""
    if letter := re.match(r"No such option:? '?-([a-z])\b", message):
        return _format_question_on_option_letter(
            letter[1], [name for param in error.ctx.command.params for name in param.opts]
        )
    if not message.startswith("No such command"):
        return ""
    commands = getattr(error.ctx.command, "commands", {})
    near = get_close_matches(_find_last_word_of_message(message), commands, n=2, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}? " if near else ""


def _format_question_on_option_letter(letter: str, known: Sequence[str]) -> str:
    """The option that a letter stands for elsewhere: how many is --n, or else --limit."""
    names = ["--n", "--limit"] if letter == "n" else [name for name in known if name.startswith(f"--{letter}")]
    offered = [name for name in names if name in known][: 1 if letter == "n" else 3]
    return f"Did you mean {' or '.join(offered)}? " if offered else ""


def _find_last_word_of_message(message: str) -> str:
    return re.split(r"[ '()]+", message.strip(" .')"))[-1]


def build_app_with_commands(*names: str) -> typer.Typer:
    """An app of these commands and groups, all by default, each with its options."""
    built = TitledCommandApp(**SETTINGS, cls=CommandsByPurpose)
    built.callback()(main)
    for name in names or (*COMMANDS, *GROUPS):
        if name in GROUPS:
            built.add_typer(import_attribute(f"embassay.cli.{HOMES.get(name, f'{name}:app')}"), name=name)
        else:
            command = import_attribute(f"embassay.cli.{HOMES.get(name, f'{name}:{name}')}")
            # What `reproduce` does not know is for the command that it calls.
            more = {"context_settings": {"ignore_unknown_options": True}} if name == "reproduce" else {}
            built.command(name, **more)(command if name in OWN_MEMORY else stopping_at_memory(command))
    return built


def is_debugging() -> bool:
    """Whether tracebacks of known errors are shown."""
    return _debug


def _lazy_command_stub() -> None:
    """The stub that stands for a lazily loaded command until it is called."""


app = TitledCommandApp(**SETTINGS, cls=LazyCommands)
for _name, _about in (COMMANDS | GROUPS).items():
    app.command(_name, help=_about)(_lazy_command_stub)

_debug = False


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"embassay {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - answered by its callback
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Compare embedding models, similarity metrics and retrieval stacks on your own data."""
    global _debug
    _debug = debug
    if context.invoked_subcommand is None:
        typer.echo(format_start_page())


START = {
    "See it work, 1 minute": "embassay demo",
    "Which model for my texts?": "embassay sage run -s minilm -s bm25 -d my.jsonl",
    "Which system for documents?": "embassay choose docs/ -s minilm -s bm25",
    "Which stack for my questions?": "embassay rag sweep sweep.yaml",
    "What do my files contain?": "embassay data check my.jsonl",
}
"""What to type first, by question."""
MEASURE = {
    "sage": "similarity: preference, damage, negation, groups, search",
    "pteb": "how far scores drop when every text is paraphrased",
    "hteb": "how far scores drop under eight transformations",
    "rag": "retrieval: golden sets, scores, stacks, probes",
    "hume": "people and models on the same items",
    "calibrate": "what a similarity means; thresholds with a guarantee",
    "choose": "which system for documents without labels",
}
ROOMS = {
    "Read": ("report", "compare", "gate", "watch", "reproduce", "serve", "export", "import"),
    "Prepare": ("data", "list", "cache", "doctor", "mcp"),
}


def format_start_page() -> str:
    """Format what `embassay` alone says: what to type first, and every command by purpose."""
    questions = [f"  {question:<30}{command}" for question, command in START.items()]
    measure = [f"{name:<10}{about}" for name, about in MEASURE.items()]
    rooms = [("Measure", *measure), *((room, "   ".join(names)) for room, names in ROOMS.items())]
    listed = [f"{room if i == 0 else '':<11}{line}" for room, *lines in rooms for i, line in enumerate(lines)]
    head = f"Embassay {__version__}: which model fits your texts, and how sure is the answer?"
    tail = "Add -h to any command for its options. Other packages' protocols: embassay run"
    return "\n".join((head, "", *questions, "", *listed, "", tail))


def run() -> None:
    """Entry point: run the app; a known error is one line on stderr, its mend, and its exit code."""
    with escape_control_characters_in_output():
        warnings.formatwarning = _format_warning
        _run_app_and_exit_on_error()


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001 - what `warnings` calls it with
) -> str:
    """Format a warning of ours as a note; one of a library as Python has it."""
    if category is RuntimeWarning and "embassay" in Path(filename).parts:
        return f"Note: {message}\n"
    return f"{filename}:{lineno}: {category.__name__}: {message}\n"


def _run_app_and_exit_on_error() -> None:
    try:
        _refuse_start_with_too_little_memory(sys.argv[1:])
        _reject_empty_out_option(sys.argv[1:])
        with announce_slow_file_reading():
            app()
    except EmbassayError as error:
        _exit_with_error(error)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        from embassay.cli.session import make_file_access_error

        readable = make_file_access_error(error)
        readable.__cause__ = error
        _exit_with_error(readable)
    except Exception as error:
        _exit_on_crash_or_low_memory(error)
    except BaseException as error:
        # Libraries written in Rust raise what ended them past `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        _exit_on_crash_or_low_memory(error)


LEAST_MEMORY = 2_000_000_000
"""Bytes of address space, below which the libraries abort in C or wait for ever; the smallest run reserves 1.9 GB."""


def _refuse_start_with_too_little_memory(words: Sequence[str]) -> None:
    """Refuse to start where the shell allows too little: a library that gets none aborts, and nobody says why."""
    allowed = _read_shell_memory_limit()
    if allowed is None or allowed >= LEAST_MEMORY or not words or {"-h", "--help", "--version"} & set(words):
        return
    message = f"There is not enough memory: the shell allows {allowed / 1e9:.2f} GB, but a run needs at least 2 GB."
    raise UsageError(message, mend="Allow more: ulimit -v unlimited.")


def _exit_on_crash_or_low_memory(error: BaseException) -> NoReturn:
    """Say that memory is lacking where it is; a mistake of ours keeps its traceback."""
    if _is_out_of_memory(error):
        mend = "Allow more (ulimit -v), or reduce the work: --limit."
        _exit_with_error(UsageError("There is not enough memory.", mend=mend))
    _show_redacted_traceback(error)
    sys.exit(1)


_OF_MEMORY = (
    "failed to map segment", "llocate memory", "annot allocate", "llocation failed", "start new thread",
    "failed to spawn"
)  # fmt: skip
"""What libraries say, and Python, where they get no memory or no room for a thread's stack."""


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether a limit of the shell or the system was reached, also while a library was loaded. Where memory is limited,
    a library in Rust that breaks off did so for that, and Python itself may fail without a word (`SystemError`)."""
    told = isinstance(error, MemoryError) or any(words in str(error) for words in _OF_MEMORY)
    wordless = type(error).__name__ == "PanicException" or isinstance(error, SystemError)
    return told or (wordless and _read_shell_memory_limit() is not None)


def _read_shell_memory_limit() -> int | None:
    """Bytes of address space that the shell allows (`ulimit -v`); None without a limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed


def _exit_with_error(error: EmbassayError) -> NoReturn:
    if _debug:
        _show_redacted_traceback(error)
    else:
        with suppress(OSError):  # of a terminal that was closed
            typer.echo(f"embassay: {error.message}", err=True)
            if error.mend:
                typer.echo(f"           {error.mend}", err=True)
    sys.exit(error.exit_code)


def _reject_empty_out_option(words: Sequence[str]) -> None:
    """UsageError for an --out without a name, from a variable that is not set: it would be the present folder."""
    if "--out=" in words or any(word == "--out" and not after.strip() for word, after in pairwise(words)):
        raise UsageError("--out is empty.", mend="Name a folder or file, or omit --out.")


def _show_redacted_traceback(error: BaseException) -> None:
    """Show a traceback without the keys that were read: what a server or a driver says may repeat them."""
    import traceback

    from embassay.systems.remote.calls import redact_keys

    typer.echo(redact_keys("".join(traceback.format_exception(error))), err=True, nl=False)
