"""Parts: the pieces of a script that stand in every one, or where they are needed."""

from __future__ import annotations

HEAD = '''"""{words}
{shown}
Seen with {versions};
{title}
Run it on a GPU: python {name} [kernel.py or module]
Without one, in a checkout of the judge ({root}): python -m properties.ttir path/to/{name} [kernel.py or module]
Exit code 0: it holds, 1: it is violated, 2: cannot be told here.
"""
'''

# What a script prints itself, under the words about the whole case that the judge has told.
SHOWN = """
The above tells the whole case, as the judge saw it. {scope}When the script was written, it printed{beside}:

{printed}
"""
ONE_CHANNEL = "This script compares one channel alone.\n"
NOTE = """
Elements that no tap may read hold one number here, so numbers that come out, or the place of a hazard,
are others than the judge told.
"""

LOAD = """
PROPERTY = "{property}"
TARGET = sys.argv[1] if len(sys.argv) > 1 else {target!r}
MACHINE = sys.modules.get("properties.ttir")  # set where the machine runs this script
DEVICE = "cuda" if torch.cuda.is_available() and MACHINE is None else "cpu"
{shim}{path}torch.use_deterministic_algorithms(True, warn_only=True)  # memory that nobody writes holds NaN
if os.path.isfile(TARGET):
    TARGET = os.path.abspath(TARGET)
    spec = importlib.util.spec_from_file_location("candidate", TARGET)
    candidate = sys.modules["candidate"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(candidate)
elif TARGET.endswith(".py") or not TARGET.replace(".", "_").isidentifier():
    print(f"there is no kernel file {{TARGET}}")
    sys.exit(2)
else:
    sys.path.insert(0, os.getcwd())
    try:
        candidate = importlib.import_module(TARGET)
    except ModuleNotFoundError as error:
        print(f"{{TARGET}} is no module that can be imported in {{os.getcwd()}}: {{error}}")
        sys.exit(2)
UNDER_MACHINE = shlex.join(["python", "-m", "properties.ttir", os.path.abspath(__file__), TARGET])
if DEVICE == "cpu" and MACHINE is None and "triton" in sys.modules:
    print("no GPU here; in a checkout of the judge:", UNDER_MACHINE)
    sys.exit(2)
"""

PATH = """sys.path.insert(0, {root!r})
"""

SHIM = """if "vllm" not in sys.modules and importlib.util.find_spec("vllm") is None:  # what kernel files take
    import triton.language
    sys.modules["vllm"], sys.modules["vllm.triton_utils"] = types.ModuleType("vllm"), types.SimpleNamespace(
        triton=triton, tl=triton.language, HAS_TRITON=True)
"""

CONFIGURED = """
for kernel in list(vars(candidate).values()):  # the configuration that fails
    if hasattr(kernel, "configs"):
        kernel.configs = [one for one in kernel.configs if {words!r} <= set(str(one).split(", "))] or kernel.configs
"""

LAID = '''
def laid(values, dtype=None):
    """A tensor between 64 elements of 0x5A... on either side."""
    values = torch.as_tensor(values, dtype=dtype)
    memory = torch.full(((values.numel() + 128) * values.itemsize,), 0x5A, dtype=torch.uint8, device=DEVICE)
    return memory.view(values.dtype)[64:-64].view(values.shape).copy_(values)
'''

STRIDED = '''
def laid(values, dtype=None, strides=None, shift=0, gap=None):
    """A tensor with these strides, between 64 elements of 0x5A... on either side."""
    values = torch.as_tensor(values, dtype=dtype)
    strides = strides or values.stride()
    extent = 1 + sum((n - 1) * stride for n, stride in zip(values.shape, strides)) if values.numel() else 0
    memory = torch.full(((extent + 128) * values.itemsize,), 0x5A, dtype=torch.uint8, device=DEVICE)
    memory = memory.view(values.dtype)
    if gap is not None:
        memory[64 + shift : 64 + shift + extent] = gap
    return memory.as_strided(values.shape, strides, 64 + shift).copy_(values)
'''

PUT = '''
def put(tensor, index, values):
    """The tensor with other values at an index."""
    tensor[index] = torch.tensor(values, dtype=tensor.dtype).view(tensor[index].shape)
    return tensor
'''

FAR = '''
def far(values, strides):
    """The values so far apart, in memory of which only the pages touched exist (all of it on a GPU)."""
    size = 2**31 + 1 + sum((n - 1) * stride for n, stride in zip(values.shape, strides))
    if DEVICE == "cpu":
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        memory = torch.frombuffer(mmap.mmap(-1, size * values.itemsize, flags=flags), dtype=values.dtype)
    else:
        memory = torch.empty(size, dtype=values.dtype, device=DEVICE)
    return memory.as_strided(values.shape, strides, 2**31).copy_(values)
'''

