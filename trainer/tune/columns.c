#include "trainer/tune/columns.h"

#include "base/log.h"
#include "base/mem.h"

/* Names that tables of texts and labels often have. */
static const char *const labels[] = {"label",     "labels", "class", "category", "target", "intent",
                                     "sentiment", "topic",  "score", "rating",   NULL};
static const char *const texts[] = {"text",   "texts",   "sentence",  "content",  "body",  "message",
                                    "review", "comment", "utterance", "document", "tweet", NULL};
static const char *const numbers[] = {"id", "idx", "index", "no", "", NULL};
static const char *const pairs[][3] = {{"sentence1", "sentence2", NULL}, {"text1", "text2", NULL},
                                       {"text_a", "text_b", NULL},       {"premise", "hypothesis", NULL},
                                       {"question1", "question2", NULL}, {"text", "text2", NULL}};

static bool is_among(const char *name, const char *const *list)
{
    while (*list && !str_equal_ascii_nocase(str_of(name), str_of(*list)))
        list++;
    return *list;
}

static bool is_free(const struct columns *c, size_t i)
{
    return i != c->text && i != c->text2 && i != c->label;
}

/* The only free column of these names; NULL: the only one that does not number the rows. COLUMN_NONE: none, or
 * several. */
static size_t only(const struct table *table, const struct columns *c, const char *const *names)
{
    size_t found = COLUMN_NONE, count = 0;
    for (size_t i = 0; i < table->columns; i++)
        if (is_free(c, i) && (names ? is_among(table->names[i], names) : !is_among(table->names[i], numbers))) {
            found = i;
            count++;
        }
    return count == 1 ? found : COLUMN_NONE;
}

static void guess_pair(const struct table *table, struct columns *c)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && c->text == COLUMN_NONE; i++) {
        const char *const first[] = {pairs[i][0], NULL}, *const second[] = {pairs[i][1], NULL};
        const size_t a = only(table, c, first), b = only(table, c, second);
        if (a != COLUMN_NONE && b != COLUMN_NONE) {
            c->text = a;
            c->text2 = b;
        }
    }
}

static void guess(const struct table *table, bool labelled, struct columns *c)
{
    if (c->label == COLUMN_NONE)
        c->label = only(table, c, labels);
    if (c->text == COLUMN_NONE && c->text2 == COLUMN_NONE)
        guess_pair(table, c);
    if (c->text == COLUMN_NONE)
        c->text = only(table, c, texts);
    if (c->label == COLUMN_NONE && c->text != COLUMN_NONE && labelled)
        c->label = only(table, c, NULL);
    if (c->text == COLUMN_NONE)
        c->text = only(table, c, NULL);
}

int columns_ask(const struct table *table, const char *option, const char *what, struct error *err)
{
    SCOPED(mem_free_at) char *names = table_names(table);
    fail_at(err, ERR_USAGE, table->path, ERROR_NO_OFFSET, "does not say which column has the %s: %s", what, names);
    return hint(err, "--%s COLUMN says it", option);
}

static int take(const struct table *table, const char *option, const char *name, size_t *place, struct error *err)
{
    *place = COLUMN_NONE;
    return name ? table_column(table, option, name, place, err) : 0;
}

int columns_choose(const struct table *table, const struct column_names *names, bool labelled, struct columns *c,
                   struct error *err)
{
    struct error ignored;
    *c = (struct columns){COLUMN_NONE, COLUMN_NONE, COLUMN_NONE, false};
    TRY(take(table, "text", names->text, &c->text, err));
    TRY(take(table, "text2", names->text2, &c->text2, err));
    if (take(table, "label", names->label, &c->label, labelled ? err : &ignored) < 0) {
        if (labelled)
            return -1;
        c->label = COLUMN_NONE;
    }
    const struct columns given = *c;
    guess(table, labelled, c);
    if (names->label && !labelled) /* it is that or none */
        c->label = given.label;
    if (c->text == COLUMN_NONE)
        return columns_ask(table, "text", "text", err);
    if (c->label == COLUMN_NONE && labelled)
        return columns_ask(table, "label", "label", err);
    c->guessed = memcmp(&given.text, &c->text, 3 * sizeof c->text) != 0;
    return 0;
}

void columns_say(const struct table *table, const struct columns *c)
{
    struct buf line = {0};
    if (!c->guessed)
        return;
    buf_addf(&line, "text \"%.60s\"", table->names[c->text]);
    if (c->text2 != COLUMN_NONE)
        buf_addf(&line, " and \"%.60s\"", table->names[c->text2]);
    if (c->label != COLUMN_NONE)
        buf_addf(&line, ", label \"%.60s\"", table->names[c->label]);
    log_say("columns    %s (as the first line names them; --text, --text2 and --label say others)", buf_text(&line));
    buf_release(&line);
}
