"""Host reads that no CUDA graph can hold: each is refused in a capture, by the name of what a wrapper writes for it."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import dlpack

from properties.cases import Forward, Geometry, Request
from properties.engines import ENGINES
from properties.invariants import graphs
from properties.replays import Replays
from properties.ttir import CaptureForbidden, Machine, Tape
from properties.verdict import Violation
from tests.meta.candidates.graph_faults import Wrapper
from tests.meta.judging_table import bound

FORBIDDEN = "operation not permitted when stream is capturing: "
# What is read of a tensor, and the name under which it is refused.
READ = [
    (lambda x: x.sum().item(), "item(), bool() or int()"),
    (lambda x: bool(x.any()), "item(), bool() or int()"),
    (lambda x: int(x[0]), "item(), bool() or int()"),
    (lambda x: x.cpu(), "Tensor.cpu()"),
    (lambda x: x.to("cpu"), "Tensor.to()"),
    (lambda x: x.to(device="cpu"), "Tensor.to()"),
    (lambda x: x.tolist(), "Tensor.tolist()"),
    (lambda x: x[x > 1], "an index that is a boolean mask"),
    (torch.nonzero, "nonzero(), or where() of one argument,"),
    (lambda x: torch.where(x > 1), "nonzero(), or where() of one argument,"),
    (lambda x: torch.bincount(x.long()), "bincount()"),
    (lambda x: torch.repeat_interleave(x, x.long()), "repeat_interleave() without output_size"),
    (lambda x: torch.as_tensor([1.0], device=x.device), "torch.as_tensor copies from the host to a device"),
    (lambda x: torch.equal(x, x + 1), "torch.equal()"),
    (lambda x: torch.allclose(x, x), "allclose()"),
    (repr, "print(), str() or repr()"),
    (str, "print(), str() or repr()"),
    (lambda x: print([x], file=io.StringIO()), "print(), str() or repr()"),
    (lambda x: f"x is {x}", "an f-string or format()"),
    (lambda x: f"{x[0]:.2f}", "an f-string or format()"),
    (lambda x: 1.0 in x, "the operator `in`"),
    (lambda x: x.numpy(), "Tensor.numpy()"),
    (np.asarray, "numpy.asarray(), or another function of NumPy,"),
    (lambda x: np.add(x, 1), "numpy.asarray(), or another function of NumPy,"),
    (np.from_dlpack, "from_dlpack() of another library than torch"),
    (lambda x: bytes(x.untyped_storage()), "bytes() or list() of a tensor's storage"),
    (lambda x: x.untyped_storage()[0], "an element of a tensor's storage"),
    (lambda x: x.untyped_storage().tolist(), "tolist() of a tensor's storage"),
    (lambda x: x.untyped_storage().cpu(), "cpu() of a tensor's storage"),
    (lambda x: str(x.untyped_storage()), "print(), str() or repr() of a tensor's storage"),
    (pickle.dumps, "pickling a tensor"),
]
# What moves no contents to the host, though it looks like it.
ALLOWED: dict[str, Callable[[torch.Tensor], Any]] = {
    "views": list,
    "shape": lambda x: f"{x.shape} {x.dtype} {x.stride()}",
    "torch's own dlpack": lambda x: torch.from_dlpack(x).add_(dlpack.from_dlpack(dlpack.to_dlpack(x))),
    "part of a storage": lambda x: x.untyped_storage()[0:8],
    "copy": copy.copy,
    "a tensor of the host": lambda x: repr(torch.tensor(3.0)),
}


@pytest.mark.parametrize("surroundings", [nullcontext, Machine], ids=["alone", "under the machine"])
@pytest.mark.parametrize(("read", "name"), READ)
def test_a_read(read, name, surroundings):
    """Ends the capture, and is named."""
    with pytest.raises(CaptureForbidden) as caught, surroundings(), Tape():
        read(torch.arange(4.0))
    assert str(caught.value).startswith(FORBIDDEN + name)


@pytest.mark.parametrize("surroundings", [nullcontext, Machine], ids=["alone", "under the machine"])
@pytest.mark.parametrize("kind", ALLOWED)
def test_no_read(kind, surroundings):
    """Ends no capture."""
    with surroundings(), Tape() as tape:
        ALLOWED[kind](torch.arange(4.0))
    tape.replay(lambda launches: None)


def is_captured(region):
    """Whether CUDA captures a region on a tensor of the device."""
    x = torch.arange(4.0, device="cuda")
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            region(x)
    except Exception:  # of whatever kind: its own, torch's or NumPy's
        return False
    return True


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA: it is what the tape stands for")
def test_cuda_says_the_same():
    """Captures none of the one and all of the other."""
    assert [name for read, name in READ if is_captured(read)] == []
    assert [kind for kind, region in ALLOWED.items() if not is_captured(region)] == []


def test_torch_is_as_before():
    """Nothing of torch's classes stays replaced, and what was refused can be read again."""
    kinds = (torch.Tensor, torch.UntypedStorage, torch.TypedStorage)
    before = [dict(vars(kind)) for kind in kinds]
    with pytest.raises(CaptureForbidden), Machine(), Tape():
        repr(torch.arange(4.0))
    assert [dict(vars(kind)) for kind in kinds] == before
    assert bytes(torch.arange(4.0).untyped_storage())[:4] == bytes(4)


class Prints(Wrapper):
    """Prints what it is given."""

    def fused_sconv(self, x, *given, **named):
        print(f"{x}")
        return super().fused_sconv(x, *given, **named)


def test_a_candidate_that_prints():
    """Violates the property of graphs, with its line."""
    case = Replays((Forward(Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8), (Request(5, 1),), contents="normal"),))
    with pytest.raises(Violation, match=r"an f-string or format\(\) reads contents of a tensor on the host") as caught:
        graphs.piecewise(bound("prints", Prints(), ENGINES["ttir"]()), case)
    assert 'print(f"{x}")' in caught.value.at
