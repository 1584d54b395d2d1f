#include "pipeline/input/article.h"

#include "base/hash.h"
#include "base/text_lines.h"
#include "base/mem.h"
#include "pipeline/input/article_reader.h"
#include "pipeline/input/input_kind.h"
#include "pipeline/input/text_layout.h"

#include <assert.h>

struct article_reader *article_open(void)
{
    struct article_reader *reader = mem_clear(1, sizeof *reader);
    reader->parser = page_parser_open();
    return reader;
}

void article_close(struct article_reader *reader)
{
    if (!reader)
        return;
    page_parser_close(reader->parser);
    wikitext_close(reader->wikitext);
    arena_release(&reader->arena);
    json_line_release(&reader->json);
    buf_release(&reader->text);
    buf_release(&reader->mended);
    buf_release(&reader->folded);
    filter_scratch_release(&reader->filters);
    mem_free(reader);
}

static void use_options(struct article_reader *reader, const struct article_options *options)
{
    if (reader->options == options)
        return;
    wikitext_close(reader->wikitext);
    reader->wikitext = wikitext_open(&(struct wikitext_options){.siteinfo = options->siteinfo,
                                                                .language = options->language,
                                                                .code = options->code,
                                                                .variant = options->variant,
                                                                .keep = options->keep,
                                                                .kinds = options->drop,
                                                                .templates = options->templates,
                                                                .trace = options->trace});
    reader->options = options;
}

void article_set_text_id(struct article *article, struct str text)
{
    article->has_id = text.size > 0;
    article->id = text.size > 0 ? hash64(text.data, text.size) >> (64 - ID_BITS) : 0;
    article->source_id = text;
}

/* True if two lines of a paragraph join without a blank between them: after a hyphen, and between characters of scripts
 * written without blanks. */
static bool joins(struct str before, struct str after)
{
    uint32_t left = 0, right = 0;
    unsigned skip;
    size_t start = before.size - 1;
    while (start > 0 && ((unsigned char)before.data[start] & 0xC0) == 0x80)
        start--;
    utf8_decode(before.data + start, before.size - start, &left, &skip);
    utf8_decode(after.data, after.size, &right, &skip);
    if (left == '-')
        return before.size > 1 && (unsigned char)before.data[before.size - 2] > ' ' && right > ' ';
    return left >= 0x3000 && left <= 0x9FFF && right >= 0x3000 && right <= 0x9FFF;
}

/* `continues`: the line continues the paragraph of the line before. */
static void add_line(struct article_reader *reader, struct str line, bool continues)
{
    struct buf *text = &reader->text;
    if (continues) {
        text->size--; /* remove the newline */
        if (!joins(buf_str(text), line))
            buf_add_byte(text, ' ');
    }
    buf_add_str(text, line);
    buf_add_byte(text, '\n');
}

enum page_fate article_read_lines(struct article_reader *reader, struct str lines, bool wrapped,
                                  struct article *article)
{
    uint64_t *bytes = reader->facts.bytes;
    bool continues = false;
    article->bytes = lines.size;
    for (struct str rest = lines, line; str_line(&rest, &line);) {
        const struct str trimmed = str_trim(line);
        const bool blank = str_is_blank(trimmed);
        if (!blank) {
            bytes[FATE_KEPT] += trimmed.size;
            add_line(reader, trimmed, continues && !line_is_indented(line));
        }
        continues = wrapped && !blank;
    }
    assert(bytes[FATE_KEPT] <= lines.size);
    bytes[FATE_MARKUP] = lines.size - bytes[FATE_KEPT];
    return PAGE_KEPT;
}

void article_read(struct article_reader *reader, const struct article_options *options, struct group *group,
                  size_t index, struct article *article)
{
    struct record *record = &group->records[index];
    assert(record->offset + record->size <= group->text.size);
    use_options(reader, options);
    *article = (struct article){.title = STR(""),
                                .source_id = STR(""),
                                .timestamp = STR(""),
                                .url = STR(""),
                                .language = STR(""),
                                .source = STR("")};
    reader->facts = (struct wikitext_facts){0};
    arena_reset(&reader->arena);
    buf_reset(&reader->text);
    const struct str bytes = {group->text.data + record->offset, record->size};
    article->record = bytes;
    article->at = record->at;

    article->fate = options->kind->read(reader, options, bytes, article);
    if (article->fate != PAGE_KEPT)
        return;
    article->text = buf_str(&reader->text);
    if (str_is_blank(article->text))
        article->fate = PAGE_EMPTY;
    else
        article->fate = filters_judge(options->filters, &reader->filters, article->text, options->stated);
    const bool by_id = article->has_id && !options->held_by_text;
    article->held_by = by_id ? article->id : hash64(article->text.data, article->text.size) >> (64 - ID_BITS);
    if (!article->has_id)
        article->id = article->held_by;
}

static size_t count_characters(struct str text)
{
    size_t characters = 0;
    for (size_t at = 0; at < text.size; at++)
        characters += ((unsigned char)text.data[at] & 0xC0) != 0x80;
    return characters;
}

