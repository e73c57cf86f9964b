"""Write the tables of the manual: printed values beside found ones, and the lists.

Found values come from files in `benchmarks/`, made by the commands named beside each
table; printed values are in `benchmarks/` and `tests/reference/`. The lists are the
registries of the library and the app.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from sphinx.application import Sphinx
from written import written

import clusterlens as cl
from clusterlens.ui.components.commands import KEYBOARD_COMMANDS
from clusterlens.ui.lessons import LESSONS
from clusterlens.ui.widgets.explanations import GLOSSARY

ROOT = Path(__file__).parents[1]
BENCHMARKS, REFERENCE = ROOT / "benchmarks", ROOT / "tests" / "reference"
PERCENT = 0.01
CNS_METHODS = ("TCe", "TCc", "CNSe", "CNSc")
BASELINES = ("single", "average", "complete")


def setup(app: Sphinx) -> dict:
    """Write the tables before the sources are read, each as a file to be included."""
    return written(
        app,
        "generated",
        lambda: {f"{name}.md": make() for name, make in TABLES.items()},
    )


def markdown(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Lay out a table; bars in cells are escaped."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def beside(printed: float | None, found: float | None, digits: int) -> str:
    """Write the printed value and the found one; a dash where there is none."""
    both = [
        "–" if v is None or pd.isna(v) else f"{v:.{digits}f}" for v in (printed, found)
    ]
    return " / ".join(both)


def discotec(protocol: str, measure: str) -> str:
    """Means over data sets, a row per metric, a column per pool."""
    printed = load(BENCHMARKS / "discotec_printed.json")[protocol][measure]
    found = pd.read_csv(BENCHMARKS / "discotec_means.csv")
    found = found[(found["protocol"] == protocol) & (found["measure"] == measure)]
    mean = found.set_index(["metric", "column"])["mean"]
    metrics = list(printed["UCI Agg"])
    rows = [
        [m, *(beside(printed[c][m][0], mean.get((m, c)), 2) for c in printed)]
        for m in metrics
    ]
    return markdown(["metric", *printed], rows)


def eac(measure: str) -> str:
    """Means in percent of the sets that were run, printed ones beside."""
    printed = load(BENCHMARKS / "eac_printed.json")
    columns = printed["columns"]
    means = pd.read_csv(BENCHMARKS / "eac_means.csv")
    found = means.pivot(index="set", columns="method", values=measure) * 100
    linkage = [m for m in found if m.removesuffix("-enhanced") in BASELINES]
    best = {
        "Max": found["base max"],
        "Mean": found["base mean"],
        "KM": found["kmeans"],
        "H-KM": found["bisecting-kmeans"],
        "Best-NH": found[["sec", "mcla", "ecc", "cspa"]].max(axis=1),
        "Best-H": found[linkage].max(axis=1),
    }
    rows = [
        [
            name,
            *(
                beside(p, best[c][name], 1)
                for c, p in zip(columns, values, strict=True)
            ),
        ]
        for name, values in printed[measure].items()
        if name in found.index
    ]
    return markdown(["set", *columns], rows)


def cns() -> tuple[pd.DataFrame, dict[str, Any]]:
    found = pd.read_csv(BENCHMARKS / "cns_tables.csv")
    found = found.pivot(index="task", columns="method", values="AMI")
    return found, load(REFERENCE / "cns_paper_tables.json")


def cns_sets() -> str:
    """AMI in percent of the methods that involve no chance, per task."""
    found, paper = cns()
    clear = pd.read_csv(BENCHMARKS / "cns_tables.csv").groupby("task")["clear"].first()
    rows = [
        [
            task,
            "yes" if clear[task] else "no",
            *(beside(sets["AMI"][m], found[m].get(task), 2) for m in CNS_METHODS),
        ]
        for task, sets in paper["data_sets"].items()
        if task in found.index
    ]
    return markdown(["task", "rows distinct, complete", *CNS_METHODS], rows)


def cns_ranks() -> str:
    """Average AMI rank over the tasks that all methods ran on."""
    found, paper = cns()
    whole = found.dropna()
    printed = pd.DataFrame({t: paper["data_sets"][t]["AMI"] for t in whole.index}).T
    own = whole.rank(axis=1, ascending=False).mean()
    theirs = printed.rank(axis=1, ascending=False).mean()
    rows = [[m, beside(theirs[m], own[m], 2)] for m in own.sort_values().index]
    return f"{len(whole)} tasks.\n\n" + markdown(["method", "AMI rank"], rows)


def cns_wins() -> str:
    """Tasks on which CNS has the higher AMI, minus those where another method has."""
    found, paper = cns()
    found = found.round(2)
    printed = pd.DataFrame({t: paper["data_sets"][t]["AMI"] for t in found.index}).T
    printed = printed.where(found.notna())

    def lead(scores: pd.DataFrame, method: str, other: str) -> int:
        difference = scores[method] - scores[other]
        return int((difference > 0).sum() - (difference < 0).sum())

    rows = [
        [
            other,
            *(
                f"{lead(printed, method, other):+d} / {lead(found, method, other):+d}"
                for method in ("CNSe", "CNSc")
            ),
        ]
        for other in paper["methods"]
    ]
    return markdown(["against", "CNSe", "CNSc"], rows)


def fuzzy_toy() -> str:
    """Values of the ten comparisons of nine points."""
    found = pd.read_csv(BENCHMARKS / "fuzzy_toy.csv").set_index("id")
    rows = [
        [
            at,
            row["pair"].replace("_", " "),
            f"{row['ndc']:.3f}",
            f"{row['perm']:.4f}",
            *(beside(row[f"{m}_published"], row[m], 3) for m in ("fit", "sym", "flat")),
        ]
        for at, row in found.iterrows()
    ]
    heads = ["", "pair", "NDC", "permutation", "fit", "sym", "flat"]
    return markdown(heads, rows)


def labels() -> str:
    """Rank correlation of measures with the approximate truth, AMI."""
    found = pd.read_csv(BENCHMARKS / "labels_correlation.csv").set_index("measure")
    printed = load(REFERENCE / "clm.json")["published_table_1_spearman"]
    titles = {
        "ch_btwn": "CH_btwn",
        "ch": "Calinski-Harabasz",
        "i_index": "I",
        "davies_bouldin": "Davies-Bouldin",
    }
    rows = [
        [titles.get(m, m), beside(printed[m][0], found["found"][m], 3)]
        for m in found.index
    ]
    return markdown(["measure", "correlation"], rows)


def labels_tuned() -> str:
    """Rank correlation of tuned classifiers and of other aggregates, by each index."""
    found = pd.read_csv(BENCHMARKS / "labels_tuned.csv").set_index("measure")
    printed = load(REFERENCE / "clm.json")["published_table_1_spearman"]
    heads = printed["measure"]
    names = {"CH_btwn": "ch_btwn"}
    rows = []
    for measure, row in found.iterrows():
        given = printed.get(names.get(measure, measure), [None] * len(heads))
        cells = [beside(g, row[h], 3) for h, g in zip(heads, given, strict=True)]
        rows.append([measure, *cells])
    return markdown(["measure", "AMI", "adjusted Rand", "V-measure", "NMI"], rows)


def anchors() -> str:
    rows = [[a.example, f"{a.score:.3f}", f"{a.dbcv:.3f}"] for a in cl.LABEL_ANCHORS]
    return markdown(["example", "CH_btwn", "DBCV"], rows)


def dbcv() -> str:
    """DBCV beside the published values and hdbscan's, over orders of the rows."""
    found = pd.read_csv(BENCHMARKS / "dbcv.csv")
    rows = [
        [
            row.data,
            row.metric,
            beside(row.published, row.found, 3),
            f"{row.found_least:.3f} to {row.found_greatest:.3f}",
            f"{row.hdbscan:.3f}",
            f"{row.hdbscan_least:.3f} to {row.hdbscan_greatest:.3f}",
        ]
        for row in found.itertuples()
    ]
    heads = ["data", "distances", "printed / found", "found, rows shuffled"]
    return markdown([*heads, "hdbscan", "hdbscan, rows shuffled"], rows)


