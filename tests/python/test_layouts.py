"""dy need not be packed: a backward that takes it for packed is found."""
import ctypes
import unittest

import numpy as np

import attic
from functions import attention, attention_inputs, attention_vjp

X = np.linspace(-1, 1, 12).reshape(3, 4)


def as_packed(dy):
    """What a kernel reads that is told where dy begins and nothing of its strides."""
    stored = 1 + sum(s // dy.itemsize * (n - 1) for s, n in zip(dy.strides, dy.shape))  # and zeros behind it
    numbers = np.frombuffer(ctypes.string_at(dy.ctypes.data, stored * dy.itemsize), dy.dtype)[:dy.size]
    return np.resize(np.append(numbers, np.zeros(dy.size - numbers.size)), dy.shape)


def scale_vjp(read):
    return lambda dy, x: 3 * read(dy)


def check(read, x=X, **options):
    return attic.check(lambda x: 3 * x, scale_vjp(read), isolate=False, x=x, **options)


class Layouts(unittest.TestCase):
    def test_a_right_gradient_is_right_for_all_layouts(self):
        for dtype in np.float32, np.float64:
            self.assertEqual(attic.check(attention, attention_vjp, **attention_inputs(dtype)).verdict, "PASS")

    def test_every_layout_is_tried(self):
        seen = set()

        def vjp(dy, x):
            seen.add((dy.strides, dy.ctypes.data % 16))
            return 3 * dy
        attic.check(lambda x: 3 * x, vjp, X, isolate=False)
        strides = {strides for strides, _ in seen}
        self.assertEqual(strides, {(32, 8), (64, 16), (0, 0), (0, 8), (8, 24)})
        self.assertIn(((32, 8), 8), seen)

    def test_a_kernel_that_takes_dy_for_packed_is_wrong(self):
        report = check(as_packed)
        self.assertEqual((report.verdict, report.status), ("WRONG", 1))
        self.assertEqual(report.reason, "backward gives another gradient where dy is strided than where it is packed")
        self.assertEqual(report.where, '"x" at [0,1]')
        self.assertTrue(np.isnan(report.analytic) and np.isfinite(report.numeric))  # it reads between two elements
        self.assertRegex(str(report), r'\n    at "x" at \[0,1\]: nan, not [-0-9.]+$')

    def test_strides_of_rows_that_are_ignored_are_found(self):
        report = check(lambda dy: dy if dy.strides[0] or not dy.strides[1] else dy * [[1], [2], [3]])
        self.assertIn("dy is expanded along its first axis than", report.reason)

    def test_an_expanded_dy_of_one_number_is_tried(self):
        report = check(lambda dy: dy if dy.strides[1] else 0 * dy)
        self.assertIn("dy is expanded than", report.reason)

    def test_a_transposed_dy_is_tried(self):
        report = check(lambda dy: dy if dy.strides[0] != dy.itemsize else np.ravel(dy.T).reshape(dy.shape))
        self.assertIn("dy is transposed than", report.reason)

    def test_a_dy_that_begins_one_element_later_is_tried(self):
        report = check(lambda dy: -dy if dy.ctypes.data % 16 else dy)
        self.assertIn("dy is offset by one element than", report.reason)

    def test_what_is_refused_is_said_and_is_not_wrong(self):
        def read(dy):
            if not dy.flags.c_contiguous:
                raise ValueError("dy must be contiguous")
            return dy
        report = check(read)
        self.assertEqual(report.verdict, "PASS")
        self.assertIn("a dy that is transposed is refused: ValueError('dy must be contiguous')", str(report))

    def test_nothing_but_rounding_is_no_mistake(self):
        def vjp(dy, a, b):  # the gradient of b is 0, but for rounding: another one if dy is not packed
            other = rounding * (not dy.flags.c_contiguous)
            return dy * (1 + 500 * other), np.full(b.shape, other, b.dtype)
        for dtype, rounding in (np.float32, 1e-5), (np.float64, 1e-11):
            inputs = dict(a=X.astype(dtype), b=np.zeros(2, dtype))
            self.assertEqual(attic.check(lambda a, b: a + 0 * b[0], vjp, **inputs).verdict, "PASS")

    def test_what_is_wrong_for_a_packed_dy_is_said_first(self):
        report = check(lambda dy: 2 * as_packed(dy))
        self.assertEqual(report.reason[:9], "backward ")
        self.assertNotIn("packed", report.reason)

    def test_the_index_is_that_of_the_right_input(self):
        def vjp(dy, a, b):
            return dy, dy if dy.strides != (8, 24) else dy + np.eye(3, 4)[::-1]
        report = attic.check(lambda a, b: a + b, vjp, a=X, b=X)
        self.assertEqual(report.where, '"b" at [0,2]')
