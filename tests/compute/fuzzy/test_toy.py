import pytest

from clusterlens.compute.fuzzy.comparison import compare_fuzzy
from clusterlens.compute.fuzzy.toy import toy_partitions

# Observed NDC and values under the permutation, Fit, Sym and Flat models, by pair.
PUBLISHED = {
    ("UnevenLF", "EvenLF"): (0.515, 0.0769231, -0.37808, -0.39817, -1.121875),
    ("UnevenLF", "HighF"): (0.5902778, 0.0122768, 0.03471, 0.20843, -0.792535),
    ("UnevenLF", "UnevenH"): (0.9875, 0.974175, 0.97479, 0.97361, 0.945313),
    ("UnevenLF", "EvenH"): (0.4925, 0.0737643, -0.00405, -0.07153, -1.220312),
    ("EvenLF", "HighF"): (0.3041667, -0.0003994, -0.34431, -0.34432, -2.044271),
    ("EvenLF", "UnevenH"): (0.5025, 0.0751356, 0.04422, -0.05042, -1.176562),
    ("EvenLF", "EvenH"): (0.9775, 0.9417476, 0.95249, 0.95249, 0.901563),
    ("HighF", "UnevenH"): (0.5777778, 0.0119177, -0.08992, 0.34518, -0.847222),
    ("HighF", "EvenH"): (0.2816667, -0.0003868, -0.11406, -0.11406, -2.142708),
    ("UnevenH", "EvenH"): (0.5, 0.0769231, 0.07955, -0.125, -1.1875),
}
ORDERS = {
    "permutation": [3, 7, 1, 10, 6, 4, 2, 8, 9, 5],
    "fit": [3, 7, 10, 6, 2, 4, 8, 9, 5, 1],
    "sym": [3, 7, 8, 2, 6, 4, 9, 10, 5, 1],
    "flat": [3, 7, 2, 8, 1, 6, 10, 4, 5, 9],
}


@pytest.mark.parametrize("model", ORDERS)
def test_all_pairs_have_the_published_values_and_ranks(model):
    table = compare_fuzzy(toy_partitions(), model)
    for row in table.itertuples():
        published = PUBLISHED[row.u, row.v]
        assert row.observed == pytest.approx(published[0], abs=1e-7)
        expected = published[1 + list(ORDERS).index(model)]
        assert row.value == pytest.approx(expected, abs=2e-3)
    order = table["value"].round(9).sort_values(ascending=False, kind="stable").index
    numbers = [list(PUBLISHED).index((table.u[at], table.v[at])) + 1 for at in order]
    assert numbers == ORDERS[model]
