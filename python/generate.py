#!/usr/bin/env python3
"""generate.py -- what attic.py knows of the headers: structs, enumerators, the types of all functions.

    python3 python/generate.py            writes it into attic.py, between its two markers: `make python`
    python3 python/generate.py --check    fails if attic.py has something else there
    python3 python/generate.py --layout   prints a C program, which prints what the compiler makes of the same
                                          structs and enumerators: test_layout.py compares that with ctypes

Whatever attic_train.h includes is read, after the preprocessor of $CC (cc), from these declarations alone:

    typedef enum { A, B = 3 } name;            A and B become integers
    typedef struct { ... } name;               a ctypes.Structure; without a body, one that only has an address
    typedef int name(const float *x);          a CFUNCTYPE
    AT_API int at_name(at_tape *t, at_shape);  the result and the arguments
"""
import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = "# ---- begin: written by generate.py from the headers; `make python` renews it\n"
END = "# ---- end of what generate.py writes\n"
TYPES = {"_Bool": "c_bool", "char": "c_char", "unsigned char": "c_ubyte", "int": "c_int", "unsigned": "c_uint",
         "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
         "uint8_t": "c_uint8", "uint16_t": "c_uint16", "float": "c_float", "double": "c_double",
         "size_t": "c_size_t", "ptrdiff_t": "c_ssize_t", "char *": "c_char_p", "void *": "c_void_p",
         "FILE *": "c_void_p", "void": "None"}
LENGTHS = ("POINTER(c_int)", "POINTER(c_ssize_t)")  # of a result, as the last argument
KIND = r"(unsigned char|(?:struct )?\w+)"


def own_text():
    """What the headers of src/ say, preprocessed, as one line; AT_API is API there."""
    command = [*os.environ.get("CC", "cc").split(), "-E", "-Isrc", "src/attic_train.h"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=os.path.dirname(HERE)).stdout
    own, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker[1].startswith("src/")
        elif own and not line.startswith("#"):  # a pragma
            lines.append(line)
    text = re.sub(r'__attribute__\s*\(\(visibility\("default"\)\)\)', "API ", " ".join(lines))
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__extension__|\bconst\b", " ", text)
    text = re.sub(r"\bbool\b", "_Bool", text)
    return re.sub(r"\s+", " ", text)


def split(text, mark):
    """The parts of text between marks that stand in no brackets.  Inline functions, which end without one, go."""
    parts, part, depth = [], "", 0
    for sign in text:
        depth += (sign in "({[") - (sign in ")}]")
        if sign == mark and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        part += sign
        if sign == "}" and depth == 0 and re.match(r"\s*static inline", part):
            part = ""
    return [p for p in parts + [part.strip()] if p]


