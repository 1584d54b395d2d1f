/* Renderings of templates: the tables are in order; a user's file is read, and its mistakes are reported with their
 * line. */
#include "base/file.h"
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/countries.h"
#include "pipeline/text/templates/local_dates.h"
#include "pipeline/text/templates/modules.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/renderings.h"
#include "pipeline/text/templates/units.h"
#include "pipeline/text/wikitext.h"
#include "tests/unit.h"

#include <limits.h>

/* What is wrong with a line "name = rendering", of which the build made the row; or NULL. */
static const char *row_mistake(struct str line, const struct row *row, const struct row *before)
{
    const size_t equals = str_find(line, STR(" = "));
    char out[NAME_BYTES_MAX];
    if (equals == SIZE_MAX)
        return "not of the form \"name = rendering\"";
    const struct str name = {line.data, equals}, shown = str_range(line.data + equals + 3, line.data + line.size);
    if (!str_equal(name_canonical(name, out), name))
        return "the name is not written as MediaWiki writes it";
    if (str_find(name, STR("|")) != SIZE_MAX || str_find(name, STR("{")) != SIZE_MAX)
        return "no template's name holds a bar or a brace";
    if (!str_equal(str_of(row->name), name))
        return "the build made another row of it";
    if (before && str_compare(str_of(before->name), name) >= 0)
        return "the name does not stand after the one before it";
    if (str_trim(line).size != line.size)
        return "a blank at an end; write = @text \"…\"";
    if (str_starts(shown, STR("@")))
        return row->render || str_starts(shown, STR("@text \"")) ? NULL : "its renderer is missing";
    if (shown.size == 0 || row->render || !str_equal(str_of(row->pattern), shown))
        return "the build made another rendering of it";
    return pattern_mistake(shown);
}

static bool is_same_row(const struct row *a, const struct row *b)
{
    return a->render == b->render && strcmp(a->pattern, b->pattern) == 0;
}

static const struct row *row_in(const struct row_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rows[i].name, name) == 0)
            return &list->rows[i];
    return NULL;
}

/* Every line of data/templates is a row, in order. */
static void check_list(const struct row_list *list, const struct row_list *all)
{
    char path[PATH_MAX];
    SCOPED(buf_release) struct buf file = {0};
    struct error err = {0};
    size_t row = 0;
    snprintf(path, sizeof path, SOURCE_DIR "/data/templates/%s.txt", list->code);
    assert_int_equal(file_read_all(path, 1 << 20, &file, &err), 0);
    struct str rest = buf_str(&file);
    for (unsigned number = 1; rest.size > 0; number++) {
        const char *end = memchr(rest.data, '\n', rest.size);
        assert_non_null(end);
        const struct str line = str_range(rest.data, end);
        rest = str_range(end + 1, rest.data + rest.size);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        assert_true(row < list->count);
        const char *mistake = row_mistake(line, &list->rows[row], row > 0 ? &list->rows[row - 1] : NULL);
        const struct row *other = list == all ? NULL : row_in(all, list->rows[row].name);
        if (!mistake && other && is_same_row(other, &list->rows[row]))
            mistake = "all.txt says the same";
        if (mistake)
            fail_msg("%s:%u: %s", path, number, mistake);
        row++;
    }
    assert_int_equal(row, list->count);
}

TEST(every_line_of_the_files_is_a_row)
{
    const struct row_list *all = NULL;
    for (size_t i = 0; i < row_list_count; i++)
        if (strcmp(row_lists[i].code, "all") == 0)
            all = &row_lists[i];
    assert_non_null(all);
    for (size_t i = 0; i < row_list_count; i++)
        check_list(&row_lists[i], all);
    for (size_t i = 0; i < parser_functions.count; i++) {
        assert_true(i == 0 || strcmp(parser_functions.rows[i - 1].name, parser_functions.rows[i].name) < 0);
        for (size_t k = 0; k < row_list_count; k++)
            assert_null(row_in(&row_lists[k], parser_functions.rows[i].name));
    }
}

