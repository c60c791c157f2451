"""What attic.py says of structs, enumerators and functions is what the C compiler says."""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import attic

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATE = os.path.join(ROOT, "python", "generate.py")
CC = os.environ.get("CC", "cc").split()


def generate(*arguments):
    return subprocess.run([sys.executable, GENERATE, *arguments], capture_output=True, text=True, cwd=ROOT)


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
            with open(source, "w", encoding="utf-8") as file:
                file.write(generate("--layout").stdout)
            subprocess.run([*CC, f"-I{ROOT}/src", "-o", program, source], check=True)
            cls.facts = [line.split() for line in subprocess.check_output([program], text=True).splitlines()]

    def facts_of(self, chosen):
        facts = [fact for fact in self.facts if chosen(fact[0])]
        self.assertGreater(len(facts), 10)
        return facts

    def test_attic_py_is_what_the_headers_say(self):
        result = generate("--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_structs_have_the_sizes_of_the_compiler(self):
        for _, name, size in self.facts_of(lambda word: word == "sizeof"):
            self.assertEqual(ctypes.sizeof(getattr(attic, name)), int(size), name)

    def test_fields_are_where_the_compiler_puts_them(self):
        for field, *place in self.facts_of(lambda word: "." in word):
            struct, name = field.split(".")
            found = getattr(getattr(attic, struct), name)
            self.assertEqual([found.offset, found.size], [int(n) for n in place], field)

    def test_enumerators_have_their_values(self):
        for name, value in self.facts_of(lambda word: word.startswith("ATTIC_")):
            self.assertEqual(getattr(attic, name), int(value), name)

    def test_enums_are_passed_as_integers(self):
        for _, name, size in self.facts_of(lambda word: word == "enum"):
            self.assertEqual(ctypes.sizeof(ctypes.c_int), int(size), name)

    def test_every_function_that_the_library_exports_for_two_headers_is_known(self):
        listed, header = set(), None
        with open(os.path.join(ROOT, "scripts", "exports.txt"), encoding="utf-8") as file:
            for line in file:
                header = line.split()[1] if line.startswith("# attic") else header
                if line.startswith("at_") and header in ("attic.h:", "attic_train.h:"):
                    listed.add(line.strip())
        self.assertEqual(listed, set(attic.FUNCTIONS))
