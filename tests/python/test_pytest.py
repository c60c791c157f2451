"""The fixture of pytest: a test fails where a gradient is wrong, and says what the report says."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import attic

try:
    import pytest
except ImportError:
    raise unittest.SkipTest("pytest is not installed") from None

CONFTEST = 'pytest_plugins = ["attic"]\n'
TESTS = """
import numpy as np
import pytest

X = np.linspace(-1, 1, 3)

def test_right(gradcheck):
    assert gradcheck(np.tanh, lambda dy, x: dy * (1 - np.tanh(x) ** 2), X).verdict == "PASS"

def test_wrong(gradcheck):
    gradcheck(np.tanh, lambda dy, x: dy, X)

def test_undecided(gradcheck):
    gradcheck(lambda x: 0 * x, lambda dy, x: 0 * dy, X)

def test_may_be_undecided(gradcheck):
    gradcheck(lambda x: 0 * x, lambda dy, x: 0 * dy, X, strict=False)

def test_torch(gradcheck):
    torch = pytest.importorskip("torch")
    gradcheck.torch(torch.tanh, torch.linspace(-1, 1, 3))
    wrong = lambda x: 2 * x - x.detach()
    with pytest.raises(AssertionError, match="WRONG"):
        gradcheck.torch(wrong, torch.linspace(-1, 1, 3))
"""


class Fixture(unittest.TestCase):
    def test_what_is_wrong_or_undecided_fails(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for name, text in ("conftest.py", CONFTEST), ("test_it.py", TESTS):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(attic.__file__)}
        result = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], cwd=folder,
                                env=environment, capture_output=True, text=True)
        self.assertRegex(result.stdout, "2 failed, (3 passed|2 passed, 1 skipped)", result.stdout)
        self.assertIn("GradientError: WRONG: backward is not the derivative of forward", result.stdout)
        self.assertIn("GradientError: VACUOUS", result.stdout)
