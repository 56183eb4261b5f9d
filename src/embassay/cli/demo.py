"""`embassay demo`: every protocol on the sample data with the bundled systems, and one report of it all."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from embassay.cli.options import WorkerOptions, add_options_from_record_parameters
from embassay.cli.terminal import (
    format_command_line,
    measure_screen_width_and_charset,
    print_rendered_text,
    print_view_blocks,
)
from embassay.errors import EmbassayError, ModelError
from embassay.machine import count_cores
from embassay.protocols.kernel.request import OUTPUT, option, redeclare_option
from embassay.runs.execution import tie_worker_to_parent

if TYPE_CHECKING:
    from embassay.cli.session import StdoutFormatOptions
    from embassay.protocols.rag.golden.options import GoldenRequest

BUNDLED = ("wordllama", "bm25", "jaccard", "levenshtein")
RETRIEVERS = ("minilm", "wordllama", "bm25")
FUSED = ("wordllama", "bm25")
TOKENIZER = "words"
DOCUMENTS, TOKENS, EDITS = 6, 48, "delete10"
"""Documents whose versions SAGE compares, the tokens at which those of sensitivity are cut, and the edit of its
retrieval corpus."""
RUNS, TEXTS = 2, 30
"""Paraphrases of each text, of the three that come with the sample, and items of a task."""
PAIRS = 14
"""Pairs of the sample whose transformations come with it."""
QUESTIONS = 12
DEPTH, TOP = 10, 5
"""Passages that a search finds, and those whose order the golden set is to be sure of."""
ENCODERS = ("wordllama", "minilm")
BUNDLES, SAID = 6, 1
"""Queries of a probe, and its runs."""
ITEMS, SCRIPTS, NOISE = 18, 2, 0.15
"""Items of a task that are annotated, by how many scripts, and how much these err."""
PARTS = ("sage", "pteb", "hteb", "golden", "rag", "sweep", "names", "noise", "hume")
HEADED = ("sage", "pteb", "hteb", "rag", "hume")
"""The runs, one of a protocol, that score systems."""


@dataclass(frozen=True)
class DemoOptions:
    """Options of the demo: where the runs are kept, and how they are carried out and shown."""

    out: Path = option(Path("runs/demo"), "Folder for the runs. Repeat the command to resume them.", group=OUTPUT)
    workers: int = redeclare_option(WorkerOptions, "workers")
    wide: bool = redeclare_option(WorkerOptions, "wide")


@add_options_from_record_parameters()
def demo(asked: DemoOptions) -> None:
    """Try every protocol on the sample data, in about a minute.

    Uses the bundled systems, and minilm if it is installed. HUME's answers come from scripts and are marked
    as simulated. --wide shows full tables.

    Example: embassay demo --out runs/demo
    """
    from embassay.cli.session import StdoutFormatOptions
    from embassay.report import write_report

    out, workers = asked.out, asked.workers
    systems, display = _list_bundled_systems(), StdoutFormatOptions(False, asked.wide, brief=not asked.wide)
    rest = partial(_run_rag_and_hume_demos, systems, out, display)
    with _start_in_second_process(rest) if count_cores() > 1 else nullcontext(rest) as finish:
        _run_sage_demo(systems, out / "sage", display, workers)
        _run_pteb_demo(systems, out / "pteb", display, workers)
        _run_hteb_demo(systems, out / "hteb", display, workers)
        finish()
    written = write_report([out / name for name in PARTS], out=out / "report.html")
    show_run_headlines([out / name for name in PARTS])
    typer.echo(f"\nReport, with all notes: {written}")


@contextmanager
def _start_in_second_process(work: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """`work` in a process of its own meanwhile; what is yielded waits for it, says what it said and raises what it
    raised. Half of a demo's time is one thread's, and this is what the other core is for."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=tie_worker_to_parent) as pool:
        future = pool.submit(_run_and_capture_output_and_error, work, getattr(sys.stdout, "encoding", None) or "utf-8")

        def wait_and_replay_process_output() -> None:
            spoken, error = future.result()
            for err, text in spoken:
                typer.echo(text, nl=False, err=err)
            if error is not None:
                raise error

        try:
            yield wait_and_replay_process_output
        except BaseException:
            # Leaving the pool waits for its work, which nobody wants any more.
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise


