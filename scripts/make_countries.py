#!/usr/bin/env python3
"""Writes pipeline/text/generated/countries_local.c: what countries are called in the languages of the larger wikis,
from Unicode's Common Locale Data Repository in the package Babel (pip install babel).

    scripts/make_countries.py"""

import pathlib

from babel import Locale

# Codes of ISO 3166 and, where it has another one, of the International Olympic Committee.
CODES = """AR ARG; AU AUS; AT AUT; BE BEL; BG BGR BUL; BR BRA; BY BLR; CA CAN; CH CHE SUI; CL CHL CHI; CN CHN; CO COL;
CU CUB; CZ CZE; DE DEU GER; DK DNK DEN; DZ DZA ALG; EE EST; EG EGY; ES ESP; FI FIN; FR FRA; GB GBR; GE GEO;
GR GRC GRE; HK HKG; HR HRV CRO; HU HUN; ID IDN INA; IE IRL; IL ISR; IN IND; IQ IRQ; IR IRN IRI; IS ISL; IT ITA;
JP JPN; KP PRK; KR KOR; KZ KAZ; LT LTU; LV LVA LAT; MA MAR; MN MNG MGL; MO MAC; MX MEX; MY MYS MAS; NG NGA NGR;
NL NLD NED; NO NOR; NZ NZL; PE PER; PH PHL PHI; PK PAK; PL POL; PT PRT POR; RO ROU; RS SRB; RU RUS; SA SAU KSA;
SE SWE; SG SGP SIN; SI SVN; SK SVK; TH THA; TR TUR; TW TWN TPE; UA UKR; US USA; UY URY URU; UZ UZB; VE VEN;
VN VNM VIE; ZA ZAF RSA; AE ARE UAE; AL ALB; AM ARM; AZ AZE; BA BIH; BD BGD BAN; BO BOL; CI CIV; CM CMR; CR CRI CRC;
CY CYP; EC ECU; ET ETH; GH GHA; JM JAM; JO JOR; KE KEN; KW KWT KUW; LB LBN LIB; LK LKA SRI; LU LUX; MD MDA; ME MNE;
MK MKD; MT MLT; NP NPL NEP; PA PAN; PY PRY PAR; QA QAT; SN SEN; SY SYR; TN TUN; UG UGA; ZW ZWE ZIM"""
LANGUAGES = """af ar az be bg bn bs ca cs cy da de el es et eu fa fi fr gl he hi hr hu hy id is it ja ka kk ko lt lv mk
ms nb nl nn pl pt ro ru sk sl sq sr sv ta th tr uk ur uz vi zh""".split()
SHORT = {("HK", "ja"): "香港", ("HK", "ko"): "홍콩", ("HK", "zh"): "香港",
         ("MO", "ja"): "マカオ", ("MO", "ko"): "마카오", ("MO", "zh"): "澳门"}
HEAD = """\
/* What countries are called, from Unicode's Common Locale Data Repository. Written by scripts/make_countries.py. Codes
 * and languages are sorted bytewise. */
#include "pipeline/text/templates/countries.h"

// clang-format off
const struct country_code country_codes[] = {
"""


def name(locale, code):
    """NULL where the name is that of an administrative region."""
    if code in ("HK", "MO"):
        short = SHORT.get((code, locale.language))
        return f'"{short}"' if short else "NULL"
    return f'"{locale.territories[code]}"'


rows = [row.split() for row in CODES.replace("\n", " ").split(";")]
codes = sorted((code, number) for number, row in enumerate(rows) for code in row[1:])
text = HEAD + "".join(f'    {{"{code}", {number}}},\n' for code, number in codes) + f"""}};
const size_t country_code_count = sizeof country_codes / sizeof *country_codes;

_Static_assert(COUNTRIES == {len(rows)}, "countries.h has their number");
const struct country_names country_names[] = {{
"""
for language in sorted(LANGUAGES, key=lambda code: {"nb": "no"}.get(code, code)):
    locale = Locale.parse(language)
    names = ", ".join(name(locale, row[0]) for row in rows)
    text += f'    {{"{"no" if language == "nb" else language}",\n     {{{names}}}}},\n'
path = pathlib.Path(__file__).resolve().parents[1] / "pipeline/text/generated/countries_local.c"
path.write_text(text + """};
// clang-format on

const size_t country_names_count = sizeof country_names / sizeof *country_names;
""")
print(len(rows))
