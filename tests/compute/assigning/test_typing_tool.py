"""Typing tool: discriminant, accuracy, and one cluster in SQL, Excel and Python."""

import shutil
import subprocess

import numpy as np
import openpyxl
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import clusterlens as cl
from clusterlens.compute.assigning._discriminant import (
    Selection,
    discriminant,
    fold_numbers,
    moments,
)
from clusterlens.compute.assigning._questions import codings
from clusterlens.compute.assigning._sources import feature_sources
from tests.compute.assigning.hostile import (
    NAMES,
    TEXTS,
    as_list,
    by_duckdb,
    hostile_dataset,
)

SOFFICE = shutil.which("soffice")


def two_tables():
    for name in ("iris", "wine"):
        ds = cl.prepare(cl.load_example(name))
        yield ds, ds.labels_true


@pytest.fixture(scope="module")
def tools():
    """Three tables, their clusters and tools."""
    return [
        (ds, labels, cl.typing_tool(ds, labels))
        for ds, labels in (*two_tables(), hostile_dataset())
    ]


@pytest.fixture(scope="module")
def books(tools, tmp_path_factory):
    """The workbooks of the three tools with the rows of their tables."""
    folder = tmp_path_factory.mktemp("books")
    paths = [folder / f"{i}.xlsx" for i in range(len(tools))]
    for path, (ds, _, tool) in zip(paths, tools, strict=True):
        tool.to_excel(path, ds)
    return paths


def test_scores_are_those_of_linear_discriminant_analysis():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    X = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)) + 2 * y[:, None]
    X -= X.mean(axis=0)
    of = moments(X, y, np.zeros(400, int), 3).over([0])
    weights, constants = discriminant(of, np.arange(4))
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    within = sum(np.cov(X[y == k].T, ddof=0) * (y == k).sum() for k in range(3)) / 397
    within += 0.01 * np.diag(X.var(axis=0))
    expected = np.linalg.solve(within, means.T)
    start = np.log(np.bincount(y) / 400) - 0.5 * np.diag(means @ expected)
    np.testing.assert_allclose(weights, expected - expected.mean(1, keepdims=True))
    np.testing.assert_allclose(constants, start - start.mean())
    theirs = LinearDiscriminantAnalysis().fit(X, y).predict(X)
    assert (np.argmax(X @ weights + constants, axis=1) == theirs).mean() > 0.98


def test_the_tool_takes_the_columns_that_tell_and_stops_there():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    informative = {
        "a": (y == 1) * 8 + rng.normal(size=900),
        "b": np.array(list("pqq"))[y],
    }
    noise = {f"n{i}": rng.normal(size=900) for i in range(5)}
    ds = cl.prepare(pd.DataFrame(noise | informative), roles={"b": "categorical"})
    tool = cl.typing_tool(ds, y)
    assert {question.source.name for question in tool.questions} == {"a", "b"}
    assert tool.accuracy["used"].tolist() == [True, True, False, False, False, False]
    assert tool.accuracy["accuracy"].iloc[1] == 1
    assert (tool.predict(ds) == y).all()


def test_accuracy_on_noise_is_that_of_a_guess():
    """Columns chosen on the rows that judge them would promise more."""
    y = np.arange(60) % 2
    honest, flattered = [], []
    for seed in range(6):
        Z = np.random.default_rng(seed).normal(size=(60, 15))
        blocks = list(np.arange(15)[:, None])
        selection = Selection(Z, blocks, y, fold_numbers(y, seed), 2)
        honest.append((selection.nested(3) == y).mean())
        chosen = selection.order(3, range(5))
        hits = [
            classify(Z[:, chosen], y, selection.folds != f, selection.folds == f)
            == y[selection.folds == f]
            for f in range(5)
        ]
        flattered.append(np.mean(np.concatenate(hits)))
    assert abs(np.mean(honest) - 0.5) < 0.05
    assert np.mean(flattered) > 0.6


def test_nested_folds_follow_their_definition():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100)
    Z = rng.normal(size=(100, 3)) + y[:, None] * [0.2, 3, 0.8]
    Z -= Z.mean(axis=0)
    folds = fold_numbers(y, 0)
    blocks = [np.array([j]) for j in range(3)]
    found = Selection(Z, blocks, y, folds, 2).nested(1)[0]
    for fold in range(5):
        rows = folds != fold
        own = [f for f in range(5) if f != fold]
        hits = []
        for j in range(3):
            part = [
                classify(Z[:, [j]], y, rows & (folds != f), folds == f) for f in own
            ]
            hits.append(
                sum((p == y[folds == f]).sum() for p, f in zip(part, own, strict=True))
            )
        chosen = int(np.argmax(hits))
        expected = classify(Z[:, [chosen]], y, rows, folds == fold)
        np.testing.assert_array_equal(found[folds == fold], expected)


