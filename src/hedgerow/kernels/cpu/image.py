"""Levels of an image pyramid and their integral images, made row by row.

A level is the image resized to (height, width) by bilinear interpolation in fixed point. Column x of it lies
between columns `index` and `index + 1` of the image, `weight` / 256 of the way; rows the same. With
c = 256 - weight, d = weight for columns, and e, g for rows,

    pixel = (e (c p00 + d p01) + g (c p10 + d p11) + 2**15) >> 16

which is exact until the last shift: the order of rows and columns does not matter.

A band is some rows of a level with their integral images, counted from the first row of the band: the sum of
a rectangle does not depend on the first row. Its planes lie one after the other in a flat int32 array:

    plane 0   S[y, x]: sum of the pixels above and left of (x, y)
    plane 1   Q[y, x]: the same of the squared pixels, modulo 2**32
    plane 2   T[y, x]: sum of the pixels in the cone that opens upwards from (x, y), for tilted features

A plane has `pitch` numbers per row. If windows are two columns apart, the even columns of a row are first and
the odd ones begin at `half`: so the same corner of neighbouring windows is always in neighbouring memory,
and sixteen windows load it at once.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel, kernel

_RED, _GREEN, _BLUE = 9798, 19235, 3735  # weights of grey values, see `mix_colours`
_SHIFT = 15


@deep_inline
def mix_rows(upper, lower, weight, mixed):
    """Mixture of two rows of an image, uint8 (w,), in 1/256: mixed uint16, at least w + 1 long."""
    second = np.uint16(weight)
    first = np.uint16(256) - second
    n = upper.size
    for i in range(n):
        mixed[i] = np.uint16(np.uint16(upper[i]) * first + np.uint16(lower[i]) * second)
    mixed[n] = 0  # read with weight 0 at the right border


@deep_inline
def mix_columns(mixed, index, weight, pixels):
    """Pixels uint8 (w,) of a row of a level from mixed rows uint16; index uint32 (w,), weight uint16 (w,)."""
    for i in range(index.size):
        j = np.uintp(index[i])
        second = np.uint32(weight[i])
        first = np.uint32(256) - second
        total = np.uint32(mixed[j]) * first + np.uint32(mixed[j + np.uintp(1)]) * second
        pixels[i] = np.uint8((total + np.uint32(32768)) >> np.uint32(16))


@deep_kernel
def resize(image, rows, columns, mixed, out):
    """The level uint8 (h, w) of an image; rows and columns are (index uint32, weight uint16) each.

    mixed : uint16, one longer than a row of the image.
    """
    row_index, row_weight = rows
    column_index, column_weight = columns
    last = image.shape[0] - 1
    for y in range(out.shape[0]):
        upper = np.int64(row_index[y])
        lower = min(upper + 1, last)
        mix_rows(image[upper], image[lower], row_weight[y], mixed)
        mix_columns(mixed, column_index, column_weight, out[y])


@deep_inline
def add_row(pixels, field, above, plane, half):
    """Write the row of S and Q below the one that begins at `above`; it begins at `above` + pitch.

    pixels : uint8 (w,); field : tuple (flat int32, pitch). half is 0 if columns are in their own order.
    """
    flat, pitch = field
    n = pixels.size
    old_sum, new_sum = flat[above : above + pitch], flat[above + pitch : above + 2 * pitch]
    old_square = flat[above + plane : above + plane + pitch]
    new_square = flat[above + plane + pitch : above + plane + 2 * pitch]
    total = np.uint32(0)
    squares = np.uint32(0)
    new_sum[0] = 0
    new_square[0] = 0
    if half == 0:
        for i in range(n):
            pixel = np.uint32(pixels[i])
            total = np.uint32(total + pixel)
            squares = np.uint32(squares + pixel * pixel)
            j = np.uintp(i + 1)
            new_sum[j] = np.int32(np.uint32(old_sum[j]) + total)
            new_square[j] = np.int32(np.uint32(old_square[j]) + squares)
        return
    for i in range(n):
        pixel = np.uint32(pixels[i])
        total = np.uint32(total + pixel)
        squares = np.uint32(squares + pixel * pixel)
        column = np.uintp(i + 1)
        j = (column >> np.uintp(1)) + (column & np.uintp(1)) * np.uintp(half)
        new_sum[j] = np.int32(np.uint32(old_sum[j]) + total)
        new_square[j] = np.int32(np.uint32(old_square[j]) + squares)


@deep_inline
def add_tilted_row(pixels, before, older, old, new):
    """One row of T from the two above it: int32 (w + 1,) each; pixels and before are two rows of the level.

    T[y, x] = T[y-1, x-1] + T[y-1, x+1] - T[y-2, x] + p[y-1, x-1] + p[y-2, x-1] (Lienhart and Maydt, 2002).
    Outside the image T[y, -1] = T[y-1, 0] and T[y, w+1] = T[y-1, w]: the cone there holds the same pixels.
    """
    n = pixels.size
    new[0] = old[1]
    for x in range(1, n):
        j = np.uintp(x)
        i = j - np.uintp(1)
        new[j] = np.int32(
            old[i] + old[j + np.uintp(1)] - older[j] + np.int32(pixels[i]) + np.int32(before[i])
        )
    new[n] = np.int32(old[n - 1] + np.int32(pixels[n - 1]) + np.int32(before[n - 1]))


@deep_inline
def spread_row(row, flat, start, half):
    """Copy a row of T into its plane, even columns first if half is not 0."""
    if half == 0:
        for x in range(row.size):
            flat[np.uintp(start + x)] = row[x]
        return
    for x in range(row.size):
        flat[np.uintp(start + (x >> 1) + (x & 1) * half)] = row[x]


@kernel
def mix_colours(colours, red, blue, out):
    """Grey values of `colours` uint8 (n, channels) into `out` uint8 (n,); `red` and `blue` are columns.

    In the fixed point of OpenCV: grey = (9798 red + 19235 green + 3735 blue + 2^14) >> 15. The weights are
    0.299, 0.587 and 0.114 (ITU-R BT.601) in units of 2^-15, and sum to 2^15.
    """
    for i in range(out.size):
        total = np.int32(_RED) * np.int32(colours[i, red])
        total += np.int32(_GREEN) * np.int32(colours[i, 1])
        total += np.int32(_BLUE) * np.int32(colours[i, blue])
        out[i] = np.uint8((total + np.int32(1 << (_SHIFT - 1))) >> np.int32(_SHIFT))
