"""build_library.py -- what pip does beside copying attic.py: make builds libattic.so, which goes into the wheel."""
import os
import shutil
import subprocess
import sys

from setuptools.command import build_py as setuptools_build_py

try:
    from setuptools.command import bdist_wheel as setuptools_bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel import bdist_wheel as setuptools_bdist_wheel

NAME = "libattic.dylib" if sys.platform == "darwin" else "libattic.so"


class build_py(setuptools_build_py.build_py):
    def run(self):
        super().run()
        folder = os.path.abspath(os.path.join(self.build_lib, "make"))
        B = os.path.relpath(folder)  # for make, in whose words a space would end
        subprocess.run([os.getenv("MAKE", "make"), f"-j{os.cpu_count()}", "lib", f"B={B}"], check=True)
        shutil.copyfile(os.path.join(folder, NAME), os.path.join(self.build_lib, NAME))
        shutil.rmtree(folder)

    def get_outputs(self, include_bytecode=True):
        return [*super().get_outputs(include_bytecode), os.path.join(self.build_lib, NAME)]


class bdist_wheel(setuptools_bdist_wheel.bdist_wheel):
    """A wheel for any Python 3, but for one system and processor."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]
