/* Speed of splitting text into sentences, compared with a loop that only searches for the next full stop.
 *     dsdata extract enwiki.xml.bz2 | bench_sentences [LANGUAGE]       a file of text, or lines of JSON with "text"
 * The text of standard input is repeated to 50 MB and split in parts as long as an article, as in build. The two loops
 * alternate; the result is the least user time of twelve turns. */
#include "base/mem.h"
#include "base/str.h"
#include "pipeline/text/sentences/sentences.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define TEXT_BYTES 50000000u
#define PART_BYTES 20000u /* bytes split at once: about an article */

static double user_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
}

static void read_text(struct buf *text)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; (size = getline(&line, &capacity, stdin)) > 0;) {
        json_auto_t *object = json_loadb(line, (size_t)size, 0, NULL);
        const char *inside = json_string_value(json_object_get(object, "text"));
        buf_add_text(text, inside ? inside : line);
    }
    free(line);
    const size_t once = text->size;
    while (once > 0 && text->size < TEXT_BYTES) {
        buf_reserve(text, once);
        buf_add(text, text->data, once);
    }
}

/* The whole lines from offset `at` that make a part. */
static struct str part_at(const struct buf *text, size_t at)
{
    const size_t least = at + PART_BYTES < text->size ? at + PART_BYTES : text->size;
    const char *stop = memchr(text->data + least, '\n', text->size - least);
    return str_range(text->data + at, stop ? stop + 1 : text->data + text->size);
}

static size_t split(const struct buf *text, const struct language *language, struct sentences *sentences)
{
    size_t count = 0;
    for (size_t at = 0; at < text->size;) {
        const struct str part = part_at(text, at);
        sentences->count = 0;
        sentences_split(language, part, sentences);
        count += sentences->count;
        at += part.size;
    }
    return count;
}

static size_t hop(const struct buf *text)
{
    size_t count = 0;
    const char *end = text->data + text->size;
    for (const char *at = text->data; (at = memchr(at, '.', (size_t)(end - at))); at++)
        count++;
    return count;
}

int main(int argc, char **argv)
{
    const struct language *language = language_find(str_of(argc > 1 ? argv[1] : "en"));
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(sentences_release) struct sentences sentences = {0};
    read_text(&text);
    double best_split = 1e9, best_hop = 1e9;
    size_t count = 0, stops = 0;
    for (int turn = 0; turn < 12; turn++) {
        const double t0 = user_seconds();
        count = split(&text, language, &sentences);
        const double t1 = user_seconds();
        stops = hop(&text);
        const double t2 = user_seconds();
        best_split = t1 - t0 < best_split ? t1 - t0 : best_split;
        best_hop = t2 - t1 < best_hop ? t2 - t1 : best_hop;
    }
    const double megabytes = (double)text.size * 1e-6;
    printf("%.1f MB (%s), %zu sentences of %.0f bytes, %zu full stops\n", megabytes, language->code, count,
           (double)text.size / (double)(count ? count : 1), stops);
    printf("sentences_split %5.0f MB/s\nmemchr '.'      %5.0f MB/s\n", megabytes / best_split, megabytes / best_hop);
    return 0;
}
