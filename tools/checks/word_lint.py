"""Find words that the language guide replaces: `python -m tools.checks.word_lint [--summary]`."""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from culprit.launcher.paths import ROOT

WORDS = Path(__file__).with_name("words.yaml")
IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
TS_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
TS_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TS_REGEX = re.compile(
    r"(?<=[(,=:\[!&|?{};\s])/(?![*/\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[dgimsuvy]*(?![\w/])"
)
TEXT_SUFFIXES = {".md", ".yaml", ".yml", ".json"}
MAX_SUBJECT = 72
#: Pairs of words in identifiers that are standard terms, although the second word alone is not used.
COMPOUNDS = frozenset({("not", "found"), ("nothing", "found")})
#: Recorded output, generated files and what other projects wrote.
FROZEN = re.compile(
    r"(^|/)(fixtures?|golden|node_modules|licenses)/|package-lock\.json$|uv\.lock$|schema\.d\.ts$|server\.[a-z]+\.(en|zh)\.json$"
    r"|^tools/checks/words\.yaml$|^tools/checks/word_lint\.py$|^docs/(score|status|rules|causes)\.|^examples/|\.d\.ts$"
)


@dataclass(frozen=True, slots=True)
class WordUse:
    """One use of a word: `kind` is names, text or chinese."""

    path: str
    line: int
    kind: str
    word: str
    context: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The lists of words.yaml; patterns match whole words."""

    names: frozenset[str]
    text: re.Pattern[str]
    chinese: re.Pattern[str]
    advice: dict[tuple[str, str], str]
    allowed: dict[tuple[str, str], tuple[str, ...]]


def load_vocabulary(path: Path = WORDS) -> Vocabulary:
    """Read words.yaml. Raises ValueError for an entry that is neither a text nor a mapping with `use`."""
    advice: dict[tuple[str, str], str] = {}
    allowed: dict[tuple[str, str], tuple[str, ...]] = {}
    lists = yaml.safe_load(path.read_text("utf-8"))
    for kind, words in lists.items():
        for word, entry in words.items():
            if isinstance(entry, dict):
                advice[kind, str(word)] = str(entry["use"])
                allowed[kind, str(word)] = tuple(entry.get("allow", ()))
            elif isinstance(entry, str):
                advice[kind, str(word)] = entry
            else:
                raise ValueError(f"{path.name}: {kind}.{word} needs a replacement")
    phrases = "|".join(re.escape(str(word)) for word in sorted(lists["text"], key=len, reverse=True))
    fragments = "|".join(re.escape(str(word)) for word in lists["chinese"])
    return Vocabulary(
        frozenset(map(str, lists["names"])),
        re.compile(rf"(?<![\w./-])(?:{phrases})(?![\w-]|\.\w)", re.I),
        re.compile(fragments),
        advice,
        allowed,
    )


def split_identifier(name: str) -> list[str]:
    """Return the lower-case words of an identifier in snake_case, camelCase or CamelCase."""
    return [part.lower() for part in PART.findall(name)]


def find_text(path: str, line: int, text: str, words: Vocabulary) -> Iterator[WordUse]:
    """Yield uses in prose that starts at `line`; inline code is skipped."""
    prose = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text)
    for kind, pattern in (("text", words.text), ("chinese", words.chinese)):
        for match in pattern.finditer(prose):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            context = text[start : end if end >= 0 else len(text)].strip()
            yield WordUse(path, line + text.count("\n", 0, match.start()), kind, match[0].lower(), context)


def find_name(path: str, line: int, name: str, words: Vocabulary) -> Iterator[WordUse]:
    """Yield the words of an identifier that are in the list."""
    parts = split_identifier(name)
    for before, part in zip(("", *parts), parts, strict=False):
        if part in words.names and (before, part) not in COMPOUNDS:
            yield WordUse(path, line, "names", part, name)


def defined_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a module defines: functions, classes, arguments, variables, fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str() as name):
                yield name, node.lineno


def check_python(path: str, source: str, words: Vocabulary) -> Iterator[WordUse]:
    """Yield uses in names, strings and comments of a Python file."""
    for name, line in defined_names(ast.parse(source)):
        yield from find_name(path, line, name, words)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and re.search(r"[^\W_]\s", token.string)
        ):
            yield from find_text(path, token.start[0], token.string, words)


def check_typescript(path: str, source: str, words: Vocabulary) -> Iterator[WordUse]:
    """Yield uses in identifiers, strings and comments of a TypeScript file."""
    code = source
    for pattern in (TS_COMMENT, TS_STRING, TS_REGEX):
        for match in pattern.finditer(code):
            if pattern is TS_COMMENT or " " in match[0]:
                yield from find_text(path, 1 + source.count("\n", 0, match.start()), match[0], words)
        code = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    seen = set()
    for match in IDENTIFIER.finditer(code):
        if match[0] not in seen:  # a name counts once per file: where it is declared or first used
            seen.add(match[0])
            yield from find_name(path, 1 + code.count("\n", 0, match.start()), match[0], words)


def check_file(path: str, source: str, words: Vocabulary) -> Iterator[WordUse]:
    """Yield the uses in one file that words.yaml does not allow there."""
    suffix = Path(path).suffix
    if suffix == ".py":
        uses = check_python(path, source, words)
    elif suffix in {".ts", ".tsx", ".mjs"}:
        uses = check_typescript(path, source, words)
    else:
        uses = find_text(path, 1, source, words)
    for use in uses:
        if not path.startswith(words.allowed.get((use.kind, use.word), ()) or ("\0",)):
            yield use


def list_files(root: Path = ROOT) -> list[str]:
    """Return the tracked files that the lint reads, relative to the repository."""
    listing = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    suffixes = {".py", ".ts", ".tsx", ".mjs", ".sh", ".css", ".c", ".java", ".toml", ".mako", *TEXT_SUFFIXES}
    return [
        path for path in listing.splitlines() if Path(path).suffix in suffixes and not FROZEN.search(path)
    ]


def check_tree(root: Path = ROOT) -> list[WordUse]:
    """Return every use in the tracked files."""
    words = load_vocabulary()
    uses: list[WordUse] = []
    for path in list_files(root):
        file = root / path
        if file.is_file():
            uses += check_file(path, file.read_text("utf-8"), words)
    return uses


def main(arguments: list[str]) -> int:
    """Print the uses; exit code 1 where there is one."""
    parser = argparse.ArgumentParser(prog="word_lint", description=__doc__)
    parser.add_argument("--summary", action="store_true", help="print counts per kind, word and folder only")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("paths", nargs="*", help="only files whose path starts with one of these")
    options = parser.parse_args(arguments)
    uses = [use for use in check_tree(options.root) if use.path.startswith(tuple(options.paths) or ("",))]
    if options.summary:
        for title, key in (
            ("kind", lambda use: use.kind),
            ("word", lambda use: f"{use.kind}: {use.word}"),
            ("folder", lambda use: "/".join(use.path.split("/")[:3])),
        ):
            counts = Counter(key(use) for use in uses).most_common(60)
            sys.stdout.write(f"by {title}\n" + "".join(f"  {count:6} {name}\n" for name, count in counts))
    else:
        advice = load_vocabulary().advice
        for use in uses:
            instead = advice.get((use.kind, use.word), "")
            sys.stdout.write(f"{use.path}:{use.line}: '{use.word}' in {use.context[:100]!r}; use {instead}\n")
    sys.stdout.write(f"{len(uses)} uses of replaced words\n")
    return int(bool(uses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
