// room: pipeline
// bytes: 65536
/* In: what kind of input, and a record of it: a wiki page, a document of plain text, or a JSON line. Held: its text is
 * well-formed UTF-8, no line of it is blank or empty, and its sentences hold its letters. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/input/input_kind.h"
#include "pipeline/text/wikitext.h"
#include "pipeline/text/paragraphs.h"

/* Of ASCII: between sentences, blanks of every kind go. */
static size_t count_letters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] > ' ' && text.data[i] <= '~';
    return count;
}

static void check_text(const struct article_options *options, const struct article *article)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    size_t letters = 0;
    assert(utf8_valid(article->text));
    assert(article->text.size == 0 || article->text.data[article->text.size - 1] == '\n');
    article_sentences(options, article, &sentences);
    for (size_t i = 0; i < sentences.count; i++) {
        assert(str_trim(sentences.items[i]).size == sentences.items[i].size && sentences.items[i].size > 0);
        letters += count_letters(sentences.items[i]);
    }
    assert(letters == count_letters(article->text));
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct article_reader *reader; /* kept: what it read before must not matter */
    static struct article_options options;
    struct record record = {0, 0, RECORD_NOWHERE};
    struct group group = {.records = &record, .record_count = 1, .record_capacity = 1};
    const size_t kind = 1 + take_byte(&data, &size) % (SOURCE_KINDS - 1);
    struct article article;
    if (!reader) {
        reader = article_open();
        options = (struct article_options){
            .language = language_find(STR("en")), .code = "en", .keep = KEEP_PROSE_LISTS, .drop = KIND_DISAMBIGUATION};
    }
    options.kind = input_kinds[kind];
    buf_add(&group.text, "x", 1); /* records stand in a group, not at its beginning */
    buf_add(&group.text, data, size);
    record = (struct record){1, size, RECORD_NOWHERE};
    article_read(reader, &options, &group, 0, &article);
    assert(article.repairs >> REPAIRS == 0);
    assert(utf8_valid(article.title) && article.fate < PAGE_FATES);
    if (article.fate == PAGE_KEPT)
        check_text(&options, &article);
    struct counts counts = {0};
    struct missing missing = {0};
    uint64_t sum = 0;
    article_count(reader, &article, &counts, &missing);
    for (int fate = 0; fate < FATES; fate++)
        sum += counts.fates[fate];
    for (int fate = 0; fate < PAGE_FATES; fate++)
        sum += counts.dropped[fate];
    assert(counts_pages(&counts) == 1 && sum == article.bytes);
    missing_release(&missing);
    buf_release(&group.text);
    return 0;
}
