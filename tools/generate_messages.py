"""Makes ``src/barnabas/wire/messages`` of the schema files: one class per message, all versions.

Run it after changing a schema file, and commit what it writes; ``--check`` only says whether that
was done.  It prints declarations and nothing else: how bytes are made of them is the codec's
business (``barnabas.wire.codec``), so this program changes when the schema's form does, and never
for speed.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "src/barnabas/wire/schema"
MESSAGES = ROOT / "src/barnabas/wire/messages"
HEAD = "# Made by tools/generate_messages.py from wire/schema; change that and run it again.\n"
WIDTH = 100

Schema = dict[str, Any]

SCALARS = {
    "bool": ("boolean", "bool"),
    "int8": ("int8", "int"),
    "int16": ("int16", "int"),
    "uint16": ("uint16", "int"),
    "int32": ("int32", "int"),
    "uint32": ("uint32", "int"),
    "int64": ("int64", "int"),
    "float64": ("float64", "float"),
    "uuid": ("uuid", "Uuid"),
    "string": ("string", "str"),
    "bytes": ("octets", "bytes"),
    "records": ("batches", "Buffer"),
}
"""The schema's types: the kind that declares one, and the Python type of its values."""


def snake(name: str) -> str:
    """Spell a schema name the Python way: ``TopicId`` is ``topic_id``, ``KRaft`` is ``kraft``."""
    name = name.replace("KRaft", "Kraft")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def api_name(name: str) -> str:
    """Take ``Request`` or ``Response`` off."""
    return re.sub(r"(Request|Response)$", "", name)


def module_of(schema: Schema) -> str:
    """Say in which module a message is declared, from ``barnabas.wire.messages`` on."""
    match schema["type"]:
        case "request" | "response":
            return snake(api_name(schema["name"]))
        case "header":
            return "headers"
        case "coordinator-key" | "coordinator-value":
            return "stored." + snake(re.sub(r"(Key|Value)$", "", schema["name"]))
        case _:
            return "stored." + snake(schema["name"])


def words(schema: Schema) -> str:
    """Say what a message is, for its docstring."""
    name, versions = schema["name"], schema["validVersions"]
    plural = "version" if versions.isdigit() else "versions"
    if schema["flexibleVersions"] == "none":
        flexible = "never flexible"
    else:
        flexible = f"flexible from {schema['flexibleVersions'].removesuffix('+')}"
        if schema["flexibleVersions"].removesuffix("+") == "0":
            flexible = "always flexible"
    match schema["type"]:
        case "request" | "response":
            what = f"{api_name(name)} (API {schema['apiKey']})"
        case "metadata":
            what = f"Metadata record {schema['apiKey']}"
        case "coordinator-key":
            what = f"Key of coordinator record {schema['apiKey']}"
        case "coordinator-value":
            what = f"Value of coordinator record {schema['apiKey']}"
        case "header":
            what = f"{name}"
        case _:
            what = f"{name}"
    served = schema.get("servedVersions")
    kafka = ""
    if served == "none":
        kafka = "; Kafka 4.3 has dropped it"
    elif served:
        kafka = f"; Kafka 4.3 serves {served}"
    return f"{what}, {plural} {versions}, {flexible}{kafka}."


def import_order(name: str) -> tuple[bool, str, int]:
    """Order imported names as ruff does: classes first, numbers by value."""
    word = name.rstrip("0123456789")
    return not name[0].isupper(), word, int(name[len(word) :] or 0)


