"""Sixteen windows at once: vectors of LLVM as values of Numba kernels.

`Lanes` is a vector of sixteen numbers, one for each of sixteen neighbouring windows. The functions read
the integral images of a band (flat int32) from the position of the first window and the offsets of the
corners of a feature; lane i reads `position + offset + i`. LLVM splits the vectors into those of the machine
(AVX-512, AVX2, SSE, NEON). They are explicit, not left to the loop vectoriser, which tests for overlapping
arrays before every loop: that takes longer than sixteen windows.

Every function has a version for one window with the same roundings: float32 products and sums in the order of
the rectangles, never fused, and float64 sums of leaves.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from hedgerow.kernels.cpu.windows import HAAR_CORNERS, LANES, LBP_CORNERS, TILE

# corners of the eight outer cells, clockwise from the top left: the first has the highest bit
_NEIGHBOURS = ((0, 1, 4, 5), (1, 2, 5, 6), (2, 3, 6, 7), (6, 7, 10, 11),
          (10, 11, 14, 15), (9, 10, 13, 14), (8, 9, 12, 13), (4, 5, 8, 9))  # fmt: skip
_CENTRE = (5, 6, 9, 10)

_I1, _I32, _I64 = (ir.IntType(bits) for bits in (1, 32, 64))
_F32, _F64 = ir.FloatType(), ir.DoubleType()


class Lanes(types.Type):
    """Numba's type of a vector of `LANES` numbers of one kind: "float32", "float64" or "bool"."""

    def __init__(self, kind):
        self.kind = kind
        super().__init__(name=f"Lanes({kind})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        element = {"float32": _F32, "float64": _F64, "bool": _I1}[kind.kind]
        super().__init__(manager, kind, ir.VectorType(element, LANES))


_FLOATS, _DOUBLES, _MASK = Lanes("float32"), Lanes("float64"), Lanes("bool")


def _splat(builder, value, wide):
    """Return the value in every lane, or the value itself for one window."""
    if not wide:
        return value
    vector = ir.VectorType(value.type, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _constant(value, kind, wide):
    """Return a constant of one or all lanes."""
    return ir.Constant(ir.VectorType(kind, LANES), [value] * LANES) if wide else ir.Constant(kind, value)


def _like(kind, wide):
    return ir.VectorType(kind, LANES) if wide else kind


def _data(context, builder, kind, value):
    return context.make_array(kind)(context, builder, value).data


class _Corners:
    """Loads of corners: data[position + offsets[first + k]], each corner once."""

    def __init__(self, builder, data, position, offsets, first, wide):
        self.builder, self.data, self.position = builder, data, position
        self.offsets, self.first, self.wide = offsets, first, wide
        self.loaded = {}

    def corner(self, k):
        """Return corner k of the feature."""
        if k not in self.loaded:
            builder = self.builder
            pointer = builder.gep(self.offsets, [builder.add(self.first, ir.Constant(_I64, k))])
            offset = builder.sext(builder.load(pointer), _I64)
            address = builder.gep(self.data, [builder.add(self.position, offset)])
            if self.wide:
                address = builder.bitcast(address, _like(_I32, self.wide).as_pointer())
            self.loaded[k] = builder.load(address, align=4)
        return self.loaded[k]

    def sum(self, corners):
        """Return the sum of a rectangle from its four corners: a - b - c + d, modulo 2**32."""
        a, b, c, d = (self.corner(k) for k in corners)
        return self.builder.add(self.builder.sub(self.builder.sub(a, b), c), d)


def _haar_value(builder, corners, weights, node, wide):
    """Return the sum of weight times sum over the rectangles, float32; the third only if it has a weight."""
    first = builder.mul(node, ir.Constant(_I64, 3))

    def product(k):
        weight = builder.load(builder.gep(weights, [builder.add(first, ir.Constant(_I64, k))]))
        total = builder.sitofp(corners.sum(range(4 * k, 4 * k + 4)), _like(_F32, wide))
        return weight, builder.fmul(_splat(builder, weight, wide), total)

    two = builder.fadd(product(0)[1], product(1)[1])
    result = cgutils.alloca_once_value(builder, two)
    weight = builder.load(builder.gep(weights, [builder.add(first, ir.Constant(_I64, 2))]))
    with builder.if_then(builder.fcmp_unordered("!=", weight, ir.Constant(_F32, 0.0))):
        builder.store(builder.fadd(two, product(2)[1]), result)
    return builder.load(result)


def _haar(wide):
    """Return the code of a Haar node: value * inverse < threshold."""

    def codegen(context, builder, signature, args):
        kinds = signature.args
        data, offsets, weights, thresholds = (
            _data(context, builder, kinds[k], args[k]) for k in (0, 3, 4, 5)
        )
        position, node, inverse = args[1], args[2], args[6]
        first = builder.mul(node, ir.Constant(_I64, HAAR_CORNERS))
        corners = _Corners(builder, data, position, offsets, first, wide)
        value = builder.fmul(_haar_value(builder, corners, weights, node, wide), inverse)
        threshold = _splat(builder, builder.load(builder.gep(thresholds, [node])), wide)
        return builder.fcmp_ordered("<", value, threshold)

    return codegen


@intrinsic
def haar_left(typingctx, field, position, node, offsets, weights, thresholds, inverse):
    """Whether a Haar node sends the window at `position` left; inverse float32 is that of A sigma."""
    result = types.boolean(field, types.intp, types.intp, offsets, weights, thresholds, types.float32)
    return result, _haar(wide=False)


@intrinsic
def haar_lanes_left(typingctx, field, position, node, offsets, weights, thresholds, inverse):
    """Return what `haar_left` does, for sixteen windows from `position` on."""
    result = _MASK(field, types.intp, types.intp, offsets, weights, thresholds, _FLOATS)
    return result, _haar(wide=True)


def _subset_word(builder, subsets, node, high, wide):
    """Word `high` (0 to 7) of a node's subset: selected in three steps, as no vector load is by lane."""
    first = builder.mul(node, ir.Constant(_I64, 8))
    subset_bits = []
    for k in range(8):
        pointer = builder.gep(subsets, [builder.add(first, ir.Constant(_I64, k))])
        subset_bits.append(_splat(builder, builder.load(pointer), wide))
    for bit in range(3):
        digit = builder.and_(high, _constant(1 << bit, _I32, wide))
        odd = builder.icmp_unsigned("!=", digit, _constant(0, _I32, wide))
        subset_bits = [
            builder.select(odd, b, a) for a, b in zip(subset_bits[::2], subset_bits[1::2], strict=True)
        ]
    return subset_bits[0]


def _lbp(wide):
    """Return the code of an LBP node: left if the bit of the window's code is set in the subset."""

    def codegen(context, builder, signature, args):
        kinds = signature.args
        data, offsets, subsets = (_data(context, builder, kinds[k], args[k]) for k in (0, 3, 4))
        position, node = args[1], args[2]
        first = builder.mul(node, ir.Constant(_I64, LBP_CORNERS))
        corners = _Corners(builder, data, position, offsets, first, wide)
        centre = corners.sum(_CENTRE)
        code = _constant(0, _I32, wide)
        for k, cell in enumerate(_NEIGHBOURS):
            brighter = builder.icmp_signed(">=", corners.sum(cell), centre)
            bit = builder.select(brighter, _constant(128 >> k, _I32, wide), _constant(0, _I32, wide))
            code = builder.or_(code, bit)
        high, low = (
            builder.lshr(code, _constant(5, _I32, wide)),
            builder.and_(code, _constant(31, _I32, wide)),
        )
        if wide:
            word = _subset_word(builder, subsets, node, high, wide)
        else:
            start = builder.mul(node, ir.Constant(_I64, 8))
            word = builder.load(builder.gep(subsets, [builder.add(start, builder.zext(high, _I64))]))
        bit = builder.and_(builder.lshr(word, low), _constant(1, _I32, wide))
        return builder.icmp_unsigned("!=", bit, _constant(0, _I32, wide))

    return codegen


@intrinsic
def lbp_left(typingctx, field, position, node, offsets, subsets):
    """Whether an LBP node sends the window at `position` left."""
    return types.boolean(field, types.intp, types.intp, offsets, subsets), _lbp(wide=False)


@intrinsic
def lbp_lanes_left(typingctx, field, position, node, offsets, subsets):
    """Return what `lbp_left` does, for sixteen windows from `position` on."""
    return _MASK(field, types.intp, types.intp, offsets, subsets), _lbp(wide=True)


def _inverse(wide):
    """Return the code of 1 / sqrt(A sum of squares - (sum)**2): float64, then rounded to float32.

    The radicand is exact. It may be 0, or negative if the squares wrapped: the result is inf or nan.
    """

    def codegen(context, builder, signature, args):
        kinds = signature.args
        data, offsets = (_data(context, builder, kinds[k], args[k]) for k in (0, 2))
        corners = _Corners(builder, data, args[1], offsets, ir.Constant(_I64, 0), wide)
        double = _like(_F64, wide)
        total = builder.sitofp(corners.sum(range(4)), double)
        squares = builder.uitofp(corners.sum(range(4, 8)), double)
        area = _splat(builder, args[3], wide)
        variance = builder.fsub(builder.fmul(area, squares), builder.fmul(total, total))
        name = f"llvm.sqrt.v{LANES}f64" if wide else "llvm.sqrt.f64"
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(double, [double]), name)
        one = _constant(1.0, _F64, wide)
        return builder.fptrunc(builder.fdiv(one, builder.call(root, [variance])), _like(_F32, wide))

    return codegen


@intrinsic
def inverse_norm(typingctx, field, position, corners, area):
    """1 / (A sigma), float32, of the window at `position`; corners int32 (8,) of S and then of Q."""
    return types.float32(field, types.intp, corners, types.float64), _inverse(wide=False)


@intrinsic
def inverse_norm_lanes(typingctx, field, position, corners, area):
    """Return what `inverse_norm` does, for sixteen windows."""
    return _FLOATS(field, types.intp, corners, types.float64), _inverse(wide=True)


def _bits(builder, mask):
    return builder.zext(builder.bitcast(mask, ir.IntType(LANES)), _I64)


@intrinsic
def contrast_bits(typingctx, inverse, area):
    """Bit i is set where A * inverse < 0.1, that is, where the pixels of window i have sigma > 10."""

    def codegen(context, builder, signature, args):
        wide = builder.fpext(args[0], _like(_F64, wide=True))
        scaled = builder.fmul(_splat(builder, args[1], wide=True), wide)
        return _bits(builder, builder.fcmp_ordered("<", scaled, _constant(0.1, _F64, wide=True)))

    return types.uint64(_FLOATS, types.float64), codegen


def _emit(emit):
    """Return the code generator of an intrinsic whose value is `emit(builder, *args)`."""

    def codegen(context, builder, signature, args):
        return emit(builder, *args)

    return codegen


@intrinsic
def splat(typingctx, value):
    """A float64 in every lane."""
    return _DOUBLES(types.float64), _emit(lambda builder, *args: _splat(builder, *args, wide=True))


@intrinsic
def choose(typingctx, mask, left, right):
    """Lane by lane, left where the mask is set, else right."""
    return _DOUBLES(_MASK, _DOUBLES, _DOUBLES), _emit(lambda builder, *args: builder.select(*args))


@intrinsic
def add(typingctx, a, b):
    """Sum, lane by lane."""
    return _DOUBLES(_DOUBLES, _DOUBLES), _emit(lambda builder, *args: builder.fadd(*args))


@intrinsic
def at_least(typingctx, sums, threshold):
    """Bit i is set where sum i is not below the threshold."""

    def codegen(context, builder, signature, args):
        return _bits(builder, builder.fcmp_ordered(">=", args[0], _splat(builder, args[1], wide=True)))

    return types.uint64(_DOUBLES, types.float64), codegen


def _lanes_at(context, builder, kind, array, position):
    data = _data(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [position]), _like(_F64, wide=True).as_pointer())


