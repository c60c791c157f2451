"""Tape: tensors from NumPy arrays, every function by its name, training."""
import unittest

import numpy as np

import attic

A = np.arange(6.0).reshape(2, 3)


class Tape(unittest.TestCase):
    def setUp(self):
        self.t = attic.Tape(attic.ATTIC_F64, seed=3)
        self.addCleanup(self.t.close)

    def test_arrays_come_back_with_shape_type_and_numbers(self):
        for numbers, dtype in ((A, "f8"), (A.T, "f8"), (A.astype("f4"), "f8"), (A.astype("i8"), "i4"), (A > 2, "?"),
                               (np.float64(3), "f8"), (np.zeros((0, 2)), "f8")):
            back = attic.array(self.t.tensor(numbers))
            self.assertEqual((back.shape, back.dtype), (numbers.shape, np.dtype(dtype)))
            self.assertTrue((back == numbers).all())

    def test_numbers_of_16_bits_come_back(self):
        self.assertTrue((attic.array(self.t.cast(A, attic.ATTIC_BF16)) == A).all())

    def test_a_tape_of_float_gives_float(self):
        with attic.Tape() as t:
            self.assertEqual(attic.array(t.tensor(A)).dtype, np.float32)

    def test_ops_are_called_by_name_with_arrays_and_numbers(self):
        y = self.t.add_scalar(self.t.matmul(A, A.T), 1)
        self.assertTrue((attic.array(y) == A @ A.T + 1).all())
        self.assertTrue((attic.array(self.t.reshape(A, (3, 2))) == A.reshape(3, 2)).all())
        x = self.t.tensor(A)
        self.assertTrue((attic.array(self.t.concat([x, x], 2, 0)) == np.vstack([A, A])).all())

    def test_options_are_given_by_the_names_of_their_fields(self):
        q = self.t.tensor(A)
        rows = attic.array(self.t.sdpa(q, q, q, causal=True))
        self.assertTrue((rows[0] == A[0]).all())
        self.assertFalse((attic.array(self.t.sdpa(q, q, q))[0] == A[0]).all())
        bias = np.array([[0.0, -np.inf], [0, 0]])
        self.assertTrue((attic.array(self.t.sdpa(q, q, q, bias=bias)) == rows).all())

    def test_gradients_are_those_of_c(self):
        x = self.t.variable((2, 3), A)
        self.t.backward(self.t.sum(self.t.square(x)))
        self.assertTrue((attic.array(self.t.grad_copy(x)) == 2 * A).all())

    def test_an_error_is_raised_with_its_numbers_and_the_tape_goes_on(self):
        with self.assertRaisesRegex(attic.Error, r"matmul: A is \[2,3\] but B is \[2,3\]: inner dimensions 3 and 2"):
            self.t.matmul(A, A)
        self.assertEqual(attic.at_item(self.t.sum(A)), 15)

    def test_numbers_that_a_tensor_cannot_hold_are_an_error(self):
        with self.assertRaisesRegex(attic.Error, "3000000000"):
            self.t.tensor(np.array([3000000000]))
        with self.assertRaisesRegex(attic.Error, str(2**63 - 1)):
            self.t.tensor(np.array([2**64 - 1], dtype="u8"))
        with self.assertRaisesRegex(attic.Error, "a tensor of 9 axes is not possible"):
            self.t.tensor(np.zeros((1,) * 9))
        with self.assertRaisesRegex(TypeError, "complex128"):
            self.t.tensor(A * 1j)

    def test_arrays_of_another_type_are_refused_where_c_has_a_pointer(self):
        with self.assertRaisesRegex(TypeError, "packed array of c_double, not of int64"):
            self.t.variable((2, 3), A.astype("i8"))
        with self.assertRaisesRegex(TypeError, "packed array"):
            self.t.variable((3, 2), A.T)

    def test_unknown_names_and_missing_arguments_are_errors(self):
        with self.assertRaisesRegex(AttributeError, "no at_nonsense"):
            self.t.nonsense()
        with self.assertRaisesRegex(TypeError, "at_sdpa takes no casual"):
            self.t.sdpa(A, A, A, casual=True)
        with self.assertRaisesRegex(TypeError, "an argument is missing"):
            self.t.softmax()
        with self.assertRaisesRegex(TypeError, "at_softmax takes no more than 1"):
            self.t.softmax(A, 0)

    def test_bytes_of_a_token_and_of_a_text_may_be_0(self):
        k, n = self.t.tokenizer_bytes(None, 0), attic.c_int()
        self.assertEqual(attic.at_token_bytes(k, 65, n)[:n.value], b"A")
        self.assertEqual(attic.at_token_bytes(k, 0, n)[:n.value], b"\0")
        size = attic.c_ssize_t()
        self.assertEqual(self.t.decode(k, [97, 0, 98], 3, size)[:size.value], b"a\0b")

    def test_a_step_frees_what_it_computes(self):
        used = []
        for _ in range(3):
            with self.t.step():
                self.t.matmul(np.ones((100, 100)), np.ones((100, 100)))
            used.append(self.t.memory_of().step)
        self.assertEqual(used[0], used[2])

    def test_a_step_that_fails_frees_it_too(self):
        before = self.t.memory_of().step
        with self.assertRaises(attic.Error), self.t.step():
            self.t.matmul(A, A)
        self.assertEqual(self.t.memory_of().step, before)

    def test_two_layers_learn_a_disc_from_arrays(self):
        rng = np.random.default_rng(1)
        x = rng.uniform(-2, 2, (200, 2))
        inside = (np.hypot(*x.T) < 1.2).astype(int)
        hidden = self.t.linear_make("hidden", 2, 16, True, attic.at_xavier_normal(1))
        out = self.t.linear_make("out", 16, 2, True, attic.at_xavier_normal(1))
        for _ in range(100):
            with self.t.step():
                logits = self.t.linear_apply(out, self.t.tanh(self.t.linear_apply(hidden, x)))
                self.t.backward(self.t.cross_entropy(logits, inside))
                right = (attic.array(logits).argmax(1) == inside).mean()
                self.t.adam(0.05)
        self.assertGreater(right, 0.95)

    def test_a_model_learns_to_repeat_from_arrays(self):
        m = self.t.model_make(vocab=5, context=8, layers=1, heads=2, dim=16)
        ids = np.arange(32).reshape(4, 8) % 5
        for _ in range(60):
            with self.t.step():
                loss = self.t.cross_entropy(self.t.model_logits(m, ids), (ids + 1) % 5)
                same = self.t.model_cross_entropy(m, ids, (ids + 1) % 5)
                self.assertEqual(attic.at_item(same), attic.at_item(loss))
                self.t.backward(loss)
                last = attic.at_item(loss)
                self.t.adamw(0.02)
        self.assertLess(last, 0.1)
