"""Writes operators.txt: calls of ATen operators on small tensors and what PyTorch answers (eager, CPU).

Run in an environment with PyTorch:  python make_operators.py > operators.txt
A call that PyTorch refuses for a dtype is left out, so that lists of dtypes may be generous.
"""
import math
import sys

import torch

inf, nan = math.inf, math.nan
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
u8, i8, i16, i32, i64, b1 = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool
NAMES = {f16: "f16", bf16: "bf16", f32: "f32", f64: "f64", u8: "u8", i8: "i8", i16: "i16", i32: "i32", i64: "i64",
         b1: "bool"}
random = torch.Generator().manual_seed(5)


def rand(*dims, dtype=f32, low=-3.0, high=3.0):
    value = torch.rand(dims, generator=random) * (high - low) + low
    return value > 0 if dtype == b1 else value.to(dtype)


def ints(*dims, dtype=i64, low=-6, high=7):
    return torch.randint(low, high, dims, generator=random).to(dtype)


def of(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def literal(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, torch.dtype):
        return NAMES[value]
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return str(value)


def number(value):
    return str(int(value)) if isinstance(value, (bool, int)) else repr(value)


def described(tensor):
    dims = ", ".join(str(d) for d in tensor.shape)
    values = " ".join(number(v) for v in tensor.reshape(-1).tolist())
    return f"{NAMES[tensor.dtype]}[{dims}] = {values}".rstrip()


def call(name, *args, **kwargs):
    """One line for the call, one for each tensor, one for each result; an in-place operator's result is its input."""
    inputs = []

    def text(value):
        if isinstance(value, torch.Tensor):
            inputs.append(value.clone())
            return "%" + "abcdefgh"[len(inputs) - 1]
        if isinstance(value, list) and any(isinstance(v, torch.Tensor) for v in value):
            return "[" + ", ".join(text(v) for v in value) + "]"
        return literal(value)

    words = [text(a) for a in args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
    packet, _, overload = name.partition(".")
    try:
        results = getattr(getattr(torch.ops.aten, packet), overload or "default")(*args, **kwargs)
    except (RuntimeError, IndexError, TypeError) as error:
        print(f"left out: {name}({', '.join(words)}): {str(error).splitlines()[0]}", file=sys.stderr)
        return
    if isinstance(results, torch.Tensor):
        results = [results]
    print(f"aten.{name}({', '.join(words)})")
    for i, value in enumerate(inputs):
        print(f"%{'abcdefgh'[i]}: {described(value)}")
    for value in results:
        print(f"-> {described(value)}")


SPECIAL = of([-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.5, 2.5, 4.0, inf, -inf, nan])

unary = "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 neg "
unary += "reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc positive relu relu6 gelu silu mish "
unary += "selu elu celu hardsigmoid hardswish hardtanh leaky_relu softplus log_sigmoid isnan isinf isfinite "
unary += "logical_not bitwise_not"
for name in unary.split():
    call(name, SPECIAL[:10] if name == "gelu" else SPECIAL)  # gelu of inf is inf in float64 and nan in float32
    call(name, rand(4, dtype=bf16))
    call(name, rand(4, dtype=f16))
    call(name, ints(5, dtype=i32))
    call(name, of([0, 3, 200], u8))
    call(name, of([True, False], b1))
for dtype in [f32, bf16, f16, f64]:
    call("nan_to_num", SPECIAL.to(dtype))
call("nan_to_num", SPECIAL, 1.5, 7.0, -inf)
call("nan_to_num", ints(2))
call("gelu", SPECIAL[:10], approximate="tanh")
call("elu", rand(5), 0.5, 2.0, 0.3)
call("celu", rand(5), 0.7)
call("leaky_relu", rand(5), 0.2)
call("hardtanh", rand(5), -0.5, 1.5)
call("softplus", rand(5), 2.0, 1.0)
call("abs", of([-128, 127], i8))
call("neg", of([-128, 5], i8))

FLOATS = (rand(2, 3), of([0.7, -1.3, 2.0]))
PAIRS = [
    FLOATS,
    (of([1.0, 0.5, 6.0, nan, inf, -inf, 0.0, 1.0]), of([0.1, 0.1, 0.2, 1.0, 1.0, 2.0, 0.0, inf])),
    (of([-7, 7, -7, 7, 0], i32), of([2, -2, -2, 2, 3], i32)),
    (ints(2, 3), rand(3)),
    (of([200, 7, 3], u8), of([-3, 2, 1], i8)),
    (of([True, False, True], b1), ints(3, low=1)),
    (of([True, False, True], b1), of([True, True, False], b1)),
    (rand(3, dtype=f16), rand(3)),
    (rand(3, dtype=bf16), rand(3, dtype=bf16)),
    (rand(3, dtype=f16), of(2.5)),
    (ints(3, dtype=i16), of(1.5)),
]
binary = "add.Tensor sub.Tensor mul.Tensor div.Tensor floor_divide remainder.Tensor fmod.Tensor pow.Tensor_Tensor atan2 "
binary += "maximum minimum fmax fmin eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or "
binary += "logical_xor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor rsub.Tensor true_divide.Tensor max.other "
binary += "min.other"
for name in binary.split():
    for a, b in PAIRS:
        call(name, a, b)
for name in ["bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"]:
    call(name, of([-5, 1, 100, 3], i8), of([1, 7, 2, 8], i8))
    call(name, of([-5, 1, 100], i64), of([1, 63, 2], i64))
for mode in ["floor", "trunc", None]:
    for a, b in PAIRS:
        call("div.Tensor_mode", a, b, rounding_mode=mode)
    call("div.Scalar_mode", ints(4), 3, rounding_mode=mode)
scalar = "add.Scalar sub.Scalar mul.Scalar div.Scalar floor_divide.Scalar remainder.Scalar fmod.Scalar pow.Tensor_Scalar "
scalar += "eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar rsub.Scalar bitwise_and.Scalar bitwise_or.Scalar "
scalar += "bitwise_xor.Scalar"
for name in scalar.split():
    for a in [of([1.5, -2.0, 3.0]), of([-7, 3, 2], i32), of([1.7, 3.14], bf16), of([7, 250], u8), of([True, False], b1)]:
        for value in [3, 2.5, -1]:
            call(name, a, value)
for value in [0.5, 2, 0, 1, -0.5, -2, 3.0]:
    call("pow.Tensor_Scalar", of([0.0, 1.0, 2.5, 4.0, -2.0]), value)
    call("pow.Scalar", value, of([0.0, 1.0, 2.5, -1.0]))
call("remainder.Scalar_Tensor", 7, of([2, -3], i64))
call("add.Tensor", rand(3), rand(3), alpha=2.5)
call("sub.Tensor", ints(3), ints(3), alpha=3)
call("add.Tensor", ints(3, dtype=i32), 2)
call("mul.Tensor", rand(3, dtype=bf16), 0.1)
call("rsub.Scalar", rand(3), 2, 3)
call("lerp.Scalar", rand(3), rand(3), 0.3)
call("lerp.Scalar", rand(3), rand(3), 0.8)
call("lerp.Tensor", rand(3), rand(3), rand(3))
call("addcmul", rand(3), rand(3), rand(3), value=2)
call("addcdiv", rand(3), rand(3), rand(3, low=1), value=0.5)
call("clamp", SPECIAL, -1.0, 1.0)
call("clamp", ints(4), 0)
call("clamp", ints(4), 0, 2.5)
call("clamp.Tensor", rand(3), rand(3), None)
call("clamp_min", rand(3), 0.5)
call("clamp_max", rand(3, dtype=f16), 0.3)
call("clamp_min.Tensor", rand(3), rand(3))
call("clamp_max.Tensor", rand(3), rand(3))
call("where.self", rand(2, 3, dtype=b1), rand(3), rand(2, 1))
call("where.self", rand(3, dtype=b1), ints(3), rand(3))
call("where.ScalarOther", rand(3, dtype=b1), rand(3), 2)
call("where.ScalarSelf", rand(3, dtype=b1), 1.5, ints(3))
call("where.Scalar", rand(3, dtype=b1), 1.5, 2.0)
call("masked_fill.Scalar", rand(2, 3), rand(3, dtype=b1), -inf)
call("masked_fill.Scalar", ints(3), of([True, False, True], b1), 2.9)
call("masked_fill.Tensor", ints(3), of([True, False, True], b1), of(-2.9))
call("masked_fill.Tensor", rand(2, 3), rand(2, 3, dtype=b1), of(7.0))

X = rand(2, 3, 4)
for name in ["sum", "mean", "prod", "max", "min", "any", "all", "std", "var"]:
    for a in [X, ints(2, 3), rand(2, 3, dtype=bf16), of([200, 100, 7], u8), rand(2, 3, dtype=b1), of(3.0), of([1.0, nan])]:
        call(name, a)
call("sum", rand(0, 3))
call("prod", rand(0, 3))
call("any", of([], b1))
call("all", of([], b1))
for a in [X, ints(2, 3, 4), rand(2, 3, 4, dtype=b1), rand(2, 3, 4, dtype=f16)]:
    call("sum.dim_IntList", a, [0, -1])
    call("sum.dim_IntList", a, [1], True)
    call("sum.dim_IntList", a, None)
    call("sum.dim_IntList", a, [1], False, dtype=f32)
    call("mean.dim", a, [1, 2], True)
    call("mean.dim", a, [-1], False, dtype=f64)
    call("prod.dim_int", a, 1)
    call("any.dim", a, 1)
    call("all.dim", a, -1, True)
    call("any.dims", a, [0, 2])
    call("all.dims", a, None)
    call("amax", a, [1])
    call("amin", a, [0, 2], True)
    call("amax", a)
    call("argmax", a, 1)
    call("argmin", a, -1, True)
    call("argmax", a)
    call("max.dim", a, 1)
    call("min.dim", a, 2, True)
    call("cumsum", a, 1)
    call("logsumexp", a, [1])
    call("std.dim", a, [1])
    call("var.dim", a, [1, 2], False, True)
    call("var.correction", a, [0], correction=0)
    call("var.correction", a, [1], correction=2, keepdim=True)
    call("std.correction", a, None)
    call("var_mean.correction", a, [1], correction=1)
    call("var_mean", a)
    call("var_mean.dim", a, [2])
call("argmax", of([1.0, nan, 5.0, nan]))
call("max.dim", of([[1.0, 5.0, 5.0], [nan, 2.0, nan]]), 1)
call("cumsum", ints(4, dtype=i8), 0)
call("cumsum", rand(2, 3), 0, dtype=f64)
call("logsumexp", of([[-inf, -inf], [inf, 1.0]]), [1], True)
for order in [0, 1, 2, 3.5, inf, -inf]:
    call("linalg_vector_norm", X, order, [1])
    call("norm.ScalarOpt_dim", X, order, [1, 2])
call("linalg_vector_norm", X)
call("norm.Scalar", X)
for a in [X, rand(2, 3, 4, dtype=bf16), of([[-inf, -inf], [0.0, inf], [1.0, 1.0]])]:
    call("softmax.int", a, -1)
    call("_softmax", a, 0, False)
    call("log_softmax.int", a, 1)
    call("_log_softmax", a, 0, False)
    call("_safe_softmax", a, -1)
call("softmax.int", rand(3, dtype=f16), 0, f32)
call("softmax.int", ints(3), 0, f32)
call("softmax.int", of(2.0), 0)

call("mm", rand(2, 3), rand(3, 4))
call("mm", ints(2, 3), ints(3, 2))
call("bmm", rand(2, 2, 3), rand(2, 3, 2))
call("mv", rand(2, 3), rand(3))
call("dot", rand(3), rand(3))
for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 2)),
             ((2, 2, 3), (3,)), ((2, 2, 3), (3, 4)), ((2, 0), (0, 3))]:
    call("matmul", rand(*a), rand(*b))
