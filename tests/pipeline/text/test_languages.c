/* The tables of data/languages, data/words, data/names, tags.txt and entities.c: their order, and the lookups. */
#include "base/file.h"
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/formula.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/words/guess.h"
#include "pipeline/text/words/links.h"
#include "pipeline/text/words/magic_words.h"
#include "tests/unit.h"

#include <limits.h>

/* What is wrong with a line of a list, or NULL. */
static const char *word_mistake(struct str word, struct str before, bool is_mark)
{
    char folded[NAME_BYTES_MAX];
    if (!is_mark && !str_equal(name_fold(word, folded), word))
        return "it is not folded: in small letters, without blanks around it";
    return before.size > 0 && str_compare(before, word) >= 0 ? "it does not stand after the word before it" : NULL;
}

/* Every line of a file of data/: words are in order below their list's name, a comment or an empty line. Returns the
 * number of words. */
static size_t check_words(const char *folder, const char *name, bool is_sorted)
{
    char path[PATH_MAX];
    SCOPED(buf_release) struct buf file = {0};
    struct error err = {0};
    struct str before = STR("");
    size_t count = 0;
    bool is_mark = false, in_list = strcmp(folder, "languages") != 0;
    snprintf(path, sizeof path, SOURCE_DIR "/data/%s/%s.txt", folder, name);
    assert_int_equal(file_read_all(path, 1 << 20, &file, &err), 0);
    struct str rest = buf_str(&file);
    for (unsigned number = 1; rest.size > 0; number++) {
        const char *end = memchr(rest.data, '\n', rest.size);
        assert_non_null(end);
        const struct str line = str_range(rest.data, end);
        rest = str_range(end + 1, rest.data + rest.size);
        const bool is_name = str_starts(line, STR("[")), is_key = str_find(line, STR(" = ")) != SIZE_MAX;
        in_list |= is_name;
        if (is_name)
            is_mark = str_equal(line, STR("[typed_stops]"));
        if (line.size == 0 || is_name || is_key || str_starts(line, STR("# "))) {
            before = STR("");
            continue;
        }
        const char *mistake = in_list ? word_mistake(line, before, is_mark) : "it stands before the first list";
        if (mistake)
            fail_msg("%s:%u: %.*s: %s", path, number, (int)line.size, line.data, mistake);
        before = is_sorted ? line : STR("");
        count++;
    }
    return count;
}

TEST(every_line_of_the_files_is_a_word)
{
    for (size_t i = 0; i < language_count; i++) {
        const struct language *each = &language_tables[i];
        const struct words lists[] = {
            each->sections,      each->disambiguations, each->magic,          each->disambiguation_magic,
            each->list_titles,   each->list_categories, each->list_templates, each->stub_templates,
            each->abbreviations, each->numbered,        each->endings,        each->finals,
            each->units,         each->continuers,      each->starters,       each->typed_stops};
        size_t count = 0;
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            count += lists[k].count;
        assert_int_equal(check_words("languages", each->code, true), count);
        assert_true(each->typed_stops.count <= TYPED_STOPS_MAX);
        for (size_t k = 0; k < each->disambiguation_magic.count; k++)
            assert_true(words_have(each->magic, str_of(each->disambiguation_magic.items[k])));
        assert_ptr_equal(language_find(str_of(each->code)), each);
    }
    assert_int_equal(check_words("words", "box_classes", true), box_classes.count);
    assert_int_equal(check_words("words", "category_namespaces", true), category_namespaces.count);
    assert_int_equal(check_words("words", "file_namespaces", true), file_namespaces.count);
    assert_int_equal(check_words("words", "note_name_parts", true), note_name_parts.count);
    assert_int_equal(check_words("words", "sayings", true), sayings.count);
    assert_int_equal(check_words("words", "sayings_at_end", true), sayings_at_end.count);
    assert_int_equal(check_words("words", "sayings_inside", true), sayings_inside.count);
    assert_int_equal(check_words("words", "sayings_nobody", true), sayings_nobody.count);
    assert_int_equal(check_words("words", "sayings_that", true), sayings_that.count);
    assert_int_equal(check_words("words", "silent_templates", true), silent_templates.count);
    assert_int_equal(check_words("words", "wikipedia_codes", true), wikipedia_codes.count);
    for (size_t i = 0; i < common_words_count; i++)
        assert_int_equal(check_words("common_words", common_words[i].code, false), common_words[i].words.count);
}

