"""Write the reference pages that are made from the code, or check that they are current.

python -m tools.generate_docs            write docs/reference/*.md
python -m tools.generate_docs --check    exit 1 if any of them would change
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from barnabas.cli.wire import span
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.errors import ErrorCode
from barnabas.model.group_configs import GROUP_CONFIGS
from barnabas.model.metrics_configs import METRICS_CONFIGS
from barnabas.model.topic_configs import TOPIC_CONFIGS
from barnabas.wire.apis import APIS, request_class
from barnabas.wire.layout import valid_versions

REFERENCE: Final = Path(__file__).parent.parent / "docs" / "reference"
MADE: Final = "<!-- Made by tools/generate_docs.py; run ./dev docs. -->\n"


def wire() -> Iterator[str]:
    """Describe what the codec understands and what listeners may serve."""
    yield "# The wire protocol\n"
    yield MADE
    yield "*Understood* are the versions that the codec reads and writes, back to the oldest there"
    yield "ever were. *May serve* is Kafka 4.3's range, which a listener advertises once a handler"
    yield "for the API exists; nothing is advertised before that, and no handler exists yet.\n"
    yield "| key | API | understood | may serve | flexible from | listeners |"
    yield "|---:|---|---|---|---|---|"
    for key, api in sorted(APIS.items()):
        understood = valid_versions(request_class(api.key))
        flexible = str(api.flexible.start) if api.flexible else "never"
        listeners = ", ".join(sorted(api.listeners)) or "none"
        yield (
            f"| {key} | {api.name} | {span(understood)} | {span(api.versions)} "
            f"| {flexible} | {listeners} |"
        )


def errors() -> Iterator[str]:
    """Describe the error codes."""
    yield "# Error codes\n"
    yield MADE
    yield "| code | name | a client may try again | meaning |"
    yield "|---:|---|---|---|"
    for error in sorted(ErrorCode):
        again = "yes" if error.retriable else ""
        yield f"| {int(error)} | {error.name} | {again} | {error.words} |"


def configs() -> Iterator[str]:
    """Describe the configs."""
    yield "# Configs\n"
    yield MADE
    yield "Kafka 4.3's configs by their names: what may be set, and what holds where nothing is."
    yield "These are judged when they are set and told when they are asked for, whether or not the"
    yield "part that follows one is there yet. *Changes* says when a broker takes another value:"
    yield "never while it runs, for itself alone, or for all brokers at once.\n"
    for title, table in TABLES.items():
        brokers = table is BROKER_CONFIGS
        yield f"## Of {title}\n"
        yield f"| name | kind | default | allowed |{' changes |' if brokers else ''} what it does |"
        yield f"|---|---|---|---|{'---|' if brokers else ''}---|"
        for name, config in sorted(table.items()):
            if config.internal:
                continue
            default = "*must be given*" if config.required else spelled(config.default)
            rule = escaped(str(config.rule or ""))
            changes = f" {config.update.value} |" if brokers else ""
            kind = config.kind.name.lower()
            yield f"| {name} | {kind} | {default} | {rule} |{changes} {escaped(config.doc)} |"
        yield ""


def spelled(default: str | None) -> str:
    """Return a default as a page shows it."""
    return "" if default is None else f"`{default}`" if default else "empty"


def escaped(text: str) -> str:
    """Return a text as it stands in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").strip()


TABLES: Final = {
    "topics": TOPIC_CONFIGS,
    "brokers and controllers": BROKER_CONFIGS,
    "groups": GROUP_CONFIGS,
    "subscriptions to the metrics of clients": METRICS_CONFIGS,
}

PAGES: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "wire.md": wire,
    "errors.md": errors,
    "configs.md": configs,
}


def main() -> None:
    """Write or compare every page."""
    parser = argparse.ArgumentParser(prog="./dev docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    check = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        text = "\n".join(page()) + "\n"
        path = REFERENCE / name
        if check and not (path.exists() and path.read_text() == text):
            stale.append(name)
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"docs/reference/{name}: {len(text.splitlines())} lines")
    if stale:
        print(f"stale: {', '.join(stale)}; run ./dev docs and commit")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