TEST(tables_are_searched_by_halves)
{
    static const char *const codes[] = {"/acre", "C", "km", "°F", "yards", "mi"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_non_null(unit_find(str_of(codes[i])));
    assert_null(unit_find(STR("")));
    assert_null(unit_find(STR("parsnip")));
    assert_string_equal(country_of(STR("AFG"), STR("en")), "Afghanistan");
    assert_string_equal(country_of(STR("ZWE"), STR("en")), "Zimbabwe");
    assert_null(country_of(STR("zzz"), STR("en")));
    assert_string_equal(country_of(STR("USA"), STR("fr")), "États-Unis");
    assert_null(country_of(STR("USA"), STR("yo")));
    assert_string_equal(country_of(STR("USA"), STR("ko")), "미국");
}

TEST(local_tables_are_in_order)
{
    for (size_t i = 1; i < local_date_count; i++)
        assert_true(strcmp(local_dates[i - 1].language, local_dates[i].language) < 0);
    for (size_t i = 1; i < country_names_count; i++)
        assert_true(strcmp(country_names[i - 1].language, country_names[i].language) < 0);
    for (size_t i = 0; i < country_code_count; i++) {
        assert_true(country_codes[i].number < COUNTRIES);
        assert_true(i == 0 || strcmp(country_codes[i - 1].code, country_codes[i].code) < 0);
    }
    assert_true(is_country(STR("Россия"), STR("ru")) && !is_country(STR("Россия"), STR("uk")));
}

static bool is_row_name(struct str name)
{
    for (size_t i = 0; i < row_list_count; i++)
        for (size_t k = 0; k < row_lists[i].count; k++)
            if (str_equal(str_of(row_lists[i].rows[k].name), name))
                return true;
    return false;
}

/* The lines of data/modules.txt can be read, and lead to each other or to rows. */
TEST(modules_lead_to_rows)
{
    struct templates *modules = modules_open();
    for (struct str rest = str_of(modules_text); rest.size > 0;) {
        const char *end = memchr(rest.data, '\n', rest.size);
        const struct str line = str_range(rest.data, end);
        const size_t arrow = str_find(line, STR(" => "));
        struct str name = arrow == SIZE_MAX ? STR("") : str_range(line.data + arrow + strlen(" => "), end);
        rest = str_range(end + 1, rest.data + rest.size);
        if (name.size > 0 && !templates_find(modules, &name) && !is_row_name(name))
            fail_msg("data/modules.txt: nothing is known of %.*s", (int)name.size, name.data);
    }
    templates_free(modules);
}

/* Every code of data/number_styles.txt leads to its own line, so it stands on no line before. */
TEST(every_language_has_one_style_of_numbers)
{
    assert_string_equal(number_styles[0].codes, "en");
    for (size_t i = 1; i < number_style_count; i++)
        for (const char *at = number_styles[i].codes; *at;) {
            const size_t size = strcspn(at, ",");
            if (number_style_find((struct str){at, size}) != &number_styles[i])
                fail_msg("data/number_styles.txt: %.*s stands twice", (int)size, at);
            at += size + (at[size] == ',');
        }
}

/* The default outputs of every unit are units of the same quantity. */
TEST(units_lead_to_units)
{
    for (size_t i = 0; i < unit_count; i++) {
        if (unit_find(str_of(units[i].code)) != &units[i])
            fail_msg("data/units.txt: %s does not stand in order", units[i].code);
        assert_true(units[i].scale > 0 || (units[i].scale < 0 && units[i].quantity == 'I'));
        struct str outputs = str_of(units[i].outputs);
        while (outputs.size > 0) {
            const char *blank = memchr(outputs.data, ' ', outputs.size);
            const size_t size = blank ? (size_t)(blank - outputs.data) : outputs.size;
            const struct str code = {outputs.data, size};
            const struct unit *output = unit_find(str_equal(code, STR("ftin")) ? STR("in") : code);
            assert_non_null(output);
            assert_int_equal(output->quantity, units[i].quantity);
            outputs = (struct str){outputs.data + size, outputs.size - size};
            outputs = str_trim(outputs);
        }
    }
}

TEST(local_units_are_sorted_and_lead_to_units)
{
    size_t count;
    const struct local_unit *rows = local_unit_table(&count);
    for (size_t i = 0; i < count; i++) {
        const struct unit *unit = unit_find(str_of(rows[i].symbol));
        assert_non_null(unit);
        assert_string_equal(unit->symbol, rows[i].symbol);
        assert_ptr_equal(local_unit_find(str_of(rows[i].language), str_of(rows[i].shown)), unit);
        if (i == 0)
            continue;
        const int order = strcmp(rows[i - 1].language, rows[i].language);
        assert_true(order < 0 || (order == 0 && strcmp(rows[i - 1].symbol, rows[i].symbol) < 0));
    }
    assert_null(local_unit_shown(STR("he"), "parsnip"));
    assert_null(local_unit_find(STR("he"), STR("ק\"")));
    assert_string_equal(local_unit_find(STR("he"), STR("ק\"מ"))->code, "km");
}

static int read_file(struct str bytes, struct templates **templates, struct error *err)
{
    char path[] = "/tmp/test_templates.XXXXXX", hash[17];
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    close(fd);
    const int result = templates_read(templates, path, hash, err);
    unlink(path);
    return result;
}

static void shows(const char *file, const char *wikitext, const char *text)
{
    struct templates *templates;
    struct error err = {0};
    assert_int_equal(read_file(str_of(file), &templates, &err), 0);
    struct wikitext *reader =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("en")), .templates = templates});
    const struct page page = {.title = STR("X"), .text = str_of(wikitext)};
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    wikitext_read(reader, &page, &out, &facts);
    assert_string_equal(buf_text(&out), text);
    wikitext_close(reader);
    templates_free(templates);
}

