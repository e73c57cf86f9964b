"""Escaping, and the components that every page uses.

The only module that imports the widget set.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmu

from clusterlens.compute.formatting import whole
from clusterlens.ui.widgets.explanations import EXPLANATIONS, GLOSSARY
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import (
    CARD_CSS,
    CORNER,
    CORNER_ROOM,
    DENSE,
    TITLE_CSS,
)

# Letters at the end of a long name that are never cut.
_TAIL = 6
# Words of the glossary, longer ones first.
_WORDS = re.compile(
    rf"\b({'|'.join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True))})\b"
)


def safe(text: Any) -> str:
    """Escape a data-borne string for the slots that render markup."""
    return html.escape(str(text))


def breakable(name: Any) -> str:
    """Escape a name, which may wrap, preferably after an underscore."""
    return safe(name).replace("_", "_<wbr>")


def quoting(sentence: str) -> str:
    """Escape a sentence; names in quotes may be written from right to left."""
    return re.sub("(&#x27;)(.*?)(&#x27;)", r"\1<bdi>\2</bdi>\3", safe(sentence))


def progress_bar(title: str, done: int, total: int) -> str:
    """Return markup of a bar; without a total it only shows activity."""
    share = min(100, round(100 * done / total)) if total else None
    now = "" if share is None else f"aria-valuenow='{share}'"
    width = 100 if share is None else share
    css = "skeleton" if share is None else ""
    return (
        f"<div class='track' role='progressbar' aria-label='{safe(title)}' {now}>"
        f"<div class='{css}' style='width:{width}%;margin:0;background:#0b8a8a'></div>"
        "</div>"
    )


def reading(shown: Any) -> str:
    """Return markup of the progress of a job, with Cancel."""
    done = f"{whole(shown.done)} of {whole(shown.total)} {safe(shown.unit)} · "
    done += f"{shown.pace} · " if shown.pace else ""
    return (
        f"<p><b>{safe(shown.title)}</b> · {done if shown.total else ''}"
        f"{shown.seconds} s {link('Cancel', 'cancel')}</p>"
        f"{progress_bar(shown.title, shown.done, shown.total)}"
    )


def select(label: str, options: Any, *, css: str, **params: Any) -> pmu.Select:
    """Return a select on one dense line, for the line of a title."""
    params.setdefault("margin", 0)
    params.setdefault("sx", DENSE)
    return pmu.Select(
        label=label,
        options=options,
        size="small",
        css_classes=[css],
        **params,
    )


def shrinking(least: int, most: int) -> dict[str, Any]:
    """Return the sizes of a shrinking control in the line of a title, in pixels.

    `least` applies at the usual text size; with less width the line wraps.
    """
    scaled = f"calc({least}px * var(--cl-scale, 1))"
    return {
        "max_width": most,
        "sizing_mode": "stretch_width",
        "styles": {"flex": f"1 1 {scaled}", "min-width": scaled},
    }


def enlarger(clicked: Callable[[Any], Any], **params: Any) -> pmu.IconButton:
    """Return the button that enlarges a figure to its page, or restores it."""
    return pmu.IconButton(
        icon="open_in_full",
        size="small",
        margin=0,
        on_click=clicked,
        description="Enlarge, or as it was (Esc)",
        css_classes=["cl-enlarge"],
        sx={"@media (max-width: 1350px)": {"padding": "2px"}},
        **params,
    )


def excerpt(lines: str, *line: str) -> str:
    """Return the body of an Excerpt; later text is cut first."""
    return f"<div class='lines'>{lines}</div><div class='line'>{''.join(line)}</div>"


def badge(text: str, *, kind: str = "") -> str:
    """Return markup of a small label; text must be safe."""
    return f'<span class="badge {kind}">{text}</span>'


def tinted(colour: str) -> str:
    """Return a variant of a mark's colour with enough contrast for text (WCAG AA)."""
    return f"color-mix(in srgb, {colour} var(--cl-mixed, 62%), currentColor)"


def mark(colour: str, name: str) -> str:
    """Return markup of a name after a dot of its colour; both must be safe."""
    return f'<span class="dot" style="background:{colour}"></span>{name}'


def join_keeping_tail(lead: str, tail: str, *, css: str = "") -> str:
    """Return markup of a name in two parts; the first shrinks, at its end."""
    ends = f"<span>{safe(lead)}</span><span>{safe(tail)}</span>"
    return f"<span class='told-apart {css}'>{ends}</span>"


