/* Measures whether hostile pages of 64 KiB to 8 MiB take linear time. Every pattern goes through the XML reader, the
 * extraction and the splitting into sentences, in English, and in Chinese where that differs. The CPU time is that of
 * all three; if it grows above the goal, the best of several turns counts.
 *     bench_hostile [PATTERN|all [SIZES]]        one pattern is shown size by size; SIZES: how many of the eight sizes
 * Prints the worst growth per doubling (2 is linear, 4 quadratic), the slowest pattern, and the memory. */
#include "base/arena.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/wikitext.h"
#include "pipeline/text/xml/xml.h"
#include "tests/pipeline/text/hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define SIZE_MIN   (64u << 10)
#define SIZES_MAX  8u    /* up to 8 MiB */
#define SECONDS    0.002 /* a shorter turn is repeated */
#define TURNS      20u   /* for a growth above the goal, which another program may have caused */
#define RATIO_GOAL 2.3

enum stage { STAGE_XML, STAGE_TEXT, STAGE_SENTENCES, STAGES };

struct bench {
    struct page_parser *parser;
    struct arena arena;
    struct wikitext *wikitext;
    const struct language *language;
    struct buf page, fragment, out;
    struct sentences sentences;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Fills the page and its XML with a repeated pattern, numbered through `hostile`, then the shapes. */
static void build_page(struct bench *bench, size_t pattern, size_t bytes)
{
    if (pattern < HOSTILE_COUNT)
        hostile_repeat(&bench->page, hostile[pattern], bytes);
    else
        hostile_build(&bench->page, &hostile_shapes[pattern - HOSTILE_COUNT], bytes);
    struct buf *fragment = &bench->fragment;
    buf_reset(fragment);
    buf_add_text(fragment, "<page><title>A</title><revision><text>");
    for (size_t i = 0; i < bench->page.size; i++) {
        const char byte = bench->page.data[i];
        if (byte == '<' || byte == '&' || (unsigned char)byte < ' ')
            buf_add_text(fragment, byte == '<' ? "&lt;" : byte == '&' ? "&amp;" : " ");
        else
            buf_add_byte(fragment, byte);
    }
    buf_add_text(fragment, "</text></revision></page>");
}

static void run_stage(struct bench *bench, enum stage stage)
{
    struct page page = {.title = STR("A"), .text = buf_str(&bench->page)};
    struct wikitext_facts facts;
    switch (stage) {
    case STAGE_XML:
        arena_reset(&bench->arena);
        page_parse(bench->parser, buf_str(&bench->fragment), &bench->arena, &page);
        break;
    case STAGE_TEXT:
        buf_reset(&bench->out);
        wikitext_read(bench->wikitext, &page, &bench->out, &facts);
        break;
    default:
        bench->sentences.count = 0;
        sentences_split(bench->language, buf_str(&bench->out), &bench->sentences);
    }
}

static double time_stage(struct bench *bench, enum stage stage)
{
    const double started = seconds_now();
    double spent;
    unsigned count = 0;
    do {
        run_stage(bench, stage);
        count++;
        spent = seconds_now() - started;
    } while (spent < SECONDS);
    return spent / count;
}

struct worst {
    double ratio, seconds; /* growth per doubling; time of the largest page */
    size_t ratio_pattern, ratio_bytes, seconds_pattern;
};

static void print_pattern(size_t pattern)
{
    const char *parts[5] = {pattern < HOSTILE_COUNT ? hostile[pattern] : "", "", "", "", ""};
    if (pattern >= HOSTILE_COUNT) {
        const struct hostile_shape *shape = &hostile_shapes[pattern - HOSTILE_COUNT];
        parts[0] = shape->head, parts[1] = shape->unit, parts[2] = shape->middle, parts[3] = shape->closing,
        parts[4] = shape->tail;
    }
    printf("%zu \"", pattern);
    for (unsigned i = 0; i < 5; i++)
        for (const char *at = parts[i]; *at; at++)
            printf(*at == '\n' ? "\\n" : (unsigned char)*at < ' ' ? "\\x%02x" : "%c", *at);
    printf("\"");
}

static void measure(struct bench *bench, size_t pattern, unsigned sizes, bool verbose, struct worst *worst)
{
    double before = 0;
    for (unsigned size = 0; size < sizes; size++) {
        const size_t bytes = (size_t)SIZE_MIN << size;
        double stage_seconds[STAGES] = {1e9, 1e9, 1e9}, seconds = 0;
        build_page(bench, pattern, bytes);
        for (unsigned turn = 0; turn < TURNS && (turn == 0 || (size > 0 && seconds > RATIO_GOAL * before)); turn++) {
            seconds = 0;
            for (enum stage stage = 0; stage < STAGES; stage++) {
                const double spent = time_stage(bench, stage);
                stage_seconds[stage] = spent < stage_seconds[stage] ? spent : stage_seconds[stage];
                seconds += stage_seconds[stage];
            }
        }
        const double ratio = size > 0 ? seconds / before : 0;
        if (ratio > worst->ratio)
            worst->ratio = ratio, worst->ratio_pattern = pattern, worst->ratio_bytes = bytes;
        if (size + 1 == sizes && seconds > worst->seconds)
            worst->seconds = seconds, worst->seconds_pattern = pattern;
        if (verbose || ratio > RATIO_GOAL) {
            printf("%5zu KiB  x %.2f  %8.1f MB/s  (xml %.4f s, extraction %.4f s, sentences %.4f s)  ", bytes >> 10,
                   ratio, (double)bytes * 1e-6 / seconds, stage_seconds[STAGE_XML], stage_seconds[STAGE_TEXT],
                   stage_seconds[STAGE_SENTENCES]);
            print_pattern(pattern);
            printf("\n");
        }
        before = seconds;
    }
}

/* Only markup for spelling variants (-{) takes another time in Chinese than in English. */
static bool is_variant(size_t pattern)
{
    return strstr(pattern < HOSTILE_COUNT ? hostile[pattern] : hostile_shapes[pattern - HOSTILE_COUNT].head, "-{") ||
           (pattern >= HOSTILE_COUNT && strstr(hostile_shapes[pattern - HOSTILE_COUNT].unit, "-{"));
}

int main(int argc, char **argv)
{
    const size_t count = HOSTILE_COUNT + HOSTILE_SHAPE_COUNT;
    const bool is_one = argc > 1 && strcmp(argv[1], "all") != 0;
    const size_t first = is_one ? strtoul(argv[1], NULL, 10) % count : 0, end = is_one ? first + 1 : count;
    const unsigned asked = argc > 2 ? (unsigned)atoi(argv[2]) : SIZES_MAX,
                   sizes = asked >= 1 && asked < SIZES_MAX ? asked : SIZES_MAX;
    const unsigned largest = SIZE_MIN << (sizes - 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct worst worst = {0};
    struct rusage usage;
    for (unsigned side = 0; side < 2; side++) {
        struct bench bench = {.parser = page_parser_open(), .language = language_find(side ? STR("zh") : STR("en"))};
        bench.wikitext = wikitext_open(&(struct wikitext_options){
            .language = bench.language, .keep = side ? 31 : KEEP_HEADINGS | KEEP_PROSE_LISTS});
        for (size_t pattern = first; pattern < end; pattern++)
            if (side == 0 || is_variant(pattern))
                measure(&bench, pattern, sizes, is_one, &worst);
        page_parser_close(bench.parser);
        arena_release(&bench.arena);
        wikitext_close(bench.wikitext);
        buf_release(&bench.page);
        buf_release(&bench.fragment);
        buf_release(&bench.out);
        sentences_release(&bench.sentences);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu patterns, up to %u KiB\nworst growth per doubling x %.2f at %zu KiB: ", end - first, largest >> 10,
           worst.ratio, worst.ratio_bytes >> 10);
    print_pattern(worst.ratio_pattern);
    printf("\nslowest at the largest size %.1f MB/s: ", (double)largest * 1e-6 / worst.seconds);
    print_pattern(worst.seconds_pattern);
    printf("\npeak memory of the process, page and text and sentences included: %ld MiB\n", usage.ru_maxrss >> 10);
    return 0;
}
