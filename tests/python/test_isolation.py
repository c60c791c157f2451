"""A crash or a call that never ends is a verdict, and nothing else is lost by the child process."""
import ctypes
import os
import subprocess
import sys
import time
import unittest

import numpy as np

import attic

X = np.array([0.5, -1.0, 2.0])


def tanh_vjp(dy, x):
    return dy * (1 - np.tanh(x) ** 2)


def crash(*_):
    ctypes.string_at(0)


def sleep(*_):
    time.sleep(600)


class OddError(Exception):
    def __init__(self, a, b):
        super().__init__(a)


@unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
class Isolation(unittest.TestCase):
    def test_a_crash_in_backward_is_a_verdict(self):
        report = attic.check(np.tanh, crash, X)
        self.assertEqual((report.verdict, report.status), ("CRASHED", 1))
        self.assertEqual(str(report), "CRASHED: signal 11 (Segmentation fault) in backward")

    def test_a_crash_in_forward_is_a_verdict(self):
        self.assertEqual(attic.check(crash, tanh_vjp, X).reason, "signal 11 (Segmentation fault) in forward")

    def test_a_crash_in_a_later_call_is_a_verdict(self):
        calls = []
        report = attic.check(lambda x: calls.append(1) or (crash() if len(calls) == 20 else np.tanh(x)), tanh_vjp, X)
        self.assertEqual(report.reason, "signal 11 (Segmentation fault) in forward")

    def test_a_function_that_ends_the_process_has_crashed(self):
        report = attic.check(np.tanh, lambda dy, x: os._exit(3), X)
        self.assertEqual(str(report), "CRASHED: it exits with status 3 in backward")

    def test_a_call_that_never_ends_is_a_verdict(self):
        began = time.monotonic()
        report = attic.check(np.tanh, sleep, X, timeout=0.3)
        self.assertEqual((str(report), report.status), ("TIMED-OUT: after 0.3 s in backward", 3))
        self.assertLess(time.monotonic() - began, 30)

    def test_many_calls_may_take_longer_than_one_may(self):
        report = attic.check(np.tanh, lambda dy, x: time.sleep(0.02) or tanh_vjp(dy, x), X, timeout=1)
        self.assertEqual(report.verdict, "PASS")

    def test_no_child_is_left(self):
        for vjp in crash, sleep, tanh_vjp:
            attic.check(np.tanh, vjp, X, timeout=0.2)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_what_is_raised_in_the_child_is_raised_here_with_its_lines(self):
        with self.assertRaises(ZeroDivisionError) as caught:
            attic.check(np.tanh, lambda dy, x: 1 // 0, X)
        self.assertIn("lambda dy, x: 1 // 0", str(caught.exception.__cause__))

    def test_what_cannot_be_pickled_is_named(self):
        def fail(dy, x):
            raise OddError("odd", 2)
        with self.assertRaisesRegex(RuntimeError, r"OddError\('odd'\)"):
            attic.check(np.tanh, fail, X)

    def test_a_process_that_outlives_the_child_is_not_waited_for(self):
        def forward(x):
            if os.fork() == 0:
                time.sleep(20)
                os._exit(0)
            crash()
        began = time.monotonic()
        self.assertEqual(attic.check(forward, tanh_vjp, X).verdict, "CRASHED")
        self.assertLess(time.monotonic() - began, 15)

    def test_without_isolation_it_is_this_process(self):
        calls = []
        report = attic.check(lambda x: calls.append(os.getpid()) or np.tanh(x), tanh_vjp, X, isolate=False)
        self.assertEqual((report.verdict, set(calls)), ("PASS", {os.getpid()}))

    def test_what_is_printed_before_and_in_the_child_is_printed_once(self):
        script = """if 1:
            import attic
            print("before")
            attic.LIBRARY.printf(b"before in C\\n")
            attic.check(lambda x: print("in f") or attic.LIBRARY.printf(b"in C\\n") * x, lambda dy, x: 1 // 0, 1.0)"""
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(attic.__file__), "PYTHONUNBUFFERED": ""}
        printed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True).stdout
        self.assertEqual(set(printed.split("\n")), {"before", "before in C", "in f", "in C", ""})
        self.assertEqual(printed.count("before"), 2)

    def test_beside_cuda_the_report_says_that_it_is_not_isolated(self):
        class Torch:
            class cuda:
                is_initialized = staticmethod(lambda: True)
        kept = sys.modules.get("torch")
        sys.modules["torch"] = Torch
        try:
            report = attic.check(np.tanh, tanh_vjp, X)
            self.assertIn("not in a process of its own: a process that uses CUDA can't fork", str(report))
            with self.assertRaisesRegex(RuntimeError, "CUDA can't fork"):
                attic.check(np.tanh, tanh_vjp, X, isolate=True)
        finally:
            if kept is None:
                del sys.modules["torch"]
            else:
                sys.modules["torch"] = kept
