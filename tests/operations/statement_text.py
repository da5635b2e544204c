"""Conditions and updates of the reference written as PartiQL."""

from __future__ import annotations

from typing import Any

from tests.operations.reference import Action, Path, Rendering, Update


class StatementText(Rendering):
    """Every other value that can be written out is; the rest are parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters: list[dict[str, Any]] = []
        self._given = 0

    def path(self, path: Path) -> str:
        first, *rest = path
        text = _quoted(str(first))
        for number, part in enumerate(rest):
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += f"['{part}']" if number % 2 else f".{_quoted(part)}"
        return text

    def value(self, wire: dict[str, Any]) -> str:
        self._given += 1
        text = literal(wire) if self._given % 2 else None
        if text is None:
            self.parameters.append(wire)
            return "?"
        return text

    def existence(self, path: Path, is_there: bool) -> str:
        return f"{self.path(path)} IS {'NOT ' if is_there else ''}MISSING"

    def update(self, update: Update) -> str:
        return " ".join(self._action(action) for action in update.actions)

    def _action(self, action: Action) -> str:
        path = self.path(action.path)
        if action.operand is None:
            return f"REMOVE {path}"
        operand = action.operand.render(self)
        if action.section == "SET":
            return f"SET {path} = {operand}"
        return f"SET {path} = set_{action.section.lower()}({path}, {operand})"

    def request(self, statement: str) -> dict[str, Any]:
        return {"Statement": statement, **({"Parameters": self.parameters} if self.parameters else {})}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(wire: dict[str, Any]) -> str | None:
    """None for what holds a binary: there is no way to write one."""
    [(kind, content)] = wire.items()
    match kind:
        case "S":
            return _text(content)
        case "N":
            return str(content)
        case "BOOL":
            return "TRUE" if content else "false"
        case "NULL":
            return "NULL"
        case "SS":
            return f"<<{', '.join(map(_text, content))}>>"
        case "NS":
            return f"<<{', '.join(content)}>>"
        case "L":
            elements = [literal(element) for element in content]
            return None if None in elements else f"[{', '.join(map(str, elements))}]"
        case "M":
            members = {name: literal(member) for name, member in content.items()}
            if None in members.values():
                return None
            return f"{{{', '.join(f'{_text(name)}: {text}' for name, text in members.items())}}}"
    return None


def _text(content: str) -> str:
    return "'" + content.replace("'", "''") + "'"
