"""Shows a configuration that has no mistakes."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce_server.config.model import Config
from askonce_server.config.notes import notes
from askonce_server.config.quantities import format_size, format_time
from askonce_server.config.rule import MatchSection, RuleSection


def show(config: Config) -> None:
    """Print the rules as a table, then the places, then what the operator should know."""
    console = Console(highlight=False)
    console.print(rules_table(config.rules))
    console.print()
    for line in [*_places(config), *(f"note: {note}" for note in notes(config))]:
        console.print(Text(line), soft_wrap=True)


def rules_table(rules: tuple[RuleSection, ...]) -> Table:
    """Return the rules as a table, in the order in which they are tried."""
    table = Table(box=None, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    table.add_column("matches", overflow="fold")
    for name in ("mode", "strategy", "scope", "ttl"):
        table.add_column(name, no_wrap=name in {"mode", "ttl"})
    for rule in rules:
        cells = (
            rule.id,
            _matches(rule.match),
            rule.mode,
            ", ".join(rule.strategy),
            ", ".join(rule.scope) or "everybody",
            format_time(rule.ttl),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _matches(match: MatchSection) -> str:
    parts = []
    for name, value in match.model_dump(exclude_defaults=True).items():
        if isinstance(value, dict):
            parts += [f"{name}.{key}={pattern}" for key, pattern in value.items()]
        elif isinstance(value, bool):
            parts.append(f"{name}={'true' if value else 'false'}")
        else:
            parts.append(f"{name}={'|'.join(value)}")
    return "\n".join(parts) or "everything"


def _places(config: Config) -> list[str]:
    store = config.store
    where = "memory" if store.engine == "memory" else str(store.path)
    lines = [
        f"listens on {', '.join(str(address) for address in config.listen)}",
        f"keeps up to {format_size(store.max_bytes)} in {where}",
    ]
    if config.admin is not None:
        lines.append(f"listens for operators on {', '.join(str(address) for address in config.admin.listen)}")
    return lines
