#!/usr/bin/env python3
"""Writes pipeline/text/generated/time_names_mediawiki.c: what months and days are called in all languages, from the
messages of MediaWiki, as in Debian's package mediawiki 1:1.39.17-1+deb12u2.

    scripts/make_time_names.py [FOLDER] >pipeline/text/generated/time_names_mediawiki.c
                                                                FOLDER: /usr/share/mediawiki
"""
import json

from make_magic_words import folder, languages

MONTHS = "january february march april may june july august september october november december".split()
DAYS = "sunday monday tuesday wednesday thursday friday saturday".split()
LISTS = {
    "months": ["may_long" if name == "may" else name for name in MONTHS],
    "genitives": [name + "-gen" for name in MONTHS],
    "short_months": [name[:3] for name in MONTHS],
    "days": DAYS,
    "short_days": [name[:3] for name in DAYS],
}


def messages():
    """{code: {key: text}}"""
    result = {}
    for path in (folder / "languages/i18n").glob("*.json"):
        if path.stem == "qqq": # explains the messages
            continue
        found = json.loads(path.read_text(encoding="utf-8"))
        keys = [key for keys in LISTS.values() for key in keys if found.get(key)]
        result[path.stem] = {key: found[key].strip().replace("&#160;", "\u00a0") for key in keys}
    return result


def main():
    own = messages()
    fallbacks = {code: names for code, (names, *_) in languages().items()}
    rows = {}
    for code in own.keys() | fallbacks.keys():
        chain = [code] + fallbacks.get(code, []) + ["en"]
        rows[code] = {name: "|".join(next(own[of][key] for of in chain if key in own.get(of, {})) for key in keys)
                      for name, keys in LISTS.items()}
    print("/* Made by scripts/make_time_names.py of the messages in Debian's package mediawiki; "
          "not to be changed by hand. */")
    print('#include "pipeline/text/templates/time_format.h"\n')
    print("// clang-format off\nconst struct time_names time_names[] = {")
    for code in sorted(rows):
        if code != "en" and rows[code] == rows.get((fallbacks.get(code) or ["en"])[0]):
            continue
        print(f'    {{"{code}",')
        print(",\n".join(f"     {json.dumps(text, ensure_ascii=False)}" for text in rows[code].values()) + "},")
    print("};\n// clang-format on\n")
    print("const size_t time_names_count = sizeof time_names / sizeof *time_names;")


if __name__ == "__main__":
    main()