/* The lists have what MediaWiki's tables have not. */
TEST(names_of_namespaces_stand_in_one_place)
{
    for (size_t i = 0; i < magic_language_count; i++)
        for (const struct magic_namespace *of = magic_languages[i].namespaces; of && of->name; of++)
            if ((of->key == 6 && words_have(file_namespaces, str_of(of->name))) ||
                (of->key == 14 && words_have(category_namespaces, str_of(of->name))))
                fail_msg("data/words: %s is in magic_words_mediawiki.c too", of->name);
}

/* Every line of data/names is in order, so that its name is found. */
TEST(every_code_has_its_name)
{
    const struct {
        const char *file;
        struct names names;
    } lists[] = {{"countries_en", countries_en},   {"labels_ja", labels_ja}, {"labels_pl", labels_pl},
                 {"labels_ru", labels_ru},         {"labels_uk", labels_uk}, {"languages_en", languages_en},
                 {"languages_own", languages_own}, {"plurals", plurals}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t k = 0; k < lists[i].names.count; k++) {
            const struct code_name *row = &lists[i].names.items[k];
            if (k > 0 && strcmp(row[-1].code, row->code) >= 0)
                fail_msg("data/names/%s.txt:%zu: %s does not stand after %s", lists[i].file, k + 1, row->code,
                         row[-1].code);
            assert_ptr_equal(names_find(lists[i].names, str_of(row->code)), row->name);
        }
    assert_null(names_find(languages_en, STR("zzz")));
    assert_string_equal(names_find(languages_own, STR("fr")), "français");
}

/* The generated rows are in order. */
TEST(magic_words_are_sorted)
{
    for (size_t i = 0; i < magic_language_count; i++) {
        const struct magic_language *row = &magic_languages[i];
        const struct words lists[] = {row->switches, row->redirects, row->options, row->option_starts,
                                      row->option_ends};
        const struct magic magic = magic_find(language_english(), str_of(row->code));
        assert_true(magic.of[0] == row && magic.count < MAGIC_LANGUAGES_MAX);
        assert_true(i == 0 || strcmp(magic_languages[i - 1].code, row->code) < 0);
        for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
            for (size_t k = 0; k < lists[list].count; k++) {
                const struct str word = str_of(lists[list].items[k]);
                char folded[NAME_BYTES_MAX];
                assert_true(k == 0 || strcmp(lists[list].items[k - 1], lists[list].items[k]) < 0);
                if (list == 0)
                    assert_true(magic_is_switch(&magic, word));
                if (list == 1)
                    assert_true(str_equal(magic_fold(word, folded), word) && magic_redirect(&magic, word) == word.size);
                if (list == 2)
                    assert_true(magic_is_option(&magic, word));
            }
        for (size_t k = 0; k < row->functions.count; k++) {
            const struct code_name *function = &row->functions.items[k];
            assert_true(k == 0 || strcmp(function[-1].code, function->code) < 0);
            assert_true(str_equal(magic_function(&magic, str_of(function->code)), str_of(function->name)));
        }
    }
}

static struct magic magic_of(const char *code)
{
    return magic_find(language_find(str_of(code)), str_of(code));
}

static bool is_switch(const char *code, const char *word)
{
    const struct magic magic = magic_of(code);
    return magic_is_switch(&magic, str_of(word));
}

static bool is_function(const char *code, const char *typed, const char *name)
{
    const struct magic magic = magic_of(code);
    return str_equal(magic_function(&magic, str_of(typed)), str_of(name));
}

static bool is_option(const char *code, const char *typed)
{
    const struct magic magic = magic_of(code);
    return magic_is_option(&magic, str_of(typed));
}