class Module:
    """A module in the making: its declarations, and what they import."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: set[str] = set()
        self.sequence = False
        self.uuid = False
        self.buffer = False
        self.body: list[str] = []

    def add(self, schema: Schema) -> None:
        """Declare a message."""
        base = {"request": "Request", "response": "Response"}.get(schema["type"], "Message")
        self.kinds.add(base)
        facts = [f'versions="{schema["validVersions"]}"']
        if "apiKey" in schema:
            facts.insert(0, f"key={schema['apiKey']}")
        if schema["flexibleVersions"] != "none":
            facts.append(f'flexible="{schema["flexibleVersions"]}"')
        self.body += ["", "", f"class {schema['name']}({base}, {', '.join(facts)}):"]
        self.body.append(f'    """{words(schema)}"""')
        structs = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", ())}
        if schema["fields"]:
            self.body.append("")
        self.fields(schema["name"], schema["fields"], 1)
        for name, fields in self.structs(schema["fields"], structs):
            self.kinds.add("Struct")
            self.body += ["", f"    class {name}(Struct):"]
            self.fields(schema["name"], fields, 2)
            if not fields:
                self.body.append("        pass")

    def structs(
        self, fields: list[Schema], common: dict[str, list[Schema]]
    ) -> Iterator[tuple[str, list[Schema]]]:
        """Yield every struct below these fields once, the outer ones first."""
        seen: set[str] = set()
        waiting = list(fields)
        while waiting:
            following: list[Schema] = []
            for field in waiting:
                name = field["type"].removeprefix("[]")
                if name in SCALARS or name in seen:
                    continue
                seen.add(name)
                inner = field.get("fields") or common[name]
                yield name, inner
                following += inner
            waiting = following

    def fields(self, message: str, fields: list[Schema], depth: int) -> None:
        """Declare the fields of a struct."""
        for field in fields:
            self.body += self.field(message, field, depth)

    def field(self, message: str, field: Schema, depth: int) -> list[str]:
        """Declare a field, on one line if it fits."""
        kind, python = self.kind(message, field)
        arguments = [kind, f'"{field["versions"]}"']
        default = self.default(field)
        nullable = field.get("nullableVersions", "none")
        if default is not None:
            arguments.append(f"default={default}")
        if nullable != "none":
            arguments.append(f'nullable="{nullable}"')
        if "tag" in field:
            arguments.append(f"tag={field['tag']}")
            arguments.append(f'tagged="{field["taggedVersions"]}"')
        if field.get("ignorable"):
            arguments.append("ignorable=True")
        if "flexibleVersions" in field:
            arguments.append(f'flexible="{field["flexibleVersions"]}"')
        if nullable != "none" or default == "None" or field["type"] == "records":
            python += " | None"
        indent = "    " * depth
        head = f"{indent}{snake(field['name'])}: {python} = field("
        line = f"{head}{', '.join(arguments)})"
        if len(line) <= WIDTH:
            return [line]
        # The rest is how ruff breaks lines, so that formatting finds nothing to do.
        joined = ", ".join(arguments)
        call = f"field({joined})"
        if len(head) > WIDTH:
            name, _, annotation = head.removesuffix(" = field(").partition(": ")
            if len(f"{name}: {annotation} = (") <= WIDTH:
                lines = [f"{indent}    {call}"]
                if len(lines[0]) > WIDTH:
                    lines = [f"{indent}    field(", f"{indent}        {joined}", f"{indent}    )"]
                return [f"{name}: {annotation} = (", *lines, f"{indent})"]
            if annotation.endswith(" | None"):
                return [f"{name}: (", f"{indent}    {annotation}", f"{indent}) = {call}"]
            outer, _, inner = annotation.removesuffix("]").partition("[")
            return [f"{name}: {outer}[", f"{indent}    {inner}", f"{indent}] = {call}"]
        if len(f"{indent}    {joined}") <= WIDTH:
            return [head, f"{indent}    {joined}", f"{indent})"]
        return [head, *(f"{indent}    {argument}," for argument in arguments), f"{indent})"]

    def kind(self, message: str, field: Schema) -> tuple[str, str]:
        """Return how a field's kind is said, and its Python type."""
        self.kinds.add("field")
        name = field["type"].removeprefix("[]")
        if name in SCALARS:
            kind, python = SCALARS[name]
            if field.get("zeroCopy"):
                kind, python = "view", "Buffer"
            self.kinds.add(kind)
            self.uuid |= python == "Uuid"
            self.buffer |= python == "Buffer"
        else:
            kind, python = f'"{name}"', f"{message}.{name}"
        if field["type"].startswith("[]"):
            self.sequence = True
            self.kinds.add("array_of")
            return f"array_of({kind})", f"Sequence[{python}]"
        if name not in SCALARS:
            self.kinds.add("struct_of")
            return f"struct_of({kind})", python
        return kind, python

    def default(self, field: Schema) -> str | None:
        """Return a default as Python says it, or none where it is the kind's own."""
        text = field.get("default")
        if text is None or (text == "" and field["type"] == "string"):
            return None
        if text == "null":
            return None if field["type"] == "records" else "None"
        match field["type"]:
            case "bool":
                return "True" if text.lower() == "true" else None
            case "string":
                return json.dumps(text)
            case "float64":
                return str(float(text)) if float(text) else None
            case _:
                number = int(text, 0)
                return str(number) if number else None

    def text(self) -> str:
        """Return the whole module."""
        lines = [HEAD, "from __future__ import annotations", ""]
        if self.sequence:
            lines += ["from collections.abc import Sequence", ""]
        if self.uuid:
            lines.append("from barnabas.model.ids import Uuid")
        if self.buffer:
            lines.append("from barnabas.wire.primitives import Buffer")
        kinds = ", ".join(sorted(self.kinds, key=import_order))
        line = f"from barnabas.wire.structs import {kinds}"
        if len(line) > WIDTH:
            inside = kinds.split(", ")
            line = "from barnabas.wire.structs import (\n    " + ",\n    ".join(inside) + ",\n)"
        lines.append(line)
        return "\n".join([*lines, *self.body]) + "\n"


