"""Trigonometric polynomials above and below a truncated exponential on a circle.

Beurling's and Selberg's majorant and minorant of an interval, generalised to f(y) = exp(-theta y) on
0 <= y < Y: with theta = 0 they are Selberg's, built from Vaaler's polynomial (Montgomery 1994, *Ten
Lectures*, ch. 1); a positive theta keeps small p-values sharp. On the line, the extremal majorant M and
minorant m of exponential type 2 pi of exp(-x) at x >= 0 agree with it at the integers, and so do their
derivatives except at zero (Graham & Vaaler 1981, *A class of extremal functions for the Fourier
transform*, Trans. AMS 265). With q = exp(-lambda - 2 pi i u), 0 < u < 1, their transforms are

    M^(u) = (1 - u) / (1 - q) - i lambda / (2 pi) (1 / (exp(lambda) - 1) - q / (1 - q))
    m^(u) = M^(u) - (1 - u)

and M - m is Fejer's kernel (sin(pi x) / (pi x))**2, so that the price of a degree J is the mass that the
kernel sees around the edge, one (J+1)-th of the circle. Wrapping M and m around the circle gives
polynomials of degree J; the edge at Y is the same, weighted with exp(-theta Y).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """exp(-decay y) on 0 <= y < length and zero on the rest of a circle of circumference one."""

    decay: float
    length: float

    def coefficients(self, degree: int, frequencies: Integers, *, above: bool) -> tuple[float, Complexes]:
        """c_0 and the c_k of `frequencies`, 0 < k <= degree, shape (F,), of the polynomial sum of c_k exp(2 pi i k y).

        The majorant when `above`, else the minorant.
        """
        nodes = degree + 1
        spacing = self.decay / nodes
        at_end = math.exp(-self.decay * self.length)
        lower, upper = _edges(spacing, frequencies / nodes)
        here, there = (upper, lower) if above else (lower, upper)
        turns = np.remainder(frequencies * self.length, 1.0)
        line = (here - at_end * np.exp(-2j * np.pi * turns) * there) / nodes
        return self._mean(nodes, spacing, at_end, above=above), line

    def _mean(self, nodes: int, spacing: float, at_end: float, *, above: bool) -> float:
        area = nodes * self.length
        if self.decay > 0.0:
            area = math.expm1(-self.decay * self.length) / math.expm1(-spacing)
        # The nodes of the sum are 0, 1, ...: the majorant includes the one at zero, the minorant does not.
        return (area + (at_end if above else -1.0)) / nodes

    @staticmethod
    def largest(degree: int) -> float:
        """A bound on the sum of |c_k|, both signs of k: |m^(u)| and |M^(u)| are below 1 / u."""
        return 4.0 * (1.0 + math.log(degree + 1))


def _edges(spacing: float, u: Reals) -> tuple[Complexes, Complexes]:
    """The transforms of m and of M at 0 < u < 1."""
    shrink = math.exp(-spacing)
    q = shrink * np.exp(-2j * np.pi * u)
    # 1 - q without cancellation: its real part is a sum of positive terms.
    missing = -math.expm1(-spacing) + shrink * 2.0 * np.sin(np.pi * u) ** 2 - 1j * q.imag
    flat = spacing * shrink / -math.expm1(-spacing) if spacing > 0.0 else 1.0
    tangent = flat - spacing * q / missing
    slopes = (-0.5j / np.pi) * tangent
    return (1.0 - u) * (q / missing) + slopes, (1.0 - u) / missing + slopes
