"""Draw the thumbnails of the examples: `python assets/thumbnails.py [NAME ...]`.

Left the samples on two features or principal components, in the colours of the model
that the default pool ranks first; right the consensus matrix in the order of its tree.
They are shipped with the package, so that the start page computes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from bokeh.palettes import Viridis256
from PIL import Image

import clusterlens as cl
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import cluster_colours, rgb

FOLDER = Path(__file__).parents[1] / "clusterlens" / "ui" / "parts" / "thumbnails"
HEIGHT, WIDTH, GAP = 200, 240, 20
SEED = 0


def draw(name: str) -> Image.Image:
    """Draw the thumbnail of an example, twice as large as it is shown."""
    ds = cl.prepare(cl.load_example(name))
    ensemble = cl.run_pool(ds.X, "default", random_state=SEED)
    leader = int(cl.rank_partitions(ensemble).order[0])
    xy = ds.X if ds.X.shape[1] == 2 else cl.project(ds).coordinates
    picture = Image.new("RGBA", (WIDTH + GAP + HEIGHT, HEIGHT))
    picture.paste(_map(xy, ensemble.codes[leader], ensemble.labels[leader]), (0, 0))
    picture.paste(_matrix(ensemble), (WIDTH + GAP, 0))
    return picture


def _map(xy: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> Image.Image:
    # So that points are as large as on the page.
    port = Viewport(width=WIDTH // 2, height=HEIGHT // 2)
    colours = cluster_colours(np.where(labels < 0, -1, codes.astype(int)))
    picture = Image.fromarray(draw_map(xy, colours, port).pixels)
    return picture.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST)


def _matrix(ensemble: cl.Ensemble) -> Image.Image:
    size = min(64, ensemble.n_samples)
    order = cl.consensus_tree(ensemble, size, random_state=SEED).order
    tile = cl.consensus_tile(ensemble, order=order, shape=(HEIGHT, HEIGHT))
    levels = np.clip(np.rint(tile.values * 255), 0, 255).astype(np.uint8)
    colours = rgb(Viridis256)[levels]
    return Image.fromarray(colours).resize((HEIGHT, HEIGHT), Image.Resampling.NEAREST)


def main(names: list[str]) -> None:
    """Draw the given examples, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or cl.EXAMPLES:
        path = FOLDER / f"{name.replace(' ', '-')}.png"
        draw(name).quantize(96).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