def index(schemas: list[Schema]) -> str:
    """Return the module that says what there is, so that nothing needs to be imported to know."""
    lines = [
        HEAD + "# ruff: noqa: E501 -- a table is read by its rows\n",
        '"""What there is, so that nothing needs to be imported to know."""',
        "",
        "from enum import IntEnum",
        "from typing import Final",
        "",
        "MODULES: Final = {",
    ]
    lines += (f'    "{schema["name"]}": "{module_of(schema)}",' for schema in schemas)
    lines += [
        "}",
        '"""The module of each message, from ``barnabas.wire.messages`` on."""',
        "",
        "",
        "class ApiKey(IntEnum):",
        '    """The number of an API, which is the first thing a request says."""',
        "",
    ]
    requests = [schema for schema in schemas if schema["type"] == "request"]
    requests.sort(key=lambda schema: int(schema["apiKey"]))
    for schema in requests:
        lines.append(f"    {snake(api_name(schema['name'])).upper()} = {schema['apiKey']}")
    lines += ["", "", "APIS: Final = ("]
    lines += map(api_row, requests)
    lines += [
        ")",
        '"""Each API: key, name, versions that may be served, flexible versions, listeners."""',
    ]
    return "\n".join(lines) + "\n"


def api_row(schema: Schema) -> str:
    """Return the row of an API: what Kafka 4.3 serves and calls stable; else all there ever was.

    What Kafka 4 dropped whole was spoken between brokers that lived with ZooKeeper; a broker that
    does so still may serve it.
    """
    served = str(schema.get("servedVersions", schema["validVersions"]))
    listeners = {"broker", "controller"} & set(schema["listeners"])
    if served == "none":
        served, listeners = schema["validVersions"], {"broker"}
    if schema.get("latestVersionUnstable"):
        first, _, last = served.partition("-")
        served = f"{first}-{int(last) - 1}"
    said = ", ".join(f'"{listener}"' for listener in sorted(listeners))
    return (
        f'    ({schema["apiKey"]}, "{api_name(schema["name"])}", "{served}", '
        f'"{schema["flexibleVersions"]}", ({said}{"," if len(listeners) == 1 else ""})),'
    )


def generate() -> dict[Path, str]:
    """Return the text of every file that this program owns."""
    schemas = [json.loads(path.read_text()) for path in sorted(SCHEMA.glob("*.json"))]
    modules: dict[str, Module] = {}
    # A request stands before its response, a key before its value.
    for schema in schemas:
        name = module_of(schema)
        modules.setdefault(name, Module(name)).add(schema)
    files = {
        MESSAGES / (name.replace(".", "/") + ".py"): module.text()
        for name, module in modules.items()
    }
    files[MESSAGES / "index.py"] = index(schemas)
    return files


def main(arguments: list[str]) -> int:
    """Write what has changed, or with ``--check`` say what has."""
    files = generate()
    owned = {
        path
        for path in MESSAGES.rglob("*.py")
        if path.name != "__init__.py" and path.read_text().startswith(HEAD)
    }
    stale = sorted(
        path
        for path in files.keys() | owned
        if not path.exists() or files.get(path) != path.read_text()
    )
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what tools/generate_messages.py makes")
        if stale:
            print("run tools/generate_messages.py and commit what it writes")
        return 1 if stale else 0
    for path in stale:
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
        else:
            path.unlink()
    print(f"{len(files)} files, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
