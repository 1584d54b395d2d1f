#!/usr/bin/env python3
"""Writes pipeline/text/generated/units_local.c: symbols of units in languages that do not use Latin letters, from
Unicode's Common Locale Data Repository (its short forms, else its narrow ones) in the package Babel (pip install
babel). A unit whose form depends on the number is left out, and text shows its symbol, because no inflection is better
than a wrong one.

    scripts/make_units.py"""

import pathlib
import unicodedata

from babel import Locale

# Languages of the larger wikis that do not write units in Latin letters; units.c has those of Cyrillic ones that are
# missing here, and Chinese and Japanese pages show symbols.
LANGUAGES = "am ar be bg bn el fa gu he hi hy ka kk km kn ky lo mk ml mn mr my ne or pa ru si sr ta te th uk ur".split()
UNITS = {"acre": "area-acre", "cm": "length-centimeter", "ft": "length-foot", "g": "mass-gram", "ha": "area-hectare",
         "hp": "power-horsepower", "in": "length-inch", "kW": "power-kilowatt", "kg": "mass-kilogram",
         "km": "length-kilometer", "km/h": "speed-kilometer-per-hour", "km2": "area-square-kilometer",
         "lb": "mass-pound",
         "m": "length-meter", "m2": "area-square-meter", "m3": "volume-cubic-meter", "mi": "length-mile",
         "mm": "length-millimeter", "mph": "speed-mile-per-hour", "sq ft": "area-square-foot",
         "sq mi": "area-square-mile", "yd": "length-yard"}
MISREAD = {("uk", "mi"), ("uk", "mph"), ("uk", "sq mi")}  # a mile is мл there, as a millilitre is
HEAD = """\
/* Symbols of units in letters of their own, by language: the short or narrow forms of Unicode's Common Locale Data
 * Repository that do not depend on the number. Written by scripts/make_units.py. Sorted bytewise by language, then by
 * symbol. */
#include "pipeline/text/templates/units.h"

// clang-format off
static const struct local_unit local_units[] = {
"""


def form(language, unit, width):
    """The form of a unit if it is the same for every number and differs from the symbol, else ""."""
    patterns = Locale.parse(language)._data["unit_patterns"].get(unit, {}).get(width, {})
    forms = {"".join(c for c in str(pattern).replace("{0}", "")
                     if unicodedata.category(c) != "Cf").strip("\u00a0\u202f ")
             for number, pattern in patterns.items() if number in ("zero", "one", "two", "few", "many", "other")}
    shown = forms.pop() if len(forms) == 1 else ""
    shown = shown.replace("²", "2").replace("³", "3")  # as {{convert}} writes superscripts
    return "" if shown.isascii() or ". " in shown or not shown[0].isalpha() else shown  # the dot would end a sentence


rows = [(language, symbol, form(language, unit, "short") or form(language, unit, "narrow")) for language in LANGUAGES
        for symbol, unit in UNITS.items()]
lines = [f'    {{"{language}", "{symbol}", "{shown}"}},\n' for language, symbol, shown in sorted(rows)
         if shown and (language, symbol) not in MISREAD]
path = pathlib.Path(__file__).resolve().parents[1] / "pipeline/text/generated/units_local.c"
path.write_text(HEAD + "".join(lines) + """};
// clang-format on

const struct local_unit *local_unit_table(size_t *count)
{
    *count = sizeof local_units / sizeof *local_units;
    return local_units;
}
""")
