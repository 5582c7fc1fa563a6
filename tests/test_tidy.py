"""The tree's manners: what neither a linter nor an import contract can say.

Each test reads the source tree and complains with the place and what to do about it.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "barnabas"
OURS = ("src", "tests", "tools", "benchmarks")
GENERATED = SOURCE / "wire" / "messages"

# Nouns that say nothing about what is inside.
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "manager", "impl", "misc"}

# Modules that only name things (protocols, words, tables of facts): nothing in them can be run.
NOTHING_TO_RUN = {
    "raft/effects", "raft/events", "raft/listener", "raft/messages",
    "runtime/clock", "runtime/disk", "runtime/entropy", "runtime/network", "runtime/probes",
    "runtime/runtime",
}  # fmt: skip

# A function should fit a screen.  Those that do not are listed with their length, which may only
# shrink; nothing new is added without a reason in its review.
SCREEN_LINES = 70
LONG_FUNCTIONS: dict[str, int] = {}

# Where an operating-system loop or a last line of defence must catch what it cannot name.
BROAD_EXCEPTS = {
    # Receivers and timers are product code called by the loop: what they raise is reported to the
    # life's on_failure and ends it, so nothing is swallowed.
    "src/barnabas/host/clock.py",
    "src/barnabas/host/connection.py",
    "src/barnabas/host/network.py",
    # A subscriber that raises is reported to the loader, which decides whether the node can go on.
    "src/barnabas/metadata/shell.py",
    # The same in the simulated world: the top of every handle, and of what an executor runs.
    "src/barnabas/sim/connection.py",
    "src/barnabas/sim/loop.py",
}


def modules(*roots: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield every module we wrote below the roots, parsed."""
    for root in roots:
        for path in sorted((ROOT / root).rglob("*.py")):
            if GENERATED not in path.parents:
                yield path, parsed(path)


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a module once for all tests."""
    return ast.parse(path.read_text())


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def place(path: Path, node: ast.AST | None = None) -> str:
    """Return where something is, as an editor wants it."""
    line = getattr(node, "lineno", None)
    name = path.relative_to(ROOT).as_posix()
    return f"{name}:{line}" if line else name


def test_every_module_says_what_it_is() -> None:
    silent = [place(path) for path, tree in modules(*OURS) if tree.body and not docs(tree)]
    assert not silent, "begin with a docstring: what is this, who drives it, what must it never do?"


def docs(tree: ast.Module) -> str:
    """Return the docstring of a module, or nothing."""
    return ast.get_docstring(tree) or ""


def test_every_package_is_a_chapter_that_names_its_modules() -> None:
    missing = []
    for chapter in sorted(SOURCE.rglob("__init__.py")):
        if chapter.parent == SOURCE or GENERATED in (chapter.parent, *chapter.parents):
            continue
        text = docs(ast.parse(chapter.read_text()))
        inside = [path.stem for path in chapter.parent.glob("*.py")]
        inside += [path.parent.name for path in chapter.parent.glob("*/__init__.py")]
        missing += [
            f"{place(chapter)} does not mention {name}"
            for name in sorted(inside)
            if not name.startswith("__") and not re.search(rf"``{name}``|\b{name}\.py\b", text)
        ]
    assert not missing, "a package's docstring lists its modules in reading order"


def test_module_names_are_nouns_that_say_something() -> None:
    named = [path for path, _ in modules(*OURS)]
    empty = [place(path) for path in named if path.stem in EMPTY_NAMES]
    hidden = [place(path) for path in named if re.match(r"_[^_]", path.stem)]
    assert not empty + hidden


def test_every_module_has_its_test_module() -> None:
    missing = []
    for path, tree in modules("src"):
        name = path.relative_to(SOURCE).with_suffix("").as_posix()
        if path.stem in ("__init__", "__main__") or name in NOTHING_TO_RUN or not tree.body:
            continue
        test = ROOT / "tests" / Path(name).parent / f"test_{path.stem}.py"
        if not test.exists():
            missing.append(f"{place(path)}: no {place(test)}")
    assert not missing


def test_no_module_is_dead() -> None:
    texts = {path: path.read_text() for path in sorted((ROOT / "src").rglob("*.py"))}
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].values()
    dead = []
    for path in texts:
        name = path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
        if path.stem in ("__init__", "__main__") or GENERATED in path.parents:
            continue
        package, _, module = name.rpartition(".")
        used = re.compile(
            rf"{re.escape(name)}\b|from {re.escape(package)} import [^\n]*\b{module}\b"
        )
        others = (text for other, text in texts.items() if other != path)
        if not any(used.search(text) for text in others) and not any(name in e for e in entries):
            dead.append(place(path))
    # A protocol that only the product above it will use is alive when it is bundled or documented.
    assert not dead, "imported by nobody: use it or remove it"


def test_functions_fit_a_screen() -> None:
    long = {}
    for path, tree in modules(*OURS):
        for function in functions(tree):
            lines = (function.end_lineno or 0) - function.lineno + 1
            key = f"{place(path)} {function.name}"
            if lines > LONG_FUNCTIONS.get(key, SCREEN_LINES):
                long[key] = lines
    assert not long, "split what does two things; the list of exceptions only shrinks"


def test_asserts_and_errors_are_not_swallowed() -> None:
    broad = []
    for path, tree in modules("src", "tools", "benchmarks"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                silent = all(isinstance(line, ast.Pass) for line in node.body)
                unnamed = caught in ("", "Exception", "BaseException")
                if (unnamed or silent) and place(path) not in BROAD_EXCEPTS:
                    broad.append(f"{place(path, node)}: except {caught}")
    assert not broad, "name what can happen; what cannot is a bug and stops the node"


def test_there_are_no_leftovers() -> None:
    # Spelled so that this file does not find itself.
    markers = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|NotImplemented" r"Error")
    machine = re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|ho" r"me)/\w")
    silenced = re.compile(r"#\s*(?:type:\s*ign" r"ore|no" r"qa)(?!.*\s--?\s\w|[^#]*#\s*\w)")
    found = []
    for path in [*(path for path, _ in modules(*OURS)), ROOT / "dev"]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{place(path)}:{number}"
            if markers.search(line):
                found.append(f"{where}: a marker; write an issue instead")
            if machine.search(line):
                found.append(f"{where}: a path of one machine")
            if silenced.search(line):
                found.append(f"{where}: a silenced checker without a reason (add ' - why')")
    assert not found


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    # What is not to be run is not to be there.
    excused = re.compile(
        r"pytest\.mark\.(?:sk" r"ip|xf" r"ail)|pytest\.(?:sk" r"ip|importor" r"skip)\("
    )
    found = [place(path) for path, _ in modules("tests") if excused.search(path.read_text())]
    assert not found


def test_tests_are_sentences() -> None:
    short = [
        f"{place(path, function)} {function.name}"
        for path, tree in modules("tests")
        if path.stem.startswith("test_")
        for function in functions(tree)
        if function.name.startswith("test_") and function.name.count("_") < 3
    ]
    assert not short, "a test's name says what holds"


def test_links_in_documents_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")]
    broken = [
        f"{place(page)} → {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [int(name[:4]) for name in pages]
    assert numbers == list(range(1, len(numbers) + 1)), pages


def test_the_lock_holds_every_dependency_we_name() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = settings["project"]["dependencies"]
    for group, named in settings["dependency-groups"].items():
        locked = (ROOT / "requirements" / f"{group}.lock").read_text()
        for requirement in [*named, *(runtime if group != "uv" else [])]:
            name = re.split(r"[^\w-]", requirement)[0]
            assert re.search(rf"^{name}==", locked, re.MULTILINE), f"{name} is not in {group}.lock"


def test_every_runtime_dependency_has_its_record() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    records = "".join(path.read_text() for path in (ROOT / "docs" / "decisions").glob("*.md"))
    for requirement in settings["project"]["dependencies"]:
        name = re.split(r"[^\w-]", requirement)[0]
        assert f"`{name}`" in records, f"{name}: say what it does for us and what we would write"
