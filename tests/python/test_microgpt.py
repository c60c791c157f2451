"""The plain Python of course/microgpt.py and examples/microgpt.c: the same numbers from the same start."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = os.path.join(HERE, "..", "..", "course", "microgpt.py")
STEPS = 20
sys.path.insert(0, os.path.dirname(PLAIN))
import microgpt  # noqa: E402


def losses(*command):
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    return [float(line.split()[-1]) for line in said.splitlines() if line.startswith("step ")][:STEPS]


class Microgpt(unittest.TestCase):
    def test_twenty_losses_are_those_of_the_c_program(self):
        program = os.environ["ATTIC_MICROGPT"]
        with tempfile.TemporaryDirectory() as folder:
            start = os.path.join(folder, "w.safetensors")
            ours = losses(program, "--every", "1", "--save", start)
            theirs = losses(sys.executable, PLAIN, "--every", "1", "--steps", str(STEPS), "--start", start)
        self.assertEqual((len(ours), len(theirs)), (STEPS, STEPS))
        for a, b in zip(ours, theirs):
            self.assertLess(abs(a - b), 1e-6)
        self.assertLess(max(ours), 4)
        self.assertGreater(len(set(ours)), STEPS // 2)

    def test_the_derivative_of_a_value_is_that_of_its_differences(self):
        def f(x, y):
            a, b = microgpt.Value(x), microgpt.Value(y)
            z = microgpt.total([(a * b).exp(), (a + b).log(), a.power(-1.5), b.relu().times(3)])
            z.backward()
            return z.x, a.grad, b.grad

        _, da, db = f(0.7, 1.2)
        h = 1e-6
        self.assertAlmostEqual(da, (f(0.7 + h, 1.2)[0] - f(0.7 - h, 1.2)[0]) / (2 * h), delta=1e-8)
        self.assertAlmostEqual(db, (f(0.7, 1.2 + h)[0] - f(0.7, 1.2 - h)[0]) / (2 * h), delta=1e-8)

    def test_names_are_letters_and_fit_the_context(self):
        names = [microgpt.made_up_name(i) for i in range(2000)]
        self.assertTrue(all(name.isalpha() and name.islower() and 2 <= len(name) <= 11 for name in names))
        self.assertGreater(len(set(names)), 1000)
        self.assertLess(len(set(names)), 2000)


if __name__ == "__main__":
    unittest.main()
