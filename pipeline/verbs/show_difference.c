/* dsdata show A B: how two manifests differ, group by group: options, sources, vocabulary, what became of the pages,
 * samples. The facts are those of `show --json`, so nothing is compared that it does not show. */
#include "pipeline/verbs/show_difference.h"

#include "base/mem.h"
#include "base/output.h"
#include "pipeline/build/facts.h"

#include <stdio.h>

struct pair {
    const json_t *a, *b; /* facts, or parts of them */
};

static void add(json_t *out, const char *of, const char *name, const json_t *a, const json_t *b)
{
    if (!(a && b && json_equal(a, b)))
        json_array_append_new(out, json_pack("{s:s, s:s, s:O, s:O}", "of", of, "name", name, "a",
                                             a ? (json_t *)a : json_null(), "b", b ? (json_t *)b : json_null()));
}

/* The members of two objects, each name once, those of A first. */
static void add_members(json_t *out, const char *of, const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)a, name, value) add(out, of, name, value, json_object_get(b, name));
    json_object_foreach((json_t *)b, name, value) if (!json_object_get(a, name)) add(out, of, name, NULL, value);
}

static void add_named(json_t *out, const char *of, struct pair facts, const char *const *names)
{
    for (; *names; names++)
        add(out, of, *names, json_object_get(facts.a, *names), json_object_get(facts.b, *names));
}

/* Sources are equal if hash and size are, whatever their names. */
static bool has_source(const json_t *sources, const json_t *source)
{
    const json_t *other;
    size_t i;
    json_array_foreach(
        sources, i,
        other) if (json_equal(json_object_get(other, "hash"), json_object_get(source, "hash")) &&
                   json_equal(json_object_get(other, "bytes"), json_object_get(source, "bytes"))) return true;
    return false;
}

static void add_sources(json_t *out, struct pair facts)
{
    const json_t *a = json_object_get(facts.a, "sources"), *b = json_object_get(facts.b, "sources"), *source;
    const size_t before = json_array_size(out);
    bool others = json_array_size(a) != json_array_size(b);
    size_t i;
    json_array_foreach(a, i, source) if (!has_source(b, source)) add(out, "source", "only in A", source, NULL);
    json_array_foreach(b, i, source) if (!has_source(a, source)) add(out, "source", "only in B", NULL, source);
    json_array_foreach(a, i, source)
    {
        const json_t *other = json_array_get(b, i);
        others |= !json_equal(json_object_get(source, "hash"), json_object_get(other, "hash"));
    }
    if (others && json_array_size(out) == before)
        json_array_append_new(out, json_pack("{s:s, s:s, s:n, s:n}", "of", "source", "name",
                                             "the same ones, in another order or more than once", "a", "b"));
}

/* "seq128 train" */
static const json_t *find_length(const json_t *lengths, const json_t *like)
{
    const json_t *length;
    size_t i;
    json_array_foreach(
        lengths, i,
        length) if (json_equal(json_object_get(length, "seq"), json_object_get(like, "seq")) &&
                    json_equal(json_object_get(length, "split"), json_object_get(like, "split"))) return length;
    return NULL;
}

static void add_lengths(json_t *out, struct pair facts)
{
    const json_t *a = json_object_get(facts.a, "lengths"), *b = json_object_get(facts.b, "lengths"), *length;
    char name[48];
    size_t i;
    json_array_foreach(a, i, length)
    {
        const json_t *other = find_length(b, length);
        snprintf(name, sizeof name, "seq%d %.16s", (int)json_integer_value(json_object_get(length, "seq")),
                 json_string_value(json_object_get(length, "split")));
        if (other)
            add_members(out, name, length, other);
        else
            add(out, name, "only in A", length, NULL);
    }
    json_array_foreach(b, i, length) if (!find_length(a, length))
    {
        snprintf(name, sizeof name, "seq%d %.16s", (int)json_integer_value(json_object_get(length, "seq")),
                 json_string_value(json_object_get(length, "split")));
        add(out, name, "only in B", NULL, length);
    }
}

static void add_all(json_t *out, struct pair facts)
{
    static const char *const formats[] = {"format_version", "text_version", NULL};
    static const char *const vocabulary[] = {"vocab_size", "vocab_hash", "cased", "accents", NULL};
    static const char *const counts[] = {"documents", NULL};
    const json_t *pages_a = json_object_get(facts.a, "pages"), *pages_b = json_object_get(facts.b, "pages");
    add_named(out, "format", facts, formats);
    add_members(out, "option", json_object_get(facts.a, "options"), json_object_get(facts.b, "options"));
    add_sources(out, facts);
    add_named(out, "vocabulary", facts, vocabulary);
    add_named(out, "count", facts, counts);
    add(out, "pages", "kept", json_object_get(pages_a, "kept"), json_object_get(pages_b, "kept"));
    add_members(out, "pages dropped", json_object_get(pages_a, "dropped"), json_object_get(pages_b, "dropped"));
    add_lengths(out, facts);
}

/* Adds a value in short form. */
static void add_value(struct buf *line, const json_t *value)
{
    if (!value || json_is_null(value)) {
        buf_add_text(line, "–");
    } else if (json_is_string(value)) {
        buf_add_text(line, json_string_value(value));
    } else if (json_object_get(value, "hash")) { /* a source */
        const char *name = json_string_value(json_object_get(value, "name"));
        buf_addf(line, "%s %s", name ? name : "(name not known)", json_string_value(json_object_get(value, "hash")));
    } else if (json_object_get(value, "samples")) {
        buf_addf(line, "%lld samples", (long long)json_integer_value(json_object_get(value, "samples")));
    } else {
        SCOPED(mem_free_at) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        buf_add_text(line, text);
    }
}

static void print(const json_t *differences, const char *a, const char *b)
{
    const json_t *row;
    size_t i;
    output_line("A          %s", a);
    output_line("B          %s", b);
    if (json_array_size(differences) == 0)
        output_line("same       equal to the byte");
    json_array_foreach(differences, i, row)
    {
        SCOPED(buf_release) struct buf line = {0};
        buf_addf(&line, "%-14s %-20s ", json_string_value(json_object_get(row, "of")),
                 json_string_value(json_object_get(row, "name")));
        add_value(&line, json_object_get(row, "a"));
        buf_add_text(&line, "   ");
        add_value(&line, json_object_get(row, "b"));
        output_line("%s", buf_text(&line));
    }
}

static int read_facts(const char *directory, json_t **facts, uint64_t *root, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest = {0};
    TRY(manifest_read(&manifest, directory, err));
    json_auto_t *build = build_memory(directory);
    *facts = facts_json(&manifest, build);
    *root = manifest.root_hash;
    return 0;
}

int show_difference(const struct dsdata_settings *settings, const char *a, const char *b, struct error *err)
{
    json_auto_t *facts_a = NULL, *facts_b = NULL;
    uint64_t root_a = 0, root_b = 0;
    TRY(read_facts(a, &facts_a, &root_a, err));
    TRY(read_facts(b, &facts_b, &root_b, err));
    json_auto_t *differences = json_array();
    if (root_a != root_b)
        add_all(differences, (struct pair){facts_a, facts_b});
    if (settings->json)
        return facts_print(json_pack("{s:b, s:O}", "same", root_a == root_b, "differences", differences), err);
    print(differences, a, b);
    return 0;
}