call("matmul", rand(2, 3, dtype=bf16), rand(3, 2, dtype=bf16))
call("addmm", rand(4), rand(2, 3), rand(3, 4), beta=0.5, alpha=2)
call("addmm", of([nan, 1.0]), rand(2, 3), rand(3, 2), beta=0)
call("addmv", rand(2), rand(2, 3), rand(3), beta=2, alpha=0.5)
call("baddbmm", rand(2, 1, 2), rand(2, 2, 3), rand(2, 3, 2), beta=2)
call("linear", rand(2, 2, 3), rand(4, 3), rand(4))
call("linear", rand(3), rand(4, 3))
call("linear", rand(2, 3, dtype=f16), rand(2, 3, dtype=f16), rand(2, dtype=f16))
call("layer_norm", X, [4], rand(4), rand(4), 1e-5)
call("layer_norm", X, [3, 4], None, None, 1e-3)
call("layer_norm", rand(2, 4, dtype=bf16), [4], rand(4, dtype=bf16), None)
call("native_layer_norm", X, [4], rand(4), None, 1e-5)
call("rms_norm", X, [4], rand(4), 1e-5)
call("rms_norm", X, [3, 4])
Q, K, V = rand(1, 2, 3, 4), rand(1, 2, 5, 4), rand(1, 2, 5, 4)
call("scaled_dot_product_attention", Q, K, V)
call("scaled_dot_product_attention", Q, K, V, None, 0.0, True)
call("scaled_dot_product_attention", Q, K, V, rand(3, 5, dtype=b1))
call("scaled_dot_product_attention", Q, K, V, of([[True] * 5, [False] * 5, [True, False] * 2 + [True]], b1))
call("scaled_dot_product_attention", Q, K, V, rand(1, 1, 3, 5), scale=0.3)
call("scaled_dot_product_attention", rand(3, 4), rand(5, 4), rand(5, 2))
call("scaled_dot_product_attention", rand(1, 4, 3, 4), K, V, enable_gqa=True)
call("_scaled_dot_product_flash_attention_for_cpu", Q, K, V, 0.0, True)

