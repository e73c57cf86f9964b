"""Last rows of files that summarise the rows above."""

import pytest

from clusterlens.compute.ensemble.importing import load_partitions
from clusterlens.compute.table._files import read_file
from clusterlens.compute.table.reading import load_rows_of_ids, load_table
from tests.compute.table.test_delimited import forms

ROWS = "name,length,width\nA1,1.5,10\nB7,2.25,30\nC3,4.75,20\nD2,3.5,40\n"
LEFT_OUT = "at the end left out, as the numbers summarise"
STAYS = "is read as a sample"


@pytest.mark.parametrize(
    "row",
    [
        "Total,12,100",
        "total:,12.0,100",
        "Sum,12.00,100",
        "Grand Total,12,100",
        "Gesamt,12,100",
        "Gesamtergebnis,3,100",
        "Summe,,100",
        "Mean,3,25",
        "Average,3.00,25.0",
        "Mittelwert,3,25",
        "Median,2.875,25",
        "SD,1.43,12.9",
        "Total,12,7",
    ],
)
@pytest.mark.parametrize("blank", ["", ",,\n"])
def test_a_summary_is_left_out_with_a_note(row, blank):
    for form, data in forms(f"{ROWS}{blank}{row}\n").items():
        ds = load_table(data)
        assert ds.table["width"].tolist() == [10, 30, 20, 40], form
        label = row.split(",")[0]
        assert [n for n in ds.notes if LEFT_OUT in n and repr(label) in n], form


@pytest.mark.parametrize(
    "row", ["Total,11,99", "Mean,12,100", "Sum,3.2,31", "Max,4.9,39", "SD,9,9"]
)
def test_a_row_that_has_only_the_word_stays_with_a_note(row):
    for form, data in forms(f"{ROWS}{row}\n").items():
        ds = load_table(data)
        assert len(ds.table) == 5, form
        assert [n for n in ds.notes if STAYS in n], form


@pytest.mark.parametrize("row", ["Totalled,12,100", "E5,12,100", "Meaning,3,25"])
def test_a_name_that_is_no_summary_stays(row):
    ds = load_table(f"{ROWS}{row}\n".encode())
    assert len(ds.table) == 5
    assert not [n for n in ds.notes if STAYS in n or LEFT_OUT in n]


def test_several_summaries_below_numbered_rows():
    """As ImageJ and FlowJo write them."""
    rows = "".join(f"{i},cell {i},{i * i},{i / 2}\n" for i in range(1, 7))
    text = (
        f"no,label,area,depth\n{rows}7,Mean,15.167,1.75\n8,SD,13.497,0.935\n"
        "9,Min,1,0.5\n10,Max,36,3\n"
    )
    for form, data in forms(text).items():
        ds = load_table(data)
        assert ds.table["area"].tolist() == [1, 4, 9, 16, 25, 36], form
        note = next(n for n in ds.notes if LEFT_OUT in n)
        assert "4 rows" in note
        assert "'Mean', 'SD', 'Min', 'Max'" in note


def test_a_total_below_numbers_leaves_them_numbers():
    for form, data in forms("id,x,y\n1,5,7\n2,6,1\n3,9,2\nTotal,20,10\n").items():
        ds = load_table(data)
        assert len(ds.table) == 3, form
        assert ds.table["x"].tolist() == [5, 6, 9]


def test_decimal_commas_amounts_and_groups():
    text = "shop;sales;share\nA;1.200,50;20,1 %\nB;2.300,25;38,5 %\nC;2.480,75;41,4 %\n"
    ds = load_table(f"{text}Gesamt;5.981,50;100 %\n".encode())
    assert len(ds.table) == 3
    text = 'shop,sales\nA,"$1,200"\nB,"$2,300"\nC,"$4,000"\nTotal,"$7,500"\n'
    assert len(load_table(text.encode()).table) == 3


def test_two_rows_of_one_column_are_summed():
    assert len(load_table(b"g,n\na,3\nb,4\nTotal,7\n").table) == 2
    assert len(load_table(b"g,n\na,3\nTotal,3\n").table) == 2


def test_drawn_tables_and_partitions_have_no_totals():
    drawn = b"| g | n |\n|---|---|\n| a | 3 |\n| b | 4 |\n| c | 9 |\n| Total | 16 |\n"
    assert len(load_table(drawn).table) == 3
    ensemble = load_partitions(b"id,p\na,1\nb,2\nc,1\nTotal,4\n")
    assert ensemble.n_samples == 3
    assert [n for n in ensemble.notes if LEFT_OUT in n]


def test_notes_stand_with_those_on_reading():
    parsed, _ = read_file(f"{ROWS}Total,12,100\n".encode())
    assert len(parsed.frame) == 4


@pytest.mark.parametrize("row", ["Max,3,4", "Min,1.5,2", "N,3,3"])
def test_a_short_word_alone_may_be_a_name(row):
    ds = load_table(f"name,a,b\nAnn,1.5,2\nBob,3,4\nEve,2,3\n{row}\n".encode())
    assert len(ds.table) == 4
    assert [n for n in ds.notes if STAYS in n]


def test_totals_of_groups_are_noted():
    rows = "A,s1,10\nA,s2,20\nA {0},,30\nB,s3,5\nB,s4,7\nB {0},,12\n"
    for word in ("Total", "Ergebnis"):
        for form, data in forms("g,shop,n\n" + rows.format(word)).items():
            notes = load_table(data).notes
            assert [n for n in notes if f"2 rows called 'A {word}'" in n], form


def test_blank_rows_within_the_table_count_for_partitions_only():
    text = b"name,a,b\nA,1,2\n,,\nB,3,4\nC,5,7\n,,\nTotal,9,13\n"
    ds = load_table(text)
    assert ds.table["a"].tolist() == [1, 3, 5]
    assert "1 blank row left out." in ds.notes
    assert load_rows_of_ids(text)[1] == [1]


def test_many_rows_named_as_summaries_are_read():
    rows = "".join(f"{word},{k},2\n" for k, word in enumerate(["Mean", "SD"] * 15))
    assert len(load_table(f"{ROWS}{rows}".encode()).table) > 20