TEST(functions_and_options_are_those_of_mediawiki)
{
    assert_true(is_function("de", "SEITENNAME", "PAGENAME") && is_function("bar", "SEITENNAME", "PAGENAME"));
    assert_true(is_function("de", "seitenname", "") && is_function("en", "SEITENNAME", ""));
    assert_true(is_function("ru", "#если", "#if") && is_function("ru", "#ЕСЛИ", "#if"));
    assert_true(is_function("ru", "НАЗВАНИЕ_ТЕКУЩЕГО_МЕСЯЦА", "CURRENTMONTHNAME"));
    assert_true(is_function("fr", "#invoque", "#invoke") && is_function("en", "CURRENTMONTH2", "CURRENTMONTH"));
    assert_true(is_function("ar", "#لو", "#if") && is_function("arz", "#لو", "#if"));
    assert_true(is_option("de", "miniatur") && is_option("de", "thumb") && is_option("de", "verweis=X"));
    assert_true(is_option("en", "220px") && is_option("en", "x90px") && is_option("en", "page 5"));
    assert_false(is_option("en", "miniatur") || is_option("en", "E=mc2") || is_option("en", "Paris"));
}

/* As MediaWiki has it: fallback languages, English everywhere, and the case of some words matters. */
TEST(magic_words_are_those_of_mediawiki)
{
    assert_true(is_switch("ru", "БЕЗ_ОГЛАВЛЕНИЯ") && is_switch("ru", "без_оглавления"));
    assert_true(is_switch("ru", "БЕЗ_ИНДЕКСА") && !is_switch("ru", "без_индекса"));
    assert_true(is_switch("tt", "БЕЗ_ОГЛ"));  /* of ru */
    assert_true(is_switch("sah", "БЕЗ_ОГЛ")); /* of ru, beside its own */
    assert_false(is_switch("bg", "БЕЗ_ОГЛ"));
    assert_true(is_switch("zh-tw", "无目录") && is_switch("zh", "無目錄") && is_switch("yue", "NOTOC"));
    assert_true(is_switch("be-x-old", "бязь_зьместу") && is_switch("be_tarask", "БЯЗЬ_ЗЬМЕСТУ"));
    assert_false(is_switch("be", "бязь_зьместу"));
    assert_true(is_switch("gl", "FORÇARTDC") && is_switch("pt-br", "FORÇARTDC")); /* all of pt */
    assert_true(is_switch("de-AT", "KEIN_INHALTSVERZEICHNIS") && is_switch("ksh", "KEIN_INHALTSVERZEICHNIS"));
    assert_true(is_switch("ga", "NOTOC") && is_switch("xx", "NoToc") && !is_switch("xx", "noindex"));
    assert_true(is_switch("ar", "لا_وصلة_قسم_جديد") && is_switch("arz", "لا_وصلة_قسم_جديد"));
    assert_true(is_switch("ko", "동음이의") && is_switch("xx", "DISAMBIG"));
    assert_false(is_switch("en", "KEIN_INHALTSVERZEICHNIS"));
    assert_true(is_switch("", "KEIN_INHALTSVERZEICHNIS")); /* of a wiki whose language is not known */
    assert_true(magic_of("ja").wide && magic_of("").wide && !magic_of("zh").wide);
}

TEST(languages_are_found_by_any_of_their_names)
{
    assert_string_equal(language_find(STR("de"))->code, "de");
    assert_string_equal(language_find(STR("de-AT"))->code, "de");
    assert_string_equal(language_find(STR("DEWIKI"))->code, "de");
    assert_string_equal(language_find(STR("zh_cn"))->code, "zh");
    assert_string_equal(language_find(STR("simple"))->code, "en");
    assert_string_equal(language_find(STR("xx"))->code, "");
    assert_string_equal(language_find(STR(""))->code, "");
    assert_int_equal(language_find(STR("xx"))->starters.count, 0);
}