class _StdoutStderrRecorder(io.StringIO):
    """A stream whose texts are kept in `said`, each with whether it is stderr's."""

    def __init__(self, said: list[tuple[bool, str]], err: bool, encoding: str) -> None:
        super().__init__()
        self._said, self._err, self._encoding = said, err, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream that will print the texts."""
        return self._encoding

    def write(self, text: str, /) -> int:
        """Write a text by keeping it; bytes are refused, by which click sees a stream of texts."""
        written = super().write(text)
        self._said.append((self._err, text))
        return written


def _run_and_capture_output_and_error(
    work: Callable[[], None], encoding: str
) -> tuple[list[tuple[bool, str]], EmbassayError | None]:
    """Capture what `work` says on stdout and stderr, in order, and the error that ended it."""
    spoken: list[tuple[bool, str]] = []
    with (
        contextlib.redirect_stdout(_StdoutStderrRecorder(spoken, False, encoding)),
        contextlib.redirect_stderr(_StdoutStderrRecorder(spoken, True, encoding)),
    ):
        try:
            work()
        except EmbassayError as error:
            return spoken, error
        finally:
            # A run has it raise KeyboardInterrupt; a process that waits for more work may just end.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return spoken, None


def show_run_headlines(runs: Sequence[Path]) -> None:
    """Print what the runs answer, every system's headline in each with interval and ranks, and the gravest notes."""
    from embassay.report.headlines import iterate_headlines_of_runs, make_headline_table_blocks
    from embassay.report.runs import read_report_runs
    from embassay.report.terminal import gravest_notes_view, render_report_answers

    device, read = measure_screen_width_and_charset(), read_report_runs(runs)
    typer.echo("")
    print_rendered_text(render_report_answers(read, width=device.width, unicode=device.unicode))
    typer.echo("")
    scored = [run for run in read if run.record.path.name in HEADED]
    # All columns: the view has parted what does not fit.
    print_view_blocks(
        [*make_headline_table_blocks([*iterate_headlines_of_runs(scored)], device.width), *gravest_notes_view(read)],
        wide=True,
    )


def _run_sage_demo(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions, workers: int) -> None:
    from embassay.cli.session import run_and_show_results
    from embassay.protocols import sage
    from embassay.protocols.sage.protocol import SageProtocol

    _announce_next_step("SAGE: does similarity agree with people and detect changes to a text?")
    options = sage.SageOptions(document_cap=DOCUMENTS, retrieval_edits=EDITS, text_tokens=TOKENS)
    request = sage.Request(systems, tokenizer=TOKENIZER, options=options)
    run_and_show_results(
        partial(SageProtocol().carry_out, request), out, display=display, report=False, workers=workers
    )


def _run_pteb_demo(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions, workers: int) -> None:
    from embassay.cli.session import run_and_show_results
    from embassay.protocols import pteb
    from embassay.protocols.pteb.protocol import PtebProtocol

    _announce_next_step(f"PTEB: how far do the scores of seven tasks drop when every text is paraphrased {RUNS} times?")
    # Six French items of each task are too few for a score of their own.
    options = pteb.PtebOptions(languages="pooled")
    request = pteb.Request(systems, limit=TEXTS, tokenizer=TOKENIZER, runs=RUNS, options=options)
    run_and_show_results(
        partial(PtebProtocol().carry_out, request), out, display=display, report=False, workers=workers
    )


def _run_hteb_demo(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions, workers: int) -> None:
    from embassay.cli.session import run_and_show_results
    from embassay.protocols import hteb
    from embassay.protocols.hteb.protocol import HtebProtocol

    _announce_next_step(f"HTEB: which lowers scores most: style, length or language? ({PAIRS} pairs)")
    options = hteb.HtebOptions(languages="reference")
    request = hteb.HtebRequest(systems, tasks=("sts",), limit=PAIRS, tokenizer=TOKENIZER, runs=1, options=options)
    run_and_show_results(
        partial(HtebProtocol().carry_out, request), out, display=display, report=False, workers=workers
    )


def _run_rag_and_hume_demos(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions) -> None:
    """Run the demos of RAG and HUME, which need nothing of the others."""
    _run_rag_golden_set_demo(systems, out, display)
    _run_bundled_sweep(systems, out / "sweep", display)
    _run_name_and_noise_probes(systems, out, display)
    _run_simulated_hume_study(systems, out, display)


def _run_rag_golden_set_demo(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions) -> None:
    """Make a golden set for a dozen sample questions, and score what the bundled systems retrieve."""
    from embassay.cli.rag.golden import run_golden_set_request
    from embassay.cli.rag.score import run_and_print_scoring
    from embassay.cli.session import show_run_verdict
    from embassay.protocols.rag.golden.options import GoldenOptions, GoldenRequest
    from embassay.protocols.rag.scoring.options import ScoreRequest
    from embassay.protocols.rag.scoring.protocol import score_runs_of_request

    _announce_next_step(
        f"RAG: a golden set of {QUESTIONS} questions, from a judge's recorded answers. Nothing is sent."
    )
    golden = GoldenRequest(
        "wordllama", "recorded:sample", dataset="sample", limit=QUESTIONS, tokenizer=TOKENIZER,
        options=GoldenOptions(depth=DEPTH, top=TOP)
    )  # fmt: skip
    run_golden_set_request(golden, out / "golden", display, report=False)
    _announce_next_step("RAG: search results of these systems, scored against that golden set")
    runs = _write_retrieval_runs(golden, [name for name in RETRIEVERS if name in systems], out / "runs")
    qrels = str(out / "golden" / "export" / "qrels.tsv")
    request = ScoreRequest(qrels, tuple(map(str, runs)), cutoffs=(5, 10))
    if display.brief:
        score_runs_of_request(request, out / "rag", format_command_line())
        show_run_verdict(out / "rag")
    else:
        run_and_print_scoring(request, out / "rag", wide=display.wide)


