# SPDX-License-Identifier: BSD-2-Clause
"""hook.py - what mkdocs.yml needs so that the pages of this tree are a site as they are.

Pages keep their places in the tree, so a link that works there works on the site. Beside docs/ the
site has the README.md of every folder, and each source that a page links to. Manual pages are made
by mandoc, those of section 3 from the headers (tools/man3.py)."""
import os
import re
import subprocess
import sys

from mkdocs.structure.files import File, Files

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import man3  # noqa: E402

SKIPPED = {".git", "build", ".cache", "debian"}
LINK = re.compile(r"\]\(<?([^()\s>#]+)")


def pages():
    """Paths of the Markdown pages of the tree, and of what is in docs/."""
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = sorted(d for d in subfolders if d not in SKIPPED)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if path.startswith("docs/") or path.endswith(".md"):
                yield path


def linked(path):
    """Files of the tree that a page links to."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        for target in LINK.findall(f.read()):
            if not re.match(r"\w+:", target):
                there = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if os.path.isfile(os.path.join(ROOT, there)):
                    yield there


def manual(name, text, names):
    """A manual page as Markdown: its title, and what mandoc makes of it."""
    body = subprocess.run(["mandoc", "-T", "html", "-O", "fragment"], input=text, text=True,
                          capture_output=True, check=True).stdout
    body = re.sub(r"<table class=\"(head|foot)\">.*?</table>", "", body, flags=re.DOTALL)
    body = re.sub(r"<b>([\w-]+)</b>\((\d)\)", lambda m: f'<a href="{m[1]}.{m[2]}.html">{m[0]}</a>'
                  if f"{m[1]}.{m[2]}" in names else m[0], body)
    # mandoc breaks lines that are indented, which are lines of their own in code already.
    body = re.sub(r"<pre>.*?</pre>", lambda m: re.sub(r"\n?<br/>\n?", "\n", m[0]), body, flags=re.DOTALL)
    page, section = name.rsplit(".", 1)
    # Markdown ends a block of HTML at an empty line: those of examples have a reference in them.
    body = re.sub(r"\n(?=\n)", "\n&#8203;", body)
    return f"# {page}({section})\n\n<div class=\"manual\">\n{body}\n</div>\n"


def manuals(folder):
    """Make the pages of the manual in a folder; give the name of each."""
    texts = {name: text for name, text, _ in man3.pages(ROOT)}
    for name in os.listdir(os.path.join(ROOT, "docs/man")):
        with open(os.path.join(ROOT, "docs/man", name), encoding="utf-8") as f:
            texts[name] = f.read()
    os.makedirs(os.path.join(folder, "docs/man"), exist_ok=True)
    for name, text in texts.items():
        path = f"docs/man/{name}.md"
        with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
            f.write(manual(name, text, texts))
        yield path


def on_files(given, config):
    theme = [f for f in given if not f.abs_src_path.startswith(config["docs_dir"] + os.sep)]
    there, generated = config["site_dir"], os.path.join(ROOT, "build/site-manual")
    paths = list(pages())
    sources = {s for p in paths if p.endswith(".md") for s in linked(p)} - set(paths)
    files = [File(p, ROOT, there, False) for p in paths + sorted(sources)]
    files += [File(p, generated, there, False) for p in manuals(generated)]
    for file in files:
        if file.src_uri == "README.md":
            rename(file, "README.html", there)
        if file.src_uri == "docs/index.md":
            rename(file, "index.html", there)
    return Files(theme + files)


def rename(file, path, there):
    file.dest_uri = file.url = path
    file.abs_dest_path = os.path.join(there, path)


def on_page_markdown(markdown, **_):
    """Manual pages are pages here; in the tree they are files for man(1)."""
    return re.sub(r"(\]\([\w./-]*\bman/[\w-]+\.[1-9])\)", r"\1.md)", markdown)
