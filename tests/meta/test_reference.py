"""The dense reference against rows computed by hand."""

from __future__ import annotations

import pytest
import torch

from reference import dense_conv, sequence_metadata


def rows(*values: tuple[float, ...]) -> torch.Tensor:
    """One tensor row per tuple."""
    return torch.tensor(values, dtype=torch.float32)


def test_taps_are_weighted_oldest_first() -> None:
    """Column W-1 multiplies the current position, and what lies before position 0 is zero."""
    out = dense_conv(rows((1,), (2,), (3,), (4,)), rows((100, 10, 1)), use_residual=False)
    #        1*1      10*1+1*2  100*1+10*2+1*3  100*2+10*3+1*4
    assert out.tolist() == [[1], [12], [123], [234]]


def test_channels_are_independent_and_the_residual_is_the_input() -> None:
    """Each channel has its own weights; the residual adds the unweighted input once."""
    out = dense_conv(rows((1, 10), (2, 20)), rows((3, 5), (0, 7)))
    #   channel 0: 5*1+1, 3*1+5*2+2        channel 1: 7*10+10, 0*10+7*20+20
    assert out.tolist() == [[6, 80], [15, 160]]


@pytest.mark.parametrize("activation", ["silu", "swish"])
def test_the_activation_comes_before_the_residual(activation: str) -> None:
    """`silu(2 * 1) + 1`, with silu(2) = 2 / (1 + e^-2) = 1.7615941559557649."""
    out = dense_conv(rows((1,)), rows((2,)), activation)
    assert out.item() == pytest.approx(2.7615941559557649, rel=1e-15)  # the last bit of exp in float64


def test_nothing_is_rounded_to_the_inputs_dtype() -> None:
    """256 + 1 + 1/512 needs 18 bits; bf16 inputs give it in full."""
    inputs = torch.tensor([[256.0], [1.0], [2.0**-9]], dtype=torch.bfloat16)
    weight = torch.ones(1, 3, dtype=torch.bfloat16)
    out = dense_conv(inputs, weight, use_residual=False)
    assert out.dtype == torch.float64
    assert out[2].item() == 257 + 2.0**-9


def test_a_nan_reaches_its_own_window_and_channel_only() -> None:
    """A NaN at position 1 is in the windows of positions 1 and 2 for W = 2."""
    out = dense_conv(rows((1, 1), (float("nan"), 1), (1, 1), (1, 1)), rows((0, 1), (0, 1)))
    assert out.isnan().tolist() == [[False, False], [True, False], [True, False], [False, False]]


def test_sequences_shorter_than_the_window() -> None:
    """One position, or none, under four taps."""
    weight = rows((8, 4, 2, 1))
    assert dense_conv(rows((3,)), weight, use_residual=False).tolist() == [[3]]
    assert dense_conv(torch.empty(0, 1), weight).shape == (0, 1)


def test_weight_strides_do_not_matter() -> None:
    """A transposed weight is read by index."""
    weight = rows((1, 2), (3, 4), (5, 6)).t()  # [C = 2, W = 3]
    out = dense_conv(rows((1, 1), (1, 1), (1, 1)), weight, use_residual=False)
    assert out.tolist() == [[5, 6], [8, 10], [9, 12]]


def test_wrong_arguments_are_named() -> None:
    """A shape or activation that does not fit is one line."""
    with pytest.raises(ValueError, match=r"^inputs \(2, 3\), weight \(4, 2\) must be \[L, C\], \[C, W\] with W >= 1$"):
        dense_conv(torch.zeros(2, 3), torch.zeros(4, 2))
    with pytest.raises(ValueError, match=r"^activation is 'relu', but must be None, 'silu' or 'swish'$"):
        dense_conv(torch.zeros(2, 3), torch.zeros(3, 2), "relu")


def test_metadata_with_requests_without_rows() -> None:
    """Requests 0, 2, 3 and 5 have no rows and own none; the padded tail is zero."""
    query_start_loc = torch.tensor([0, 0, 2, 2, 2, 5, 5], dtype=torch.int32)
    seq_idx, query_start = sequence_metadata(query_start_loc, 6, 5, 7)
    assert seq_idx.tolist() == [1, 1, 4, 4, 4, 0, 0]
    assert query_start.tolist() == [0, 0, 2, 2, 2, 0, 0]
    assert seq_idx.dtype == query_start.dtype == torch.int32


def test_metadata_ignores_entries_beyond_the_requests() -> None:
    """A buffer made for more requests holds stale entries behind `num_reqs + 1`."""
    query_start_loc = torch.tensor([0, 1, 3, 2, 0], dtype=torch.int32)
    seq_idx, query_start = sequence_metadata(query_start_loc, 2, 3)
    assert seq_idx.tolist() == [0, 1, 1]
    assert query_start.tolist() == [0, 1, 1]


def test_metadata_of_nothing() -> None:
    """No requests and no rows: padding alone is zero."""
    seq_idx, query_start = sequence_metadata(torch.zeros(1, dtype=torch.int32), 0, 0, 2)
    assert seq_idx.tolist() == query_start.tolist() == [0, 0]
