"""Each operator makes the mutants that it says, each in one place, and no other."""

from __future__ import annotations

import ast

import pytest

from properties.mutation.operators import every, mutants
from properties.mutation.source import Source

KERNEL = '''
@triton.jit
def kernel(x_ptr, out_ptr, n, stride_a, stride_b, N, W: tl.constexpr, B: tl.constexpr):
    """A kernel."""
{body}

def fused_sconv(x: torch.Tensor, weight: torch.Tensor, off_s: int, activation: str | None, use_residual: bool):
    """A host function."""
{host}
    return out
'''

# operator -> a line of the kernel, or of the host function, and what it becomes
MADE = {
    "drop_mask_term": ("ok = a & (b < c)", {"ok = (a)", "ok = (b < c)"}),
    "drop_mask": ("v = tl.load(x_ptr + i, mask=m, other=0)", {"v = tl.load(x_ptr + i)"}),
    "change_other": (
        "v = tl.load(x_ptr + i, mask=m, other=0)",
        {"v = tl.load(x_ptr + i, mask=m)", "v = tl.load(x_ptr + i, mask=m, other=(0 + 1))"},
    ),
    "compare": ("ok = i < n", {"ok = i <= n", "ok = i > n"}),
    "branch": ("if W > 1: pass", {"if True: pass", "if False: pass"}),
    "select": ("v = tl.where(c, a, b)", {"v = tl.where(c, b, a)", "v = tl.where(c, a, a)", "v = tl.where(c, b, b)"}),
    "offset_by_one": (
        "tl.store(out_ptr + i, v)",
        {"tl.store(out_ptr + i + 1, v)", "tl.store(out_ptr + i - 1, v)"},
    ),
    "loaded_by_one": ("v = tl.load(p)", {"v = (tl.load(p) + 1)", "v = (tl.load(p) - 1)"}),
    "constant": ("v = a + 4", {"v = a + 5", "v = a + (3)"}),
    "division": ("v = a // N", {"v = a % N"}),
    "sign": ("v = a + b * 2", {"v = a - (b * 2)"}),
    "clamp": ("v = tl.maximum(a, b)", {"v = tl.minimum(a, b)", "v = (a)", "v = (b)"}),
    "drop_int64": (
        "v = a.to(tl.int64) + tl.cast(b, tl.int64)",
        {"v = a + tl.cast(b, tl.int64)", "v = a.to(tl.int64) + (b)"},
    ),
    "swap_stride": ("v = i * stride_a", {"v = i * stride_b"}),
    "swap_pointer": ("v = tl.load(x_ptr)", {"v = tl.load(out_ptr)"}),
    "swap_W_N": ("v = i // N", {"v = i // W"}),
    "loop": (
        "for k in range(W): pass",
        {"for k in range(W - 1): pass", "for k in range(W + 1): pass", "for k in range(1, W): pass"},
    ),
    "reverse_taps": ("for k in tl.static_range(W): v = k", {"for k in tl.static_range(W): v = (W - 1 - k)"}),
    "overlap_tiles": ("i = tl.program_id(0) * B", {"i = tl.program_id(0) * (B - 1)", "i = tl.program_id(0) * (B + 1)"}),
    "window_border": ("ok = row < first", {"ok = row < (first + 2)", "ok = row < (first - 1)"}),
    "drop_float32": ("v = a.to(tl.float32)", {"v = a"}),
    "round_accumulator": ("acc += v", {"acc = (acc + v).to(tl.bfloat16).to(tl.float32)"}),
    "truncate": (
        "tl.store(p, acc.to(out_ptr.dtype.element_ty))",
        {
            "tl.store(p, (acc.to(tl.int32, bitcast=True) & -65536).to(tl.float32, bitcast=True)"
            ".to(out_ptr.dtype.element_ty))"
        },
    ),
    "scale": (
        "tl.store(p, acc.to(out_ptr.dtype.element_ty))",
        {f"tl.store(p, (acc * {1 + 2.0**-k!r}).to(out_ptr.dtype.element_ty))" for k in range(3, 13)},
    ),
    "store_other": ("tl.store(p, a)\n    tl.store(q, b)", {"tl.store(p, a)\n    tl.store(q, a)"}),
    "store_sum": ("acc += v\n    tl.store(p, x)", {"acc += v\n    tl.store(p, acc)"}),
    "drop_factor": ("v = a * b", {"v = (a)", "v = (b)"}),
    "drop_statement": ("tl.store(p, v)", {"pass"}),
}
ON_THE_HOST = {
    "grid": (
        "g = triton.cdiv(T, B)",
        {"g = max(1, T // B)", "g = max(1, triton.cdiv(T, B) - 1)", "g = (triton.cdiv(T, B) + 1)"},
    ),
    "swap_arguments": (
        "kernel[g](x, weight, 3, W=a, B=b)",
        {"kernel[g](weight, x, 3, W=a, B=b)", "kernel[g](x, weight, 3, W=b, B=a)"},
    ),
    "ignore_argument": ("v = off_s", {"v = 0", "v = 1"}),
    "wrong_dimension": ("v = x.stride(1)", {"v = x.stride(0)"}),
    "out_memory": ("out = torch.empty_like(x)", {"out = x"}),
}


def made(operator, body="pass", host="pass"):
    """The text of the line that changed, in each mutant."""
    text = KERNEL.format(body=f"    {body}", host=f"    {host}")
    source = Source("kernel.py", text)
    where = body if body != "pass" else host
    head, tail = text.split(f"    {where}\n")
    found = set()
    for mutant in mutants(source, [operator]):
        changed = mutant.apply(text)
        assert changed.startswith(head), mutant.key
        assert changed.endswith(tail), mutant.key
        found.add(changed[len(head) : len(changed) - len(tail)].strip())
        ast.parse(changed)
    return found


@pytest.mark.parametrize("operator", MADE)
def test_in_a_kernel(operator):
    """Makes what it says of a line of a kernel."""
    line, wanted = MADE[operator]
    assert made(operator, body=line) == wanted


@pytest.mark.parametrize("operator", ON_THE_HOST)
def test_in_a_host_function(operator):
    """Makes what it says of a line of a host function."""
    line, wanted = ON_THE_HOST[operator]
    assert made(operator, host=line) == wanted


def test_a_cached_result():
    """Returns the first result of a shape for ever, and fills buffers once."""
    source = Source("kernel.py", KERNEL.format(body="    pass", host="    out = x"))
    (mutant,) = mutants(source, ["cached_result"])
    changed = mutant.apply(source.text)
    assert changed.count("@(lambda f, kept={}: lambda *a, **k:") == 1
    names: dict = {}
    start = changed.index("@(lambda")
    exec(f"class torch: Tensor = object\n{changed[start:]}", names)

    class Shaped:
        shape = (2, 3)

    first, second = Shaped(), Shaped()
    assert names["fused_sconv"](first, 0, 0, None, True) is first
    assert names["fused_sconv"](second, 0, 0, None, True) is first


def test_every_operator_is_tested():
    """No operator is without a line here."""
    assert set(MADE) | set(ON_THE_HOST) | {"cached_result"} == set(every())
