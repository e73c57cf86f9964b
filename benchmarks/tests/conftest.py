"""Fixtures of the tests of the benchmarks."""

from tests.conftest import no_paces  # noqa: F401
