"""`embassay rag prompts`: what a language model is told as a judge, word for word."""

from __future__ import annotations

import typer

from embassay.cli.options import Json


def prompts(json: Json = False) -> None:
    """Show the instructions for grading one passage and for ordering several, with the digests that results carry."""
    from embassay.protocols.rag.judges.prompts import KINDS, prompt

    if json:
        from json import dumps

        typer.echo(dumps([prompt(kind).as_dict() for kind in KINDS], ensure_ascii=False))
        return
    for kind in KINDS:
        one = prompt(kind)
        typer.echo(f"{one.identity}\n\n{one.text}\n")
