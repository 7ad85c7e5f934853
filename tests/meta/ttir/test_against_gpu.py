"""The machine against the compiled kernels, on a GPU."""

from __future__ import annotations

import random

import pytest
import torch
import triton

from properties.ttir import Machine

from . import contraction_kernels, elementwise_kernels
from .family import FAMILY
from .inputs import BLOCK, floats, integers, same_bits

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

# what a compiler's if-conversion does across a branch is not modelled
BRANCHED = {"product_before_branch"}
# the GPU's fp32 `/` is an approximation
DIVIDING = {"product_also_read"}


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_contraction(dtype, fma):
    """Contraction gives the GPU's bits, on and off."""
    for kind in contraction_kernels.KINDS:
        if (fma and kind in BRANCHED) or kind in DIVIDING:
            continue
        generator = torch.Generator().manual_seed(1)
        inputs = [torch.randn(4096, generator=generator).to(dtype) for _ in range(4)]
        here, there = torch.zeros(4096, dtype=dtype), torch.zeros(4096, dtype=dtype, device="cuda")
        with Machine(fma=fma):
            contraction_kernels.contraction[(16,)](*inputs, here, 5, kind, 256)
        on_device = [tensor.cuda() for tensor in inputs]
        contraction_kernels.contraction[(16,)](*on_device, there, 5, kind, 256, enable_fp_fusion=fma)
        assert same_bits(there.cpu(), here).all(), kind


EXACT = ["add", "subtract", "multiply", "precise_divide", "maximum", "minimum", "maximum_nan", "minimum_nan"]
EXACT += ["bit_and", "bit_or", "bit_xor", "high_product", "fused", "choose"]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int64], ids=str)
def test_exact_operation(name, dtype, monkeypatch):
    """An operation that IEEE or C defines gives the GPU's bits."""
    is_float = dtype.is_floating_point
    if name.startswith("bit_") == is_float or (name == "high_product" and is_float):
        return  # the language does not define it for this type
    if name in ("precise_divide", "fused", "maximum_nan", "minimum_nan") and dtype != torch.float32:
        return  # likewise
    # a listener would be told the constants as JSON, which a kernel among them is not
    for listener in ("jit_cache_hook", "jit_post_compile_hook"):
        monkeypatch.setattr(triton.knobs.runtime, listener, None)
    x, y = (floats if is_float else integers)(dtype, 5)
    here, there = torch.zeros_like(x), torch.zeros_like(x).cuda()
    kernel, operation = elementwise_kernels.binary_tile, getattr(elementwise_kernels, name)
    with Machine(checks=False):
        kernel[(2,)](x, y, here, operation, BLOCK)
    kernel[(2,)](x.cuda(), y.cuda(), there, operation, BLOCK)
    assert same_bits(there.cpu(), here).all()


@pytest.mark.parametrize("case", FAMILY, ids=lambda case: case.__name__)
def test_family(case, monkeypatch):
    """The compiled kernels pass the same checks that the machine's results pass."""
    rng = random.Random(case.__name__)
    for name in ("tensor", "zeros", "empty", "full", "empty_like", "empty_strided", "randn", "randint"):
        monkeypatch.setattr(torch, name, on_gpu(getattr(torch, name), name))
    for _ in range(10):
        case(rng)


def on_gpu(function, name):
    """Makes a constructor put its tensor on the GPU; random numbers still come from the CPU's generator."""

    def construct(*arguments, **options):
        if "generator" in options or name == "empty_like":
            return function(*arguments, **options).cuda()
        return function(*arguments, **{**options, "device": "cuda"})

    return construct
