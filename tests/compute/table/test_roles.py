import numpy as np
import pandas as pd
import pytest

from clusterlens.compute.table._roles import facts_of, guess_roles, ordered_levels
from clusterlens.compute.table.dataset import make_dataset
from clusterlens.compute.table.reading import load_table

N = 40
RNG = np.random.default_rng(0)
COLUMNS = {
    "numeric": {
        "weight": RNG.normal(size=N),
        "codes": RNG.integers(1, 5, N),
        "price": [f"{v:,.2f}" for v in RNG.uniform(1000, 9999, N)],
        "lab value": ["<0.1", *map(str, range(N - 1))],
        "gap": [None, *map(float, range(0, 2 * N - 2, 2))],
        "duration": pd.to_timedelta(RNG.uniform(size=N), unit="h"),
    },
    "categorical": {
        "colour": list("rgby") * 10,
        "flag": [True, False] * 20,
        "answer": ["yes", "no"] * 20,
        "kind": pd.Categorical(["a", "b"] * 20),
        "coded": pd.Categorical([1, 2] * 20),
    },
    "ordinal": {
        "level": ["Low", "medium", "HIGH", None] * 10,
        "agreement": ["agree", "strongly_agree", "disagree", "neutral"] * 10,
        "shirt": ["S", "M", "XL", "XS"] * 10,
        "age group": ["<18", "18-25", "26-65", ">65"] * 10,
        "grade": ["1 - good", "2 - fair", "3 - bad", "1 - good"] * 10,
        "given": pd.Categorical(["z", "a"] * 20, categories=["z", "a"], ordered=True),
    },
    "row id": {
        "ID": [f"p{k}" for k in range(N)],
        "CustomerId": RNG.permutation(N) + 1000,
        "row number": range(1, N + 1),
        "Unnamed: 0": range(N),
    },
    "label": {
        "class": RNG.integers(0, 3, N),
        "Species": list("ab") * 20,
        "y_true": [0, 1] * 20,
        "last text": list("ab") * 20,
    },
    "ignore": {
        "constant": [3] * N,
        "nothing": [None] * N,
        "day": pd.date_range("2020-01-01", periods=N),
        "iso day": pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
        "local day": [f"{k % 28 + 1}.{k % 12 + 1}.2020" for k in range(N)],
        "stamp": ["2020-01-01T10:00:00+02:00", "2020-01-02T10:00:00+02:00"] * 20,
        "remark": [f"text number {k} of many" for k in range(N)],
        "zip": ["01234", "04567"] * 20,
        "postcode": RNG.integers(10000, 99999, N),
        "mostly missing": [None] * 21 + [f"{k / 7}" for k in range(N - 21)],
        "nested": [[k] for k in range(N)],
    },
}
CASES = [(role, name) for role, columns in COLUMNS.items() for name in columns]


@pytest.mark.parametrize(("role", "name"), CASES)
def test_role_is_guessed_with_a_reason(role, name):
    features = {f"f{j}": RNG.normal(size=N) for j in range(3)}
    column = {name: COLUMNS[role][name]}
    last = name == "last text"
    ds = make_dataset(pd.DataFrame(features | column if last else column | features))
    assert ds.roles[name] == role, ds.role_reasons[name]
    assert ds.role_reasons[name]