def shorten_in_middle(name: str) -> str:
    """Return markup of a name that is cut in its middle where it is too long."""
    if len(name) <= 3 * _TAIL:
        return safe(name)
    return join_keeping_tail(name[:-_TAIL], name[-_TAIL:], css="close")


def link(
    text: str,
    does: str,
    *,
    kind: str = "link",
    css: str = "",
    name: str = "",
) -> str:
    """Return markup of a button in a `Text`; all arguments must be safe.

    A `name` describes a button if its text is too short.
    """
    more = f' aria-label="{name}" title="{name}"' if name else ""
    return f'<button class="{kind} {css}" data-do="{does}"{more}>{text}</button>'


def copier(text: str, content: str, *, css: str = "") -> str:
    """Return markup of a button that copies a content; text must be safe."""
    held = html.escape(content)
    return f'<button class="link {css}" data-copy="{held}">{text}</button>'


def about(css: str, title: str) -> str:
    """Return markup of the button “i” of a card, and of its popover.

    Parameters
    ----------
    css : str
        Class of the card, a key of EXPLANATIONS; without an entry nothing is returned.
    title : str
        Subject, for screen readers.
    """
    explanation = EXPLANATIONS.get(css)
    if explanation is None:
        return ""
    rows = (
        ("What it shows", explanation.shows),
        ("How to read it", explanation.reading),
        ("What it does not say", explanation.limits),
        ("Source", explanation.source),
    )
    text = "".join(
        f"<dt>{name}</dt><dd>{_defined(row)}</dd>" for name, row in rows if row
    )
    return (
        f"<button class='about' popovertarget='about' aria-label='About {safe(title)}'>"
        f"i</button><div id='about' popover class='about' role='dialog' "
        f"aria-label='About {safe(title)}'><dl>{text}</dl></div>"
    )


def _defined(text: str) -> str:
    """Return plain text as markup with definitions of words of the glossary."""

    def defined(word: str) -> str:
        return f"<dfn title='{safe(GLOSSARY[word])}'>{safe(word)}</dfn>"

    parts = enumerate(_WORDS.split(text))
    return "".join(defined(part) if k % 2 else safe(part) for k, part in parts)


def card(
    title: str,
    *content: Any,
    css: str,
    note: Any = None,
    buttons: Sequence[Any] = (),
    fills: bool = True,
) -> pn.Column:
    """Return a card with title, note and content.

    `buttons` are at the end of the title's line. A card that `fills` takes the height
    of its place; others are as high as their content.
    """
    place = {"flex": "1 1 0" if buttons else "none"}
    explanation, heading = about(css, title or "this card"), None
    if title:
        words = f"<div class='title'><h2>{safe(title)}</h2>{explanation}</div>"
        heading = Text(words, styles=place, stylesheets=[TITLE_CSS] * bool(buttons))
    elif explanation:
        heading = Text(explanation, width=24, sizing_mode="fixed", styles=CORNER)
    if heading is not None and title and buttons:
        heading = pn.Row(
            heading,
            *buttons,
            margin=0,
            sizing_mode="stretch_width",
            align="center",
            styles={
                "flex": "none",
                "flex-wrap": "wrap",
                # A field on a second line has its label above it.
                "row-gap": "10px",
                # Fields are drawn late, and would move the content below.
                "min-height": f"{_height(buttons)}px",
            },
        )
    inside = (heading, note, *content) if title else (note, *content, heading)
    parts = [part for part in inside if part is not None]
    corner = [CORNER_ROOM] if explanation and not title else []
    return box(*parts, css=css, fills=fills, stylesheets=corner)


def _height(buttons: Sequence[Any]) -> int:
    """Return the pixels of a line of buttons and fields."""
    return 37 if any(isinstance(one, pmu.Button) for one in buttons) else 31


def box(
    *content: Any, css: str, fills: bool = True, stylesheets: Sequence[str] = ()
) -> pn.Column:
    """Return the box of a card around its content."""
    return pn.Column(
        *content,
        css_classes=[css, "cl-card"],
        stylesheets=[CARD_CSS, *stylesheets],
        margin=0,
        sizing_mode="stretch_both" if fills else "stretch_width",
    )


def table_of(heads: str, lines: str) -> str:
    """Write a table with a header that repeats on every printed page."""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
