"""Animals of the metadata operator: classes 15 and 16."""

from __future__ import annotations

from properties.cases import Metadata
from tests.meta.zoo.animal import Animal

ANIMALS = (
    Animal(
        "guard_turned_round",
        bug_class=15,
        summary="the guard refuses buffers that are large enough, and accepts those that are not",
        property_name="metadata.refuses",
        case=Metadata(),
        changes={
            "guard": """
                if num_padded_tokens < num_actual_tokens:
                    raise ValueError(f"num_padded_tokens is {num_padded_tokens}, less than num_actual_tokens")
                if min(len(seq_idx_out), len(query_start_out)) > num_padded_tokens:
                    raise ValueError(f"a buffer has less than {num_padded_tokens} rows")
            """
        },
    ),
    Animal(
        "one_step_short",
        bug_class=16,
        summary="the search for the owner stops one step early",
        property_name="metadata.searchsorted",
        case=Metadata(lengths=(0, 1)),
        changes={"steps": "steps = max(last_request.bit_length() - 1, 0)"},
    ),
    Animal(
        "empty_requests_own",
        bug_class=16,
        summary="a request without rows owns the row at which it would begin",
        property_name="metadata.searchsorted",
        case=Metadata(lengths=(0, 1)),
        changes={
            "search": """
                for _ in range(search_steps):
                    middle = low + (high - low) // 2
                    begin = tl.load(query_start_loc_ptr + middle, mask=is_actual, other=0)
                    end = tl.load(query_start_loc_ptr + middle + 1, mask=is_actual, other=0)
                    is_reached = (begin >= row) | (end > row)
                    low = tl.where(is_reached, low, middle + 1)
                    high = tl.where(is_reached, middle, high)
            """
        },
    ),
)
