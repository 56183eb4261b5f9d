"""The page of perturbations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from embassay.registry import RegistryEntry
from embassay.text import PERTURBATIONS, TOKENIZERS, channels, open_tokenizer, perturb, perturbations, semantics
from embassay.text import perturbations as spans
from embassay.text.semantics import build_negation_rules, negate_text
from reference_pages.markdown import MADE, brief, names, options, plain

EDITS: Mapping[str, Callable[..., Any]] = {
    "capitalize": perturbations.capitalize_random_quarter,
    "delete10": perturbations.delete_every_tenth_character,
    "numerize": perturbations.replace_letters_by_digits,
    "negate": negate_text,
    "sentence_shuffle": perturbations.shuffle_sentences,
    "word_shuffle": perturbations.shuffle_words,
    "synonyms": semantics.replace_synonyms,
    "facts": semantics.replace_facts_in_text,
    "typos": channels.damage_letters,
    "ocr": channels.damage_letters,
    "speech": channels.simulate_speech_transcript,
    "insertion": spans.insert_needle,
    "removal": spans.remove_token_span,
}
"""Perturbation -> the function that edits, whose docstring defines it."""
SPELLED: Mapping[str, tuple[str, ...]] = {
    "capitalize": ("capitalize", "capitalize:exact=true"),
    "delete10": ("delete10", "delete10:spaces=next"),
    "numerize": ("numerize", "numerize:both_cases=true"),
    "typos": ("typos", "typos:p=0.3"),
    "ocr": ("ocr", "ocr:p=0.3"),
    "speech": ("speech", "speech:p=1"),
    "insertion": ("insertion:p=0.15,q=0", "insertion:p=0.5,q=0.5"),
    "removal": ("removal:p=0.15,q=0", "removal:p=0.9,q=1"),
}
TEXT = "A fox is asleep. It has been a long day, and nobody can wake it!"
SEED, ID, TOKENS = 1337, "doc-1", "words"
HEAD = """# Perturbations, one by one

{made}

[Perturbations](../perturbations.md) explains their purpose and how random choices are drawn. The *identity* is part
of the keys of results. The examples use the seed {seed}, the id `{id}`, the tokenizer `{tokens}` and this text:

```text
{text}
```
"""


def perturbations_page() -> str:
    """Every perturbation, the rules of negation, and the tokenizers."""
    head = HEAD.format(made=MADE, text=TEXT, seed=SEED, id=ID, tokens=TOKENS)
    sections = [_section(one) for one in PERTURBATIONS if not one.package]
    return "\n".join([head, *sections, f"## Tokenizers\n\n{names(TOKENIZERS)}\n"])


def edited(spelled: str) -> str:
    """The text of the examples, perturbed."""
    perturbation = PERTURBATIONS.build(spelled, ["tokenizer"], tokenizer=open_tokenizer(TOKENS))
    return perturb(perturbation, TEXT, seed=SEED, text_id=ID)


def _section(one: RegistryEntry[Any]) -> str:
    spelled = SPELLED.get(one.name, (one.name,))
    made = PERTURBATIONS.build(spelled[0], ["tokenizer"], tokenizer=open_tokenizer(TOKENS))
    lines = [f"## {one.name}", "", brief(EDITS[one.name].__doc__ or ""), ""]
    if taken := options(one.load(), ["tokenizer"]):
        lines += [taken, ""]
    lines += [*(f"- `{name}` gives `{edited(name)}`" for name in spelled), ""]
    lines += [f"Kind: {made.kind}. Identity: `{_version(made.identity)}`.", ""]
    if one.name == "negate":
        lines += [
            "A word becomes the first form in its brackets; a form in brackets becomes the word before them:",
            "",
            "; ".join(f"{plain(word)} ({plain(', '.join(negated))})" for word, negated in _by_word()) + ".",
            "",
        ]
    return "\n".join(lines)


def _version(identity: str) -> str:
    """Without the version of Unicode, which is Python's, and without the tokenizer's."""
    kept = [part for part in identity.split("/")[:3] if not part.startswith(("unicode", TOKENS))]
    return "/".join(kept)


def _by_word() -> list[tuple[str, list[str]]]:
    """An auxiliary and its negated forms, the one that it becomes first."""
    found = build_negation_rules()
    return [
        (word, [form for form, back in found.items() if back == word])
        for word, negated in found.items()
        if negated.endswith("not") and " " not in word and word != "cannot"
    ]
