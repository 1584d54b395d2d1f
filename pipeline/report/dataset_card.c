#include "pipeline/report/dataset_card.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/build/facts.h"
#include "pipeline/build/owned.h"
#include "pipeline/parts/counts.h"

#include <inttypes.h>

const struct target_form dataset_card_form = {.begins = CARD_HEAD};

#define SOURCES_SHOWN 1000u

struct card {
    struct buf *out;
    const struct manifest *manifest;
    const json_t *build; /* build.json, or NULL */
    size_t folder;       /* bytes of the path of every source, left out */
};

/* The bytes of the path that every source begins with, up to a slash. */
static size_t common_folder(const json_t *build, size_t source_count)
{
    const char *first = source_count > 0 ? build_source_name(build, 0) : NULL;
    size_t common = first ? strlen(first) : 0;
    for (size_t i = 1; i < source_count; i++) {
        const char *other = build_source_name(build, i);
        size_t same = 0;
        while (other && same < common && other[same] == first[same])
            same++;
        common = same;
    }
    while (common > 0 && first[common - 1] != '/')
        common--;
    return common;
}

static const char *last_part(const char *path)
{
    const char *last = path;
    for (; *path; path++)
        if (path[0] == '/' && path[1] && path[1] != '/')
            last = path + 1;
    return last;
}

/* A path without what is of one machine: the folder that all sources are in; of another one that is absolute or leads
 * upwards, all folders. */
static const char *shown_path(const struct card *card, const char *path)
{
    if (card->folder > 0 && strncmp(path, build_source_name(card->build, 0), card->folder) == 0 && path[card->folder])
        return path + card->folder;
    return path[0] == '/' || path[0] == '.' ? last_part(path) : path;
}

/* Text from outside: nothing in it is Markdown, HTML or the end of a cell. */
static void add_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>()#+!|~&", *text))
            buf_add_byte(out, '\\');
        buf_add_byte(out, (unsigned char)*text < ' ' ? ' ' : *text);
    }
}

/* ---- the head ---- */

static void add_code(json_t *codes, struct str code)
{
    char text[16];
    if (code.size < 2 || code.size >= sizeof text || str_equal(code, STR("und")))
        return;
    memcpy(text, code.data, code.size);
    text[code.size] = '\0';
    if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz-")] == '\0' && text[0] != '-')
        json_object_set_new(codes, text, json_true());
}

static const char *source_text(const struct card *card, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(card->build, "sources"), i), key));
}

/* The languages that were given, guessed or stated by wikis. */
static void add_languages(const struct card *card)
{
    json_auto_t *codes = json_object();
    json_t *ignored;
    const struct manifest *manifest = card->manifest;
    const char *const options[] = {"lang", "languages"}, *code;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (const char *at = manifest_option(manifest, options[i]); at && *at;) {
            const size_t size = strcspn(at, ",");
            add_code(codes, (struct str){at, size});
            at += size + (at[size] == ',');
        }
    for (size_t i = 0; i < manifest->language_count; i++)
        add_code(codes, str_of(manifest->languages[i].name));
    for (size_t i = 0; i < manifest->source_count; i++)
        if (source_text(card, i, "lang"))
            add_code(codes, str_of(source_text(card, i, "lang")));
    if (json_object_size(codes) > 0)
        buf_add_text(card->out, "language:\n");
    json_object_foreach(codes, code, ignored) buf_addf(card->out, "- \"%s\"\n", code);
}

/* The licence that all sources state, or NULL. */
static const char *licence_of_all(const struct card *card)
{
    const char *licence = card->manifest->source_count > 0 ? source_text(card, 0, "licence") : NULL;
    for (size_t i = 1; licence && i < card->manifest->source_count; i++) {
        const char *other = source_text(card, i, "licence");
        licence = other && strcmp(other, licence) == 0 ? licence : NULL;
    }
    return licence;
}

