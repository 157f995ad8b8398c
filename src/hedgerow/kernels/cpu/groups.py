"""Clusters of similar rectangles.

    rectangles  int64 (n, 4)  x, y, width, height
    parent      int64 (n,)    a forest of links; a root is its own parent, and the first of its cluster

Two rectangles are similar when each of their four sides differs by at most
eps (min width + min height) / 2. A cluster is all that a chain of similar rectangles connects.
"""

from hedgerow.kernels.cpu.jit import kernel


@kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]  # halves the path for the next call
        i = parent[i]
    return i


@kernel
def link_similar(rectangles, order, eps, parent):
    """Link similar rectangles in `parent`, which comes in as 0..n-1; `order` sorts them by x.

    Every rectangle is compared with those to its right until none can be similar: the tolerance of a pair
    is at most the rectangle's own eps (width + height) / 2.
    """
    n = order.size
    for first in range(n):
        i = order[first]
        x, y, width, height = rectangles[i]
        right, bottom = x + width, y + height
        tolerance = eps * (width + height) * 0.5
        root = _root(parent, i)
        for other in range(first + 1, n):
            j = order[other]
            if rectangles[j, 0] - x > tolerance:
                break
            if parent[j] == root or abs(rectangles[j, 1] - y) > tolerance:
                continue  # already linked, as most are in a dense cluster; or too far
            delta = eps * (min(width, rectangles[j, 2]) + min(height, rectangles[j, 3])) * 0.5
            if (
                rectangles[j, 0] - x <= delta
                and abs(rectangles[j, 1] - y) <= delta
                and abs(rectangles[j, 0] + rectangles[j, 2] - right) <= delta
                and abs(rectangles[j, 1] + rectangles[j, 3] - bottom) <= delta
            ):
                other_root = _root(parent, j)
                if other_root < root:
                    parent[root] = other_root
                    root = other_root
                else:
                    parent[other_root] = root
    for i in range(n):
        parent[i] = _root(parent, i)


@kernel
def mark_inner(rectangles, sizes, slack, inner):
    """Set inner (m,) uint8 of every cluster that lies in another and has too few rectangles.

    `rectangles` int64 (m, 4) are the clusters' means, `sizes` int64 (m,) the numbers of their rectangles,
    `slack` int64 (m, 2) how far a cluster extends beyond its mean in x and y. All are compared before any is
    removed.
    """
    m = sizes.size
    for i in range(m):
        x, y, width, height = rectangles[i]
        least = max(3, sizes[i])
        for j in range(m):
            if j == i or not (sizes[j] > least or sizes[i] < 3):
                continue
            dx, dy = slack[j]
            if (
                x >= rectangles[j, 0] - dx
                and y >= rectangles[j, 1] - dy
                and x + width <= rectangles[j, 0] + rectangles[j, 2] + dx
                and y + height <= rectangles[j, 1] + rectangles[j, 3] + dy
            ):
                inner[i] = 1
                break
