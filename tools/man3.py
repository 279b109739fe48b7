#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""man3.py - manual pages of section 3 from the comments of the public headers: libquiver(3), a page
for each header, and for each function a link to its page.

usage: tools/man3.py ROOT FOLDER    writes the pages into FOLDER"""
import os
import re
import sys
import textwrap

FOLDER = "include/quiver"
WIDTH = 78
# Headers with which nothing is linked: who implements or opens what they declare.
UNLINKED = {"am": "-lquiver-am-ompi or -lquiver-am-mpich, and -lquiver",
            "contender": "nothing; build a shared object with -shared -fPIC",
            "fi_ext": "nothing", "fi_exchange": "nothing", "fi_stream": "nothing", "offload": "nothing",
            "mpi_control": "-lquiver-mpi-ompi or -lquiver-mpi-mpich"}
PARAMETER = re.compile(r" {2,3}(\w+(?:, ?\w+)*) +(\S.*)")
FUNCTION = re.compile(r"\b(qv_\w+)\)?\(")
NAMED = re.compile(r"\b(qv_\w+|QV_\w+|struct qv_\w+)\b(?!\*)")


def roff(text):
    """Text of a line as roff has it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    text = re.sub(r"(?<=[a-z])\\-(?=[a-z])", "-", text)
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def bold(text):
    return NAMED.sub(r"\\fB\1\\fP", roff(text))


def filled(line):
    """Lines of text as short as mandoc likes them; requests and code stay."""
    if len(line) <= WIDTH or line.startswith("."):
        return line
    return "\n".join(textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False))


def code(lines):
    return [".nf", *(roff(line.expandtabs(8)) for line in lines), ".fi"]


def stripped(comment):
    """The text of a comment, without stars."""
    text = re.sub(r"^\s*/\*|\*/\s*$", "", comment)
    lines = [re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in text.split("\n")]
    lines[0] = lines[0].strip()
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def prose(lines):
    """Paragraphs, lists of parameters and code of a comment as roff."""
    out, code_lines, gap, listed = [], [], False, False
    for line in [*lines, ""]:
        deep = len(line) - len(line.lstrip())
        parameter = PARAMETER.fullmatch(line)
        if code_lines and line and deep < 4:
            out += [".PP", ".in +4n", *code(code_lines), ".in"]
            code_lines, gap = [], True
        if not line:
            gap = True
            if code_lines:
                code_lines.append("")
        elif parameter:
            out += [".TP", f".I {roff(parameter[1])}", bold(parameter[2])]
            gap, listed = False, True
        elif listed and deep > 3 and not gap:
            out.append(bold(line.strip()))
        elif deep > 3:
            code_lines.append(line[4:])
        else:
            if gap or listed:
                out.append(".PP")
            out.append(bold(line.strip()))
            gap = listed = False
    while code_lines and not code_lines[-1]:
        code_lines.pop()
    return out + ([".PP", ".in +4n", *code(code_lines), ".in"] if code_lines else [])


def blocks(text):
    """The head of a header, and its pieces: a comment and the declarations behind it."""
    text = text[text.index("*/") + 2:] if text.startswith("/* SPDX") else text
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.DOTALL)
    text = re.sub(r"#(ifndef|define) QUIVER_\w+_H\n|#endif /\* QUIVER.*|#include .*\n", "", text)
    head, rest = re.match(r"\s*(/\*.*?\*/)(.*)", text, re.DOTALL).groups()
    pieces, comment, lines, depth = [], "", [], 0
    for line in [*rest.split("\n"), "/* end */"]:
        begins = depth == 0 and line.startswith("/*")
        if (begins or (depth == 0 and not line.strip())) and "".join(lines).strip():
            pieces.append((comment, lines))
            comment, lines = "", []
        if begins and comment:
            pieces.append((comment, []))
            comment = ""
        if begins or (comment and "*/" not in comment):
            comment += line + "\n"
            continue
        if line.strip() or depth:
            lines.append(line)
        depth += line.count("{") - line.count("}")
    return stripped(head), pieces


