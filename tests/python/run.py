"""run.py -- the tests of attic.py; what is not installed here is named at the end.  `make check-python`"""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))

if __name__ == "__main__":
    tests = unittest.defaultTestLoader.discover(HERE, os.environ.get("ONLY", "test_*.py"))
    result = unittest.TextTestRunner().run(tests)
    for reason in sorted({reason for _, reason in result.skipped}):
        print("NOT RUN:", reason)
    sys.exit(not result.wasSuccessful())
