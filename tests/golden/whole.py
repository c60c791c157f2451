"""whole.py -- golden files are written whole or not at all, so that a script which fails leaves those that are there."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def write(files):
    """files: {name: text or bytes}, beside this script.  All are there before the first takes its place."""
    for name, content in files.items():
        with open(os.path.join(HERE, name + ".new"), "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
    for name in files:
        os.replace(os.path.join(HERE, name + ".new"), os.path.join(HERE, name))
