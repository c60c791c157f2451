"""Where attic.py finds libattic.so, and that it is of its own version."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import attic


def load(folder, script, **environment):
    """Runs the script with the attic.py of this folder."""
    kept = {name: value for name, value in os.environ.items() if name != "ATTIC_LIBRARY"}
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True,
                          env={**kept, "PYTHONPATH": folder, **environment})


class Library(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(attic.__file__, self.folder)

    def test_it_may_lie_beside_attic_py(self):
        os.symlink(attic.LIBRARY._name, os.path.join(self.folder, "libattic.so"))
        result = load(self.folder, "import attic; print(attic.LIBRARY._name)")
        self.assertEqual(result.stdout.strip(), os.path.join(self.folder, "libattic.so"), result.stderr)

    def test_attic_library_goes_before_all_others(self):
        os.symlink(attic.LIBRARY._name, os.path.join(self.folder, "libattic.so"))
        result = load(self.folder, "import attic", ATTIC_LIBRARY="/nowhere/libattic.so")
        self.assertIn("ImportError: attic.py: /nowhere/libattic.so: cannot open", result.stderr)

    def test_a_library_of_another_version_is_refused(self):
        path = os.path.join(self.folder, "attic.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(f'VERSION = "{attic.VERSION}"', 'VERSION = "9.0.0"'))
        result = load(self.folder, "import attic", ATTIC_LIBRARY=attic.LIBRARY._name)
        self.assertIn("ImportError: attic.py is for attic 9.0.0", result.stderr)

    def test_pointers_keep_all_their_bits_and_structs_go_by_value(self):
        t = attic.at_open(attic.ATTIC_F64, 7)
        shape = attic.at_shape(2, (2, 3))
        x = attic.at_const(t, shape, (attic.c_double * 6)(1, 2, 3, 4, 5, 6))
        self.assertEqual(attic.at_item(attic.at_sum(t, x)), 21)
        self.assertEqual(attic.at_shape_text(x.contents.shape), b"[2,3]")
        attic.at_close(t)