TEST(markup_in_renderings_is_left_out)
{
    shows("a = <span lang=\"$1\">$2</span>", "b ({{a|fr|mot}}) c", "b (mot) c\n"); /* complete with an argument */
    shows("a = <span lang=\"$1", "b {{a|fr}} c", "b c\n");
    shows("a = <foo/>$1</foo><br/>", "b {{a|fr}} c", "b fr c\n");
    shows("a = \\<$1\\>", "b {{a|ref}} c", "b <ref> c\n"); /* it is meant */
    shows("a = \\<$1\\>", "b {{uc:{{a|ref}}}} c", "b <REF> c\n");
    shows("a = \\{\\{safesubst", "b{{a}} c", "b c\n");
    shows("a = \\{\\{$1\\}\\}, \\}\\}", "b {{a|{{c}}}} d", "b, d\n");
    shows("a = \\{\\{$1\\}\\}, \\[http://x", "b {{a|c}} d", "b {{c}}, [http://x d\n"); /* they are meant */
    shows("a = [http://e.org/$1 $2] d", "b {{a|x|y}} c", "b y d c\n");
    shows("a = [[$1] [b] 1 < 2", "{{a|x}} c", "[[x] [b] 1 < 2 c\n");
    shows("a = $1", "b {{a|<foo/>x</foo>}} c <3 {{uc:&lt;}}br>", "b x c <3 <br>\n");
    shows("a = {#uc $1}", "b {{a|<foo/>x</foo>}} c", "b X c\n");
    shows("a = <span $1>x</span>", "* {{a|=== b}}", ""); /* of an item that is not kept */
}