Y = ints(2, 3, 4)
call("t", rand(2, 3))
call("mT", X)
call("permute", Y, [2, 0, -2])
call("transpose.int", Y, 0, -1)
call("swapaxes", Y, 0, 1)
call("movedim.int", Y, 0, 2)
call("movedim.intlist", Y, [0, 1], [2, 0])
call("view", Y, [6, -1])
call("reshape", Y, [-1])
call("reshape", Y, [4, 3, 2])
call("flatten.using_ints", Y, 1)
call("flatten.using_ints", of(3.0))
call("unflatten.int", Y, -1, [2, -1])
call("unsqueeze", Y, -1)
call("squeeze", rand(1, 3, 1))
call("squeeze.dim", rand(1, 3, 1), -1)
call("squeeze.dim", rand(1, 3, 1), 1)
call("squeeze.dims", rand(1, 3, 1), [0, 1])
call("expand", rand(1, 3), [2, -1, 3])
call("expand", of(3.0), [2, 2])
call("expand_as", rand(3), rand(2, 3))
call("broadcast_to", rand(3, 1), [3, 2])
call("repeat", ints(2, 3), [2, 1, 2])
call("repeat_interleave.self_int", ints(2, 2), 2, 1)
call("repeat_interleave.self_int", ints(2, 2), 3)
for arguments in [(1, 1), (2, 0, 9223372036854775807, 3), (1, -2, -1), (0, 5, 9), (2, 2, 1), (1,), (2, None, 3, 2), (2, -100, 2)]:
    call("slice.Tensor", Y, *arguments)
