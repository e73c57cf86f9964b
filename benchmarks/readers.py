"""Other readers beside our own, on texts written in many ways with known cells.

    python -m benchmarks.readers

prints how many of the texts each reader gives back with their names, rows and numbers,
and of the relations (ARFF) and encodings how many are read. Other readers get no hints
about anything they cannot detect themselves.
"""

from __future__ import annotations

import io
import itertools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
from charset_normalizer import from_bytes
from scipy.io import arff

from clusterlens.compute.table.reading import load_table

Reader = Callable[[bytes], pd.DataFrame]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blanks": "  "}
ABOVE = {
    "nothing": "",
    "comments": "# made by hand\n# in 2020\n",
    "a title": "Sales of the year\n\n",
    "a title with a comma": "Sales, all of them\n\n",
    "sep=": "sep={}\n",
}
BODIES = {
    "numbers": pd.DataFrame({"a": [1.5, 2.25, 3.5], "b": [4.0, 5.5, 6.25]}),
    "years as names": pd.DataFrame({"1990": [1.5, 2.5], "1991": [2.5, 3.5]}),
    "words": pd.DataFrame({"n": ["x", "y", "z"], "v": [1.5, 2.5, 3.5]}),
    "marks in cells": pd.DataFrame({"n": ["x, y", "u; v", "w"], "v": [1.5, 2.5, 3.5]}),
    "gaps": pd.DataFrame({"a": [1.5, np.nan, 2.5], "b": [np.nan, 1.5, 0.5]}),
    "lines in cells": pd.DataFrame({"n": ["x\ny", "z", "u"], "v": [1.5, 2.5, 3.5]}),
}
ENCODINGS = {
    "cp1252": "Zürich;Málaga;Århus;Besançon;Köln;Łódź"[:-5],
    "cp1250": "Łódź;Gdańsk;Plzeň;České Budějovice;Győr",
    "cp1251": "Москва;Казань;Нижний Новгород;Пермь;Тверь",
    "koi8_r": "Москва;Казань;Нижний Новгород;Пермь;Тверь",
    "cp1253": "Αθήνα;Θεσσαλονίκη;Πάτρα;Ηράκλειο;Λάρισα",
    "cp932": "東京都;大阪市;横浜市;札幌市;神戸市",
    "gb18030": "北京市;上海市;广州市;深圳市;成都市",
    "utf-16": "Zürich;Łódź;Москва;Αθήνα;東京都",
}
NUMBERS = "@relation r\n@attribute a numeric\n@attribute b real\n@data\n"
RELATIONS = {
    "numbers": NUMBERS + "1.5,2\n3.5,4\n",
    "gaps": NUMBERS + "1.5,?\n?,4\n",
    "sparse rows": NUMBERS + "{0 1.5}\n{1 4}\n",
    "blanks between cells": NUMBERS + "1.5 2\n3.5 4\n",
    "texts": "@relation r\n@attribute a string\n@attribute b real\n@data\n"
    "'x y',2\nz,4\n",
    "quoted levels": "@relation r\n@attribute a {'x y',z}\n@attribute b real\n@data\n"
    "'x y',2\nz,4\n",
    "a name with blanks": "@relation r\n@attribute 'a b' real\n@data\n1.5\n2.5\n",
    "dates": "@relation r\n@attribute a date 'yyyy-MM-dd'\n@attribute b real\n@data\n"
    "'2020-01-31',2\n'2020-02-28',4\n",
}


def texts() -> list[tuple[str, bytes, pd.DataFrame]]:
    """Return texts of all kinds that a program may write, and their content."""
    found = []
    ways = itertools.product(SEPARATORS, ABOVE, BODIES, (".", ","), ("\n", "\r\n"))
    for name, above, body, decimal, end in ways:
        mark, table = SEPARATORS[name], BODIES[body]
        quoted = name == "blanks" and body in ("marks in cells", "lines in cells")
        gaps = name == "blanks" and body == "gaps"
        declared = name == "blanks" and above == "sep="
        two_cells = name == "comma" and above == "a title with a comma"
        if decimal == mark or quoted or gaps or declared or two_cells:
            continue  # nobody could tell
        text = ABOVE[above].format(mark) + table.to_csv(
            None, sep=mark[0], decimal=decimal, index=False
        ).replace(mark[0], mark)
        title = f"{name}, {above}, {body}, decimal {decimal!r}, {end!r}"
        found.append((title, text.replace("\n", end).encode(), table))
    return found


def ours(data: bytes) -> pd.DataFrame:
    return load_table(data).table


def by_pandas(data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data), sep=None, engine="python", comment="#")


def by_arrow(data: bytes) -> pd.DataFrame:
    return pa_csv.read_csv(io.BytesIO(data)).to_pandas()


def by_duckdb(data: bytes) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(data)
        return duckdb.read_csv(str(path), sample_size=-1).df()


def is_right(read: Reader, data: bytes, truth: pd.DataFrame) -> bool:
    """Return whether the reader gives the right names, rows and numbers."""
    try:
        found = read(data)
        if [str(name).strip() for name in found] != list(truth):
            return False
        for name in truth:
            column = found.iloc[:, list(truth).index(name)]
            if truth[name].dtype.kind == "f":
                if column.dtype.kind not in "fi":
                    return False
                np.testing.assert_array_equal(column.to_numpy(float), truth[name])
            else:
                texts = [str(cell).replace("\r\n", "\n") for cell in column]
                assert texts == list(truth[name])
    except Exception:
        return False
    return True


def by_scipy(text: str) -> pd.DataFrame:
    return pd.DataFrame(arff.loadarff(io.StringIO(text))[0])


def decoded(data: bytes) -> str:
    return str(from_bytes(data).best() or "")


def main() -> None:
    """Print, for each kind of thing, how many of them each reader reads."""
    warnings.simplefilter("ignore")
    written = texts()
    readers = {
        "ours": ours,
        "pandas, sep=None": by_pandas,
        "DuckDB": by_duckdb,
        "pyarrow": by_arrow,
    }
    print(f"{len(written)} texts")
    for name, read in readers.items():
        right = [is_right(read, data, truth) for _, data, truth in written]
        print(f"  {name:18} {sum(right)}")
        if read is ours:
            for (title, *_), good in zip(written, right, strict=True):
                if not good:
                    print(f"    not {title}")
    print(f"{len(RELATIONS)} relations (ARFF)")
    for name, read in (("ours", lambda t: ours(t.encode())), ("scipy", by_scipy)):
        failed = []
        for title, text in RELATIONS.items():
            try:
                failed += [title] if len(read(text)) != 2 else []
            except Exception:
                failed.append(title)
        print(f"  {name:18} {len(RELATIONS) - len(failed)}, not {failed}")
    print(f"{len(ENCODINGS)} encodings")
    for name in ("ours", "charset-normalizer"):
        failed = []
        for encoding, words in ENCODINGS.items():
            names = words.split(";")
            text = "name,v\n" + "".join(f"{w},{k}.5\n" for k, w in enumerate(names))
            data = text.encode(encoding)
            if name == "ours":
                good = list(ours(data)["name"].astype(str)) == names
            else:
                good = decoded(data) == text
            failed += [] if good else [encoding]
        print(f"  {name:18} {len(ENCODINGS) - len(failed)}, not {failed}")


if __name__ == "__main__":
    main()