/* "CC BY-SA (https://…)" is a licence that the hub knows in several versions, of which none is stated. */
static void add_licence(const struct card *card)
{
    const char *licence = licence_of_all(card), *link = licence ? strstr(licence, " (https://") : NULL;
    if (!link) {
        buf_add_text(card->out, "# license: say here which one; the sources do not state it\n");
        return;
    }
    buf_add_text(card->out, "license: other\nlicense_name: ");
    buf_add_json(card->out, str_range(licence, link));
    buf_add_text(card->out, "\nlicense_link: ");
    buf_add_json(card->out, str_range(link + 2, licence + strlen(licence) - 1));
    buf_add_byte(card->out, '\n');
}

static uint64_t count_samples(const struct manifest *manifest)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < manifest->length_count; i++)
        samples += manifest->lengths[i].samples;
    return samples;
}

static const char *size_category(uint64_t samples)
{
    static const char *const names[] = {"n<1K",     "1K<n<10K",   "10K<n<100K", "100K<n<1M",
                                        "1M<n<10M", "10M<n<100M", "100M<n<1B",  "1B<n<10B"};
    size_t i = 0;
    for (uint64_t bound = 1000; samples >= bound && i + 1 < sizeof names / sizeof *names; bound *= 10)
        i++;
    return names[i];
}

static void add_head(const struct card *card, const char *name)
{
    char root[17];
    buf_add_text(card->out, CARD_HEAD);
    buf_add_text(card->out, "pretty_name: ");
    buf_add_json(card->out, str_of(name));
    buf_add_byte(card->out, '\n');
    add_languages(card);
    add_licence(card);
    buf_addf(card->out, "size_categories:\n- \"%s\"\ntask_categories:\n- fill-mask\ntags:\n- masked-lm\n---\n\n# ",
             size_category(count_samples(card->manifest)));
    add_text(card->out, name);
    buf_addf(
        card->out,
        "\n\nSamples for masked language models, made by dsdata; root hash `%s`. `dstrain` and Python's `dsshards` "
        "read them.\n",
        hash_text(card->manifest->root_hash, root));
}

/* ---- sections ---- */

static void add_figures(const struct card *card)
{
    const struct manifest *m = card->manifest;
    char a[56], b[32];
    buf_addf(card->out, "\n## What it holds\n\n%s; a vocabulary of %s pieces, %s, accents %s.\n\n",
             format_counted(m->documents, "document", a), format_count(m->vocab_size, b),
             m->cased ? "cased" : "uncased", m->accents_kept ? "kept" : "stripped");
    buf_add_text(card->out, "| length | split | samples | tokens | shards | bytes |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < m->length_count; i++) {
        const struct manifest_length *length = &m->lengths[i];
        buf_addf(card->out, "| %u | %s | %s | %s | %u | %" PRIu64 " |\n", length->seq, split_names[length->split],
                 format_count(length->samples, a), format_count(length->tokens, b), length->shards,
                 manifest_length_bytes(m, length));
    }
}

static void add_sources(const struct card *card)
{
    const struct manifest *m = card->manifest;
    static const char *const facts[] = {"site", "date", "licence"};
    char hash[17];
    buf_add_text(card->out, "\n## Sources\n\n| name | bytes | XXH3-64 of its windows | kind | site | date | licence |\n"
                            "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < m->source_count && i < SOURCES_SHOWN; i++) {
        const char *name = build_source_name(card->build, i);
        buf_add_text(card->out, "| ");
        add_text(card->out, name ? shown_path(card, name) : "");
        buf_addf(card->out, " | %" PRIu64 " | `%s` | %s |", m->sources[i].bytes, hash_text(m->sources[i].hash, hash),
                 source_kinds[m->sources[i].kind]);
        for (size_t fact = 0; fact < sizeof facts / sizeof *facts; fact++) {
            const char *text = source_text(card, i, facts[fact]);
            buf_add_byte(card->out, ' ');
            add_text(card->out, text ? text : "");
            buf_add_text(card->out, " |");
        }
        buf_add_byte(card->out, '\n');
    }
    if (m->source_count > SOURCES_SHOWN)
        buf_addf(card->out, "\nand %zu more, which manifest.json lists.\n", m->source_count - SOURCES_SHOWN);
}