def clusterers() -> str:
    rows = [
        [
            f"`{name}`",
            entry.family,
            "yes" if entry.soft else "",
            "" if entry.max_samples is None else f"{entry.max_samples:,}",
            entry.meaning,
            entry.reference,
        ]
        for name, entry in cl.CLUSTERERS.items()
    ]
    heads = ["name", "family", "soft", "row limit of presets", "what it finds"]
    return markdown([*heads, "source"], rows)


def scores() -> str:
    rows = [
        [
            f"`{name}`",
            score.title,
            "higher" if score.greater_is_better else "lower",
            score.meaning,
        ]
        for name, score in cl.SCORES.items()
    ]
    return markdown(["name", "title", "closer is", "meaning"], rows)


def consensus_functions() -> str:
    rows = [
        [f"`{name}`", "yes" if f.links else "", f.cost, f.reference]
        for name, f in cl.CONSENSUS_FUNCTIONS.items()
    ]
    return markdown(["name", "obeys links", "cost", "source"], rows)


def indices() -> str:
    rows = [
        [
            f"`{name}`",
            index.title,
            index.kind,
            {"min": "lower", "max": "higher"}[index.direction],
            ", ".join(index.definitions),
            index.reference,
        ]
        for name, index in cl.INDICES.items()
    ]
    return markdown(
        ["name", "title", "kind", "better is", "definitions", "source"], rows
    )