/* The headings in each Wikipedia for References, External links, See also, Further reading, Notes, Sources. */
static int32_t namespace_of(const struct namespaces *namespaces, const char *name)
{
    char title[64];
    snprintf(title, sizeof title, "%s:X", name);
    return namespaces_of_title(namespaces, str_of(title));
}

TEST(every_language_knows_its_sections_and_disambiguations)
{
    static const struct {
        const char *code, *sections[8], *text, *disambiguation, *file, *category;
    } rows[] = {
        {"en",
         {"References", "External links", "See also", "Further reading", "Notes", "Bibliography", "Sources",
          "Notes and references"},
         "History",
         "Disambiguation",
         "Image",
         "Category"},
        {"de",
         {"Einzelnachweise", "Weblinks", "Siehe auch", "Literatur", "Anmerkungen", "Quellen", "Fußnoten", "Nachweise"},
         "Geschichte",
         "Begriffsklärung",
         "Datei",
         "Kategorie"},
        {"fr",
         {"Références", "Liens externes", "Voir aussi", "Bibliographie", "Notes et références", "Sources", "Annexes",
          "Articles connexes"},
         "Histoire",
         "Homonymie",
         "Fichier",
         "Catégorie"},
        {"es",
         {"Referencias", "Enlaces externos", "Véase también", "Bibliografía", "Notas", "Fuentes", "Notas y referencias",
          "Lectura adicional"},
         "Historia",
         "Desambiguación",
         "Archivo",
         "Categoría"},
        {"it",
         {"Note", "Collegamenti esterni", "Voci correlate", "Bibliografia", "Altri progetti", "Fonti", "Riferimenti",
          "Note esplicative"},
         "Storia",
         "Disambigua",
         "Immagine",
         "Categoria"},
        {"pt",
         {"Referências", "Ligações externas", "Ver também", "Bibliografia", "Notas", "Fontes", "Notas e referências",
          "Leitura adicional"},
         "História",
         "Desambiguação",
         "Ficheiro",
         "Categoria"},
        {"nl",
         {"Referenties", "Externe links", "Zie ook", "Literatuur", "Noten", "Bronnen", "Voetnoten", "Externe link"},
         "Geschiedenis",
         "Dp",
         "Bestand",
         "Categorie"},
        {"ru",
         {"Примечания", "Ссылки", "См. также", "Литература", "Комментарии", "Источники", "Библиография", "Сноски"},
         "История",
         "Неоднозначность",
         "Файл",
         "Категория"},
        {"pl",
         {"Przypisy", "Linki zewnętrzne", "Zobacz też", "Bibliografia", "Uwagi", "Źródła", "Literatura", "Odnośniki"},
         "Historia",
         "Ujednoznacznienie",
         "Plik",
         "Kategoria"},
        {"sv",
         {"Referenser", "Externa länkar", "Se även", "Vidare läsning", "Noter", "Källor", "Litteratur", "Fotnoter"},
         "Historia",
         "Förgrening",
         "Fil",
         "Kategori"},
        {"ja",
         {"脚注", "外部リンク", "関連項目", "参考文献", "注釈", "出典", "注釈・出典", "関連書籍"},
         "歴史",
         "曖昧さ回避",
         "ファイル",
         "カテゴリ"},
        {"zh",
         {"参考文献", "外部链接", "參見", "延伸閱讀", "注释", "參考資料", "来源", "外部連結"},
         "历史",
         "消歧义",
         "文件",
         "分类"},
        {"ar",
         {"مراجع", "وصلات خارجية", "انظر أيضًا", "قراءة إضافية", "ملاحظات", "مصادر", "هوامش", "روابط خارجية"},
         "تاريخ",
         "توضيح",
         "ملف",
         "تصنيف"},
    };
    char folded[NAME_BYTES_MAX];
    struct namespaces namespaces; /* of a wiki in English */
    const struct magic magic = magic_find(language_english(), STR("en"));
    namespaces_init(&namespaces, NULL, &magic);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct language *language = language_find(str_of(rows[i].code));
        assert_string_equal(language->code, rows[i].code);
        for (size_t k = 0; k < 8; k++)
            if (!words_have(language->sections, name_fold(str_of(rows[i].sections[k]), folded)))
                fail_msg("%s: '%s' is no section without text", rows[i].code, rows[i].sections[k]);
        assert_false(words_have(language->sections, name_fold(str_of(rows[i].text), folded)));
        assert_true(words_have(language->disambiguations, name_fold(str_of(rows[i].disambiguation), folded)));
        assert_int_equal(namespace_of(&namespaces, rows[i].file), 6);
        assert_int_equal(namespace_of(&namespaces, rows[i].category), 14);
    }
    namespaces_release(&namespaces);
}

