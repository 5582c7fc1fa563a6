"""Doors past ``barnabas.runtime``, and other ways to be different from run to run.

    python -m tools.lint_world        what is wrong, one place a line; exit status 1 if anything is

A run in the simulator must be a function of its seed.  Import contracts keep most of the operating
system out; this reads the syntax for what they cannot see:

- modules of the operating system, by any spelling of the import, in any package of the product;
- asyncio's own doors (connections, subprocesses, executors) and tasks that nobody owns;
- iteration in the order of a set, ``hash()`` and ``id()``: they differ between processes;
- state of a module: two simulated processes would share it;
- ``__del__``: it runs when the collector pleases.

``ALLOWED`` lists the exceptions, each with its reason.  A test keeps the list current.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
SOURCE: Final = ROOT / "src" / "barnabas"

# The worlds themselves, and what is only ever run in the real one.
OUTSIDE: Final = ("host", "sim", "cli", "testing", "console", "spark", "__main__.py")

MODULES: Final = frozenset(
    {
        "concurrent", "ctypes", "datetime", "fcntl", "gc", "glob", "io", "locale", "mmap",
        "multiprocessing", "os", "pathlib", "platform", "queue", "random", "sched", "secrets",
        "select", "selectors", "shutil", "signal", "socket", "socketserver", "ssl", "subprocess",
        "tempfile", "threading", "_thread", "time", "urllib", "uuid", "weakref",
    }
)  # fmt: skip

DOORS: Final = {
    "open_connection": "connect with runtime.network",
    "open_unix_connection": "connect with runtime.network",
    "create_connection": "connect with runtime.network",
    "create_datagram_endpoint": "connect with runtime.network",
    "start_server": "listen with runtime.network",
    "start_unix_server": "listen with runtime.network",
    "create_server": "listen with runtime.network",
    "create_subprocess_exec": "nothing here starts programs",
    "create_subprocess_shell": "nothing here starts programs",
    "to_thread": "there are no threads here",
    "run_in_executor": "there are no threads here",
    "run_coroutine_threadsafe": "there are no threads here",
    "add_reader": "connections come from runtime.network",
    "add_writer": "connections come from runtime.network",
    "add_signal_handler": "being stopped is being cancelled",
    "new_event_loop": "the world has a loop already",
    "set_event_loop": "the world has a loop already",
    "create_task": "a task has an owner: TaskScope.spawn",
    "ensure_future": "a task has an owner: TaskScope.spawn",
    "TaskGroup": "it keeps a set: use a TaskScope",
    "all_tasks": "it is a set: use a TaskScope",
    "as_completed": "it keeps a set: use futures of your own",
}

# The two functions of asyncio whose names are common words elsewhere.
ASYNCIO_ONLY: Final = {
    "run": "the world runs the loop",
    "wait": "it returns sets: use gather, or futures of your own",
}

CACHES: Final = frozenset({"cache", "lru_cache", "cached_property"})
MUTABLE: Final = frozenset(
    {"list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "count"}
)
MUTATORS: Final = frozenset(
    {
        "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
        "popleft", "remove", "setdefault", "update",
    }
)  # fmt: skip

# What may be although it looks wrong: the place, and why.
ALLOWED: Final = {
    "runtime/tasks.py create_task": "the one place where tasks get their owner",
    # Caches of pure functions: who filled them first makes no difference to anybody.
    "records/compression.py blocks_package": "a module is the same for all",
    "records/compression.py zstd_package": "a module is the same for all",
    "wire/apis.py request_class": "pure: a class by its key",
    "wire/apis.py response_class": "pure: a class by its key",
    "wire/apis.py request_header_version": "pure: a number by two",
    "wire/apis.py response_header_version": "pure: a number by two",
    "wire/decoding.py unpack_few": "pure: unpackers by their format",
    "wire/decoding.py unpack_text": "pure: unpackers by their length",
    "wire/metadata_records.py record_classes": "pure: classes by their key",
    "wire/layout.py may_be_large": "pure: what a class is declared to hold",
    "views/configs.py set_nowhere": "pure: what is in force by default, by a name",
    # Codecs are compiled from the declarations in this package; no text comes from outside.
    "wire/codec.py exec": "compiles what codec writes",
    "wire/structs.py exec": "compiles a constructor",
}


class Complaint(NamedTuple):
    """Something wrong: where, the key that would allow it, and what to do."""

    place: str
    key: str
    advice: str


def complaints(path: Path, source: str) -> Iterator[Complaint]:
    """Yield what is wrong in one module and not allowed; ``path`` is relative to the package."""
    for complaint in everything(path, source):
        if complaint.key not in ALLOWED:
            yield complaint


def everything(path: Path, source: str) -> Iterator[Complaint]:
    """Yield what is wrong in one module, allowed or not."""
    tree = ast.parse(source)
    sets = names_of_sets(tree)
    for node in ast.walk(tree):
        for what, advice in wrong(node, sets):
            place = f"{path.as_posix()}:{getattr(node, 'lineno', 1)}"
            yield Complaint(place, f"{path.as_posix()} {what}", advice)
    for node, what, advice in module_state(tree):
        place = f"{path.as_posix()}:{node.lineno}"
        yield Complaint(place, f"{path.as_posix()} {what}", advice)


def wrong(node: ast.AST, sets: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one node, as a word and an advice."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                if alias.name.partition(".")[0] in MODULES:
                    yield alias.name, f"import {alias.name}: ask barnabas.runtime"
        case ast.ImportFrom(module=str(module), names=names):
            if module.partition(".")[0] in MODULES:
                yield module, f"from {module}: ask barnabas.runtime"
            for alias in names:
                if module == "asyncio" and alias.name in DOORS | ASYNCIO_ONLY:
                    yield alias.name, (DOORS | ASYNCIO_ONLY)[alias.name]
        case ast.Call(func=func):
            yield from wrong_call(func)
        case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
            yield from wrong_order(iterated, sets)
        # A set made of a set has no order to see.
        case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
            for part in node.generators:
                yield from wrong_order(part.iter, sets)
        case ast.FunctionDef(name="__del__"):
            yield "__del__", "it runs when the collector pleases: close what you opened"
        case ast.Global():
            yield "global", "two simulated processes would share it"
        case _:
            return


def wrong_call(func: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with calling something."""
    match func:
        case ast.Name(id="hash" | "id" as name):
            yield name, f"{name}() differs between processes"
        case ast.Name(id="open" | "input" | "print" | "exec" | "eval" | "__import__" as name):
            yield name, f"{name}() is a door"
        case ast.Attribute(value=ast.Name(id="asyncio"), attr=name) if name in ASYNCIO_ONLY:
            yield name, ASYNCIO_ONLY[name]
        case ast.Attribute(attr=name) if name in DOORS:
            yield name, DOORS[name]
        case _:
            return


