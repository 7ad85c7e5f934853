"""Generated launches of the correct kernels, each with its check against PyTorch."""

from __future__ import annotations

import random

import torch
import triton

from . import family_kernels as kernels

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def _numbers(rng: random.Random, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))
    return torch.randn(shape, generator=generator).to(dtype)


def _close(out: torch.Tensor, want: torch.Tensor, units: float = 4.0) -> None:
    """Compares within a few roundings of the output type, relative to the largest value around."""
    scale = want.abs().amax().clamp(min=1e-3) if want.numel() else 1.0
    bound = units * torch.finfo(out.dtype).eps * scale
    assert ((out.double() - want).abs() <= bound).all(), (out.double() - want).abs().max() / bound


def vector_add(rng: random.Random) -> None:
    n = rng.choice([1, 63, 64, 65, 200, 512])
    dtype = rng.choice(DTYPES)
    x, y = _numbers(rng, n, dtype=dtype), _numbers(rng, n, dtype=dtype)
    out = torch.empty_like(x)
    kernels.vector_add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    assert torch.equal(out, x + y)


def softmax(rng: random.Random) -> None:
    rows, columns = rng.randint(1, 9), rng.randint(1, 64)
    x = _numbers(rng, rows, columns + rng.randint(0, 3), dtype=rng.choice(DTYPES))[:, :columns]
    out = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    kernels.softmax[(rows,)](x, out, x.stride(0), columns, BLOCK=64)
    _close(out, x.double().softmax(-1))


def layer_norm(rng: random.Random) -> None:
    rows, columns = rng.randint(1, 6), rng.randint(2, 90)
    x = _numbers(rng, rows, columns, dtype=rng.choice(DTYPES))
    weight, bias = _numbers(rng, columns), _numbers(rng, columns)
    out = torch.empty_like(x)
    kernels.layer_norm[(rows,)](x, weight, bias, out, columns, 1e-5, BLOCK=32)
    want = torch.nn.functional.layer_norm(x.double(), (columns,), weight.double(), bias.double(), 1e-5)
    _close(out, want, 16.0)


def matmul(rng: random.Random) -> None:
    M, N, K = rng.randint(1, 40), rng.randint(1, 40), rng.randint(1, 70)
    dtype = rng.choice([torch.float16, torch.bfloat16])
    a, b = _numbers(rng, M, K, dtype=dtype), _numbers(rng, K, N, dtype=dtype)
    out = torch.empty(M, N, dtype=dtype)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)
    kernels.matmul[grid](a, b, out, M, N, K, K, N, N, BLOCK_M=16, BLOCK_N=16, BLOCK_K=32, GROUP=rng.choice([1, 2]))
    _close(out, a.double() @ b.double())


def linear_scan(rng: random.Random) -> None:
    length, channels = rng.randint(1, 12), rng.randint(1, 70)
    decay, x = _numbers(rng, length, channels).sigmoid(), _numbers(rng, length, channels)
    out = torch.empty_like(x)
    kernels.linear_scan[(triton.cdiv(channels, 32),)](decay, x, out, length, channels, BLOCK=32)
    state, want = torch.zeros(channels, dtype=torch.float64), []
    for position in range(length):
        state = state * decay[position].double() + x[position].double()
        want.append(state)
    _close(out, torch.stack(want), 16.0)


def persistent_scale(rng: random.Random) -> None:
    n = rng.randint(1, 500)
    x = _numbers(rng, n)
    out = torch.empty_like(x)
    kernels.persistent_scale[(rng.randint(1, 5),)](x, out, triton.cdiv(n, 32), n, 0.5, BLOCK=32)
    assert torch.equal(out, x * 0.5)


def split_sum(rng: random.Random) -> None:
    rows, columns = rng.randint(1, 5), rng.randint(1, 300)
    x = torch.randint(-9, 10, (rows, columns)).float()
    out = torch.zeros(rows)
    kernels.split_sum[(rows, 4)](x, out, columns, SPLIT=4, BLOCK=32)
    assert torch.equal(out, x.sum(-1))


def paged_gather(rng: random.Random) -> None:
    requests, page, width = rng.randint(1, 5), 8, 4
    lengths = torch.tensor([rng.randint(0, page * width) for _ in range(requests)], dtype=torch.int32)
    pages = _numbers(rng, requests * width + 2, page + rng.randint(0, 2), 16, dtype=rng.choice(DTYPES))[:, :page]
    table = torch.full((requests, width + 1), -1, dtype=torch.int32)
    blocks = list(range(len(pages)))
    rng.shuffle(blocks)
    for request, length in enumerate(lengths.tolist()):
        for block in range(triton.cdiv(length, page)):
            table[request, block] = blocks.pop()
    out = torch.zeros(requests, page * width, 16, dtype=pages.dtype)
    kernels.paged_gather[(requests, width)](
        pages, table, lengths, out, pages.stride(0), table.stride(0), page * width, PAGE=page, D=16
    )
    for request, length in enumerate(lengths.tolist()):
        for position in range(length):
            assert torch.equal(out[request, position], pages[table[request, position // page], position % page])
        assert (out[request, length:] == 0).all()


def convolution_norm(rng: random.Random) -> None:
    T, C, W = rng.randint(1, 14), rng.randint(1, 32), rng.choice([1, 3, 4])
    x = _numbers(rng, T, C, dtype=rng.choice(DTYPES))
    weight, scale = _numbers(rng, C, W), _numbers(rng, C)
    first = torch.zeros(T, dtype=torch.int32)
    for row in range(1, T):
        first[row] = row if rng.random() < 0.3 else first[row - 1]
    out = torch.empty_like(x)
    kernels.convolution_norm[(T,)](x, weight, scale, first, out, C, 1e-6, W=W, BLOCK=32)
    want = torch.zeros(T, C, dtype=torch.float64)
    for row in range(T):
        for tap in range(W):
            source = row - (W - 1) + tap
            if source >= first[row]:
                want[row] += weight[:, tap].double() * x[source].double()
        if row > first[row]:
            want[row] *= (want[row].square().mean() + 1e-6).rsqrt() * scale.double()
    _close(out, want, 16.0)


def collatz(rng: random.Random) -> None:
    x = torch.tensor([rng.randint(1, 40) for _ in range(rng.randint(1, 9))], dtype=torch.int32)
    out = torch.empty_like(x)
    kernels.collatz[(len(x) + rng.randint(0, 2),)](x, out, len(x))
    for value, steps in zip(x.tolist(), out.tolist(), strict=True):
        count = 0
        while value != 1:
            value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
        assert steps == count


FAMILY = [
    vector_add, softmax, layer_norm, matmul, linear_scan, persistent_scale, split_sum, paged_gather,
    convolution_norm, collatz,
]  # fmt: skip