TEST(codes_of_wikipedias_are_known)
{
    assert_true(language_is_code(STR("en")));
    assert_true(language_is_code(STR("zh-min-nan")));
    assert_true(language_is_code(STR("simple")));
    assert_false(language_is_code(STR("2001")));
    assert_false(language_is_code(STR("wikt")));
    assert_false(language_is_code(STR("")));
}

TEST(names_fold_as_titles_do)
{
    char folded[NAME_BYTES_MAX];
    static const struct {
        const char *name, *folded;
    } cases[] = {{"  Use_dmy  dates\n", "use dmy dates"},
                 {"ÜBER", "über"},
                 {"ШАБЛОН", "шаблон"},
                 {"_", ""},
                 {"", ""},
                 {"\xE2\x80\x8EX", "x"},
                 {"日本", "日本"},
                 {"a\xFF"
                  "b",
                  "ab"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct str result = name_fold(str_of(cases[i].name), folded);
        assert_true(str_equal(result, str_of(cases[i].folded)));
    }
    char longest[2 * NAME_BYTES_MAX];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(name_fold((struct str){longest, sizeof longest}, folded).size, 0);
}

static const struct words words = WORDS("a", "ab", "b");

TEST(words_are_found_whole)
{
    assert_true(words_have(words, STR("ab")));
    assert_false(words_have(words, STR("abc")));
    assert_false(words_have(words, STR("")));
    assert_false(words_have((struct words){0}, STR("a")));
}

TEST(numbers_are_found_by_name)
{
    static char names[1000][4];
    struct name_table table = {0};
    uint32_t number;
    assert_false(name_table_find(&table, STR("0"), &number));
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        name_table_add(&table, str_of(names[i]), i);
    }
    name_table_add(&table, STR("7"), 1234); /* the first one counts */
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(name_table_find(&table, str_of(names[i]), &number));
        assert_int_equal(number, i);
    }
    assert_false(name_table_find(&table, STR("1000"), &number));
    assert_false(name_table_find(&table, STR(""), &number));
    name_table_add(&table, STR(""), 5);
    assert_true(name_table_find(&table, STR(""), &number) && number == 5);
    name_table_release(&table);
    assert_false(name_table_find(&table, STR("0"), &number));
}

TEST(tags_are_sorted)
{
    for (unsigned i = 1; i < tag_count; i++)
        if (strcmp(tags[i - 1].name, tags[i].name) >= 0)
            fail_msg("data/tags.txt: %s does not stand after %s", tags[i].name, tags[i - 1].name);
}

TEST(commands_of_formulas_are_sorted)
{
    for (size_t i = 1; i < formula_command_count; i++)
        if (strcmp(formula_commands[i - 1].name, formula_commands[i].name) >= 0)
            fail_msg("data/formulas.txt: %s does not stand after %s", formula_commands[i].name,
                     formula_commands[i - 1].name);
}

TEST(every_tag_is_found_by_its_name)
{
    for (unsigned i = 0; i < tag_count; i++) {
        char text[TAG_NAME_BYTES + 3];
        struct tag_found found;
        size_t looked;
        assert_int_equal(tags[i].name[TAG_NAME_BYTES - 1], 0);
        const int size = snprintf(text, sizeof text, "<%s>", tags[i].name);
        assert_true(tag_read((struct str){text, (size_t)size}, &found, &looked) && found.index == i);
        text[size - 2] = '9';
        assert_true(!tag_read((struct str){text, (size_t)size}, &found, &looked) || found.index != i);
    }
}