@intrinsic
def load_lanes(typingctx, array, position):
    """Sixteen float64 from array[position] on."""

    def codegen(context, builder, signature, args):
        return builder.load(_lanes_at(context, builder, signature.args[0], *args), align=8)

    return _DOUBLES(array, types.intp), codegen


@intrinsic
def store_lanes(typingctx, array, position, lanes):
    """Write sixteen float64 to array[position] on."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _lanes_at(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _DOUBLES), codegen


def _floats_at(context, builder, kind, array):
    return builder.bitcast(_data(context, builder, kind, array), _like(_F32, wide=True).as_pointer())


@intrinsic
def store_inverse(typingctx, array, inverse):
    """Write sixteen float32 to the first entries of an array."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], _floats_at(context, builder, signature.args[0], args[0]), align=4)
        return context.get_dummy_value()

    return types.void(array, _FLOATS), codegen


@intrinsic
def load_inverse(typingctx, array):
    """The first sixteen float32 of an array."""

    def codegen(context, builder, signature, args):
        return builder.load(_floats_at(context, builder, signature.args[0], args[0]), align=4)

    return _FLOATS(array), codegen


def _transposed(builder, rows):
    """Columns of TILE vectors of TILE numbers: in each of log2(TILE) steps, pairs swap their halves."""
    distance = 1
    while distance < TILE:
        swapped = list(rows)
        for i in range(TILE):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                low = [(k if not k & distance else k - distance + TILE) for k in range(TILE)]
                high = [(k + distance if not k & distance else k + TILE) for k in range(TILE)]
                kind = ir.VectorType(_I32, TILE)
                swapped[i] = builder.shuffle_vector(a, b, ir.Constant(kind, low))
                swapped[i + distance] = builder.shuffle_vector(a, b, ir.Constant(kind, high))
        rows = swapped
        distance *= 2
    return rows


