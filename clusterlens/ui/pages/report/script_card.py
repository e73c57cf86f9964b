"""Card of the Python script, which can be checked by running it.

The script of an imported analysis runs only after a second confirmation, and only if
nobody else can reach the server.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.findings import NEEDED, gather
from clusterlens.ui.exports import guard
from clusterlens.ui.exports.replay import Replayed, replay
from clusterlens.ui.jobs.lanes import explain
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS
from clusterlens.ui.widgets.toolkit import badge, card, copier, link, safe
from clusterlens.ui.widgets.words import duration

CSS = "pre { font: 12px/1.5 ui-monospace, monospace; margin: 4px 0; white-space: pre; }"
# Time that a fresh process takes to start.
_START_SECONDS = 5
_NOT_HERE = (
    "This analysis came as a file, so its script is not run here: only "
    "<code>clusterlens</code> that nobody else reaches does. Save the script, read it, "
    "and run it yourself."
)


class ScriptCard(Card):
    """Public names only; the same labels and scores in a fresh process."""

    needs = NEEDED
    empty = "<b>No script yet.</b> Run a pool first."

    def build(self) -> Any:
        # The displayed script, the last run script, and its verdict.
        self._script = self._ran = self._verdict = ""
        # Whether the card asks to run the script of an imported analysis.
        self._asks = False
        self._check = Text(does=self._do, css_classes=["cl-script-check"])
        self.text = Text(
            css_classes=["cl-script"],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self.text.stylesheets = [TEXT_CSS, CSS]
        return card(
            "Python script", self.status, self._check, self.text, css="cl-script-card"
        )

    def show(self, **values: Any) -> None:
        """Write the script on a thread, because planning model names takes long."""
        found = gather(self.session)
        if found is None:
            return
        self.session.jobs.live(
            "script",
            "Writing the script",
            lambda job: found.script(),
            self._see,
        )

    def _see(self, text: str | None, error: BaseException | None) -> None:
        self._script = text or ""
        if error is not None:
            self.text.body = f"<p class='empty'>{safe(explain(error))}</p>"
        else:
            self.text.body = f"<pre>{safe(text)}</pre>"
        self._offer()

    def _offer(self) -> None:
        """Offer to copy and to run the script, or write the outcome of its run."""
        ensemble = self.session.analysis.ensemble
        if not self._script or ensemble is None:
            self._check.body = ""
            return
        if self._ran == self._script:
            offer = self._verdict
        elif self._is_foreign and not self.session.server.alone:
            offer = f"<span class='muted'>{_NOT_HERE}</span>"
        elif self._asks:
            offer = f"{_question()} {link('Run it', 'run')} {link('Leave it', 'leave')}"
        else:
            seconds = _START_SECONDS + float(np.nansum(ensemble.seconds))
            offer = link(f"Check by running it, {duration(seconds)}", "check")
        self._check.body = (
            f"<p class='between'><span>{offer}</span>{copier('Copy', self._script)}</p>"
        )

    @property
    def _is_foreign(self) -> bool:
        """Return whether the analysis was imported."""
        return self.session.memory.imported

    def _do(self, what: str) -> None:
        """Run the script, or ask before running an imported one."""
        if what not in ("check", "run") or (
            self._is_foreign and not self.session.server.alone
        ):
            self._asks = False
        elif what == "check" and self._is_foreign:
            self._asks = True
        else:
            self._asks = False
            self._replay()
        self._offer()

    def _replay(self) -> None:
        """Run the script in a fresh process, if it is still displayed."""
        found, script, session = gather(self.session), self._script, self.session
        limited = self._is_foreign
        if found is None or not script:
            return

        def ran(replayed: Replayed | None, error: BaseException | None) -> None:
            if isinstance(error, Cancelled):
                return
            self._ran = script
            if error is not None:
                self._verdict = f"<span class='warn'>{safe(explain(error))}</span>"
            elif replayed is not None and replayed.difference:
                self._verdict = f"<span class='warn'>{safe(replayed.difference)}</span>"
            else:
                self._verdict = badge("checked: same labels and scores")
            if replayed is not None and limited:
                self._verdict += f" <span class='muted'>{_kept_from(replayed)}</span>"
            self._offer()

        session.jobs.live(
            "replay",
            "Running the script",
            lambda job: replay(
                script,
                found.steps,
                session.files,
                found.ranking,
                found.export_partition.clusters,
                job.cancelled,
                limited=limited,
            ),
            ran,
            long=True,
        )


def _question() -> str:
    """Ask whether to run an imported script, and list its restrictions."""
    most = guard.limits()
    limits = f"; at most {', '.join(most)}" if most else "; this system sets no limits"
    return (
        "<b>This analysis came as a file.</b> Its script would run on this machine "
        f"without network and with an empty home folder{limits}. Files that you can "
        "read stay in its reach."
    )


def _kept_from(replayed: Replayed) -> str:
    """List the restrictions that were in force for the script."""
    network = (
        "no network" if replayed.left_network else "no network by Python's own means"
    )
    return "; ".join([network, "an empty home folder", *guard.limits()])
