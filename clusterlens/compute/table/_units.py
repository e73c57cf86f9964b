"""Units of measurement and types of columns, as words in a line below names."""

from __future__ import annotations

import re

NO_UNITS = frozenset({"", "-", "--", "–", "—"})
TYPES = frozenset({"float", "double", "int", "integer", "numeric", "number"})

_LONGEST = 30
_PREFIXED = (
    "m g s A K mol Hz N Pa J W C V F Ω Ohm ohm S T H lm lx Bq Gy Sv kat L l eV bar M U "
    "cal t B Da bp Wh Torr AU"
)
_PREFIXES = ("", *"pnµμumcdhkMGT")
_OTHERS = (
    "% ‰ ppm ppb ppt °C °F ° deg degC degF rad sr sec min h hr hrs d day days wk week "
    "weeks mo month months yr yrs year years second seconds minute minutes hour "
    "hours lb lbs oz in inch inches ft mi mile miles mph kn knots psi atm mmHg cmH2O "
    "mmH2O inHg kcal IU cell cells count counts px pixel pixels rpm dB dBm pH au a.u. "
    "A.U. arb. RFU OD ha ac Ma ka BP NTU FNU FTU PSU psu ºC º cd gal bpm beats "
    "breaths degree_C degrees_C degree_Celsius degrees_Celsius Celsius celsius kelvin "
    "degree_north degrees_north degree_east degrees_east percent PSS-78 unitless "
    "dimensionless € $ £ EUR USD GBP"
)
_ATOMS = frozenset(_OTHERS.split()) | {
    prefix + unit for unit in _PREFIXED.split() for prefix in _PREFIXES
}
_BETWEEN = re.compile(r"[/·*×() ]")
_EXPONENT = re.compile(r"(?:\^?[-−]?\d|[⁻¹²³⁴]{1,3})\Z")


def is_bare_unit(cell: str) -> bool:
    """Check whether a cell is a unit without brackets, such as cm, kg/m³ or °C."""
    text = cell.strip()
    if not text or len(text) > _LONGEST:
        return False
    parts = [part for part in _BETWEEN.split(text) if part and part != "1"]
    return bool(parts) and all(
        part in _ATOMS or _EXPONENT.sub("", part) in _ATOMS for part in parts
    )
