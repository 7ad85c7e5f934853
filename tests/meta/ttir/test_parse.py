"""Reading TTIR text: types, attributes, locations, regions."""

from __future__ import annotations

import pytest

from properties.ttir.constants import constant
from properties.ttir.parse import parse, read_attributes
from properties.ttir.program import Type
from properties.ttir.source_locations import read
from properties.ttir.type_text import parse_type, split_top

MODULE = """
#loc = loc("/tmp/kernel.py":3:1)
module {
  tt.func public @kernel(%x_ptr: !tt.ptr<f32> {tt.x = 16 : i32} loc("x_ptr"(#loc)), %n: i32 loc("n"(#loc))) {
    %c0 = arith.constant 0 : i32 loc(#loc1)
    %c1 = arith.constant 1 : i32 loc(#loc1)
    %total:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> (i32, i32)  : i32 {
      %sum = arith.addi %a, %i : i32 loc(#loc2)
      scf.yield %b, %sum : i32, i32 loc(#loc2)
    } {tt.num_stages = 2 : i32} loc(#loc3)
    %place = tt.addptr %x_ptr, %total#1 : !tt.ptr<f32>, i32 loc(#loc4)
    %value = tt.load %place {cachePolicy = #tt.cache_policy<cache_modifier = cg>} : !tt.ptr<f32> loc(#loc4)
    tt.store %place, %value : !tt.ptr<f32> loc(#loc4)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc(unknown)
#loc2 = loc("/tmp/kernel.py":7:9)
#loc3 = loc("i"(#loc5))
#loc4 = loc(callsite(#loc6 at #loc2))
#loc5 = loc("/tmp/kernel.py":6:5)
#loc6 = loc("/lib/site-packages/triton/language/standard.py":50:10)
"""


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("i32", Type("i32")),
        ("!tt.ptr<bf16>", Type("bf16", is_pointer=True)),
        ("!tt.ptr<f32, 1>", Type("f32", is_pointer=True)),
        ("tensor<8x1xi64>", Type("i64", (8, 1))),
        ("tensor<8x8x!tt.ptr<f8E4M3FN>>", Type("f8E4M3FN", (8, 8), is_pointer=True)),
        ("!tt.tensordesc<16x32xf32>", Type("f32", (16, 32), is_descriptor=True)),
        ("!tt.tensordesc<tensor<16x32xf32>>", Type("f32", (16, 32), is_descriptor=True)),
    ],
)
def test_types(text, want):
    """Scalars, pointers, tiles and descriptors of every version are read."""
    assert parse_type(text) == want


def test_split_keeps_brackets_and_strings():
    """Separators inside brackets, arrows and strings do not split."""
    assert split_top('a<b : c> : "x : y" : (d : e) -> f', " : ") == ["a<b : c>", '"x : y"', "(d : e) -> f"]
    assert split_top("(a, b) -> (c, d)", "->") == ["(a, b) ", " (c, d)"]


def test_attributes():
    """Numbers, arrays, flags and words are read, and taken out of the text."""
    found, plain = read_attributes("%x {axis = 1 : i32, order = array<i32: 1, 0>, hex = false} : f32")
    assert found == {"axis": 1, "order": (1, 0), "hex": False}
    assert plain.split() == ["%x", ":", "f32"]


def test_module():
    """A loop's arguments, results and attributes find their slots."""
    program = parse(MODULE)
    kernel = program.kernel
    assert (kernel.name, kernel.argument_names) == ("kernel", ("x_ptr", "n"))
    by_name = {operation.name: operation for operation in kernel.body.entry.operations}
    loop = by_name["scf.for"]
    assert loop.attributes == {"tt.num_stages": 2}
    assert loop.operands[1] == kernel.arguments[1]
    assert len(loop.regions[0].entry.arguments) == 3
    assert by_name["tt.addptr"].operands == (kernel.arguments[0], loop.results[1])
    assert kernel.types[by_name["tt.load"].results[0]] == Type("f32")


def test_locations():
    """An operation of Triton's library is told by the line that called it."""
    program = parse(MODULE)
    by_name = {operation.name: operation for operation in program.kernel.body.entry.operations}
    assert by_name["scf.for"].location.line == 6
    assert by_name["tt.store"].location.line == 7
    assert by_name["tt.store"].location.file == "/tmp/kernel.py"
    assert by_name["arith.constant"].location.line == 0


def test_fused_location():
    """A fused location is told by its first known line."""
    locations = read('#loc1 = loc(unknown)\n#loc2 = loc("/a.py":4:2)\n')
    assert locations.resolve("fused[#loc1, #loc2]").line == 4


@pytest.mark.parametrize(
    ("text", "type_", "want"),
    [
        ("dense<-1>", Type("i64", (8,)), [-1]),
        ("true", Type("i1"), [True]),
        ("dense<true>", Type("i1", (4,)), [True]),
        ("dense<[0, 1, 2, 3]>", Type("i32", (4,)), [0, 1, 2, 3]),
        ("1.500000e+00", Type("f32"), [1.5]),
        ("dense<0xFF800000>", Type("f32", (4,)), [float("-inf")]),
        ("dense<1.000000e+00>", Type("bf16", (4,)), [0x3F80]),
        ("0x7F80", Type("bf16"), [0x7F80]),
        ("dense<1.000000e+00>", Type("f16", (4,)), [0x3C00]),
    ],
)
def test_constants(text, type_, want):
    """Splats, lists and bit patterns become arrays of the stored type."""
    assert constant(text, type_).ravel().tolist() == want


@pytest.mark.parametrize("line", ["tt.func public @broken(", "nonsense %x"])
def test_broken_text(line):
    """Text that is no TTIR is refused with the text."""
    with pytest.raises(ValueError, match="TTIR"):
        parse(f"module {{\n{line}\n  nonsense\n}}" if "func" in line else f"tt.func public @f() {{\n{line}\n}}")
