#!/usr/bin/env python3
"""Writes pipeline/text/generated/magic_words_mediawiki.c: the behaviour switches (__NOTOC__), the words for #REDIRECT,
the names of parser functions, variables and namespaces, and the options of pictures of all languages. The facts come
from MediaWiki's message files and those of ParserFunctions and Scribunto, as in Debian's package mediawiki
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
FUNCTIONS = """anchorencode basepagename bidi canonicalurl contentlanguage currentday currentday2 currentdayname
currentdow currenthour currentmonth currentmonth1 currentmonthabbrev currentmonthname currentmonthnamegen currenttime
currenttimestamp currentweek currentyear defaultsort displaytitle filepath formatnum fullpagename fullurl gender
grammar int lc lcfirst localday localday2 localdayname localdow localhour localmonth localmonth1 localmonthabbrev
localmonthname localmonthnamegen localtime localtimestamp localurl localweek localyear msg msgnw namespace
namespacenumber ns padleft padright pagename plural raw revisionday revisionday2 revisionmonth revisionmonth1
revisiontimestamp revisionyear rootpagename safesubst sitename subjectpagename subjectspace subpagename subst
talkpagename talkspace uc ucfirst urlencode""".split()
# These have a # before their names.
HASHED = """default expr formatdate if ifeq iferror ifexist ifexpr invoke language len pos replace rpos sub switch tag
time timel titleparts urldecode""".split()
NAMESPACES = dict(MEDIA=-2, SPECIAL=-1, TALK=1, USER=2, USER_TALK=3, PROJECT=4, PROJECT_TALK=5, FILE=6, IMAGE=6,
                  FILE_TALK=7, IMAGE_TALK=7, MEDIAWIKI=8, MEDIAWIKI_TALK=9, TEMPLATE=10, TEMPLATE_TALK=11, HELP=12,
                  HELP_TALK=13, CATEGORY=14, CATEGORY_TALK=15)
LISTS = "switches", "redirects", "options", "option_starts", "option_ends"
NAME_BYTES_MAX = 90 # pipeline/text/words/word_lists.h, less what a letter may need
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


def words_of(source, start=r"^\$magicWords\s*="):
    """{id: [case, word …]} of a message file's $magicWords."""
    words, depth, last, key = {}, 0, None, None
    found = re.search(start, source, re.M)
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


def namespaces_of(source):
    """{folded name: key} of a message file: names, aliases and the forms for men and women."""
    result = {}
    for table in re.findall(r"^\$namespace(?:Names|Aliases)\s*=\s*(?:\[|array\()(.*?)^[\])]+;", source, re.M | re.S):
        for key, name in re.findall(r"NS_(\w+)\s*=>\s*['\"](.*?)['\"],?\s*(?:#.*|//.*)?$", table, re.M):
            result[name] = NAMESPACES.get(key)
        for name, key in re.findall(r"['\"]([^'\"]*)['\"]\s*=>\s*NS_(\w+)", table):
            result[name] = NAMESPACES.get(key)
    for table in re.findall(r"^\$namespaceGenderAliases\s*=\s*(?:\[|array\()(.*?)^[\])]+;", source, re.M | re.S):
        for key, forms in re.findall(r"NS_(\w+)\s*=>\s*(?:\[|array\()([^\])]*)", table):
            for name in re.findall(r"=>\s*['\"]([^'\"]*)['\"]", forms):
                result[name] = NAMESPACES.get(key)
    return {fold(name.replace("_", " ").replace("\\'", "'").strip()): key
            for name, key in result.items() if key is not None and "$1" not in name and name.strip("_ ")}


def extension_words(name):
    """{code: {id: [case, word …]}} of an extension's file."""
    source = (folder / "extensions" / name).read_text(encoding="utf-8")
    result = {}
    for code in re.findall(r"^\$magicWords\['([\w-]+)'\]\s*=", source, re.M):
        result[code] = words_of(source, r"^\$magicWords\['" + code + r"'\]\s*=")
    return result


def languages():
    """{code: (fallbacks, {id: [case, word …]}, {namespace: key})}. MediaWiki's fallbacks are the list of the file
    itself and English."""
    result = {}
    added = [extension_words("ParserFunctions/ParserFunctions.i18n.magic.php"),
             extension_words("Scribunto/Scribunto.magic.php")]
    for path in sorted((folder / "languages/messages").glob("Messages*.php")):
        source = path.read_text(encoding="utf-8")
        code = path.stem[len("Messages"):].lower().replace("_", "-")
        fallback = re.search(r"^\$fallback\s*=\s*'([^']*)'", source, re.M)
        names = fallback[1].replace(" ", "").split(",") if fallback else []
        words = words_of(source)
        for extension in added:
            words.update(extension.get(code, {}))
        result[code] = ([name for name in names if name != "en"], words, namespaces_of(source))
    source = (folder / "includes/language/LanguageCode.php").read_text(encoding="utf-8")
    table = source[source.index("const DEPRECATED_LANGUAGE_CODE_MAPPING"):]
    for old, new in re.findall(r"'([a-z-]+)' => '([a-z-]+)'", table[:table.index("];")]):
        result[old] = ([new] + result[new][0], {}, {})
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


