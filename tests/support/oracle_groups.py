"""Grouping of rectangles the plain way: every pair is compared, clusters grow until nothing changes."""

import numpy as np


def similar(a, b, eps):
    delta = eps * (min(a[2], b[2]) + min(a[3], b[3])) * 0.5
    sides = [(a[0], b[0]), (a[1], b[1]), (a[0] + a[2], b[0] + b[2]), (a[1] + a[3], b[1] + b[3])]
    return all(abs(one - other) <= delta for one, other in sides)


def clusters(rectangles, eps):
    """Lists of row numbers, each rising, in the order of their first rows."""
    left, found = list(range(len(rectangles))), []
    while left:
        cluster, grown = [left[0]], True
        while grown:
            near = [
                i
                for i in left
                if i not in cluster and any(similar(rectangles[i], rectangles[j], eps) for j in cluster)
            ]
            cluster, grown = cluster + near, bool(near)
        found.append(sorted(cluster))
        left = [i for i in left if i not in cluster]
    return found


def mean(rows):
    share = np.float32(1) / np.float32(len(rows))
    return [int(np.rint(np.float32(sum(column)) * share)) for column in zip(*rows, strict=True)]


def inside(small, large, eps):
    dx, dy = int(np.rint(large[2] * eps)), int(np.rint(large[3] * eps))
    return (
        small[0] >= large[0] - dx
        and small[1] >= large[1] - dy
        and small[0] + small[2] <= large[0] + large[2] + dx
        and small[1] + small[3] <= large[1] + large[3] + dy
    )


def grouped(rectangles, min_neighbors, eps, scores):
    """Rows (rectangle, members, largest score)."""
    kept = [
        (mean([rectangles[i] for i in cluster]), len(cluster), max(scores[i] for i in cluster))
        for cluster in clusters(rectangles, eps)
        if len(cluster) > min_neighbors
    ]
    return [
        one
        for i, one in enumerate(kept)
        if not any(
            inside(one[0], other[0], eps) and (other[1] > max(3, one[1]) or one[1] < 3)
            for j, other in enumerate(kept)
            if j != i
        )
    ]