def title(lines):
    """What declarations are of: functions, or the first name."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.DOTALL)
    if "{" not in text and "#define" not in text or "inline" in text:
        names = FUNCTION.findall(text)
        if names:
            return "functions", list(dict.fromkeys(names[:1] if "inline" in text else names))
    found = re.search(r"#define (\w+)|((?:struct|enum) \w+)|(\w+);", text)
    return "types", [next(g for g in found.groups() if g)] if found else []


def signature(lines):
    """Declarations without the words that only the compiler needs."""
    text = re.sub(r"^(QV_API|static inline) ", "", "\n".join(lines), flags=re.MULTILINE)
    if "inline" in lines[0]:
        text = text.split("\n{")[0] + ";"
    return text.split("\n")


def page(header, text, version, date):
    """A header's page, its line of NAME, and the functions that it has."""
    head, pieces = blocks(text)
    what = re.match(r"\S+ - (.*?\.)(?:\s|$)(.*)", "\n".join(head), re.DOTALL)
    brief = " ".join(what[1].split()).rstrip(".")
    whole = len(brief) <= 100 or ":" not in brief
    brief = brief if whole else brief.split(":")[0]
    names, parts = [], {"types": [], "functions": []}
    for comment, lines in pieces:
        kind, found = title(lines) if lines else ("functions" if names else "types", [])
        out = parts[kind]
        if lines:
            out += [f".SS {roff(', '.join(found))}", *code(signature(lines))]
        if comment:
            out += [".PP"] + prose(stripped(comment))
        names += found if kind == "functions" else []
    name = f"quiver_{header}"
    linked = UNLINKED.get(header, "-lquiver (pkg-config --libs quiver)")
    out = [f".TH {name.upper()} 3 {date} \"quiver {version}\" \"Library Functions Manual\"", ".SH NAME",
           ", ".join([name, *names]) + " \\- " + roff(brief), ".SH SYNOPSIS", ".nf",
           f".B #include <quiver/{header}.h>", ".fi", ".PP", f"Link with {roff(linked)}."]
    rest = (what[2] if whole else what[1] + what[2]).strip("\n").split("\n")
    if rest != [""]:
        out += [".SH DESCRIPTION", *prose(rest)]
    for kind, heading in (("types", "TYPES AND CONSTANTS"), ("functions", "FUNCTIONS")):
        if parts[kind]:
            out += [f".SH {heading}", *parts[kind]]
    out += [".SH SEE ALSO", ".BR libquiver (3)"]
    return tidy(out), brief, names


def tidy(lines):
    """No paragraph where a heading, a list or another paragraph begins anyway."""
    out, inside = [], False
    for line in lines:
        if line == ".PP" and out and out[-1].startswith((".SH", ".SS", ".PP")):
            continue
        if line.startswith((".SH", ".SS", ".TP")) and out and out[-1] == ".PP":
            out.pop()
        inside = line == ".nf" or (inside and line != ".fi")
        out.append(line if inside else filled(line))
    return "\n".join(out) + "\n"


OVERVIEW = """.TH LIBQUIVER 3 {date} "quiver {version}" "Library Functions Manual"
.SH NAME
libquiver \\- tag matching and schedules of collectives, for runtimes
.SH SYNOPSIS
.nf
.B cc $(pkg\\-config \\-\\-cflags quiver) program.c $(pkg\\-config \\-\\-libs quiver)
.fi
.SH DESCRIPTION
The library is what the provider
.BR fi_quiver (7)
is made of.
It starts no thread and opens no network.
The caller has these, and gives the library what has come.
Objects are independent of each other.
Calls on one object are for one thread at a time.
.PP
A page describes each header of
.IR quiver/ :
"""


def pages(root):
    """Name and text of each page, and the functions that it describes."""
    with open(os.path.join(root, FOLDER, "types.h"), encoding="utf-8") as f:
        version = re.search(r'QUIVER_VERSION +"(.*?)"', f.read())[1]
    with open(os.path.join(root, "docs/man/quiver.1"), encoding="utf-8") as f:
        date = re.search(r"\.TH \S+ \S+ (\S+)", f.read())[1]
    overview = OVERVIEW.format(version=version, date=date)
    for file in sorted(os.listdir(os.path.join(root, FOLDER))):
        if not file.endswith(".h"):
            continue
        with open(os.path.join(root, FOLDER, file), encoding="utf-8") as f:
            text, brief, names = page(file[:-2], f.read(), version, date)
        yield f"quiver_{file[:-2]}.3", text, names
        overview += f".TP\n.BR quiver_{file[:-2]} (3)\n{filled(roff(brief))}\n"
    see = ".SH SEE ALSO\n.BR quiver (1),\n.BR fi_quiver (7),\n.BR quiver\\-mpi (7)\n"
    yield "libquiver.3", overview + see, []


def main():
    root, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, text, functions in pages(root):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        for function in functions:
            link = os.path.join(folder, f"{function}.3")
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(name, link)
    return 0


if __name__ == "__main__":
    sys.exit(main())