def functions_of(words, any_case, english):
    """{typed: English name} of a language's functions and variables."""
    result = {}
    for name in FUNCTIONS + HASHED:
        canonical = english[name][1].rstrip(":").lstrip("#")
        canonical = "#" + canonical.lower() if name in HASHED else canonical.lower() if any_case[name] else canonical
        for word in words.get(name, [])[1:]:
            word = word.strip().rstrip(":：").lstrip("#").replace("_", " ").strip()
            typed = ("#" if name in HASHED else "") + (fold(word) if any_case[name] else word)
            if typed.strip("#") and typed != canonical and len(typed.encode()) < NAME_BYTES_MAX:
                result[typed] = canonical
    return result


def options_of(words):
    """The options of pictures: words, and what stands before or after a value ("link=", "px")."""
    result = set(), set(), set()
    for name, (_, *forms) in words.items():
        for form in forms if name.startswith("img_") else ():
            kind = 0 if "$1" not in form else 1 if form.endswith("$1") else 2
            if kind < 2 or form.startswith("$1"):
                result[kind].add(form.replace("$1", "").strip("\n"))
    return [words - {""} for words in result]


def byte_order(word):
    return word.encode()


def list_of(kind, items):
    return fill(f"     .{kind} = WORDS(", [f'"{word}"' for word in sorted(items, key=byte_order)], ")")


def names_of(functions):
    return fill("     .functions = NAMES(", [f'{{"{typed}", "{functions[typed]}"}}'
                                           for typed in sorted(functions, key=byte_order)], ")")


def spaces_of(spaces):
    return fill("     .namespaces = NAMESPACES(", [f'{{{spaces[name]}, "{name}"}}'
                                               for name in sorted(spaces, key=byte_order)], ")")


def main():
    found = languages()
    english = found["en"][1]
    # The case flag is that of the last fallback, English.
    any_case = {name: words[0] == "0" for name, words in english.items()}
    any_case["invoke"] = True
    own, functions, spaces = {}, {}, {}
    for code, (_, words, namespaces) in found.items():
        switches, wide = set(), False
        for name in SWITCHES:
            for word in words.get(name, [])[1:]:
                wide |= word.startswith("＿")
                inner = word.strip("_＿")
                switches.add(fold(inner) if any_case[name] else inner)
        # ce: with apostrophes around
        redirects = {fold(word.strip("'").lstrip("#＃")) for word in words.get("redirect", [])[1:]}
        own[code] = switches, redirects, *options_of(words), wide
        functions[code] = functions_of(words, any_case, english)
        spaces[code] = namespaces
    wikis = [[code] + fallbacks + ["en"] for code, (fallbacks, *_) in found.items()]
    for kind in range(len(LISTS)):
        drop_repeated(wikis, {code: words[kind] for code, words in own.items()})
    for code in found:
        if code != "en":
            functions[code] = {typed: name for typed, name in functions[code].items() if typed not in functions["en"]}
            spaces[code] = {name: key for name, key in spaces[code].items() if spaces["en"].get(name) != key}
    useful = {code for code in found if any(own[code]) or functions[code] or spaces[code]}
    rows = []
    for code in sorted(found):
        *lists, wide = own[code]
        fallbacks = [name for name in found[code][0] if name in useful]
        if code not in useful and not fallbacks:
            continue
        row = f'{{.code = "{code}"' + (f', .fallbacks = "{" ".join(fallbacks)}"' if fallbacks else "")
        row += ", .wide = true" if wide else ""
        if code not in useful: # several on a line
            if rows and not rows[-1].endswith(")},") and len(rows[-1].split("\n")[-1] + row) < 115:
                rows[-1] += f" {row}}},"
            else:
                rows.append(f"    {row}}},")
            continue
        parts = [list_of(kind, words) for kind, words in zip(LISTS, lists) if words]
        parts += [names_of(functions[code])] if functions[code] else []
        parts += [spaces_of(spaces[code])] if spaces[code] else []
        rows.append(",\n".join([f"    {row}"] + parts) + "},")
    print("/* Made by scripts/make_magic_words.py of the facts in Debian's package mediawiki; "
          "not to be changed by hand. */")
    print('#include "pipeline/text/words/magic_words.h"\n')
    print("// clang-format off\nconst struct magic_language magic_languages[] = {")
    print("\n".join(rows))
    print("};\n")
    print("// clang-format on\n")
    print("const size_t magic_language_count = sizeof magic_languages / sizeof *magic_languages;")


if __name__ == "__main__":
    main()