call("select.int", Y, 1, -1)
call("narrow", Y, 2, 1, 2)
call("narrow", Y, 2, -2, 2)
call("split.Tensor", Y, 3, 2)
call("split_with_sizes", Y, [1, 3], 2)
call("split.sizes", Y, [1, 2], 1)
call("chunk", Y, 3, 2)
call("chunk", ints(5), 4)
call("unbind.int", Y, 1)
call("flip", Y, [0, -1])
call("roll", Y, [1], [2])
call("roll", Y, [-1, 2], [0, 1])
call("roll", Y, [5])
call("cat", [ints(2, 3), ints(1, 3)])
call("cat", [rand(2, 1), ints(2, 2)], 1)
call("cat", [of([]), rand(2, 2)], 0)
call("stack", [ints(2), ints(2)], -1)
call("concat", [ints(2), ints(1)])
call("diff", ints(2, 4))
call("diff", rand(5), 2)
call("tril", ints(3, 4), 1)
call("triu", ints(2, 3, 3), -1)
call("constant_pad_nd", ints(2, 3), [1, -1, 0, 2], 9)
call("pad", rand(2, 3), [1, 2], "constant", 0.5)
call("pad", rand(1, 2, 4), [2, 1], "reflect")
call("pad", rand(1, 2, 4), [2, 1], "replicate")
call("pad", rand(1, 2, 4), [2, 1], "circular")
call("pad", rand(2, 3, 4, 5), [2, 1, -1, 2], "reflect")
call("pad", rand(2, 3, 4, 5), [5, 0, 0, 3], "circular")
call("pad", rand(2, 3, 4, 5), [-1, 7, 1, -2], "replicate")
call("reflection_pad1d", rand(2, 4), [3, 2])
call("reflection_pad2d", rand(1, 3, 4), [1, 2, 2, 0])
call("replication_pad2d", rand(1, 3, 4), [1, 5, 2, 0])
call("replication_pad3d", rand(1, 2, 2, 3), [1, 1, 0, 1, 2, 0])
call("embedding", rand(5, 3), ints(2, 2, low=0, high=5))
call("gather", Y, 1, ints(2, 2, 3, low=0, high=3))
call("gather", of(3.0), 0, of(0, i64))
call("index_select", Y, -1, ints(3, low=0, high=4))
call("index.Tensor", Y, [ints(2, low=-2, high=2)])
call("index.Tensor", Y, [None, ints(2, 2, low=0, high=3)])
call("index.Tensor", Y, [ints(2, 1, low=0, high=2), None, ints(3, low=-4, high=4)])
call("index.Tensor", Y, [None, ints(2, low=0, high=3), ints(2, low=0, high=4)])
call("select_scatter", Y, ints(2, 4), 1, 2)
call("slice_scatter", Y, ints(2, 3, 2), 2, 0, 4, 2)