def random_models() -> str:
    rows = [[f"`{name}`", model.assumption] for name, model in cl.RANDOM_MODELS.items()]
    return markdown(["name", "what is assumed"], rows)


def readers() -> str:
    rows = [
        [
            reader.title.removeprefix("a ").removeprefix("an "),
            ", ".join(reader.extensions),
        ]
        for reader in cl.READERS.values()
    ]
    return markdown(["format", "usual endings"], rows)


def examples() -> str:
    rows = [
        [f"`{name}`", e.title, f"{e.n:,} × {e.d}", e.teaches]
        for name, e in cl.EXAMPLES.items()
    ]
    return markdown(["name", "title", "size", "what it teaches"], rows)


def keys() -> str:
    rows = [
        [f"`{key}`", command.words, ", ".join(command.pages).title() or "all"]
        for key, command in KEYBOARD_COMMANDS.items()
    ]
    return markdown(["key", "does", "pages"], rows)


def lessons() -> str:
    rows = [
        [lesson.title, lesson.teaser, f"{lesson.minutes} min", len(lesson.steps)]
        for lesson in LESSONS.values()
    ]
    return markdown(["lesson", "about", "takes", "steps"], rows)


def glossary() -> str:
    """The words of the app, as a list of definitions."""
    return "\n\n".join(f"{word}\n: {text}" for word, text in GLOSSARY.items()) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "discotec-fixed": lambda: discotec("fixed", "tau"),
    "discotec-free": lambda: discotec("free", "tau"),
    "discotec-regret": lambda: discotec("free", "regret on ARI"),
    "eac-nmi": lambda: eac("nmi"),
    "eac-density": lambda: eac("density"),
    "cns-sets": cns_sets,
    "cns-ranks": cns_ranks,
    "cns-wins": cns_wins,
    "fuzzy-toy": fuzzy_toy,
    "labels-correlation": labels,
    "labels-tuned": labels_tuned,
    "label-anchors": anchors,
    "dbcv": dbcv,
    "clusterers": clusterers,
    "scores": scores,
    "consensus-functions": consensus_functions,
    "indices": indices,
    "random-models": random_models,
    "readers": readers,
    "examples": examples,
    "keys": keys,
    "lessons": lessons,
    "glossary": glossary,
}