static bool reads_tag(const char *text, const char *name, size_t size, bool closing, bool self_closing)
{
    struct tag_found found;
    size_t looked;
    if (!tag_read(str_of(text), &found, &looked))
        return false;
    assert_true(looked <= strlen(text));
    return strcmp(tags[found.index].name, name) == 0 && found.size == size && found.closing == closing &&
           found.self_closing == self_closing;
}

TEST(tags_are_read_with_their_attributes)
{
    assert_true(reads_tag("<b>x", "b", 3, false, false));
    assert_true(reads_tag("</B >x", "b", 5, true, false));
    assert_true(reads_tag("<br/>", "br", 5, false, true));
    assert_true(reads_tag("<ref name=\"a/b\">", "ref", 16, false, false));
    assert_true(reads_tag("<ref name=\"a > b\" />x", "ref", 20, false, true));
    assert_true(reads_tag("<ref name='a > b'>x", "ref", 18, false, false));
    assert_true(reads_tag("<ref name=\"a > b", "ref", 14, false, false)); /* the quote never closes */
    assert_true(reads_tag("<ref\nname=x>", "ref", 12, false, false));
    static const char *const none[] = {"<",      "<b",     "</", "<>",     "< b>",    "<bogus>",
                                       "<b<i>>", "<b =\"", "<1", "<refs>", "<ref-x>", "<b a=\"<\">"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(reads_tag(none[i], "b", 3, false, false));
}

TEST(entities_are_decoded)
{
    static const struct {
        const char *text;
        size_t size;
        const char *shown;
    } cases[] = {{"&amp;", 5, "&"},
                 {"&nbsp;x", 6, "\xC2\xA0"},
                 {"&AElig;", 7, "Æ"},
                 {"&zwnj;", 6, "\xE2\x80\x8C"},
                 {"&thetasym;", 10, "ϑ"},
                 {"&apos;", 6, "'"},
                 {"&#65;", 5, "A"},
                 {"&#x1F600;", 9, "😀"},
                 {"&#X41;", 6, "A"},
                 {"&#127;", 0, ""}, /* MediaWiki shows it as typed; so below */
                 {"&#128;", 0, ""},
                 {"&#150;", 0, ""},
                 {"&#159;", 0, ""},
                 {"&#160;", 6, "\xC2\xA0"},
                 {"&#10;", 5, " "},
                 {"&#13;", 0, ""},
                 {"&#0;", 0, ""},
                 {"&#xD800;", 0, ""},
                 {"&#x110000;", 0, ""},
                 {"&#x10FFFF;", 10, "\xF4\x8F\xBF\xBF"},
                 {"&#99999999;", 0, ""},
                 {"&#4294967361;", 0, ""}, /* 2^32 + 65 */
                 {"&#x100000041;", 0, ""},
                 {"&amp", 0, ""},
                 {"&;", 0, ""},
                 {"&#;", 0, ""},
                 {"&#x;", 0, ""},
                 {"&bogus;", 0, ""},
                 {"& amp;", 0, ""},
                 {"&", 0, ""},
                 {"&#12a;", 0, ""},
                 {"&AMP;", 5, "&"},
                 {"&NewLine;", 9, " "},
                 {"&NotEqualTilde;", 15, "≂̸"},
                 {"&CounterClockwiseContourIntegral;", 33, "∳"},
                 {"&רלמ;", 8, "\xE2\x80\x8F"},
                 {"&Amp;", 0, ""},
                 {"&amp ;", 0, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct entity_shown shown;
        const size_t size = entity_decode(str_of(cases[i].text), &shown);
        if (size != cases[i].size || !str_equal((struct str){shown.bytes, shown.size}, str_of(cases[i].shown)))
            fail_msg("%s: %zu bytes, %.*s", cases[i].text, size, (int)shown.size, shown.bytes);
    }
    for (size_t i = 1; i < entity_count; i++)
        assert_true(strcmp(entities[i - 1].name, entities[i].name) < 0);
}