call("arange", 5)
call("arange", 2.5)
call("arange.start", 2, 6)
call("arange.start_step", 5, -3, -2)
call("arange.start_step", 0.5, 2.0, 0.25)
call("arange.start_step", 1, 6, 2, dtype=f32)
call("full", [2, 2], 3)
call("full", [2], 1.5, dtype=i32)
call("full", [], True)
call("ones", [2])
call("zeros", [0, 2], dtype=b1)
call("scalar_tensor", 2.5)
call("scalar_tensor", 7, dtype=i64)
call("full_like", ints(2), 2.7)
call("ones_like", rand(2, dtype=f16))
call("zeros_like", ints(2), dtype=f32)
call("new_full", rand(2), [3], 2)
call("new_ones", ints(2), [2])
call("new_zeros", rand(2, dtype=bf16), [1])
call("fill.Scalar", rand(2, 2), 3)
call("fill.Tensor", ints(2), of(2.9))
for a in [of([-1.9, 0.0, 2.5, 300.0]), of([-1, 0, 300], i32), of([True, False], b1), of([1.001, -70000.0], f64)]:
    for dtype in [f16, bf16, f32, f64, i64, i32, i8, b1]:
        call("_to_copy", a, dtype=dtype)
call("to.dtype", rand(3), f16)
call("type_as", ints(3), rand(1))
call("dropout", rand(3), 0.5, False)
call("native_dropout", rand(3), 0.5, False)
call("clone", rand(2))
call("contiguous", rand(2))
call("sum.dim_IntList", of(2.0), [0])
call("_unsafe_view", Y, [4, 6])

for name in "abs_ ceil_ cos_ erf_ exp_ floor_ gelu_ hardsigmoid_ hardswish_ log_ neg_ reciprocal_ relu_ relu6_ round_ ".split():
    call(name, rand(3, low=0.5))
