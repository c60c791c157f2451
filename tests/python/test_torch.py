"""check_torch: what is behind a torch.autograd.Function."""
import ctypes
import unittest
import warnings

import numpy as np

import attic
from functions import attention, attention_inputs, attention_vjp, attention_vjp_with_dk_off

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed") from None


def function_of(forward, vjp):
    """A torch.autograd.Function of functions of NumPy, as somebody else might write it."""
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return torch.from_numpy(np.asarray(forward(*(x.detach().numpy() for x in inputs))))

        @staticmethod
        def backward(ctx, dy):
            gradients = vjp(dy.numpy(), *(x.detach().numpy() for x in ctx.saved_tensors))
            return tuple(torch.from_numpy(dx) for dx in gradients)
    return Function.apply


def tensors(dtype):
    return {name: torch.from_numpy(x) for name, x in attention_inputs(dtype).items()}


X = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)


class Torch(unittest.TestCase):
    def test_a_right_function_passes_in_float_and_in_double(self):
        for dtype in np.float32, np.float64:
            report = attic.check_torch(function_of(attention, attention_vjp), **tensors(dtype))
            self.assertEqual(report.verdict, "PASS", report)

    def test_one_percent_in_dk_is_found_in_float_where_the_gradcheck_of_pytorch_refuses_the_right_one_too(self):
        right, wrong = (function_of(attention, vjp) for vjp in (attention_vjp, attention_vjp_with_dk_off))
        inputs = tensors(np.float32)
        varied = tuple(x.clone().requires_grad_() for x in inputs.values())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertFalse(torch.autograd.gradcheck(right, varied, raise_exception=False))
        self.assertEqual(attic.check_torch(right, **inputs).verdict, "PASS")
        report = attic.check_torch(wrong, **inputs)
        self.assertEqual(report.verdict, "WRONG")
        self.assertIn('"k"', report.where)

    def test_functions_of_pytorch_itself_pass(self):
        for f in torch.tanh, lambda x: torch.softmax(x, 1), lambda x: x.sum(), lambda x: torch.nn.functional.gelu(x).T:
            self.assertEqual(attic.check_torch(f, X).verdict, "PASS")

    def test_integers_are_passed_on(self):
        def pick(table, i):
            i += 1  # a tensor of its own in each call
            return table[i]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = attic.check_torch(pick, table=X, i=torch.tensor([1, 0, 1]))
        self.assertEqual(report.verdict, "PASS")

    def test_an_input_that_is_not_used_has_a_gradient_of_zero(self):
        self.assertEqual(attic.check_torch(lambda x, c: 2 * x, X, X).verdict, "PASS")

    def test_layouts_of_dy_are_those_of_pytorch(self):
        seen = set()

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 3 * x

            @staticmethod
            def backward(ctx, dy):
                seen.add((dy.stride(), dy.storage_offset()))
                return 3 * dy
        report = attic.check_torch(Scale.apply, X, isolate=False)
        self.assertEqual(report.verdict, "PASS")
        self.assertEqual(seen, {((4, 1), 0), ((4, 1), 1), ((8, 2), 0), ((0, 0), 0), ((0, 1), 0), ((1, 3), 0)})

    def test_a_backward_that_takes_dy_for_packed_is_wrong(self):
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 3 * x

            @staticmethod
            def backward(ctx, dy):
                packed = torch.as_strided(dy, dy.shape, (4, 1)) if dy.stride(0) in (1, 8) else dy
                return 3 * packed
        self.assertIn("where dy is strided than where it is packed", attic.check_torch(Scale.apply, X).reason)

    def test_a_function_that_writes_to_its_input_is_wrong(self):
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.data[0, 0] = 5
                return 3 * x

            @staticmethod
            def backward(ctx, dy):
                return 3 * dy
        self.assertEqual(attic.check_torch(Scale.apply, X).reason, "forward changes its input")

    def test_a_crash_behind_pytorch_is_a_verdict(self):
        def crash(dy, x):
            ctypes.string_at(0)
        report = attic.check_torch(function_of(np.tanh, crash), X)
        self.assertEqual(str(report), "CRASHED: signal 11 (Segmentation fault) in backward")

    def test_a_child_does_not_wait_for_threads_of_its_parent(self):
        threads, numbers = torch.get_num_threads(), torch.rand(100000)
        torch.set_num_threads(2)
        try:
            numbers.exp()  # from here on there are two
            report = attic.check_torch(lambda x: (x * numbers).exp().sum(0), X[0, :1], directions=1, timeout=10)
        finally:
            torch.set_num_threads(threads)
        self.assertEqual(report.verdict, "PASS")

    def test_the_tensors_of_the_caller_stay_what_they_are(self):
        x = X.clone().requires_grad_()
        attic.check_torch(torch.tanh, x)
        self.assertTrue(torch.equal(x, X) and x.grad is None)

    def test_several_outputs_are_refused(self):
        with self.assertRaisesRegex(TypeError, "f gives tuple, and should give one tensor"):
            attic.check_torch(lambda x: (x, x), X)

    def test_an_output_of_16_bits_is_read(self):
        report = attic.check_torch(lambda x: (16 * x).bfloat16(), torch.arange(1.0, 3))
        self.assertIn(report.real, (attic.ATTIC_F32, attic.ATTIC_BF16))

    def test_a_twin_sees_through_bfloat16(self):
        class Tanh(torch.autograd.Function):
            factor = 1

            @staticmethod
            def forward(ctx, x):
                y = torch.tanh(x.bfloat16())
                ctx.save_for_backward(x)
                return y

            @staticmethod
            def backward(ctx, dy):
                slope = 1 - torch.tanh(ctx.saved_tensors[0]) ** 2
                return (Tanh.factor * dy.float() * slope).bfloat16().float()
        x = torch.linspace(-1.7, 1.9, 60).reshape(12, 5)
        report = attic.check_torch(Tanh.apply, x, twin=torch.tanh)
        self.assertEqual((report.verdict, report.bits), ("PASS", 8), report)
        self.assertEqual(attic.check_torch(Tanh.apply, x, twin=torch.sin).verdict, "MISMATCH")
        Tanh.factor = 1.2
        self.assertEqual(attic.check_torch(Tanh.apply, x, twin=torch.tanh).verdict, "WRONG")

    def test_numbers_of_16_bits_are_refused_with_their_name(self):
        with self.assertRaisesRegex(TypeError, "BFloat16"):
            attic.check_torch(torch.tanh, X.bfloat16())
        with self.assertRaisesRegex(TypeError, "x float16"):
            attic.check_torch(torch.tanh, x=X.half())