def classify(Z, y, fit, rows):
    of = moments(Z[fit], y[fit], np.zeros(fit.sum(), int), 2).over([0])
    weights, constants = discriminant(of, np.arange(Z.shape[1]))
    return np.argmax(Z[rows] @ weights + constants, axis=1)


def test_by_cluster_averages_to_the_accuracy(tools):
    for _, labels, tool in tools:
        sizes = np.bincount(labels)
        means = tool.by_cluster.to_numpy() @ sizes / sizes.sum()
        np.testing.assert_allclose(means, tool.accuracy["accuracy"])


def test_the_table_of_weights_gives_the_clusters(tools):
    """Scores written out from `to_frame`, as someone with a pencil would."""
    for ds, _, tool in tools:
        frame = tool.to_frame()
        names = [str(cluster) for cluster in tool.clusters]
        scores = np.tile(frame.loc[0, names].to_numpy(float), (len(ds.table), 1))
        for name, part in frame.iloc[1:].groupby("column"):
            column = next(c for c in ds.encoded.columns if c.name == name)
            values, _ = column.encode(ds.table[name], "missing")
            weights = part[names].to_numpy(float)
            if column.levels:
                known = ~np.isnan(values)
                scores[known] += weights[values[known].astype(int)]
            else:
                centre = part["centre"].iloc[0]
                if column.first_day is not None:
                    centre = (centre - column.first_day) / pd.Timedelta(days=1)
                scores += np.nan_to_num((values - centre)[:, None] * weights)
        found = tool.predict(ds)
        expected = np.array(tool.clusters)[scores.argmax(axis=1)]
        assert (found.isna() | (found == expected)).all()
        assert found.isna().sum() <= 1


def test_duckdb_gives_the_same_cluster_for_every_row(tools):
    for ds, _, tool in tools:
        found = by_duckdb(tool.to_sql('my "rows"'), ds.table, 'my "rows"')
        assert found == as_list(tool.predict(ds))
        assert set(found) - {None} == set(tool.clusters)


def test_a_row_without_any_answer_gets_no_cluster(tools):
    for ds, _, tool in tools:
        empty = pd.DataFrame({name: [None] for name in ds.table})
        assert tool.predict(empty).isna().all()


def test_every_kind_of_column_is_asked_in_sql_as_in_python():
    ds, group = hostile_dataset(120)
    for name in ds.roles:
        roles = {other: "ignore" for other in ds.roles if other != name}
        part = cl.prepare(ds, roles=roles)
        tool = cl.typing_tool(part, group[np.isin(ds.row_ids, part.row_ids)])
        assert [question.source.name for question in tool.questions] == [name]
        found = by_duckdb(tool.to_sql(), ds.table)
        assert found == as_list(tool.predict(ds)), name


def test_noise_is_left_out():
    ds, labels = next(two_tables())
    tool = cl.typing_tool(ds, np.where(labels == 0, -1, labels))
    assert tool.clusters == (1, 2)
    with pytest.raises(ValueError, match="labels has fewer than two clusters"):
        cl.typing_tool(ds, np.where(labels < 2, -1, labels))


def cells(sheet):
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def test_the_cells_of_the_workbook_give_the_clusters(tools, books):
    """The arithmetic of the formulas on the cells they name, redone in Python."""
    for path, (ds, _, tool) in zip(books, tools, strict=True):
        book = openpyxl.load_workbook(path)
        (heads, *answers), weights, levels = map(cells, book.worksheets)
        numbers, asked = weights[0][2:], heads[1 : heads.index("answers")]
        found = []
        for row in answers:
            given = dict(zip(heads[1:], row[1:], strict=True))
            known = [name for name in asked if given[name] is not None]
            scores = []
            for k, (_, constant, *own) in enumerate(weights[2:]):
                parts = zip(numbers, weights[1][2:], own, strict=True)
                score = constant + sum(
                    (serial(given[name]) - centre) * weight
                    for name, centre, weight in parts
                    if name in known
                )
                score += sum(
                    row[2 + k] for row in levels[1:] if given[row[0]] == row[1]
                )
                scores.append(score)
            found.append(weights[2 + int(np.argmax(scores))][0] if known else None)
        assert found == as_list(tool.predict(ds))