for name in "rsqrt_ selu_ sigmoid_ sign_ silu_ sin_ sqrt_ square_ tanh_ trunc_ mish_ elu_ celu_ zero_ tril_ triu_".split():
    call(name, rand(2, 3, low=0.5))
call("add_.Tensor", ints(3), ints(3), alpha=2)
call("add_.Tensor", rand(2, 3, dtype=f16), rand(3))
call("mul_.Scalar", rand(3), 2)
call("sub_.Tensor", rand(3), ints(3))
call("div_.Tensor", rand(3), rand(3))
call("pow_.Scalar", rand(3), 2)
call("clamp_", rand(3), -0.5, 0.5)
call("copy_", rand(2, 3), ints(3))
call("fill_.Scalar", ints(3), 4)
call("masked_fill_.Scalar", rand(3), rand(3, dtype=b1), 0.25)
call("lerp_.Scalar", rand(3), rand(3), 0.25)
call("addcmul_", rand(3), rand(3), rand(3))
call("logical_and_", rand(3, dtype=b1), rand(3, dtype=b1))
call("bitwise_xor_.Tensor", ints(3), ints(3))
call("floor_divide_.Scalar", ints(3), 2)

# No elements, one element, no dims.
E0 = rand(0, 3)
for name in ["add.Tensor", "pow.Tensor_Tensor", "maximum", "eq.Tensor", "logical_and"]:
    call(name, E0, rand(3))
    call(name, E0, of(2.0))
    call(name, of(1.5), of(2, i64))
for name in ["exp", "relu", "neg", "isnan", "gelu", "sum", "mean", "prod", "std", "any", "all", "t", "clone"]:
    call(name, E0)
for name in ["sum.dim_IntList", "mean.dim", "var.correction", "any.dims", "amax", "logsumexp"]:
    call(name, E0, [1])
    call(name, E0, [0])
    call(name, of(1.5), [0])
call("prod.dim_int", E0, 0)
call("max.dim", E0, 1)
call("argmax", E0, 1)
call("argmax", of(2.0))
call("cumsum", E0, 0)
call("cumsum", of(2.0), 0)
call("softmax.int", E0, 0)
call("softmax.int", E0, 1)
call("layer_norm", E0, [3], rand(3), rand(3))
call("mm", rand(2, 0), rand(0, 3))
call("addmm", rand(3), rand(2, 0), rand(0, 3))
call("bmm", rand(0, 2, 3), rand(0, 3, 2))
call("linear", rand(0, 3), rand(2, 3), rand(2))
call("cat", [E0, rand(2, 3)])
call("cat", [E0, E0], 1)
call("view", E0, [3, 0])
call("reshape", E0, [0, -1, 1])
call("flatten.using_ints", E0)
call("expand", rand(1, 3), [0, 3])
call("slice.Tensor", E0, 1, 1, 2)
call("slice.Tensor", rand(2, 3), 1, 2, 2)
call("flip", E0, [0])
call("roll", E0, [1], [0])
call("constant_pad_nd", E0, [0, 0, 1, 1], 2.0)
call("embedding", rand(5, 3), ints(0, 2))
call("index_select", rand(2, 3), 1, ints(0))
call("index.Tensor", rand(2, 3), [ints(0)])
call("gather", rand(2, 3), 1, ints(2, 0))
call("tril", rand(0, 2))
call("where.self", rand(0, 1, dtype=b1), rand(3), of(1.0))
call("arange", 0)
call("scaled_dot_product_attention", rand(1, 1, 0, 2), rand(1, 1, 3, 2), rand(1, 1, 3, 2))
call("scaled_dot_product_attention", rand(1, 1, 2, 2), rand(1, 1, 0, 2), rand(1, 1, 0, 2))
call("stack", [of(1.0), of(2.0)])
call("unbind.int", rand(0, 2), 1)
call("squeeze", rand(0, 1))
call("repeat", rand(2), [0, 2])
call("diff", rand(1))
