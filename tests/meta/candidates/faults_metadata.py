"""Steps of the plain `sconv_seq_metadata` gone wrong, one a class."""

from __future__ import annotations

import torch

from tests.meta.candidates.plain import Plain


class ShortSearch(Plain):
    """Two candidates are left at the end, and the first is taken."""

    def search_steps(self, num_reqs: int) -> int:
        return max(super().search_steps(num_reqs) - 1, 0)


class EmptyRequestsOwn(Plain):
    """Of the requests that start at the same row, the first is taken."""

    def search_owner(self, query_start_loc: torch.Tensor, num_reqs: int, row: torch.Tensor) -> torch.Tensor:
        first_row = query_start_loc[super().search_owner(query_start_loc, num_reqs, row)]
        return torch.searchsorted(query_start_loc[:num_reqs].contiguous(), first_row)


class StaleTail(Plain):
    """Padded rows keep an earlier batch's request."""

    def clear(self, buffer: torch.Tensor, begin: int, end: int) -> None:
        pass


class OneRowBeyond(Plain):
    """The neighbour behind the padded rows is overwritten."""

    def clear(self, buffer: torch.Tensor, begin: int, end: int) -> None:
        super().clear(buffer, begin, end + 1)


class GuardTurnedRound(Plain):
    """The comparison with the buffer's size is the wrong way round."""

    def is_too_small(self, buffer: torch.Tensor, padded: int) -> bool:
        return padded < buffer.shape[0]