/* By the template whose rendering it came from, else by the page. */
static void count_leak(const struct article_reader *reader, const struct article *article, size_t i,
                       struct missing *missing)
{
    char folded[NAME_BYTES_MAX], braced[NAME_BYTES_MAX + 4];
    const struct str name = wikitext_leak(reader->wikitext, i, folded);
    const int size = snprintf(braced, sizeof braced, "{{%.*s}}", (int)name.size, name.data);
    missing_add(&missing->leaks, name.size > 0 ? (struct str){braced, (size_t)size} : article->title, 1);
}

void article_count(const struct article_reader *reader, const struct article *article, struct counts *counts,
                   struct missing *missing)
{
    const struct wikitext_facts *facts = &reader->facts;
    counts->pages[article->fate]++;
    if (article->fate != PAGE_KEPT) {
        counts->dropped[article->fate] += article->bytes;
        examples_note(&missing->dropped, article->fate, reader->options->name,
                      reader->options->kind->of_pages ? article->title : STR(""), article->record, article->at);
        return;
    }
    counts_repairs(counts, article->repairs);
    for (size_t i = 0; i < FATES; i++)
        counts->fates[i] += facts->bytes[i];
    counts->templates += facts->unknown - facts->sentences;
    counts->template_sentences += facts->sentences;
    for (size_t i = 0; i < facts->unknown; i++) {
        char folded[NAME_BYTES_MAX];
        struct str text;
        enum unknown_kind kind;
        const struct str name = wikitext_unknown(reader->wikitext, i, folded, &text, &kind);
        if (kind == UNKNOWN_SENTENCE) {
            name_counts_add(&missing->sentences, name, 1, 1);
            continue;
        }
        counts->template_bytes += text.size;
        counts->template_characters += count_characters(text);
        name_counts_add(&missing->templates, name, 1, text.size);
        if (kind == UNKNOWN_HOLE)
            name_counts_add(&missing->holes, name, 1, 1);
    }
    if (!reader->options->kind->of_pages)
        return;
    counts->holes += facts->holes;
    counts->leaks += facts->leaks;
    for (size_t i = 0; i < facts->leaks; i++)
        count_leak(reader, article, i, missing);
    counts->wiki_bytes += article->text.size;
    name_counts_add(&missing->languages, str_of(reader->options->code), facts->holes, article->text.size);
}

void article_count_group(const struct article_options *options, const struct group *group, struct counts *counts,
                         struct missing *missing)
{
    counts_group(counts, group);
    if (group->oversize > 0)
        examples_note(&missing->dropped, PAGE_OVERSIZE, options->name, STR(""), STR(""), group->oversize_at);
    if (group->cut > 0)
        examples_note(&missing->dropped, PAGE_DAMAGED, options->name, STR(""), STR(""), group->cut_at);
}

void article_sentences(const struct article_options *options, const struct article *article, struct sentences *out)
{
    out->count = 0;
    if (options->form != FORM_SENTENCES) {
        sentences_split(options->language, article->text, out);
        return;
    }
    assert(article->text.size == 0 || str_ends(article->text, STR("\n"))); /* add_line ended each line */
    for (struct str rest = article->text, line; str_line(&rest, &line);)
        sentences_add(out, line);
}

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

enum { FOLD_BLOCK = 32 };

/* Copies a block with each blank as ' '; false if two follow each other, the byte before the block included. */
static bool fold_block(const char *from, char *restrict to)
{
    unsigned char blanks[FOLD_BLOCK + 1], twice = 0;
    for (size_t i = 0; i <= FOLD_BLOCK; i++) /* the compiler makes vectors of these loops */
        blanks[i] = (unsigned char)(from[i - 1] == ' ') | ((unsigned char)(from[i - 1] - '\t') < 5);
    for (size_t i = 0; i < FOLD_BLOCK; i++)
        twice |= blanks[i] & blanks[i + 1];
    for (size_t i = 0; i < FOLD_BLOCK; i++)
        to[i] = blanks[i + 1] ? ' ' : from[i];
    return !twice;
}

uint64_t article_hash(struct article_reader *reader, const struct article *article)
{
    const struct str text = article->text;
    struct buf *folded = &reader->folded;
    buf_reset(folded);
    buf_reserve(folded, text.size);
    char *out = folded->data;
    bool blank = true;
    for (size_t at = 0; at < text.size;) {
        if (at > 0 && text.size - at >= FOLD_BLOCK && fold_block(text.data + at, out)) {
            at += FOLD_BLOCK;
            out += FOLD_BLOCK;
            blank = is_blank(text.data[at - 1]);
            continue;
        }
        for (size_t end = text.size - at < FOLD_BLOCK ? text.size : at + FOLD_BLOCK; at < end; at++) {
            const bool is = is_blank(text.data[at]);
            *out = is ? ' ' : text.data[at];
            out += !(is && blank);
            blank = is;
        }
    }
    const size_t size = (size_t)(out - folded->data);
    assert(size <= text.size);
    return hash64(folded->data, size > 0 && blank ? size - 1 : size);
}
