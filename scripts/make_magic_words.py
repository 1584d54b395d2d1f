#!/usr/bin/env python3
"""Writes pipeline/text/generated/magic_words_mediawiki.c: the behaviour switches (__NOTOC__) and the words for
#REDIRECT of all languages. The facts come from MediaWiki's message files, as in Debian's package mediawiki
1:1.39.17-1+deb12u2.

    scripts/make_magic_words.py [FOLDER] >pipeline/text/generated/magic_words_mediawiki.c
                                                                FOLDER: /usr/share/mediawiki
"""
import re
import sys
from pathlib import Path

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/mediawiki")

SWITCHES = """expectunusedcategory forcetoc hiddencat index newsectionlink nocontentconvert noeditsection nogallery
noindex nonewsectionlink notitleconvert notoc staticredirect toc""".split()
TOKEN = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\d+)|(=>|array\s*\(|[\[\](),;])"""
                   r"""|#.*|//.*|/\*[\s\S]*?\*/""")


def tokens_from(source, start):
    """The strings (as tuples of one) and signs from `start` to the ';'."""
    for found in TOKEN.finditer(source, start):
        single, double, number, sign = found.groups()
        if sign == ";":
            return
        if sign:
            yield "[" if sign.startswith("array") or sign == "(" else "]" if sign == ")" else sign
        elif single is not None or double is not None:
            yield (re.sub(r"\\(['\"\\])", r"\1", single if single is not None else double),)
        elif number:
            yield (number,)


def words_of(source):
    """{id: [case, word …]} of a message file's $magicWords."""
    words, depth, last, key = {}, 0, None, None
    found = re.search(r"^\$magicWords\s*=", source, re.M)
    for token in tokens_from(source, found.end()) if found else ():
        if token == "[":
            depth += 1
        elif token == "]":
            depth -= 1
        elif token == "=>":
            key = last
            words[key] = []
        elif isinstance(token, tuple) and depth == 1:
            last = token[0]
        elif isinstance(token, tuple) and depth == 2:
            words[key].append(token[0])
    return words


def languages():
    """{code: (fallbacks, {id: [case, word …]})}. MediaWiki's fallbacks are the list of the file itself and English."""
    result = {}
    for path in sorted((folder / "languages/messages").glob("Messages*.php")):
        source = path.read_text(encoding="utf-8")
        code = path.stem[len("Messages"):].lower().replace("_", "-")
        fallback = re.search(r"^\$fallback\s*=\s*'([^']*)'", source, re.M)
        names = fallback[1].replace(" ", "").split(",") if fallback else []
        result[code] = ([name for name in names if name != "en"], words_of(source))
    source = (folder / "includes/language/LanguageCode.php").read_text(encoding="utf-8")
    table = source[source.index("const DEPRECATED_LANGUAGE_CODE_MAPPING"):]
    for old, new in re.findall(r"'([a-z-]+)' => '([a-z-]+)'", table[:table.index("];")]):
        result[old] = ([new] + result[new][0], {})
    return result


def fold(word):
    """Lower case letter by letter, as utf8proc_tolower; İ has none of its own in Unicode's case folding."""
    return "".join(letter if letter == "İ" or len(letter.lower()) > 1 else letter.lower() for letter in word)


def drop_repeated(wikis, lists):
    """Removes a language's word where every wiki that uses its list has the word from another list too."""
    users = {code: [[name for name in wiki if name in lists] for wiki in wikis if code in wiki] for code in lists}
    for code in sorted(lists):
        for word in sorted(lists[code]) if code != "en" else ():
            if all(any(name != code and word in lists[name] for name in wiki) for wiki in users[code]):
                lists[code].remove(word)


def fill(start, items, end):
    """The items, separated by commas, in lines of at most 120 characters."""
    lines = [start]
    for number, item in enumerate(items):
        text = item + (", " if number + 1 < len(items) else end)
        if len((lines[-1] + text).rstrip()) > 118:
            lines.append(" " * 9)
        lines[-1] += text
    return "\n".join(line.rstrip() for line in lines)


def main():
    found = languages()
    english = found["en"][1]
    # The case flag is that of the last fallback, English.
    any_case = {name: english[name][0] == "0" for name in SWITCHES + ["redirect"]}
    own = {}
    for code, (_, words) in found.items():
        switches, wide = set(), False
        for name in SWITCHES:
            for word in words.get(name, [])[1:]:
                wide |= word.startswith("＿")
                inner = word.strip("_＿")
                switches.add(fold(inner) if any_case[name] else inner)
        # ce: with apostrophes around
        redirects = {fold(word.strip("'").lstrip("#＃")) for word in words.get("redirect", [])[1:]}
        own[code] = switches, redirects, wide
    useful = {code for code, words in own.items() if any(words)}
    wikis = [[code] + fallbacks + ["en"] for code, (fallbacks, _) in found.items()]
    for kind in 0, 1:
        drop_repeated(wikis, {code: words[kind] for code, words in own.items()})
    rows = []
    for code in sorted(found):
        switches, redirects, wide = own[code]
        fallbacks = [name for name in found[code][0] if name in useful]
        if not switches and not redirects and not fallbacks:
            continue
        row = f'{{.code = "{code}"' + (f', .fallbacks = "{" ".join(fallbacks)}"' if fallbacks else "")
        row += ", .wide = true" if wide else ""
        if not switches and not redirects: # several on a line
            if rows and not rows[-1].endswith(")},") and len(rows[-1].split("\n")[-1] + row) < 115:
                rows[-1] += f" {row}}},"
            else:
                rows.append(f"    {row}}},")
            continue
        rows.append(f"    {row}")
        for name, words in (("switches", switches), ("redirects", redirects)):
            if words:
                items = [f'"{word}"' for word in sorted(words, key=lambda word: word.encode())]
                rows[-1] += ",\n" + fill(f"     .{name} = WORDS(", items, ")")
        rows[-1] += "},"
    print("/* Made by scripts/make_magic_words.py of the facts in Debian's package mediawiki; "
          "not to be changed by hand. */")
    print('#include "pipeline/text/words/magic_words.h"\n')
    print("// clang-format off\nconst struct magic_language magic_languages[] = {")
    print("\n".join(rows))
    print("};\n// clang-format on\n")
    print("const size_t magic_language_count = sizeof magic_languages / sizeof *magic_languages;")


if __name__ == "__main__":
    main()
