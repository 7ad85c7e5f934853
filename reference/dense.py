"""The short convolution of one whole sequence, in float64."""

from __future__ import annotations

import torch


def dense_conv(
    inputs: torch.Tensor,
    weight: torch.Tensor,
    activation: str | None = None,
    use_residual: bool = True,
) -> torch.Tensor:
    """Returns the unrounded output of every position of one sequence.

    Args:
        inputs: ``[L, C]``, any floating dtype; row ``p`` is the conv input at absolute position ``p``, and
            everything before position 0 is zero.
        weight: ``[C, W]`` with ``W >= 1``, any floating dtype, any strides; column ``W-1`` multiplies the
            current position.
        activation: ``None``, ``"silu"`` or ``"swish"`` (the same function), applied before the residual.
        use_residual: adds ``inputs`` to the activated sum.

    Returns:
        ``[L, C]`` float64. Every product and sum is a float64 operation and nothing is rounded to the dtype
        of ``inputs``, so for inputs of at most 24 significant bits each product is exact.

    Raises:
        ValueError: the shapes do not fit, or the activation is unknown.

    The formula is the *Value* paragraph of the operators' contract::

        y[p, c]   = activation(sum over k = 0..W-1 of weight[c, k] * inputs[p - (W-1) + k, c])
        out[p, c] = y[p, c] + inputs[p, c]        (without the last term if use_residual is False)

    A tap before position 0 adds nothing, rather than ``weight * 0``; a NaN or infinity in ``inputs``
    therefore reaches exactly the ``W`` positions whose window holds it, and its own channel.
    """
    if inputs.dim() != 2 or weight.dim() != 2 or inputs.shape[1] != weight.shape[0] or weight.shape[1] < 1:
        raise ValueError(
            f"inputs {tuple(inputs.shape)}, weight {tuple(weight.shape)} must be [L, C], [C, W] with W >= 1"
        )
    if activation not in (None, "silu", "swish"):
        raise ValueError(f"activation is {activation!r}, but must be None, 'silu' or 'swish'")

    exact_inputs = inputs.to(torch.float64)
    exact_weight = weight.to(torch.float64)
    L, W = inputs.shape[0], weight.shape[1]
    total = torch.zeros_like(exact_inputs)
    for k in range(W):
        age = W - 1 - k  # how many positions before the current one this tap looks
        if age < L:
            total[age:] += exact_weight[:, k] * exact_inputs[: L - age]
    if activation is not None:
        total = total * torch.sigmoid(total)
    return total + exact_inputs if use_residual else total