@intrinsic
def gather_tile(typingctx, field, positions, offset, block, target, stride):
    """Copy TILE numbers of each of sixteen windows so that the lanes of a number are neighbours.

    block[target + k * stride + lane] = field[positions[lane] + offset + k], k < TILE; positions int64 (16,).
    """

    def codegen(context, builder, signature, args):
        kinds = signature.args
        data, starts, out = (_data(context, builder, kinds[k], args[k]) for k in (0, 1, 3))
        offset, target, stride = args[2], args[4], args[5]
        pointer = ir.VectorType(_I32, TILE).as_pointer()
        for lane in range(0, LANES, TILE):
            rows = []
            for k in range(TILE):
                position = builder.load(builder.gep(starts, [ir.Constant(_I64, lane + k)]))
                address = builder.gep(data, [builder.add(position, offset)])
                rows.append(builder.load(builder.bitcast(address, pointer), align=4))
            at = builder.add(target, ir.Constant(_I64, lane))
            for row in _transposed(builder, rows):
                builder.store(row, builder.bitcast(builder.gep(out, [at]), pointer), align=4)
                at = builder.add(at, stride)
        return context.get_dummy_value()

    return types.void(field, positions, types.intp, block, types.intp, types.intp), codegen


@intrinsic
def count_bits(typingctx, bits):
    """The number of set bits of a uint64."""
    return types.uint64(types.uint64), _emit(lambda builder, *args: builder.ctpop(*args))
