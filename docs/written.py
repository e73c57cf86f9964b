"""Generated pages of the manual, written from the library before a build."""

from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx


def written(
    app: Sphinx, folder: str, make: Callable[[], dict[str, str]]
) -> dict[str, bool]:
    """Let a build begin with writing files into a folder, texts by name.

    A file is written only where its text changed, so that nothing is built twice.
    """

    def write(app: Sphinx) -> None:
        place = Path(app.srcdir) / folder
        place.mkdir(exist_ok=True)
        for name, text in make().items():
            path = place / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")

    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
