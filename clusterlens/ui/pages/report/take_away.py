"""Card that offers every result as a file, made on a thread on request."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.components.saving import save_file
from clusterlens.ui.exports.document import Findings, picture_makers, write_report
from clusterlens.ui.exports.rows import (
    file_stem,
    labelled_rows,
    links_to_csv,
    links_to_json,
    ranking_table,
    rows_to_csv,
    rows_to_parquet,
)
from clusterlens.ui.server.memory.archive import SUFFIX, export_analysis
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Download, Text
from clusterlens.ui.widgets.toolkit import card, link, safe


@dataclass(frozen=True)
class File:
    """File to download.

    Parameters
    ----------
    title, words : str
        Title and description of the content.
    label : str
        Kind of file, on the button.
    ending : str
        End of the file name.
    make : callable
        `(findings, session) -> bytes`, called on a thread.
    css : str
        CSS class of the button.
    """

    title: str
    words: str
    label: str
    ending: str
    make: Callable[[Findings, Session], bytes]
    css: str = ""


def _rows(found: Findings) -> Any:
    partition = found.export_partition
    return labelled_rows(
        partition.dataset, partition.clusters, partition.names, partition.memberships
    )


def _ranking(found: Findings, session: Session) -> bytes:
    return rows_to_csv(ranking_table(found.ranking, found.robustness))


def _script(found: Findings, session: Session) -> bytes:
    return found.script().encode()


def _analysis(found: Findings, session: Session) -> bytes:
    memory = session.memory
    if memory.store is None or memory.analysis is None:
        raise ValueError("the analysis is not kept, so there is no file of it.")
    return export_analysis(memory.store, memory.analysis)


def _figures(found: Findings, session: Session, *, kind: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, draw in picture_makers(found).items():
            archive.writestr(f"{name}.{kind}", draw().to_bytes(kind))
    return out.getvalue()


def _everything(found: Findings, session: Session) -> bytes:
    """Pack all files; files that cannot be made are listed with the reason."""
    out, failed = io.BytesIO(), []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, file in FILES.items():
            if key == "all":
                continue
            try:
                archive.writestr(file.ending, file.make(found, session))
            except ValueError as error:
                failed.append(f"{file.title} ({file.label}): {error}")
        if failed:
            archive.writestr("not in here.txt", "\n".join(failed))
    return out.getvalue()


FILES = {
    "rows csv": File(
        "Rows with labels",
        "all your columns, the cluster and its name, memberships where there are any",
        "CSV",
        "labels.csv",
        lambda found, session: rows_to_csv(_rows(found)),
        "cl-export-rows",
    ),
    "rows parquet": File(
        "Rows with labels",
        "",
        "Parquet",
        "labels.parquet",
        lambda found, session: rows_to_parquet(_rows(found)),
    ),
    "ranking": File(
        "Ranking",
        "every model with score, links broken, range and majority",
        "CSV",
        "ranking.csv",
        _ranking,
    ),
    "links csv": File(
        "Links",
        "by row id",
        "CSV",
        "links.csv",
        lambda found, session: links_to_csv(
            found.analysis.links, found.analysis.unsure
        ),
    ),
    "links json": File(
        "Links",
        "",
        "JSON",
        "links.json",
        lambda found, session: links_to_json(
            found.analysis.links, found.analysis.unsure
        ),
    ),
    "png": File(
        "Figures",
        "map, two matrices, ranking, at the width of a page",
        "PNG",
        "figures-png.zip",
        partial(_figures, kind="png"),
    ),
    "svg": File("Figures", "", "SVG", "figures-svg.zip", partial(_figures, kind="svg")),
    "report": File(
        "HTML report",
        "one file, as previewed; opens offline, prints",
        "Save",
        "report.html",
        lambda found, session: write_report(found).encode(),
        "cl-export-report",
    ),
    "script": File(
        "Python script",
        "gives the same labels without a browser",
        "Save .py",
        "analysis.py",
        _script,
        "cl-export-script",
    ),
    "analysis": File(
        "Analysis file",
        "table, runs, links, checks and steps; opens in any ClusterLens",
        "Save",
        f"analysis{SUFFIX}",
        _analysis,
        "cl-export-analysis",
    ),
    "all": File(
        "Everything", "all of these files", "Save all as .zip", "all.zip", _everything
    ),
}


# Results that take seconds, and that a file waits for.
AWAITED = (
    *("likeness_to_leader", "export_columns", "export_separation"),
    *("export_labels_match", "export_profiles", "export_distributions"),
)


class TakeAway(Card):
    """One row per result, a button per kind of file."""

    needs = NEEDED
    also = tuple(dict.fromkeys((*WELCOME, *AWAITED)))
    empty = "<b>Nothing to take away yet.</b> Load a table and run a pool first."

    def build(self) -> Any:
        self.text = Text(does=self._ask, css_classes=["cl-take-away"])
        self._download = Download()
        self._wanted: list[str] = []
        self._head = ""
        return card(
            "Take away",
            self.status,
            self.text,
            self._download,
            css="cl-exports",
            fills=False,
        )

    def show(self, **values: Any) -> None:
        """Offer the files, with the clusters of the result."""
        partition = values["export_partition"]
        what = "the result" if partition.is_result else "no result is chosen yet"
        late = ""
        if values["robustness"].state == "pending":
            late = (
                "<p class='warn' role='status'>Ranks without each family are still "
                "being worked out; files made now lack them.</p>"
            )
        self._head = (
            f"<p class='muted'>Clusters of <b>{safe(partition.title)}</b>, {what}. "
            "Made when you ask; nothing leaves this machine unless you save it.</p>"
            f"{late}"
        )
        self._update()

    def _ask(self, key: str) -> None:
        """Make a file as soon as the results that it waits for are computed."""
        if key in FILES and key not in self._wanted:
            self._wanted.append(key)
            self._update()

    def _update(self) -> None:
        """Make the requested files, or name the results that they wait for."""
        derived, waits = self.session.derived, ""
        if pending := [k for k in AWAITED if derived.get(k).state == "pending"]:
            if self._wanted:
                files = ", ".join(FILES[key].title for key in self._wanted)
                titles = "; ".join(derived.nodes[name].title for name in pending)
                waits = (
                    f"<p class='warn' role='status'>{files}: made as soon as this is "
                    f"done: {titles}.</p>"
                )
        else:
            wanted, self._wanted = self._wanted, []
            for key in wanted:
                self._make(key)
        self.text.body = f"{self._head}{waits}{_BUTTONS}"

    def _make(self, key: str) -> None:
        """Make a file on a thread, then send it to the browser."""
        found, file, session = gather(self.session), FILES[key], self.session
        if found is None:
            return
        name = f"{file_stem(found.table.name)}-{file.ending}"
        save_file(
            session, self._download, name, file.title, lambda: file.make(found, session)
        )


def _table() -> str:
    """Write a line for each result, with a button for each kind of file."""
    rows: dict[str, list[str]] = {}
    for key, file in FILES.items():
        button = link(file.label, key, kind="pill", css=file.css)
        rows.setdefault(file.title, []).append(button)
    words = {file.title: file.words for file in FILES.values() if file.words}
    return "".join(
        f"<tr><td><b>{title}</b><br><span class='muted'>{words[title]}</span></td>"
        f"<td class='name' style='text-align:right'>{''.join(buttons)}</td></tr>"
        for title, buttons in rows.items()
    )


_BUTTONS = f"<table>{_table()}</table>"