class Headers:
    def __init__(self):
        self.enums, self.values, self.structs, self.opaque, self.callbacks, self.functions = [], {}, {}, [], {}, {}
        self.order = []  # of the lines that are written
        for declaration in split(own_text(), ";"):
            self.read(declaration)
        self.opaque = [name for name in self.opaque if name not in self.structs]

    def read(self, text):
        if text.startswith("API "):
            result, name, arguments = re.match(r"API (.*?)\b(at_\w+) ?\((.*)\)$", text).groups()
            self.functions[name] = [self.type(result)] + self.arguments(arguments)
            if self.functions[name][0] == "c_char_p" and self.functions[name][-1] in LENGTHS:
                self.functions[name][0] = "POINTER(c_char)"  # bytes, of which some may be 0
        elif match := re.match(r"(?:typedef )?enum \{(.*)\} ?(\w*)$", text):
            self.enums += [match[2]] if match[2] else []
            self.read_values(match[1])
        elif match := re.match(r"typedef struct (?:\w+ )?\{(.*)\} (\w+)$", text) or \
                re.match(r"struct ()(\w+) \{(.*)\}$", text):
            body, name = (match[1], match[2]) if match[1] else (match[3], match[2])
            self.structs[name] = None  # it may point to itself
            self.structs[name] = self.fields(name, body)
            self.order.append(name)
        elif match := re.match(r"typedef struct \w+ (\w+)$", text):
            self.opaque.append(match[1])
        elif match := re.match(r"typedef (.*?)(\w+) ?\((.*)\)$", text):
            self.callbacks[match[2]] = [self.type(match[1])] + self.arguments(match[3])
            self.order.append(match[2])

    def read_values(self, body):
        value = -1
        for entry in split(body, ","):
            name, _, given = (part.strip() for part in entry.partition("="))
            value = eval(given, {}, self.values) if given else value + 1  # 4, or A | 1
            self.values[name] = value

    def fields(self, struct, body):
        """[(name, type)]; an inner union without a name is a struct of its own, "union NAME"."""
        fields = []
        for statement in split(body, ";"):
            if match := re.match(r"union \{(.*)\}$", statement):
                inner = f"{struct}_{len(fields)}"
                self.structs["union " + inner] = self.fields(inner, match[1])
                self.order.append("union " + inner)
                fields.append(("_" + inner, inner))
            elif match := re.match(r"enum \{(.*)\} (\w+)$", statement):
                self.read_values(match[1])
                fields.append((match[2], "c_int"))
            elif match := re.match(r"(.*)\( ?\* ?(\w+) ?\) ?\((.*)\)$", statement):
                fields.append((match[2], self.callback(match[1], match[3])))
            else:
                base, declarators = re.match(KIND + r"\b(.*)$", statement).groups()
                if not declarators.strip():
                    raise SystemExit(f"generate.py: {struct} has a field that is not understood: {statement}")
                for declarator in split(declarators, ","):
                    stars, name, size = re.match(r"([* ]*)(\w+) ?(?:\[ ?(\w+) ?\])?$", declarator).groups()
                    fields.append((name, self.type(base + stars) + (f" * {size}" if size else "")))
        return fields

    def callback(self, result, arguments):
        return f"CFUNCTYPE({', '.join([self.type(result)] + self.arguments(arguments))})"

    def arguments(self, text):
        types = []
        for argument in [] if text.strip() == "void" else split(text, ","):
            if argument == "...":
                continue  # ctypes passes what follows those that are declared
            if match := re.match(r"(.*)\( ?\* ?\w+ ?\) ?\((.*)\)$", argument):
                types.append(self.callback(match[1], match[2]))
                continue
            kind, stars, array = re.match(KIND + r"([* ]*)(?:\w+)? ?(\[\d*\])?$", argument).groups()
            types.append(self.type(kind + stars + ("*" if array else "")))
        return types

    def type(self, text):
        """The name in Python of a type of C that has no const."""
        text = re.sub(r"\bstruct ", "", text).replace(" ", "")
        text = text.replace("unsignedchar", "unsigned char").replace("*", " *", 1)
        if text in TYPES:
            return TYPES[text]
        if text in self.enums:
            return "c_int"
        if text in self.structs or text in self.opaque:
            return text
        if text.endswith("*"):
            inner = text[:-1].rstrip()
            return inner if inner in self.callbacks else f"POINTER({self.type(inner)})"
        raise SystemExit(f"generate.py: the type {text} is unknown")

    def python(self):
        lines = [f'VERSION = "{version()}"  # of the headers']
        for name, value in self.values.items():
            lines.append(f"{name} = {value}")
        for name in self.opaque:
            lines.append(f"class {name}(Structure): pass")
        for name in self.structs:
            kind, _, plain = name.rpartition(" ")
            lines.append(f"class {plain}({kind.title() or 'Structure'}): pass")
        for name in self.order:
            plain = name.rpartition(" ")[2]
            if name in self.callbacks:
                lines.append(f"{name} = CFUNCTYPE({', '.join(self.callbacks[name])})")
                continue
            hidden = [f for f, _ in self.structs[name] if f.startswith("_")]
            lines += [f"{plain}._anonymous_ = {hidden}"] if hidden else []
            fields = ", ".join(f'("{f}",\0{t})' for f, t in self.structs[name])
            lines.append(f"{plain}._fields_ = [{fields}]")
        lines.append("FUNCTIONS = {  # the result, then the arguments")
        lines += [f'    "{name}": ({", ".join(types)}{"," * (len(types) == 1)}),' for name, types in
                  self.functions.items()]
        lines.append("}")
        text = "\n".join(textwrap.fill(line, 116, subsequent_indent="    ", break_long_words=False) for line in lines)
        return text.replace("\0", " ") + "\n"  # no line ends there

    def layout(self):
        """A C program that prints a line for each fact that test_layout.py asks ctypes for."""
        yield "#include <stdio.h>\n#include <attic_train.h>\nint main(void)\n{"
        for name in self.values:
            yield f'    printf("{name} %d\\n", (int){name});'
        for name in self.enums:
            yield f'    printf("enum {name} %zu\\n", sizeof({name}));'
        for name, fields in self.structs.items():
            if " " in name:
                continue  # a union: its fields are those of the struct around it
            yield f'    printf("sizeof {name} %zu\\n", sizeof({name}));'
            for field, kind in fields:
                inner = self.structs.get("union " + kind, [(field, kind)])
                for f, _ in inner:
                    yield (f'    printf("{name}.{f} %zu %zu\\n", offsetof({name}, {f}), '
                           f'sizeof((({name} *)0)->{f}));')
        yield "}"


def version():
    text = open(os.path.join(HERE, "..", "src", "version.h"), encoding="utf-8").read()
    return ".".join(re.search(rf"ATTIC_VERSION_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def main():
    headers = Headers()
    if sys.argv[1:] == ["--layout"]:
        print("\n".join(headers.layout()))
        return
    path = os.path.join(HERE, "attic.py")
    text = open(path, encoding="utf-8").read()
    before, rest = text.split(BEGIN)
    new = before + BEGIN + headers.python() + END + rest.split(END)[1]
    if sys.argv[1:] == ["--check"]:
        if new != text:
            raise SystemExit("python/attic.py is not what the headers say: make python")
    elif new != text:
        open(path, "w", encoding="utf-8").write(new)


if __name__ == "__main__":
    main()
