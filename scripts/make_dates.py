#!/usr/bin/env python3
"""Writes pipeline/text/generated/dates_local.c: how languages write a date, from Unicode's Common Locale Data
Repository in the package Babel (pip install babel).

    scripts/make_dates.py"""

import pathlib
import re

from babel import Locale

# Languages of the larger wikis that write Gregorian years in European digits.
LANGUAGES = """af ar az be bg bs ca cs cy da de el es et fi fil fr gl he hi hr hu hy id is it ja ka ko lt lv mk ms nb
nl nn pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh""".split()
CODES = {"nb": "no", "fil": "tl"}
HEAD = """\
/* How languages write a date, from Unicode's Common Locale Data Repository: $d, $m, $n and $y are the day, the month's
 * name and number, and the year. Written by scripts/make_dates.py. Sorted bytewise by language. */
#include "pipeline/text/templates/local_dates.h"

// clang-format off
const struct local_date local_dates[] = {
"""


def pattern(locale):
    """The long form, without the word for "year" and an era."""
    text = re.sub(r"\u202f'[гр]'\.| G", "", locale.date_formats["long"].pattern)
    text = re.sub(r"'[^']*'|d+|M+|y+",
                  lambda part: part[0][1:-1] if part[0][0] == "'" else
                  "$n" if part[0] == "M" else "$" + part[0][0].lower(), text)
    return text


rows = []
for language in LANGUAGES:
    locale = Locale.parse(language)
    months = [locale.months["format"]["wide"][number] for number in range(1, 13)]
    rows.append(f'    {{"{CODES.get(language, language)}", "{pattern(locale)}",\n     {{'
                + ", ".join(f'"{name}"' for name in months) + "}},\n")
path = pathlib.Path(__file__).resolve().parents[1] / "pipeline/text/generated/dates_local.c"
path.write_text(HEAD + "".join(sorted(rows)) + """};
// clang-format on

const size_t local_date_count = sizeof local_dates / sizeof *local_dates;
""")
