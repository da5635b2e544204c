"""The look of the page: one style sheet (`page.css`), for light and dark, screen and paper, and a colour an entity."""

from __future__ import annotations

from pathlib import Path
from typing import Final

HUES: Final = (212, 28, 152, 276, 330, 184, 52, 245, 100, 302, 8, 130)
"""Of the first entities: far from each other, and red not among the first."""
GOLDEN_ANGLE: Final = 137.508


def hue(place: int) -> int:
    """Of the entity at this place."""
    return HUES[place] if place < len(HUES) else round(place * GOLDEN_ANGLE) % 360


def style_sheet(entities: int) -> str:
    sheet = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return sheet + "".join(f".hue-{place} {{ --hue: {hue(place)}; }}\n" for place in range(entities))