MEMORY = '''
def memory(tensor):
    """The whole allocation that a tensor lies in; its first element is number 64, or 2**31 where it is far."""
    return tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,), 0)
'''

GRAPH = '''
class Graph:
    """A CUDA graph of what `region` does; under the machine, its tape."""

    def __init__(self, region):
        if MACHINE is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = region()
            return
        with MACHINE.Tape() as self.tape:
            self.result = region()
        self.tape.forget()

    def replay(self):
        if MACHINE is None:
            return self.graph.replay()
        with MACHINE.Machine() as machine:
            self.tape.replay(machine.replay)
'''

NO_GRAPHS = """if DEVICE == "cpu" and MACHINE is None:
    print("no graphs here; in a checkout of the judge:", UNDER_MACHINE)
    sys.exit(2)
"""

COMPARE = '''
def compare(name, got, wanted, at=None{more}):
    """Prints the elements that differ, {how}, and returns how many do."""
    at = at or [index.tolist() for index in torch.ones(got.shape).nonzero(as_tuple=True)]
    got, wanted = got[tuple(at)].cpu(), torch.as_tensor(wanted{cast}).cpu().flatten()
    wrong = {wrong}
    for i in wrong.nonzero().flatten().tolist()[:10]:
        place = [index[i] for index in at]
        seen, right = f"{{got[i].item(){digits}}}", f"{{wanted[i].item(){wanted_digits}}}"
        print(f"{{name}}{{place}} = {{seen}}, but should be {{right}}{tail}")
    return int(wrong.sum())
'''

BITS = ("bit for bit", "got.view({bits}) != wanted.view({bits})")
LOOSE = ("but for the sign of a zero", "(got != wanted) & ~(got.isnan() & wanted.isnan())")
WITHIN = ("beyond the error that any order of fp32 sums may make", "~((got.double() - wanted).abs() <= within)")

CHECK = '''
def check(out, x, others):
    """What is wrong with a result before its values are looked at, or ''."""
    if not isinstance(out, torch.Tensor):
        return f"returned {type(out).__name__}, but should return a tensor"
    for what in ("layout", "device", "shape", "dtype"):
        if getattr(out, what) != getattr(x, what):
            return f"returned {what} {getattr(out, what)}, but should return that of x, {getattr(x, what)}"
    for name, other in others.items():
        if out.numel() and out.untyped_storage().data_ptr() == other.untyped_storage().data_ptr():
            return f"returned memory of {name}, but should return its own"
    return ""
'''

MEAN = '''
def mean_error(out, wanted, rows):
    """The mean rounding error in units in the last place, positive away from 0, and how much of it may be chance."""
    _, exponent = torch.frexp(wanted.abs())
    exponent = torch.where(wanted != 0, exponent - 1, {least}).clamp_min({least})
    ulp = torch.ldexp(torch.ones_like(wanted), exponent - {precision} + 1)
    away = ((out.cpu().double() - wanted) / ulp * wanted.sign())[rows].flatten()
    return float(away.mean()), 6 * max(float(away.std()), (1 / 12) ** 0.5) / len(away) ** 0.5
'''

STATE = '''
def state():
    """What a call must leave as it was."""
    return {{{items}}}


def changed(before):
    """Prints what is no longer as it was, and returns how much is not."""
    after = state()
    wrong = [name for name in before if before[name] != after[name]]
    for name in wrong:
        words = f"from {{before[name]}} to {{after[name]}}"
        print(f"changed {{name}}", words if len(words) < 100 else "")
    return len(wrong)
'''

# How a script reads what belongs to the whole process, by the names of `surroundings.SETTINGS`.
READ = {
    "torch's default dtype": "torch.get_default_dtype()",
    "torch's default device": "torch.get_default_device()",
    "torch's gradient mode": "torch.is_grad_enabled()",
    "torch's deterministic mode": "torch.are_deterministic_algorithms_enabled()",
    "torch's matmul precision": "torch.get_float32_matmul_precision()",
    "torch's number of threads": "torch.get_num_threads()",
    "the state of torch's random numbers": "torch.get_rng_state().tolist()",
    "the state of CUDA's random numbers": "torch.cuda.get_rng_state().tolist()",
    "the state of Python's random numbers": "random.getstate()",
    "the state of NumPy's random numbers": "repr(numpy.random.get_state())",
    "the environment": "dict(os.environ)",
    "the working directory": "os.getcwd()",
}