def serial(value):
    """The number by which a sheet holds a date."""
    if not hasattr(value, "year"):
        return value
    return (pd.Timestamp(value) - pd.Timestamp(1899, 12, 30)) / pd.Timedelta(days=1)


def test_the_formulas_name_the_cells_of_their_row(tmp_path):
    y = np.arange(60) % 2
    ds = cl.prepare(
        {"x": y * 5.0 + np.arange(60) / 60, "word": np.array(["a", "b"])[y]}
    )
    tool = cl.typing_tool(ds, y)
    tool.to_excel(tmp_path / "t.xlsx", n_rows=2)
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["Answers"]
    assert sheet.max_row == 3
    assert [cell.value for cell in sheet[3]][-1] == (
        '=IF(C3=0,"",INDEX(Weights!$A$3:$A$4,MATCH(MAX(D3:E3),D3:E3,0)))'
    )


def test_texts_of_the_table_are_never_formulas(books):
    book = openpyxl.load_workbook(books[2])
    texts = {
        cell.value: (cell.data_type, cell.quotePrefix)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value in (*NAMES, *TEXTS)
    }
    assert {"=HYPERLINK(1)", "+x*", "@", "=1+1"} & set(texts)
    assert set(texts.values()) == {("s", True)}
    own = {
        cell.value.split("(")[0]
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    }
    assert own <= {"=COUNT", "=SUMPRODUCT", "=IF"} | {
        text for text in own if text.startswith("=Weights!$B$")
    }


def test_dates_before_the_first_of_a_sheet_are_refused(tmp_path):
    y = np.arange(60) % 2
    days = pd.Timestamp("1850-01-01") + pd.to_timedelta(y * 400 + np.arange(60), "D")
    tool = cl.typing_tool(cl.prepare({"day": days}, roles={"day": "numeric"}), y)
    with pytest.raises(cl.DataError, match="before March 1900"):
        tool.to_excel(tmp_path / "t.xlsx", {"day": days})


def test_texts_too_long_for_a_cell_are_refused(tmp_path):
    y = np.arange(60) % 2
    table = pd.DataFrame({"word": np.where(y, "a", "b" * 32_768)})
    tool = cl.typing_tool(cl.prepare(table, roles={"word": "categorical"}), y)
    with pytest.raises(cl.DataError, match=r"32.768 characters"):
        tool.to_excel(tmp_path / "t.xlsx")
    short = pd.DataFrame({"word": np.where(y, "a", "b")})
    tool = cl.typing_tool(cl.prepare(short, roles={"word": "categorical"}), y)
    with pytest.raises(cl.DataError, match=r"a cell takes 32.767"):
        tool.to_excel(tmp_path / "t.xlsx", short.set_axis([*range(59), "c" * 40_000]))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(SOFFICE is None, reason="LibreOffice is not installed")
def test_libreoffice_computes_the_same_cluster_for_every_row(tools, books, tmp_path):
    done = tmp_path / "done"
    command = [SOFFICE, f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"]
    command += ["--headless", "--convert-to", "xlsx", "--outdir", done, *books]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    for path, (ds, _, tool) in zip(books, tools, strict=True):
        sheet = openpyxl.load_workbook(done / path.name, data_only=True)["Answers"]
        found = [row[-1].value for row in sheet.iter_rows(min_row=2)]
        expected = as_list(tool.predict(ds))
        assert [None if f in ("", None) else f for f in found] == expected


def test_no_row_judges_a_number_of_questions_that_it_has_chosen():
    y = np.arange(80) % 2
    differ = 0
    for seed in range(4):
        table = pd.DataFrame(np.random.default_rng(seed).normal(size=(80, 6)))
        ds = cl.prepare(table.add_prefix("x"))
        tool = cl.typing_tool(ds, y, 4, random_state=seed)
        sources, values = feature_sources(ds)
        rows = np.sort(np.random.default_rng(seed).permutation(80))
        selection = Selection.of(codings(sources, values), values[rows], y, 2, seed)
        found = selection.nested(4) == y
        expected = np.empty(80, bool)
        for fold in range(5):
            own = selection.folds == fold
            others = [f for f in range(5) if f != fold]
            hits = (selection.nested(4, others) == y)[:, ~own].mean(axis=1)
            error = np.sqrt(hits.max() * (1 - hits.max()) / (~own).sum())
            expected[own] = found[np.argmax(hits >= hits.max() - error), own]
        n = len(tool.questions)
        assert tool.accuracy["accuracy"].iloc[n - 1] == expected.mean()
        differ += expected.mean() != found[n - 1].mean()
    assert differ
