"""Texts as keyboards, scanners and speech recognisers damage them: SAGE's conclusion asks for such edits.

What becomes of a letter is fitted on real pairs by `benchmarks/fit_channels.py`: at a keyboard on 47,106 misspellings
of codespell's dictionary that are one edit away from their word, in a scan on pages of documentation that Tesseract
read from small, blurred and noisy images. Words that sound alike have one pronunciation in CMUdict,
and were picked by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from embassay.text.semantics import Draw

CHANNELS_VERSION = 1
Channel = Literal["typos", "ocr"]

_SWAPPED = "swapped"


class CharacterErrorOutcomes(NamedTuple):
    """How often a character goes wrong, relative to the mean, and what becomes of it, with ends of cumulated shares."""

    rate: float
    outcomes: tuple[str, ...]
    ends: tuple[float, ...]

    def pick_character_error_outcome(self, at: float) -> str:
        """The outcome at a place from 0 to 1."""
        return next((what for what, end in zip(self.outcomes, self.ends, strict=True) if at < end), self.outcomes[-1])


@cache
def read_character_error_table(name: Channel) -> Mapping[str, CharacterErrorOutcomes]:
    """The fitted table of a channel: characters, or two of them in a row, and their fate."""
    table = json.loads((Path(__file__).parent / "channels.json").read_text("utf-8"))[name]
    fates = {
        key: CharacterErrorOutcomes(rate, tuple(outcomes), tuple(accumulate(outcomes.values())))
        for key, (rate, outcomes) in table.items()
    }
    if name == "typos":
        fates |= {key.upper(): _make_capital_letter_outcomes(fate) for key, fate in fates.items()}
    return fates


def _make_capital_letter_outcomes(fate: CharacterErrorOutcomes) -> CharacterErrorOutcomes:
    """That of a capital, which errs at a keyboard as its small letter does."""
    outcomes = (what if what == _SWAPPED else what.capitalize() for what in fate.outcomes)
    return fate._replace(outcomes=tuple(outcomes))


def damage_letters(text: str, draw: Draw, channel: Channel, share: float) -> str:
    """Damage about `share` of the characters of `text` that the channel knows, each independently.

    Position i takes two little-endian 32-bit numbers of the stream: whether something happens, and what.
    """
    fates = read_character_error_table(channel)
    numbers = _draw_unit_numbers(draw, 2 * len(text))
    damaged, place = [], 0
    while place < len(text):
        written, taken = _draw_character_error_at_position(
            text, place, fates, share, numbers[2 * place : 2 * place + 2]
        )
        damaged.append(written)
        place += taken
    return "".join(damaged)


def _draw_unit_numbers(draw: Draw, n: int) -> list[float]:
    """Numbers from 0 to below 1, each of four bytes of the stream."""
    shares: list[float] = (np.frombuffer(draw(4 * n), "<u4") / (1 << 32)).tolist()
    return shares


def _draw_character_error_at_position(
    text: str, place: int, fates: Mapping[str, CharacterErrorOutcomes], share: float, drawn: list[float]
) -> tuple[str, int]:
    """What is written for the text at a place, and how many of its characters that stands for."""
    happens, what = drawn
    # Two characters first, because a pair can have a fate of its own.
    for length in (2, 1):
        piece = text[place : place + length]
        fate = fates.get(piece)
        if fate is None or len(piece) < length:
            continue
        if happens < share * fate.rate:
            return _apply_character_error(fate.pick_character_error_outcome(what), piece, text[place + 1 : place + 2])
        # What is left of the draw decides on the shorter piece.
        happens -= share * fate.rate
    return text[place], 1


def _apply_character_error(outcome: str, piece: str, following: str) -> tuple[str, int]:
    if outcome == _SWAPPED:
        # At the end of a word there is nothing to change places with.
        return (following + piece, 2) if following.isalpha() else (piece, 1)
    return outcome, len(piece)


def simulate_speech_transcript(text: str, draw: Draw, share: float) -> str:
    """`text` as a simple speech recogniser writes it: in lower case, without punctuation, and with each word of `ALIKE`
    replaced by one that sounds the same with probability `share`. Digits stay, and marks within words, as in *don't*.

    >>> simulate_speech_transcript("No, they're HERE: 3.5 km!", lambda n: bytes(n), 0.0)
    "no they're here 3.5 km"
    """
    words = _SPOKEN.findall(text.lower().replace("’", "'"))
    numbers = _draw_unit_numbers(draw, 2 * len(words))
    heard = []
    for word, happens, what in zip(words, numbers[::2], numbers[1::2], strict=True):
        others = _load_homophones().get(word, ())
        heard.append(others[int(what * len(others))] if others and happens < share else word)
    return " ".join(heard)


_SPOKEN = re.compile(r"\d+(?:[.,:]\d+)*|\w+(?:'\w+)*")

ALIKE = """
    ad/add ail/ale air/heir aisle/isle allowed/aloud alter/altar ant/aunt arc/ark ate/eight bail/bale bare/bear
    barren/baron base/bass be/bee beach/beech beat/beet been/bin berry/bury berth/birth blew/blue boar/bore
    board/bored born/borne brake/break braking/breaking bread/bred browse/brows build/billed buy/by/bye cast/caste
    ceiling/sealing cell/sell cellar/seller censor/sensor cent/scent/sent cereal/serial chews/choose chord/cord
    chute/shoot cite/sight/site coarse/course colonel/kernel core/corps council/counsel creak/creek cue/queue
    days/daze dear/deer dew/due die/dye discreet/discrete dual/duel fair/fare feat/feet find/fined fir/fur flair/flare
    flea/flee flew/flu flour/flower for/four/fore forth/fourth foul/fowl gene/jean genes/jeans grate/great
    grease/greece guessed/guest hail/hale hair/hare hall/haul hay/hey heal/heel hear/here heard/herd him/hymn
    hire/higher hoarse/horse hole/whole holy/wholly hour/our hours/ours idle/idol in/inn knead/need knew/new
    knight/night knot/not know/no knows/nose lead/led lesson/lessen loan/lone made/maid mail/male main/mane maize/maze
    manner/manor marshal/martial meat/meet medal/meddle miner/minor missed/mist morning/mourning muscle/mussel
    naval/navel none/nun oar/or/ore one/won paced/paste packed/pact pail/pale pain/pane pair/pear passed/past
    pause/paws peace/piece peak/peek peal/peel peer/pier plain/plane pole/poll pore/pour pray/prey principal/principle
    profit/prophet rain/reign/rein raise/rays rap/wrap read/red real/reel right/write ring/wring road/rode role/roll
    root/route rose/rows sail/sale scene/seen sea/see seam/seem seams/seems sew/so/sow shear/sheer soar/sore sole/soul
    some/sum son/sun stair/stare stake/steak stationary/stationery steal/steel straight/strait suite/sweet tail/tale
    taught/taut tea/tee team/teem their/there/they're threw/through throne/thrown tide/tied to/too/two toe/tow
    vain/vein vary/very wade/weighed waist/waste wait/weight war/wore ware/wear/where way/weigh ways/weighs weak/week
    weather/whether which/witch wood/would yoke/yolk you're/your
"""


@cache
def _load_homophones() -> Mapping[str, tuple[str, ...]]:
    """Word -> those of the same sound."""
    groups = [group.split("/") for group in ALIKE.split()]
    return {word: tuple(other for other in group if other != word) for group in groups for word in group}
