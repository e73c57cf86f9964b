"""Names of columns that show their content: identifiers, codes or classes."""

from __future__ import annotations

import re

_LABEL_NAMES = (
    "label labels label_true labels_true true_label true_labels ground_truth y_true "
    "class classes class_label classlabel cluster clusters target species diagnosis "
    "variety outcome y"
)
_ID_NAMES = (
    "id ids row_name rowname row_names rownames uuid guid uid pid pk sample_name "
    "barcode barcodes ident identifier identifiant identificador subjid usubjid patid "
    "objectid objectid_1 entrezid"
)
_ID_HINTS = (
    "row index idx key nr no number case record num numero numéro nº n° nummer номер "
    "lfdnr sno srno obs seq serial serial_number accession mrn vin pmid fid codice "
    "codigo código"
)
_BEARERS = (
    "client customer employee kunden participant patient personal respondent "
    "sample specimen student subject user"
)
_CODE_NAMES = (
    "zip zipcode zip_code postcode postal_code plz phone phone_number telephone ssn "
    "postleitzahl code_postal codigo_postal código_postal tel telefon telefonnummer "
    "telefono teléfono téléphone mobile_number iban isbn isbn10 isbn13 isbn_10 isbn_13 "
    "ean ean13 upc gtin sku fips geoid imei npi"
)
_DATE_NAMES = "date datetime datum fecha timestamp unixtime yyyymm yyyymmdd"
LABEL_NAMES = tuple(_LABEL_NAMES.split())  # from the strongest hint to the weakest
_LABEL_WORDS = frozenset((*LABEL_NAMES, "type", "group", "kind", "category"))
ID_NAMES = frozenset(_ID_NAMES.split())
ID_HINTS = frozenset(f"{_ID_HINTS} {_BEARERS}".split())  # or names of measurements
CODE_NAMES = frozenset(_CODE_NAMES.split())
_NUMBER_OF = re.compile(
    rf"(?:{_BEARERS}|account|case|invoice|matrikel|member|order|record|row|ticket)_?"
    r"(?:ids?|no|nr|num|number|nummer|code)".replace(" ", "|")
)


def plain_name(name: str) -> str:
    """Write a name in lower case with underscores: "Row ID" and "rowId" as row_id."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s._#-]+", "_", spaced).lower().strip("_")


def is_id_name(name: str) -> bool:
    """Check whether a column of this name can only hold identifiers."""
    plain = plain_name(name)
    return (
        plain in ID_NAMES
        or plain.endswith(("_id", "_ids", "_uuid", "_guid", "_key", "_barcode"))
        or plain.startswith("id_")
        or bool(_NUMBER_OF.fullmatch(plain))
    )


def is_label_word(name: str) -> bool:
    """Check whether a word of the name is one for classes, like "type" or "target"."""
    return not _LABEL_WORDS.isdisjoint(plain_name(name).split("_"))


def is_date_name(name: str) -> bool:
    """Check whether whole numbers of this name, if large, are dates."""
    plain = plain_name(name)
    return plain in _DATE_NAMES.split() or (
        plain.endswith(("_date", "_datetime", "_timestamp")) and "to_date" not in plain
    )


def hints_at_ids(name: str, *, is_first: bool) -> bool:
    """Check whether a column of this name may hold identifiers.

    This includes a first column without a name, the index of a table that was saved.
    """
    plain = plain_name(name)
    unnamed = plain.startswith("unnamed") and is_first
    return (
        unnamed
        or plain in ID_HINTS
        or plain.endswith(("_no", "_nr", "nummer"))
        or bool(re.fullmatch(r"unnamed:_0(_\d+)*", plain))
    )
