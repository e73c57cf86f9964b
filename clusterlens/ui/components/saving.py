"""Button that makes a file on a thread and sends it to the browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from clusterlens.ui.jobs.lanes import explain
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Download
from clusterlens.ui.widgets.toolkit import pmu, pn


def save_file(
    session: Session,
    download: Download,
    name: str,
    title: str,
    make: Callable[[], bytes],
) -> None:
    """Make a file on a thread, then save it in the browser; report a failure.

    Parameters
    ----------
    session : Session
        Session with the lanes for the work.
    download : Download
        Component on the page that sends the file.
    name : str
        Name of the file.
    title : str
        Description for the screen.
    make : callable
        Returns the content.
    """

    def made(content: bytes | None, error: BaseException | None) -> None:
        if content is not None:
            pn.state.execute(partial(download.send, name, content))
        elif error is not None:
            session.jobs.notify("warning", f"{title}: {explain(error)}")

    session.jobs.live(
        f"save {name}", f"Making {name}", lambda job: make(), made, long=True
    )


class SaveButton:
    """Button that saves one file.

    Parameters
    ----------
    session : Session
        Session with the lanes for the work.
    label : str
        Text on the button.
    begin : callable
        Called on the event loop; returns the name of the file and the function that
        makes it.
    options
        Options of the button.

    Attributes
    ----------
    button : Button
        The button, which may be disabled or hidden.
    view : viewable
        The button with the download component.
    """

    def __init__(
        self,
        session: Session,
        label: str,
        begin: Callable[[], tuple[str, Callable[[], bytes]]],
        **options: Any,
    ) -> None:
        self._session, self._label, self._begin = session, label, begin
        self._download = Download()
        self.button = pmu.Button(
            label=label,
            size="small",
            variant="outlined",
            on_click=self._save,
            **options,
        )
        self.view = pn.Row(self.button, self._download, margin=0)

    def _save(self, event: Any) -> None:
        name, make = self._begin()
        save_file(self._session, self._download, name, self._label, make)
