"""check_jax: what is behind a jax.custom_vjp."""
import sys
import unittest

import numpy as np

import attic

try:
    import jax
except ImportError:
    jax = None


class StandIn:
    """jax.vjp for functions that take complex numbers, by f(x + i h): is what it gives used rightly?"""
    @staticmethod
    def vjp(f, *inputs):
        def pull_back(dy):
            gradients = [np.zeros_like(x) for x in inputs]
            for x, dx in zip(inputs, gradients):
                for i in np.ndindex(x.shape):
                    moved = x + np.zeros(x.shape, complex)
                    moved[i] += 1e-30j
                    dx[i] = (dy * f(*(moved if x is other else other for other in inputs)).imag).sum() / 1e-30
            return gradients
        return np.asarray(f(*inputs)), pull_back


class CallOfJax(unittest.TestCase):
    def setUp(self):
        kept = sys.modules.get("jax")
        sys.modules["jax"] = StandIn
        self.addCleanup(lambda: sys.modules.pop("jax") if kept is None else sys.modules.update(jax=kept))

    def test_gradients_are_those_of_the_inputs_that_are_varied(self):
        x, y = np.linspace(0.5, 1, 4), np.linspace(1, 2, 2)
        report = attic.check_jax(lambda x, i, y: np.sin(x)[i] * y ** 2, x=x, i=np.array([3, 0]), y=y)
        self.assertEqual((report.verdict, report.checked), ("PASS", 6))
        self.assertIn("a process that uses JAX can't fork", str(report))


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def scale(factor):
    """3 x, whose gradient is said to be this factor."""
    f = jax.custom_vjp(lambda x: 3 * x)
    f.defvjp(lambda x: (3 * x, None), lambda _, dy: (factor * dy,))
    return f


@unittest.skipUnless(jax, "jax is not installed")
class Jax(unittest.TestCase):
    def test_a_right_rule_passes(self):
        report = attic.check_jax(scale(3.0), X)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertIn("JAX can't fork", str(report))

    def test_one_percent_is_found(self):
        self.assertEqual(attic.check_jax(scale(3.03), X).verdict, "WRONG")

    def test_integers_are_passed_on(self):
        self.assertEqual(attic.check_jax(lambda x, i: jax.numpy.sin(x)[i], X, np.array([2, 0, 2])).verdict, "PASS")
