"""What a comparison says of two systems, or of all systems of a place, as claims."""

from __future__ import annotations

from dataclasses import replace

from embassay.protocols.compare import RankedSystemGroup, SystemContrast, is_higher_measure_better
from embassay.protocols.kernel.claims import (
    Claim,
    make_leader_claims,
    make_pair_comparison_claim,
    select_names_above_references,
)
from embassay.protocols.kernel.comparisons import ALPHA


def make_contrast_claim(found: SystemContrast) -> Claim:
    """What a contrast that was tested says: the better system beats the other one, or they cannot be told apart. Where
    too little of one is judged, the better one only scores higher."""
    claim = make_pair_comparison_claim(
        found.measure, found.a, found.b, found.difference or 0.0, found.low, found.high,
        apart=found.p_adjusted < ALPHA, is_less_better=not is_higher_measure_better(found.measure)
    )  # fmt: skip
    return replace(claim, relation="higher") if found.judged_less and claim.relation == "beats" else claim


def make_first_place_claims(field: RankedSystemGroup) -> tuple[Claim, ...]:
    """Who may be first in a field, of those that score above every reference, if any does; none without ranks."""
    able = {entrant.system: entrant for entrant in field.entrants if entrant.rank_low == 1}
    first = select_names_above_references(
        list(able),
        lambda name: able[name].value,
        field.floor,
        is_less_better=not is_higher_measure_better(field.measure),
    )
    names = [entrant.system for entrant in field.entrants]
    alone = len(first) == 1 and able[first[0]].rank_high == 1
    return make_leader_claims(field.measure, first, names, alone=alone, below=len(able) - len(first))