static void add_dropped(const struct card *card)
{
    const struct manifest *m = card->manifest;
    char count[56];
    uint64_t dropped = 0;
    for (size_t i = 0; i < m->dropped_count; i++)
        dropped += m->dropped[i].pages;
    buf_addf(card->out, "\n## What was dropped\n\n%s dropped", format_counted(dropped, "document", count));
    buf_addf(card->out, ", %s kept.\n", format_count(m->pages_kept, count));
    if (dropped > 0)
        buf_add_text(card->out, "\n| reason | documents | bytes of text |\n|---|---|---|\n");
    for (size_t i = 0; i < m->dropped_count; i++) {
        if (m->dropped[i].pages == 0)
            continue;
        buf_add_text(card->out, "| ");
        add_text(card->out, m->dropped[i].name);
        buf_addf(card->out, " | %s | %" PRIu64 " |\n", format_count(m->dropped[i].pages, count), m->dropped[i].bytes);
    }
}

static void add_options(const struct card *card)
{
    const struct manifest *m = card->manifest;
    buf_add_text(card->out, "\n## Settings\n\nAll that decides the bytes, filters and their thresholds included:\n\n"
                            "| setting | value |\n|---|---|\n");
    for (size_t i = 0; i < m->option_count; i++) {
        SCOPED(buf_release) struct buf value = {0};
        json_auto_t *text = json_string(m->options[i].value);
        dataset_recipe_value_text(m->options[i].name, text, &value);
        buf_add_text(card->out, "| ");
        add_text(card->out, m->options[i].name);
        buf_add_text(card->out, " | ");
        add_text(card->out, buf_text(&value));
        buf_add_text(card->out, " |\n");
    }
}

/* Adds a word of the command. A path in it stands alone or after a "=", of an option or a language. */
static void add_word(const struct card *card, struct buf *command, const char *word)
{
    const char *path = word;
    for (const char *at = word; *at && *at != '/'; at++)
        if (*at == '=')
            path = at + 1;
    SCOPED(buf_release) struct buf shown = {0};
    buf_addf(&shown, "%.*s%s", (int)(path - word), word, shown_path(card, path));
    command_add(command, buf_text(&shown));
}

static void add_rebuild(const struct card *card)
{
    char hash[17];
    const json_t *words = build_words(card->build), *word;
    size_t i;
    buf_add_text(card->out, "\n## How to build it again\n\n");
    if (words) {
        SCOPED(buf_release) struct buf command = {0};
        buf_add_text(card->out,
                     "The command, as build.json has it, without the folders that its files were in:\n\n    ");
        json_array_foreach(words, i, word) add_word(card, &command, json_string_value(word));
        buf_add_text(card->out, buf_text(&command));
        buf_add_text(card->out, "\n\n");
    }
    buf_addf(card->out,
             "On the sources above it gives the same bytes, for any number of threads and processes: `dsdata show` of "
             "the result says root hash `%s` (format_version %u, text_version %u; vocabulary `%s`). `dsdata verify` "
             "checks every byte of this copy.\n",
             hash_text(card->manifest->root_hash, hash), card->manifest->format_version, card->manifest->text_version,
             hash_text(card->manifest->vocab_hash, (char[17]){0}));
}

int dataset_card_make(struct buf *out, const char *directory, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest = {0};
    SCOPED(mem_free_at) char *full = path_full(directory);
    TRY(manifest_read(&manifest, directory, err));
    json_auto_t *build = build_memory(directory);
    const struct card card = {
        .out = out, .manifest = &manifest, .build = build, .folder = common_folder(build, manifest.source_count)};
    add_head(&card, last_part(full));
    add_figures(&card);
    add_sources(&card);
    add_dropped(&card);
    add_options(&card);
    add_rebuild(&card);
    return 0;
}
