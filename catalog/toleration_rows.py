"""The rows of tolerations in the offer form: read, checked, worded, and made tolerations again exactly as they were meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpu.resources import TOLERATION_KEY, TOLERATION_VALUE, Effect, Operator, Toleration, matches

MOST: Final = 32
_KUBECTL: Final = re.compile(
    r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?(?::(?P<effect>[A-Za-z_]*))?(?P<remove>-)?"
)
_INT64: Final = 2**63


@dataclass(kw_only=True)
class TolerationRow:
    """One row as typed. ``faults`` are by field; ``note`` is what a person should know about a valid row."""

    key: str = ""
    operator: str = Operator.EQUAL
    value: str = ""
    effect: str = ""
    seconds: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, toleration: Toleration) -> TolerationRow:
        seconds = toleration.toleration_seconds
        return cls(
            key=toleration.key or "",
            operator=toleration.operator or Operator.EQUAL,
            value=toleration.value or "",
            effect=toleration.effect or "",
            seconds="" if seconds is None else str(seconds),
        )

    @classmethod
    def posted(cls, data: Mapping[str, str], index: int) -> TolerationRow:
        def typed(name: str) -> str:
            return (data.get(f"tolerations-{index}-{name}") or "").strip()

        return cls(
            key=typed("key"),
            operator=typed("operator") or Operator.EQUAL,
            value=typed("value"),
            effect=typed("effect"),
            seconds=typed("seconds"),
        )

    @property
    def is_blank(self) -> bool:
        is_untouched = self.operator == Operator.EQUAL
        return is_untouched and not (self.key or self.value or self.effect or self.seconds)

    @property
    def takes_value(self) -> bool:
        return self.operator != Operator.EXISTS

    @property
    def takes_seconds(self) -> bool:
        return self.effect == Effect.NO_EXECUTE

    @property
    def note(self) -> str:
        if self.is_blank or self.faults:
            return ""
        if not self.key and self.operator == Operator.EXISTS:
            effect = f"with the effect {self.effect}" if self.effect else "of any effect"
            return f"Tolerates every taint {effect}, those of cordoned, not ready and unreachable nodes too."
        if self.seconds and int(self.seconds) <= 0:
            return "0 seconds and below: the VM is evicted at once. Empty means it stays for ever."
        return ""

    def check(self) -> bool:
        """Find the faults; say whether there are none."""
        self.faults = {
            name: fault
            for name, fault in (
                ("key", self._key_fault()),
                ("operator", "" if self.operator in set(Operator) else "Choose Equal or Exists."),
                ("value", self._value_fault()),
                ("effect", self._effect_fault()),
                ("seconds", self._seconds_fault()),
            )
            if fault
        }
        return not self.faults

    def toleration(self) -> dict[str, Any]:
        """Give it in the shape of the API; what is empty is left out. Only for a row without faults."""
        made: dict[str, Any] = {}
        if self.key:
            made["key"] = self.key
        made["operator"] = str(self.operator)
        if self.value:
            made["value"] = self.value
        if self.effect:
            made["effect"] = self.effect
        if self.seconds:
            made["tolerationSeconds"] = int(self.seconds)
        return made

    def _key_fault(self) -> str:
        if not self.key:
            needs_key = self.operator == Operator.EQUAL
            return "Write a key, or choose Exists to tolerate every taint." if needs_key else ""
        if "=" in self.key or ":" in self.key:
            return _kubectl_fault(self.key)
        prefix, slash, name = self.key.rpartition("/")
        if slash and len(prefix) > 253:
            return f"The part in front of “/” is too long: {len(prefix)} of 253 characters."
        if len(name) > 63:
            return f"The name is too long: {len(name)} of 63 characters."
        if any(character.isspace() for character in self.key):
            return "A key has no spaces."
        if slash and prefix != prefix.lower():
            return f"The part in front of “/” is written in lower case: {prefix.lower()}."
        if not matches(TOLERATION_KEY, self.key):
            return "A key is letters, digits, “-”, “_” and “.”, with an optional prefix such as nvidia.com/ in front."
        return ""

    def _value_fault(self) -> str:
        if not self.value:
            return ""
        if self.operator == Operator.EXISTS:
            return "Exists takes no value: empty the field or choose Equal."
        if self.value[0] in "\"'" or self.value[-1] in "\"'":
            return "Quotes are not part of the value: leave them out."
        if len(self.value) > 63:
            return f"Too long: {len(self.value)} of 63 characters."
        if not matches(TOLERATION_VALUE, self.value):
            return (
                "A value is letters, digits, “-”, “_” and “.”, beginning and ending with a letter or digit."
            )
        return ""

    def _effect_fault(self) -> str:
        if not self.effect or self.effect in set(Effect):
            return ""
        plain = self.effect.replace("_", "").lower()
        meant = next((effect for effect in Effect if effect.lower() == plain), None)
        hint = f" Did you mean {meant}?" if meant else ""
        return f"The effects are {', '.join(Effect)}, or any.{hint}"

    def _seconds_fault(self) -> str:
        if not self.seconds:
            return ""
        if self.effect != Effect.NO_EXECUTE:
            return "Seconds exist only for the effect NoExecute: empty the field."
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", self.seconds, re.ASCII):
            return "Write whole seconds, or leave it empty for “for ever”."
        return "" if -_INT64 <= int(self.seconds) < _INT64 else "That is more seconds than can be stored."


def _kubectl_fault(text: str) -> str:
    """Word a whole taint typed into the key's field."""
    found = _KUBECTL.fullmatch(text)
    if found is None:
        return "“=” and “:” do not belong in the key: value and effect have fields of their own."
    if found["remove"]:
        return "A “-” at the end is kubectl's “remove this taint”; a toleration has none."
    parts = [f"key {found['key']}"]
    if found["value"]:
        parts.append(f"value {found['value']}")
    if found["effect"]:
        parts.append(f"effect {found['effect']}")
    return f"“=” and “:” do not belong in the key. Did you mean {', '.join(parts)}?"
