import numpy as np
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble


@pytest.mark.parametrize(
    ("memberships", "message"),
    [
        ({0: [[0.9, 0.2], [0.5, 0.5]]}, r"memberships\[0\] has row 0 with the sum 1.1"),
        ({0: [[1.2, -0.2], [0.5, 0.5]]}, r"memberships\[0\] has row 0 .* value -0.2"),
        ({0: [[np.nan, 1.0], [0.5, 0.5]]}, r"memberships\[0\] has the value nan"),
        ({0: [["a", "b"], ["c", "d"]]}, r"memberships\[0\] has entries of type"),
        ({0: [[0.5, 0.5]]}, r"memberships\[0\] has 1 rows for 2 samples"),
        ({3: [[0.5, 0.5], [0.5, 0.5]]}, "memberships has the key 3"),
        ([[0.5, 0.5], [0.5, 0.5]], "memberships is a list; give a dict"),
    ],
)
def test_memberships_are_shares_of_every_sample(memberships, message):
    with pytest.raises(ValueError, match=message):
        Ensemble([[0, 1]], memberships=memberships)


def test_memberships_of_single_precision_are_taken():
    soft = np.full((2, 3), 1 / 3, dtype=np.float32)
    rows = Ensemble([[0, 1]], memberships={np.int64(0): soft}).memberships[0]
    assert rows.dtype == np.float64
    assert not rows.flags.writeable