def wrong_order(iterated: ast.expr, sets: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield a complaint if something is gone through in the order of a set."""
    if is_set(iterated) or (isinstance(iterated, ast.Name) and iterated.id in sets):
        yield "set", "the order of a set differs between processes: sort it"


def is_set(expression: ast.expr) -> bool:
    """Tell whether an expression makes a set, as far as its form shows."""
    match expression:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub(), right=right):
            return is_set(left) or is_set(right)
        case _:
            return False


def names_of_sets(tree: ast.Module) -> frozenset[str]:
    """Return the plain names that are bound to sets and to nothing else."""
    as_set: dict[str, None] = {}
    otherwise: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=bound):
                (as_set if is_set(bound) else otherwise)[name] = None
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                said = ast.unparse(annotation).removeprefix("Final[")
                is_one = said.startswith(("set", "frozenset", "Set", "AbstractSet"))
                is_one = is_one or (said == "Final" and bool(node.value) and is_set_of(node))
                (as_set if is_one else otherwise)[name] = None
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                is_one = ast.unparse(annotation).startswith(("set[", "frozenset["))
                (as_set if is_one else otherwise)[name] = None
            case _:
                continue
    return frozenset(as_set) - frozenset(otherwise)


def is_set_of(node: ast.AnnAssign) -> bool:
    """Tell whether an annotated assignment binds a set."""
    return node.value is not None and is_set(node.value)


def module_state(tree: ast.Module) -> Iterator[tuple[ast.stmt, str, str]]:
    """Yield what of a module can change: containers that are changed, caches, counters."""
    tables: dict[str, ast.stmt] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=bound):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as bound):
                pass
            case ast.FunctionDef(name=name, decorator_list=decorators):
                for decorator in decorators:
                    called = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if last_name(called) in CACHES:
                        yield statement, name, "a cache outlives the process that filled it"
                continue
            case _:
                continue
        if is_container(bound):
            tables[name] = statement
            if not name.isupper() and not name.startswith("__"):
                yield statement, name, "a table of constants is written in capitals"
    for node in ast.walk(tree):
        changed = changed_name(node)
        if changed in tables:
            yield tables[changed], changed, "two simulated processes would share what is kept here"


def is_container(bound: ast.expr) -> bool:
    """Tell whether an expression makes something that can change."""
    match bound:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=func):
            return last_name(func) in MUTABLE
        case _:
            return False


def changed_name(node: ast.AST) -> str:
    """Return the name of what a node changes; empty if it changes nothing with a plain name."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return name if method in MUTATORS else ""
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            return name
        case ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]):
            return name
        case _:
            return ""


def last_name(called: ast.expr) -> str:
    """Return the last part of a dotted name."""
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def product() -> Iterator[tuple[Path, str]]:
    """Yield the modules of the product, by their path in the package, and their source."""
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        if relative.parts[0] not in OUTSIDE:
            yield relative, path.read_text()


def main() -> None:
    """Print what is wrong."""
    found = [complaint for path, source in product() for complaint in complaints(path, source)]
    for complaint in found:
        print(f"src/barnabas/{complaint.place}: {complaint.advice}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