LETTERS = [f"r{k}" for k in range(N)]
IDENTIFIERS = {
    "row id": {
        "account": [str(12345678901234567890 + 7 * k) for k in range(N)],
        "tweet": [2**60 + 7 * k for k in range(N)],
        "plate": [f"{k}e{k % 7}" for k in range(10, 10 + N)],
        "Barcode": [f"AAAC{k}-1" for k in range(N)],
        "Cell Barcode": [f"AAAC {k}" for k in range(N)],
        "gene": LETTERS,
        "sample_id": ["3e400", "12e5", *LETTERS[2:]],
        "case": range(0, 3 * N, 3),
        "Patient No.": range(0, 3 * N, 3),
        "Lfd. Nr.": range(0, 3 * N, 3),
        "Artikelnummer": range(3, 3 + 7 * N, 7),
        "accession": range(3, 3 + 7 * N, 7),
        "OBJECTID_1": range(3, 3 + 7 * N, 7),
    },
    "ignore": {
        "id": [*range(N - 1), 0],
        "ID": [None, *range(1, N)],
        "customer_id": [7, 8] * 20,
        "storeId": list("abcd") * 10,
        "id_client": [1.5, 2.5] * 20,
        "row": [0, *range(N - 1)],
        "Index": list(range(10)) * 4,
        "nr": [*LETTERS[1:], LETTERS[1]],
        "customer_number": [7, 8] * 20,
        "patientid": [7, 8] * 20,
        "Kundennummer": [7, 8] * 20,
        "USUBJID": [7, 8] * 20,
        "Row": [k // 2 for k in range(N)][::-1],
        "Obs": [1, *range(1, N)],
        "SKU": range(3, 3 + 7 * N, 7),
        "Telefon": [4930123400 + 79 * (k // 2) for k in range(N)],
        "ISBN-13": [9783161484100 + 17 * (k // 2) for k in range(N)],
        "Postleitzahl": [71200 + 13 * (k % 7) for k in range(N)],
        "date": [202001 + k % 12 for k in range(N)],
        "Timestamp": [1583000000 + 86_400 * k for k in range(N)],
        "orderDate": [20200100 + k % 28 for k in range(N)],
        "ID#": [7, 8] * 20,
        "subject": [*range(5, 4 + N), 5],
        "account": [str(12345678901234567890 + k // 2) for k in range(N)],
        "tweet": [2**60 + 7 * (k // 2) for k in range(N)],
        "plate": [f"{k // 2}e{k // 2 % 7}" for k in range(20, 20 + N)],
    },
    "numeric": {
        "key": [0, 5, 7, 9] * 10,
        "index": RNG.normal(1.33, 0.01, N),
        "NO": [12, 13, 19, 4, 5] * 8,
        "Hausnummer": [3, 1, 4, 2, 2] * 8,
        "fid": RNG.normal(30, 2, N),
        "floor no": [3, 1, 4, 2, 2] * 8,
        "atomic number": range(7, 7 + 3 * N, 3),
        "number": [3, 1, 4, 1, 5, 9, 2, 6] * 5,
        "count": [0, 2**40] * 20,
        "sales_to_date": [31_000 + 70 * (k % 9) for k in range(N)],
        "date": [1, 17, 4, 28] * 10,
        "dilution": [f"{k % 5 + 1}e{k % 4}" for k in range(N)],
    },
}
NAMED = [(role, name) for role, columns in IDENTIFIERS.items() for name in columns]


@pytest.mark.parametrize("file", [True, False])
@pytest.mark.parametrize(("role", "name"), NAMED)
def test_identifiers_are_never_features(role, name, file):
    table = pd.DataFrame({"f": RNG.normal(size=N), name: IDENTIFIERS[role][name]})
    ds = load_table(table.to_csv(index=False).encode()) if file else make_dataset(table)
    assert ds.roles[name] == role, ds.role_reasons[name]
    assert ds.roles["f"] == "numeric"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("cells", [[831, 829, 840, 835, 1], [4, 5, 6, 7, 9]])
def test_column_without_a_name_is_an_index_only_if_it_is_first(first, cells):
    columns = {"": cells, "a": [1.5, 2.5, 3.5, 4.5, 9.5]}
    table = pd.DataFrame(columns if first else dict(reversed(columns.items())))
    ds = make_dataset(table)
    name = f"unnamed column {1 if first else 2}"
    assert ds.roles == {name: "row id" if first else "numeric", "a": "numeric"}


def test_reasons_are_whole_sentences():
    for role, columns in (COLUMNS | IDENTIFIERS).items():
        for name, cells in columns.items():
            reason = make_dataset(pd.DataFrame({name: cells})).role_reasons[name]
            assert not reason.endswith((" ", ",", ":", "like")), (role, name, reason)
            assert "np." not in reason


def test_text_that_differs_names_rows_only_if_no_other_column_does():
    table = pd.DataFrame({"id": range(N), "gene": LETTERS, "f": RNG.normal(size=N)})
    assert make_dataset(table).roles["gene"] == "ignore"
    with_blanks = pd.DataFrame({"gene": [f"r {k}" for k in range(N)]})
    assert make_dataset(with_blanks).roles["gene"] == "ignore"


def test_at_most_one_column_is_label_and_one_is_row_id():
    table = pd.DataFrame(
        {
            "id": range(N),
            "case_id": range(N),
            "target": [0, 1] * 20,
            "label": [0, 1, 2, 3] * 10,
            "f": RNG.normal(size=N),
        }
    )
    roles, _ = guess_roles(facts_of(table))
    assert roles == {
        "id": "row id",
        "case_id": "ignore",
        "target": "numeric",
        "label": "label",
        "f": "numeric",
    }


def test_coordinates_named_x_and_y_are_no_label():
    table = pd.DataFrame({"x": [1, 1, 2, 2], "y": [0, 0, 5, 5]})
    assert guess_roles(facts_of(table))[0] == {"x": "numeric", "y": "numeric"}


YES_AND_NO = ("yes no", "True False", "ja nein", "oui non", "si no", "Y n", "m f")


@pytest.mark.parametrize("levels", YES_AND_NO)
def test_a_last_column_of_yes_and_no_is_a_feature_unless_it_is_named_like_classes(
    levels,
):
    features = {f"f{j}": RNG.normal(size=N) for j in range(3)}
    answers = levels.split() * (N // 2)
    for name, role in {
        "newsletter": "categorical",
        "prototype": "categorical",
        "customer type": "label",
        "target": "label",
    }.items():
        ds = make_dataset(pd.DataFrame(features | {name: answers}))
        assert ds.roles[name] == role


def test_a_last_column_of_zero_and_one_as_categories_is_a_feature():
    features = {f"f{j}": RNG.normal(size=N) for j in range(3)}
    paid = pd.Categorical([0, 1] * (N // 2))
    ds = make_dataset(pd.DataFrame(features | {"paid": paid}))
    assert ds.roles["paid"] == "categorical"


def test_only_column_is_never_a_guessed_label():
    assert guess_roles(facts_of(pd.DataFrame({"class": [0, 1, 0, 1]})))[0] == {
        "class": "numeric"
    }


def test_real_valued_target_is_no_label():
    table = pd.DataFrame({"a": RNG.normal(size=N), "target": RNG.normal(size=N)})
    assert guess_roles(facts_of(table))[0]["target"] == "numeric"


def test_one_row_keeps_its_columns():
    assert guess_roles(facts_of(pd.DataFrame({"a": [1.0], "b": ["x"]})))[0] == {
        "a": "numeric",
        "b": "categorical",
    }


def test_given_columns_override_every_guess():
    table = pd.DataFrame({"label": [1, 1], "name": ["a", "b"], "f": [0.5, 1.5]})
    roles, reasons = guess_roles(facts_of(table), label="f", row_id="name")
    assert roles == {"label": "ignore", "name": "row id", "f": "label"}
    assert reasons["f"] == "given as the label column"


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (["high", "low", "medium", "low"], ["low", "medium", "high"]),
        (["65+", "0-17", "18-64", "65+"], ["0-17", "18-64", "65+"]),
        (["<18", "18-30", ">30", "<18"], ["<18", "18-30", ">30"]),
        (["red", "low", "red"], None),
        (["a", "a"], None),
    ],
)
def test_levels_are_put_in_order(words, levels):
    assert ordered_levels(pd.Series(words)) == levels
