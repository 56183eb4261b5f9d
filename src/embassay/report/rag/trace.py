"""What a trace says, on a terminal and as a page: where needed passages are lost, and each passage's way."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.document.blocks import Block, BulletList, Column, Said, Table, TableCell, VerdictText, make_number_columns
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.rag.trace.losses import PROMPT, SEARCH, StagePassageLoss, TracedPipelineLosses
from embassay.protocols.rag.trace.protocol import read_pipeline_trace
from embassay.report.board import SystemBoard
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun


def worst_stage_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """The stage that loses most."""
    trace = read_pipeline_trace(record.path)
    largest = trace.largest_loss
    if largest is None:
        return VerdictText((_format_trace_verdict(trace),), ((_write_trace_lede(trace),),))
    share = largest.share
    lost = Claim(largest.stage, "is", "lost", value=share.value, low=share.low, high=share.high)
    return VerdictText((_format_trace_verdict(trace),), ((_write_trace_lede(trace),),), (lost,))


def retrieval_trace_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a trace: its verdict, the losses, and each needed passage's way."""
    del alone
    yield worst_stage_verdict(run.record, run.board)
    verdict, *rest = retrieval_trace_view(read_pipeline_trace(run.record.path), each=True)
    assert isinstance(verdict, VerdictText)
    yield from rest


def retrieval_trace_view(trace: TracedPipelineLosses, *, each: bool = False) -> Iterator[Block]:
    """The verdict and the losses, by tag where there are tags; with `each`, a row for every needed passage."""
    yield VerdictText((_format_trace_verdict(trace),), ((_write_trace_lede(trace),),))
    yield _stage_loss_table([loss for loss in trace.losses if not loss.tag], "Stage", "trace-losses")
    tagged = [loss for loss in trace.losses if loss.tag and loss.lost]
    if tagged:
        yield _stage_loss_table(tagged, "Tag and stage", "trace-tags")
    if each:
        yield _needed_passages_table(trace)
    yield BulletList((*_say_stage_effects(trace), *trace.notes))


def _format_trace_verdict(trace: TracedPipelineLosses) -> str:
    largest = trace.largest_loss
    if largest is None:
        return "Every needed passage is in the prompt."
    where = {SEARCH: "are not found by any search", PROMPT: f"are found but rank below the first {trace.passages}"}
    ending = where.get(largest.stage, f"are lost at the stage {largest.stage}")
    return f"{_format_loss_share(largest)} of the needed passages {ending}"


def _write_trace_lede(trace: TracedPipelineLosses) -> str:
    n = len(trace.rows)
    finders = "; ".join(f"{name or 'none'} {count:,}" for name, count in trace.found_by.items())
    return (
        f"{trace.count_needed_passages_in_prompt:,} of the {n:,} passages that "
        f"{trace.questions:,} questions need are in the "
        f"prompt, which has room for {trace.passages}. Found by: {finders}."
    )


def _format_loss_share(loss: StagePassageLoss) -> str:
    share = loss.share
    low, high = share.ends
    return f"{share.point:.0%} ({100 * low:.0f}-{high:.0%})"


def _stage_loss_table(losses: list[StagePassageLoss], title: str, name: str) -> Table:
    rows: list[list[Said | TableCell]] = [
        [
            " ".join(filter(None, (loss.tag and f"{loss.tag}:", loss.stage))),
            f"{loss.lost:,}",
            _format_loss_share(loss),
            f"{loss.share.n:,}",
        ]
        for loss in losses
    ]
    heads: list[str | Column] = [title, *make_number_columns("Lost here", "Share, 95%", "n")]
    return Table.of(name, heads, rows)


def _needed_passages_table(trace: TracedPipelineLosses) -> Table:
    rows: list[list[Said | TableCell]] = [
        [
            f"{row.query} {row.passage}",
            *("" if rank is None else f"{rank:,}" for rank in row.ranks),
            row.lost or "in the prompt",
        ]
        for row in trace.rows
    ]
    heads: list[str | Column] = ["Question and passage", *make_number_columns(*trace.names), "Lost at"]
    return Table.of("trace-passages", heads, rows)


def _say_stage_effects(trace: TracedPipelineLosses) -> Iterator[str]:
    for effect in trace.effects:
        if effect.is_powerless:
            yield (
                f"{effect.stage} cannot help, because it gets no more passages than fit in the prompt. Move it before "
                "the cutoff, or let more passages through."
            )
            continue
        if not (effect.raised or effect.lowered or effect.dropped_first):
            continue
        said = f"{effect.stage} moves {effect.raised:,} needed passages into the first {trace.passages}"
        yield f"{said} and {effect.lowered:,} out" + (
            f" ({effect.dropped_first:,} leave the list)." if effect.dropped_first else "."
        )
