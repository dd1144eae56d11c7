"""Kalman filter arithmetic on four numbers, in plain floats: several times faster than numpy for so few."""

from __future__ import annotations

State = tuple[float, float, float, float]
Symmetric4 = tuple[float, float, float, float, float, float, float, float, float, float]
"""Upper triangle of a symmetric 4 x 4 matrix, row by row."""


def times(p: Symmetric4, h: State) -> State:
    """The matrix times a vector."""
    a, b, c, d = h
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 = p
    return (
        p0 * a + p1 * b + p2 * c + p3 * d,
        p1 * a + p4 * b + p5 * c + p6 * d,
        p2 * a + p5 * b + p7 * c + p8 * d,
        p3 * a + p6 * b + p8 * c + p9 * d,
    )


def dot(a: State, b: State) -> float:
    """The inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def scaled(p: Symmetric4, by: float) -> Symmetric4:
    """The matrix times a number."""
    return (
        p[0] * by,
        p[1] * by,
        p[2] * by,
        p[3] * by,
        p[4] * by,
        p[5] * by,
        p[6] * by,
        p[7] * by,
        p[8] * by,
        p[9] * by,
    )


def absorb(
    mean: State, p: Symmetric4, row: State, residual: float, linearised_at: State, variance: float
) -> tuple[State, Symmetric4]:
    """One scalar measurement, ``residual`` being measured minus predicted at ``linearised_at``."""
    a, b, c, d = row
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 = p
    m0, m1, m2, m3 = mean
    at0, at1, at2, at3 = linearised_at
    g0 = p0 * a + p1 * b + p2 * c + p3 * d
    g1 = p1 * a + p4 * b + p5 * c + p6 * d
    g2 = p2 * a + p5 * b + p7 * c + p8 * d
    g3 = p3 * a + p6 * b + p8 * c + p9 * d
    s = 1.0 / (a * g0 + b * g1 + c * g2 + d * g3 + variance)
    shift = a * (m0 - at0) + b * (m1 - at1) + c * (m2 - at2) + d * (m3 - at3)
    gain = (residual - shift) * s
    return (
        (m0 + g0 * gain, m1 + g1 * gain, m2 + g2 * gain, m3 + g3 * gain),
        (
            p0 - s * g0 * g0,
            p1 - s * g0 * g1,
            p2 - s * g0 * g2,
            p3 - s * g0 * g3,
            p4 - s * g1 * g1,
            p5 - s * g1 * g2,
            p6 - s * g1 * g3,
            p7 - s * g2 * g2,
            p8 - s * g2 * g3,
            p9 - s * g3 * g3,
        ),
    )
