/* Which pages are lists, stubs and disambiguation pages, in every language that has tables. */
#include "pipeline/text/wikitext.h"
#include "tests/unit.h"

#define ALL (KIND_DISAMBIGUATION | KIND_LIST | KIND_STUB)

static uint32_t kinds(const char *lang, const char *title, const char *text, uint32_t wanted)
{
    struct wikitext *wikitext =
        wikitext_open(&(struct wikitext_options){.language = language_find(str_of(lang)), .kinds = wanted});
    const struct page page = {.title = str_of(title), .text = str_of(text)};
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    wikitext_read(wikitext, &page, &out, &facts);
    wikitext_close(wikitext);
    return facts.kinds;
}

struct example {
    const char *lang, *title, *text;
};

static void expect(const struct example *examples, size_t count, uint32_t expected)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const struct example *each = &examples[i];
        const uint32_t found = kinds(each->lang, each->title, each->text, ALL);
        if (found != expected) {
            fprintf(stderr, "%s: %s: %s: %u instead of %u\n", each->lang, each->title, each->text, found, expected);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}
#define EXPECT(examples, expected) expect(examples, sizeof(examples) / sizeof(examples)[0], expected)

TEST(lists)
{
    static const struct example examples[] = {
        {"en", "List of rivers of Finland", "A."},
        {"en", "Lists of mountains", "A."},
        {"en", "list of rivers", "A."}, /* a wiki with case-sensitive titles */
        {"en", "Index of Albania-related articles", "A."},
        {"en", "Outline of chess", "A."},
        {"en", "Rivers of Finland", "A.\n==See also==\n* b\n[[Category:Lists of rivers|Finland]]"},
        {"en", "Rivers of Finland", "A. [[category : lists of rivers of Europe by country]]"},
        {"en", "HMS Swift", "Several ships:\n* a\n{{Shipindex|nodab}}"},
        {"en", "Virtanen", "A surname.\n{{surname}}"},
        {"simple", "List of rivers", "A."},
        {"en",
         "List of things whose very long name goes on far beyond what any table of names would ever hold, at great "
         "length",
         "A."},
        {"de", "Liste der Flüsse in Finnland", "A."},
        {"de", "Italienische Maler", "A.\n[[Kategorie:Liste (Maler)]]"},
        {"de", "Maler", "A.\n[[Category:Liste]]"},
        {"fr", "Liste des cours d'eau de la Finlande", "A."},
        {"fr", "Liste d'îles", "A."},
        {"fr", "Liste d’îles", "A."},
        {"es", "Anexo:Ríos de Finlandia", "A."},
        {"es", "Lista de ríos", "A."},
        {"it", "Lista di fiumi", "A."},
        {"it", "Fiumi", "A. [[Categoria:Liste di fiumi]]"},
        {"pt", "Lista de rios da Finlândia", "A."},
        {"nl", "Lijst van rivieren in Finland", "A."},
        {"ru", "Список рек Финляндии", "A."},
        {"ru", "Реки", "A. [[Категория:Списки рек]]"},
        {"pl", "Lista rzek w Finlandii", "A."},
        {"sv", "Lista över Finlands floder", "A."},
        {"ja", "フィンランドの川の一覧", "A。"},
        {"zh", "芬兰河流列表", "A。"},
        {"ar", "قائمة أنهار فنلندا", "A."},
    };
    EXPECT(examples, KIND_LIST);
}

TEST(stubs)
{
    static const struct example examples[] = {
        {"en", "A", "A is b.\n\n{{stub}}"},
        {"en", "A", "A is b.\n==References==\n{{reflist}}\n{{Finland-geo-stub|date=2001}}"},
        {"en", "A", "{{ US_bio-stub }} A."},
        {"xx", "A", "A.\n{{river-stub}}"}, /* English names are valid in every language */
        {"de", "A", "A.\n{{Stub}}"},
        {"fr", "A", "{{Ébauche|rivière}} A."},
        {"fr", "A", "{{ébauche de géographie}} A."},
        {"es", "A", "{{esbozo|geografía}} A."},
        {"it", "A", "{{S|fiumi}} A."},
        {"pt", "A", "A.\n{{esboço-geofi}}"},
        {"nl", "A", "{{Beginnetje|aardrijkskunde}} A."},
        {"ru", "A", "A.\n{{Заготовка}}"},
        {"ru", "A", "A.\n{{geo-stub}}"},
        {"pl", "A", "{{Zalążek artykułu}} A."},
        {"sv", "A", "A.\n{{geografistub}}"},
        {"sv", "A", "A.\n{{Stubb}}"},
        {"ja", "A", "A。\n{{河川スタブ}}"},
        {"zh", "A", "A。\n{{河流小作品}}"},
        {"ar", "A", "A.\n{{بذرة جغرافيا}}"},
    };
    EXPECT(examples, KIND_STUB);
}

TEST(what_only_looks_like_one)
{
    static const struct example examples[] = {
        {"en", "Listed building", "A."},
        {"en", "List", "A list is a row of things."},
        {"en", "Blacklist of errors", "A."},
        {"en", "Index (economics)", "A."},
        {"en", "A", "A. [[:Category:Lists of rivers]] [[Lists of rivers]]"},
        {"en", "A", "A. [[Category:Listed buildings]]"},
        {"en", "A", "A. <!-- {{stub}} --> <nowiki>{{stub}}</nowiki>"},
        {"en", "A", "A. {{stubby}} {{ticket stub}}"},
        {"en", "A", "A.\n== B ==\n{{section-stub}}"},
        {"en", "A", "A. {{quote|a {{stub}} b}}"}, /* inside another template */
        {"de", "Liste Pilz", "A party."},
        {"de", "Listenplatz", "A."},
        {"fr", "Liste électorale", "A."},
        {"nl", "Lijst Pim Fortuyn", "A party."},
        {"it", "Lista civica", "A."},
        {"it", "A", "{{S sezione|fiumi}} A."},
        {"en", "Liste der Flüsse", "A."}, /* another language's words */
        {"xx", "List of rivers", "A."},
        {"en", "", ""},
        {"en", "", "A."},
        {"ja", "リスト", "A。"},
    };
    EXPECT(examples, 0);
}

TEST(only_requested_facts_are_printed)
{
    const char *text = "A. {{disambiguation}} {{geo-stub}}";
    assert_int_equal(kinds("en", "List of a", text, 0), 0);
    assert_int_equal(kinds("en", "List of a", text, KIND_STUB), KIND_STUB);
    assert_int_equal(kinds("en", "List of a", text, KIND_LIST | KIND_DISAMBIGUATION), KIND_LIST | KIND_DISAMBIGUATION);
    assert_int_equal(kinds("en", "List of a", text, ALL), ALL);
}