/* Rows of a wiki come before those of its language. */
TEST(rows_belong_to_wikis)
{
    static const struct {
        const char *wiki, *lang, *text, *shown;
    } cases[] = {{"frwiki", "fr", "Au {{S|XIX}} il vit.", "Au XIXe siècle il vit.\n"},
                 {"frwiktionary", "fr", "Nom {{S|XIX}}{{m}} il vit.", "Nom masculin il vit.\n"},
                 {"enwiktionary", "en", "Of {{m|fr|mot||word}} and {{gloss|x}}.", "Of mot (“word”) and (x).\n"},
                 {"enwikisource", "en", "{{di|O}}nce.", "Once.\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct siteinfo siteinfo = {.dbname = str_of(cases[i].wiki), .language = str_of(cases[i].lang)};
        struct wikitext_facts facts;
        SCOPED(buf_release) struct buf out = {0};
        struct wikitext *reader = wikitext_open(&(struct wikitext_options){
            .language = language_find(str_of(cases[i].lang)), .siteinfo = &siteinfo, .code = cases[i].lang});
        wikitext_read(reader, &(struct page){.title = STR("X"), .text = str_of(cases[i].text)}, &out, &facts);
        assert_string_equal(buf_text(&out), cases[i].shown);
        wikitext_close(reader);
    }
}

TEST(leaks_are_counted)
{
    struct templates *templates;
    struct error err = {0};
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    char name[NAME_BYTES_MAX];
    assert_int_equal(read_file(STR("a = <i>$1\nb = <i>c"), &templates, &err), 0);
    struct wikitext *reader = wikitext_open(&(struct wikitext_options){
        .language = language_find(STR("en")), .keep = KEEP_CAPTIONS, .templates = templates});
    const struct page page = {
        .title = STR("X"),
        .text = STR("<foo/>{{a|x}}</ref> y</foo>\n* {{a|<foo/>z}}\n* [[File:a.jpg|b {{b}} <foo/>c]]")};
    wikitext_read(reader, &page, &out, &facts);
    assert_string_equal(buf_text(&out), "x y\nb c c\n");
    assert_int_equal(facts.leaks, 6); /* without those of the first item */
    assert_int_equal(facts.bytes[FATE_LEAK], strlen("<foo/></ref></foo><foo/><foo/>"));
    size_t of_templates = 0;
    for (size_t i = 0; i < facts.leaks; i++) {
        const struct str from = wikitext_leak(reader, i, name);
        of_templates += from.size > 0;
        assert_true(from.size == 0 || str_equal(from, STR("A")) || str_equal(from, STR("B")));
    }
    assert_int_equal(of_templates, 2);
    wikitext_read(reader, &(struct page){.title = STR("X"), .text = STR("a<ref>b\n\nc<ref>d</ref><ref name=e />")},
                  &out, &facts);
    assert_int_equal(facts.leaks, 1); /* the <ref> that nothing closes */
    wikitext_close(reader);
    templates_free(templates);
}

TEST(a_file_adds_renderings)
{
    shows("a = $1 ($2)\n", "{{a|''x''|[[y|z]]}}.", "x (z).\n");
    shows("a = $1 ($2)\n", "{{a|x}}.", "x.\n");                          /* the text around a missing argument is tidied
                                                                          * */
    shows("a = $2, $1, $2", "{{a|''x''&amp;|[[y|z]]}}.", "z, x&, z.\n"); /* repeated, and in another order */
    shows("a = $1 $1", "{{a|{{a|{{a|x}}}}}}.", "x x.\n");                /* a template is not rendered inside itself */
    shows("a = ${k|1}{ – $2}", "{{a|x}}, {{a|x|k=y|2=z}}.", "x, y – z.\n");
    shows("a =\nconvert = $1 leagues\n", "b {{a|x}} {{convert|5|km}}", "b 5 leagues\n");
    shows("a = \\$\\{$1\\}", "{{a|5}}", "${5}\n");
    shows("a = ¶$1", "b {{a|c}} d", "b\nc\nd\n");
    shows("\xEF\xBB\xBF# of ours\r\n\r\n A_b  =  c  \r\n", "{{a  b}}.", "c.\n");
    shows("", "{{a|x}}b", "b\n");
    shows("a = $1", "{{a", "{{a\n");
    shows("a => B\nb = $1!\nc => a", "{{a|x}} {{c|y}}", "x! y!\n");
    shows("a => a", "b {{a|x}} c", "b c\n");
    shows("a => Nowrap", "b {{a|x}}", "b x\n"); /* an alias of a built-in template */
    shows("a = @convert\nb = @number", "{{a|10|km|mi}}, {{b|1234}}", "10 kilometres (6.2 mi), 1,234\n");
    shows("a = @box\nnowrap = @box", "b {{a|x}} {{nowrap|c}}", "b\n"); /* it takes precedence over our rows */
    shows("a = ${1=none}, ${k|2=nor}", "{{a}}; {{a|x}}; {{a|x|y}}", "none, nor; x, nor; x, y\n");
    shows("a = {#if $1|($1)|{#if $2|[$2]|-}}", "{{a|x}} {{a||y}} {{a}}", "(x) [y] -\n");
    shows("a = {#ifeq $1|x|same|other}", "{{a|x}} {{a|y}}", "same other\n");
    shows("a = {#ifeq $1|x|same|other}", "b {{a|{{unknown}}}} c", "b c\n"); /* an unknown value */
    shows("a = {#switch $1|p=P|q|r=R{, $2}|#default=D}", "{{a|p}} {{a|q|z}} {{a|r}} {{a|s}}", "P R, z R D\n");
    shows("a = {#expr $1*2} {#ifexpr $1>2|more|less} {#num $1}", "{{a|1000}} {{a|1}}", "2000 more 1,000 2 less 1\n");
    shows("a = {#lc $1} {#uc $1} {#lcfirst $1} {#ucfirst $1}", "{{a|ÉCo}} {{a|éCo}}",
          "éco ÉCO éCo ÉCo éco ÉCO éCo ÉCo\n");
    shows("a = {#uc $1}", "b {{a|x {{nowrap|''y''}}}} c", "b X Y c\n");
    shows("a = {#uc $1}", "b {{a|x {{nosuch}} y}} c", "b x y c\n"); /* its text is not known */
    shows("a = {#switch {#lc $1}|y=Y|#default=D}", "{{a|Y}} {{a|z}} b", "Y D b\n");
    shows("a = {#title }, {#time Y|3 May 1999}, {#time Y.m|$1}", "{{a|2001-02-03}}", "X, 1999, 2001.02\n");
    shows("a = {#now Y}{#time Y|}", "b {{a}} c", "b c\n"); /* the page has no timestamp */
    shows("a = x {#if |}", "{{a}}y", "x y\n");             /* an empty {#if} keeps the blank before it */
    shows("a = \\@b\\|c", "{{a}}", "@b|c\n");
}

static void mistaken(const char *file, const char *words)
{
    struct templates *templates;
    struct error err = {0};
    assert_int_equal(read_file(str_of(file), &templates, &err), -1);
    assert_null(templates);
    assert_int_equal(err.kind, ERR_USAGE);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

TEST(mistakes_are_reported_with_their_line)
{
    mistaken("a =>\n", "line 1: => must be followed");
    mistaken("a = @parsnip\n", "line 1: an @ must be followed");
    mistaken("a = @money\n", "line 1: only the tables of the program itself");
    mistaken("a = {#while $1|x}\n", "line 1: {# must be followed");
    mistaken("a = {#title }{#time Y|}{#now m}{#title }{#title }\n", "more than 4 times");
    mistaken("a = {#if $1|x\n", "line 1: a { is not closed");
    mistaken("a = {#if 1|{#if 1|{#if 1|{#if 1|{#if 1|{#if 1|{#if 1|{#if 1|{#if 1|}}}}}}}}}\n", "more than 8 deep");
    mistaken("a = b\n\nc\n", "line 3: not of the form \"name = rendering\"");
    mistaken(" = b", "line 1: the template's name");
    mistaken("a|b = c", "line 1: no template's name");
    mistaken("# x\na = $", "line 2: a $ must be followed");
    mistaken("a = $0", "line 1: a $ must be followed");
    mistaken("a = $123", "line 1: a $ must be followed");
    mistaken("a = ${", "line 1: a $ must be followed");
    mistaken("a = ${}", "line 1: a $ must be followed");
    mistaken("a = {x", "line 1: a { is not closed");
    mistaken("a = {x{y}}", "line 1: a { is inside another");
    mistaken("a = x}", "line 1: a } closes nothing");
    mistaken("a = x\\", "line 1: a \\ is at the end");
    mistaken("a = \x01", "line 1: the rendering holds a control");
    mistaken("a = \xFF", "line 1: it is not UTF-8");
    mistaken("a = 1\nb = 2\nA= 3\n", "line 3: \"A\" is already in line 1");
    struct templates *templates;
    struct error err = {0};
    char hash[17];
    assert_int_equal(templates_read(&templates, "/nonexistent/file", hash, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

TEST(the_hash_is_the_files)
{
    char path[] = "/tmp/test_templates.XXXXXX", first[17], second[17];
    struct error err = {0};
    struct templates *templates;
    close(mkstemp(path));
    assert_int_equal(file_write_all(path, "a = 1\n", 6, &err), 0);
    assert_int_equal(templates_read(&templates, path, first, &err), 0);
    templates_free(templates);
    assert_int_equal(file_write_all(path, "a = 2\n", 6, &err), 0);
    assert_int_equal(templates_read(&templates, path, second, &err), 0);
    templates_free(templates);
    assert_int_equal(strlen(first), 16);
    assert_string_not_equal(first, second);
    unlink(path);
}
