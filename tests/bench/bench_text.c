/* From XML to sentences, stage by stage: nanoseconds per byte of XML, compared with memchr over the tags of the same
 * bytes.
 *     bzip2 -dc enwiki.xml.bz2 | bench_text [LANGUAGE]
 * The pages of standard input (64 MB of it at most) pass each stage as `build` sends them through it; the stages
 * alternate; the result is the least CPU time of eight turns. */
#include "base/mem.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/wikitext.h"
#include "pipeline/text/xml/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INPUT_BYTES_MAX (64u << 20)
#define TURNS           8

enum stage { STAGE_HOP, STAGE_UTF8, STAGE_XML, STAGE_WIKITEXT, STAGE_SENTENCES, STAGES };
static const char *const stage_names[STAGES] = {"memchr '>'", "UTF-8", "XML", "wikitext", "sentences"};

struct bench {
    struct buf xml;
    struct str *fragments; /* [count] <page>…</page> in xml */
    struct page *pages;    /* [count] */
    struct str *texts;     /* [count] in text */
    size_t count;
    struct arena arena;
    struct buf text;
    struct page_parser *parser;
    struct wikitext *wikitext;
    struct sentences sentences;
    const struct language *language;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void read_input(struct bench *bench)
{
    buf_reserve(&bench->xml, INPUT_BYTES_MAX);
    bench->xml.size = fread(bench->xml.data, 1, INPUT_BYTES_MAX, stdin);
    const char *end = bench->xml.data + bench->xml.size;
    size_t capacity = 0;
    for (const char *at = bench->xml.data; (at = memmem(at, (size_t)(end - at), "<page>", 6));) {
        const char *close = memmem(at, (size_t)(end - at), "</page>", 7);
        if (!close)
            break;
        bench->fragments = mem_room(bench->fragments, bench->count + 1, &capacity, sizeof *bench->fragments);
        bench->fragments[bench->count++] = str_range(at, close + 7);
        at = close + 7;
    }
    bench->pages = mem_clear(bench->count + 1, sizeof *bench->pages);
    bench->texts = mem_clear(bench->count + 1, sizeof *bench->texts);
}

/* One turn of a stage over all pages. Returns a value that depends on the result, so that the compiler keeps the
 * work. */
static size_t run(struct bench *bench, enum stage stage)
{
    size_t found = 0;
    struct wikitext_facts facts;
    for (size_t i = 0; i < bench->count; i++) {
        const struct str fragment = bench->fragments[i];
        char *bytes = bench->xml.data + (fragment.data - bench->xml.data);
        switch (stage) {
        case STAGE_HOP:
            for (const char *at = bytes; (at = memchr(at, '>', (size_t)(bytes + fragment.size - at))); at++)
                found++;
            break;
        case STAGE_UTF8:
            found += utf8_repair(bytes, fragment.size, NULL);
            break;
        case STAGE_XML:
            found += page_parse(bench->parser, fragment, &bench->arena, &bench->pages[i]) == 0;
            break;
        case STAGE_WIKITEXT:
            bench->texts[i].size = bench->text.size;
            if (!bench->pages[i].is_redirect)
                wikitext_read(bench->wikitext, &bench->pages[i], &bench->text, &facts);
            bench->texts[i].size = bench->text.size - bench->texts[i].size;
            break;
        case STAGE_SENTENCES:
            bench->sentences.count = 0;
            sentences_split(bench->language, (struct str){bench->text.data + found, bench->texts[i].size},
                            &bench->sentences);
            found += bench->texts[i].size;
            break;
        case STAGES:
            break;
        }
    }
    return found;
}

int main(int argc, char **argv)
{
    struct bench bench = {.language = language_find(str_of(argc > 1 ? argv[1] : "en"))};
    bench.parser = page_parser_open();
    bench.wikitext = wikitext_open(
        &(struct wikitext_options){.language = bench.language, .keep = KEEP_PROSE_LISTS, .kinds = KIND_DISAMBIGUATION});
    read_input(&bench);
    double best[STAGES];
    size_t found[STAGES];
    for (int turn = 0; turn < TURNS; turn++) {
        arena_reset(&bench.arena);
        buf_reset(&bench.text);
        for (unsigned stage = 0; stage < STAGES; stage++) {
            const double from = cpu_seconds();
            found[stage] = run(&bench, stage);
            const double seconds = cpu_seconds() - from;
            best[stage] = turn == 0 || seconds < best[stage] ? seconds : best[stage];
        }
    }
    const double bytes = (double)bench.xml.size;
    printf("%zu pages, %zu of them good, %.1f MB of XML, %.1f MB of text, %zu tags\n", bench.count, found[STAGE_XML],
           bytes * 1e-6, (double)bench.text.size * 1e-6, found[STAGE_HOP]);
    for (unsigned stage = 0; stage < STAGES; stage++)
        printf("%-11s %6.2f ns/byte %6.0f MB/s\n", stage_names[stage], best[stage] * 1e9 / bytes,
               bytes * 1e-6 / best[stage]);
    const double extraction = best[STAGE_UTF8] + best[STAGE_XML] + best[STAGE_WIKITEXT];
    printf("extraction  %6.2f ns/byte %6.0f MB/s\n", extraction * 1e9 / bytes, bytes * 1e-6 / extraction);
    page_parser_close(bench.parser);
    wikitext_close(bench.wikitext);
    sentences_release(&bench.sentences);
    arena_release(&bench.arena);
    buf_release(&bench.xml);
    buf_release(&bench.text);
    mem_free(bench.fragments);
    mem_free(bench.pages);
    mem_free(bench.texts);
    return 0;
}
