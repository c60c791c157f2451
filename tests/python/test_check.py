"""check: right and wrong gradients of NumPy functions."""
import ctypes
import unittest

import numpy as np

import attic
from functions import attention, attention_inputs, attention_vjp, attention_vjp_with_dk_off


def tanh_vjp(dy, x):
    return (dy * (1 - np.tanh(x) ** 2),)


X = np.linspace(-1, 1, 6).reshape(2, 3)


class Check(unittest.TestCase):
    def test_attention_is_right_in_float_and_in_double(self):
        for dtype, resolution in (np.float32, 1e-2), (np.float64, 1e-6):
            report = attic.check(attention, attention_vjp, **attention_inputs(dtype))
            self.assertEqual((report.verdict, report.status), ("PASS", 0), report)
            self.assertLess(report.resolution, resolution)

    def test_one_percent_in_dk_is_found_in_float_and_in_double(self):
        for dtype in np.float32, np.float64:
            report = attic.check(attention, attention_vjp_with_dk_off, **attention_inputs(dtype))
            self.assertEqual((report.verdict, report.status), ("WRONG", 1), report)
            self.assertIn('"k"', report.where)

    def test_floats_are_checked_as_floats(self):
        report = attic.check(np.tanh, tanh_vjp, X.astype(np.float32))
        self.assertEqual((report.verdict, report.real), ("PASS", attic.ATTIC_F32))

    def test_a_twin_shows_what_float_hides(self):
        def off(dy, **inputs):
            dq, *others = attention_vjp(dy, **inputs)
            dq = dq.copy()
            dq.flat[np.abs(dq).argmax()] *= np.float32(1.0003)
            return dq, *others

        inputs = attention_inputs(np.float32)
        report = attic.check(attention, attention_vjp, twin=attention, **inputs)
        self.assertEqual((report.verdict, report.bits), ("PASS", 24), report)
        self.assertLess(report.resolution, 2e-4)
        wrong = attic.check(attention, lambda dy, *a: off(dy, **dict(zip(inputs, a))), twin=attention, **inputs)
        self.assertEqual(wrong.verdict, "WRONG", wrong)
        self.assertIn('"q"', wrong.where)

    def test_a_twin_that_is_another_function_is_a_mismatch(self):
        x = X.astype(np.float32)
        report = attic.check(np.tanh, tanh_vjp, x, twin=lambda x: np.tanh(1.001 * x))
        self.assertEqual((report.verdict, report.status), ("MISMATCH", 3), report)
        self.assertIn("y[0] is ", report.reason)
        with self.assertRaisesRegex(ValueError, r"twin gives \[3\], but f \[2, 3\]"):
            attic.check(np.tanh, tanh_vjp, x, twin=lambda x: x[0])
        with self.assertRaises(attic.GradientError):
            report.raise_if_wrong()

    def test_the_words_are_those_of_at_gradcheck_print(self):
        report = attic.check(np.tanh, tanh_vjp, x=X)
        self.assertTrue(str(report).startswith("PASS: " + report.reason), report)
        self.assertIn('worst: "x" at ', str(report))

    def test_integers_and_bools_are_passed_on_and_have_no_gradient(self):
        def pick(x, at, keep):
            return np.where(keep, x[at], 0)

        def pick_vjp(dy, x, at, keep):
            dx = np.zeros_like(x)
            np.add.at(dx, at, np.where(keep, dy, 0))
            return dx, None, None
        inputs = dict(x=np.arange(4.0), at=np.array([3, 1, 3]), keep=np.array([True, True, False]))
        self.assertEqual(attic.check(pick, pick_vjp, **inputs).verdict, "PASS")
        self.assertEqual(attic.check(pick, lambda *a: pick_vjp(*a)[:1], **inputs).verdict, "PASS")

    def test_a_gradient_of_none_is_zero(self):
        report = attic.check(lambda x, c: x + 0 * c, lambda dy, x, c: (dy, None), X, X)
        self.assertEqual(report.verdict, "PASS")
        report = attic.check(lambda x, c: x + c, lambda dy, x, c: (dy, None), X, X)
        self.assertEqual(report.verdict, "WRONG")

    def test_a_scalar_and_one_number_will_do(self):
        report = attic.check(lambda x: x ** 2, lambda dy, x: 2 * x * dy, 3.0)
        self.assertEqual(report.verdict, "PASS")

    def test_every_element_is_in_the_report_in_the_shape_of_its_input(self):
        inputs = attention_inputs(np.float64)
        elements = attic.check(attention, attention_vjp_with_dk_off, **inputs).elements
        for name, x in inputs.items():
            self.assertEqual(elements[name].shape, x.shape)
        share = elements["k"]["a"] / elements["k"]["n"]
        self.assertTrue((abs(share - 1.01) < 1e-6).all() and (elements["k"]["bound"] < 1e-6).all())
        self.assertEqual(set(elements["k"]["verdict"].ravel()), {attic.ATTIC_WRONG})
        self.assertEqual(set(elements["v"]["verdict"].ravel()), {attic.ATTIC_PASS})
        self.assertTrue(np.isnan(elements["k"]["e"]).all())  # there is no exact derivative of Python

    def test_a_wrong_factor_has_the_name_that_sizes_give_it(self):
        report = attic.check(lambda x: x, lambda dy, x: dy * 5, x=X, sizes={"D": 5})
        self.assertRegex(report.diagnosis, r"\bD\b")
        self.assertIn(report.diagnosis.split("\n")[0], str(report))

    def test_options_are_those_of_the_struct(self):
        self.assertEqual(attic.check(np.tanh, tanh_vjp, X, directions=3).checked, 3)

    def test_inputs_and_dy_are_read_only_in_every_call(self):
        calls = []

        def writes_later(*arrays):
            calls.append(1)
            if len(calls) == 9:
                arrays[0][...] = 2
            return np.tanh(arrays[-1]) if len(arrays) == 1 else tanh_vjp(*arrays)
        with self.assertRaisesRegex(ValueError, "read-only"):
            attic.check(writes_later, tanh_vjp, X)
        calls.clear()
        with self.assertRaisesRegex(ValueError, "read-only"):
            attic.check(np.tanh, writes_later, X)

    def test_integers_are_read_only_too(self):
        with self.assertRaisesRegex(ValueError, "read-only"):
            attic.check(lambda x, at: at.sort() or x[at], lambda dy, x, at: dy, X[0], np.array([2, 1, 0]))

    def test_a_kernel_that_writes_there_nevertheless_is_wrong(self):
        def write(numbers, result):
            ctypes.memset(numbers.ctypes.data, 1, 8)
            return result
        report = attic.check(lambda x: write(x, np.tanh(x)), tanh_vjp, X)
        self.assertEqual((report.verdict, report.reason), ("WRONG", "forward changes its input"))
        report = attic.check(np.tanh, lambda dy, x: write(dy, tanh_vjp(dy, x)), X)
        self.assertEqual(report.reason, "backward changes its upstream gradient")

    def test_inputs_may_have_more_axes_than_a_shape_of_attic(self):
        self.assertEqual(attic.check(np.tanh, tanh_vjp, X.reshape((2, 3) + (1,) * 8)).verdict, "PASS")

    def test_nothing_is_no_evidence(self):
        report = attic.check(lambda x: np.ones(3), lambda dy, x: 0 * x, np.zeros(0))
        self.assertEqual((report.verdict, report.status), ("VACUOUS", 2))

    def test_arrays_of_the_caller_stay_what_they_are(self):
        x = X.copy()
        attic.check(np.tanh, tanh_vjp, x)
        self.assertTrue(x.flags.writeable and (x == X).all())

    def test_what_f_and_vjp_raise_is_raised(self):
        with self.assertRaisesRegex(ZeroDivisionError, "in vjp"):
            attic.check(np.tanh, lambda dy, x: exec("raise ZeroDivisionError('in vjp')"), X)

    def test_a_gradient_of_another_shape_is_an_error(self):
        with self.assertRaisesRegex(ValueError, r"vjp gives dx \[3, 2\] of x \[2, 3\]"):
            attic.check(np.tanh, lambda dy, x: dy.T, x=X)

    def test_a_forward_whose_shape_changes_is_an_error(self):
        shapes = iter([(2,)] + [(3,)] * 100)
        with self.assertRaisesRegex(ValueError, r"f gives \[3\], but has given \[2\]"):
            attic.check(lambda x: np.ones(next(shapes)), tanh_vjp, X)

    def test_mixed_types_are_an_error_with_their_names(self):
        with self.assertRaisesRegex(TypeError, "q float32, k float64"):
            attic.check(attention, attention_vjp, q=X.astype("f4"), k=X, v=X)

    def test_only_what_is_wrong_raises_and_if_strict_what_is_undecided(self):
        wrong = attic.check(np.tanh, lambda dy, x: dy, X)
        with self.assertRaisesRegex(attic.GradientError, "WRONG: backward is not the derivative"):
            wrong.raise_if_wrong()
        undecided = attic.check(lambda x: 0 * x, lambda dy, x: 0 * dy, X)
        self.assertEqual((undecided.verdict, undecided.status), ("VACUOUS", 2))
        self.assertIs(undecided.raise_if_wrong(), undecided)
        with self.assertRaisesRegex(attic.GradientError, "VACUOUS"):
            undecided.raise_if_wrong(strict=True)

    def test_a_forward_that_draws_anew_is_no_function(self):
        rng = np.random.default_rng(2)
        report = attic.check(lambda x: x + rng.standard_normal(x.shape), lambda dy, x: dy, X)
        self.assertEqual((report.verdict, report.status), ("RACE", 4))
