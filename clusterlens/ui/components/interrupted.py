"""Work that a server stop or a closed page interrupted: repeat or dismiss it."""

from __future__ import annotations

import json
from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.ui.exports.step_words import step_words
from clusterlens.ui.server.memory.store import Intent
from clusterlens.ui.session import Session
from clusterlens.ui.state.drafts import PoolDraft, read_entries
from clusterlens.ui.state.history import Step
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import link, quoting
from clusterlens.ui.widgets.words import write_sentence

# Largest number of clusterers of a pool that are named.
_NAMED = 8


def interrupted(session: Session) -> Text:
    """Return the place that lists interrupted work until repeated or dismissed."""
    memory = session.memory
    place = Text(does=lambda what: _answer(session, what))

    def show(*events: Any) -> None:
        place.body = "".join(_offer(session, intent) for intent in memory.interrupted)

    memory.param.watch(show, ["interrupted"])
    show()
    return place


def _offer(session: Session, intent: Intent) -> str:
    given = intent.given
    text = (
        f"“{intent.title}” was interrupted{how_far(intent)}: its server ended, or its "
        "page was closed for too long. "
    )
    acts = [link("Dismiss", f"dismiss {intent.id}")]
    if _is_lost(session, intent):
        text += "Its file is lost: give it once more."
    else:
        again = "Run again" if "pool" in given else "Do it again"
        acts.insert(0, link(again, f"again {intent.id}", css="cl-again"))
        text += _about(session, intent)
    if intent.kind == "run pool":
        acts.insert(1, link("See its pool", f"draft {intent.id}", css="cl-see-pool"))
    return (
        f"<div class='notice cl-interrupted' role='status'><span>{quoting(text)}</span>"
        f"<span class='acts'>{' '.join(acts)}</span></div>"
    )


def _is_lost(session: Session, intent: Intent) -> bool:
    """Return whether the file that the work read was never stored."""
    key = intent.given.get("sha256")
    store = session.memory.store
    return key is not None and store is not None and key not in store.contents


def how_far(intent: Intent) -> str:
    """Format the progress at the interruption, as far as it is known."""
    parts = [f"“{intent.stage}”"] if intent.stage else []
    if intent.total:
        parts.append(f"{whole(intent.done)} of {whole(intent.total)}")
    return f" at {', '.join(parts)}" if parts else ""


def _about(session: Session, intent: Intent) -> str:
    """Describe the interrupted work in a sentence."""
    given = dict(intent.given)
    names = [str(entry.get("clusterer")) for entry in given.pop("pool", ())]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    parts = [", ".join([*names[:_NAMED], *more])] if names else []
    if intent.kind:
        step = Step(intent.kind, intent.title, session.analysis, given)
        parts.append(step_words(step))
    text = "; ".join(part for part in parts if part)
    return write_sentence(text) if text else ""


async def _answer(session: Session, what: str) -> None:
    """Handle a click."""
    verb, _, name = what.partition(" ")
    found = (i for i in session.memory.interrupted if i.id == name)
    if (intent := next(found, None)) is None:
        return
    try:
        if verb == "again":
            done = await session.again(intent)
            if done and intent.kind == "run pool" and session.view_state.page == "pool":
                session.view_state.page = "consensus"
        elif verb == "dismiss":
            await session.memory.dismiss(intent)
        else:
            _draft(session, intent)
    except Exception as error:
        session.jobs.fail(intent.title, error)


def _draft(session: Session, intent: Intent) -> None:
    """Open the pool on the page Pool, to be inspected and changed."""
    given = intent.given
    draft = PoolDraft(
        entries=read_entries(json.dumps(given["pool"])),
        random_state=given.get("random_state", 0),
        distinct_only=given.get("distinct_only", False),
        noise=given.get("noise", "cluster"),
    )
    session.view_state.param.update(pool_draft=draft, page="pool")