def _write_retrieval_runs(request: GoldenRequest, systems: list[str], folder: Path) -> list[Path]:
    """Write the runs that each system, and two of them fused, retrieve of the golden set's passages."""
    from embassay.protocols.rag.golden.corpus import make_passages_from_documents, read_golden_inputs
    from embassay.protocols.rag.scoring.inputs import fuse_runs, retrieve_passages, write_trec
    from embassay.text import open_tokenizer

    tokenizer, read = open_tokenizer(TOKENIZER), read_golden_inputs(request)
    chosen = make_passages_from_documents(read.documents, request.options, tokenizer)
    passages = dict(zip(chosen.ids, chosen.texts, strict=True))
    questions = {question.id: question.text for question in read.questions}
    runs = {name: retrieve_passages(name, passages, questions, DEPTH, tokenizer=tokenizer) for name in systems}
    runs["+".join(FUSED)] = fuse_runs([runs[name] for name in FUSED], DEPTH)
    return [write_trec(folder / f"{name}.trec", name, run) for name, run in runs.items()]


def _run_bundled_sweep(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions) -> None:
    """Run the bundled sweep, with both encoders and an approximate index where they can be had."""
    from importlib.resources import as_file, files
    from importlib.util import find_spec

    from embassay.cli.rag.sweep import run_sweep_request
    from embassay.protocols.rag.sweep.config import read_sweep_request_from_config

    with as_file(files("embassay.protocols.rag.sweep").joinpath("sample.yaml")) as path:
        request = read_sweep_request_from_config(path)
    encoders = tuple(name for name in ENCODERS if name in systems)
    index = ("flat", "hnsw-f32") if find_spec("faiss") else ("flat",)
    _announce_next_step("RAG: a sweep of retrieval stacks over the sample's questions")
    run_sweep_request(replace(request, encoder=encoders, dims=(None,), index=index), out, display, report=False)


def _run_name_and_noise_probes(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions) -> None:
    """Run the probes of names and of noise (small talk), in English and French."""
    from embassay.cli.rag.probes import run_probe_request
    from embassay.protocols.rag.probes.options import NamesRequest, NoiseRequest

    encoders = tuple(name for name in ENCODERS if name in systems)
    _announce_next_step("RAG: do names matter? A probe on bundled authors and topics")
    names = NamesRequest(encoders, queries=BUNDLES, runs=SAID, tokenizer=TOKENIZER)
    run_probe_request(names, out / "names", display, report=False)
    _announce_next_step("RAG: does small talk matter? A second probe")
    noise = NoiseRequest(encoders, queries=BUNDLES, runs=SAID, tokenizer=TOKENIZER)
    run_probe_request(noise, out / "noise", display, report=False)


def _run_simulated_hume_study(systems: tuple[str, ...], out: Path, display: StdoutFormatOptions) -> None:
    """Run a HUME study of the sample's English texts that scripts answer, and score the systems."""
    from embassay.cli.hume.results import run_hume_study_request
    from embassay.protocols.hume.collection import KIND, simulate_annotators
    from embassay.protocols.hume.options import StudyRequest
    from embassay.protocols.hume.sampling import draw_study
    from embassay.protocols.hume.sampling.options import StudySampleRequest, TaskSampleRequest
    from embassay.protocols.hume.study import read_study, write_annotations, write_study

    _announce_next_step(
        f"HUME: a study of {ITEMS} items per task. No people took part: {SCRIPTS} scripts answer, with random errors."
    )
    study = out / "study"
    # Of seven candidates some would be French.
    task = TaskSampleRequest(data="sample", n=ITEMS, lang=["eng"], candidates=5, relevant=2)
    drawn = draw_study(StudySampleRequest(name="demo", tasks=[task]))
    write_study(study, drawn.study, drawn.items, drawn.gold)
    write_annotations(study, KIND, simulate_annotators(read_study(study), SCRIPTS, noise=NOISE, seed=1))
    request = StudyRequest(str(study), systems, tokenizer=TOKENIZER)
    run_hume_study_request(request, out / "hume", display, report=False, workers=1, max_usd=None)


def _list_bundled_systems() -> tuple[str, ...]:
    """The bundled systems, minilm first where it can be had."""
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    try:
        open_system("minilm", tokenizer=open_tokenizer(TOKENIZER))
    except ModelError as error:
        typer.echo(f"minilm is left out: {error}", err=True)
        return BUNDLED
    return ("minilm", *BUNDLED)


def _announce_next_step(line: str) -> None:
    """Say on stderr what comes next."""
    typer.echo(line, err=True)
