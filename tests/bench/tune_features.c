/* Prints the features that the fine-tuning commands make from texts, for tests/flow/tasks_like_hf.py to compare:
 *
 *     tune_features glue TASK FILE TOKENIZER LENGTH              a row a line: label, length of A, ids
 *     tune_features squad train|dev FILE TOKENIZER LENGTH STRIDE QUERY
 *                                          a window a line: id, begin, end, length of A, ids; for dev also which pieces'
 *                                          words begin where, and which pieces it sees best
 *     tune_features time train|dev FILE TOKENIZER LENGTH STRIDE QUERY    seconds of this thread for reading and cutting, windows
 *     tune_features scores < lines of "found TAB truth"          exact match and F1 a line */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tokenizer/tokenizer_files.h"
#include "trainer/tune/glue_tasks.h"
#include "trainer/tune/squad_scores.h"
#include "trainer/tune/squad_windows.h"

static struct text open_text(const char *directory)
{
    struct tokenizer_facts facts;
    struct error err;
    struct text text = {0};
    if (tokenizer_read(&facts, directory, PROFILE_HF, &err) < 0)
        exit(error_print(&err, "tune_features", 0));
    text.vocab = facts.vocab;
    text.words = facts.words;
    text.tokenizer = tokenizer_open(text.vocab, &text.words);
    text.state = tokenizer_state_open(text.tokenizer);
    return text;
}

static void print_ids(const struct samples *samples, const struct task_sample *item)
{
    for (uint32_t i = 0; i < item->length; i++)
        printf(" %" PRIu32, samples->ids[item->at + i]);
}

static int glue(char **args)
{
    struct error err;
    struct glue_set set;
    struct text text = open_text(args[2]);
    const struct glue_task *task = glue_task_named(args[0]);
    if (!task || glue_read(task, args[1], true, &text, (uint32_t)atoi(args[3]), &set, &err) < 0)
        return error_print(&err, "tune_features", 0);
    for (size_t i = 0; i < set.samples.count; i++) {
        const struct task_sample *item = &set.samples.items[i];
        float number;
        memcpy(&number, &item->label, sizeof number);
        if (task->labels == 1)
            printf("%.6g", (double)number);
        else
            printf("%s", task->label_names[item->label]);
        printf(" %" PRIu32, item->a_length);
        print_ids(&set.samples, item);
        putchar('\n');
    }
    glue_set_release(&set);
    text_close(&text);
    return 0;
}

static void print_places(const struct squad_feature *f, uint32_t window)
{
    const struct squad_window *w = &f->windows[window];
    for (uint32_t i = 0; i < w->length; i++)
        printf(" %" PRIu32 "%s", f->word_of[w->start + i], squad_is_best_window(f, window, w->start + i) ? "+" : "-");
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int squad(char **args, bool timed)
{
    struct error err;
    struct squad_file file;
    struct squad_features features;
    struct text text = open_text(args[2]);
    const struct squad_limits limits = {(uint32_t)atoi(args[3]), (uint32_t)atoi(args[4]), (uint32_t)atoi(args[5])};
    const bool training = strcmp(args[0], "train") == 0;
    const double from = thread_seconds();
    if (squad_read(&file, args[1], &err) < 0)
        return error_print(&err, "tune_features", 0);
    squad_features_make(&file, &text, &limits, training, &features);
    if (timed)
        printf("%.6f %zu\n", thread_seconds() - from, features.samples.count);
    for (size_t i = 0; !timed && i < features.count; i++)
        for (uint32_t w = 0; w < features.items[i].window_count; w++) {
            const struct task_sample *item = &features.samples.items[features.items[i].windows[w].sample];
            printf("%s %" PRIu32 " %" PRIu32 " %" PRIu32, features.items[i].question->id.data, item->token, item->label,
                   item->a_length);
            print_ids(&features.samples, item);
            printf(" |");
            if (!training)
                print_places(&features.items[i], w);
            putchar('\n');
        }
    squad_features_release(&features);
    squad_release(&file);
    text_close(&text);
    return 0;
}

static int scores(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline(&line, &room, stdin)) > 0) {
        const char *tab = memchr(line, '\t', (size_t)size);
        const struct str found = str_range(line, tab), truth = str_range(tab + 1, line + size - 1);
        printf("%g %.17g %.17g\n", squad_exact(found, truth), squad_f1(found, truth, false),
               squad_f1(found, truth, true));
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "glue") == 0)
        return glue(argv + 2);
    if (argc == 8 && strcmp(argv[1], "squad") == 0)
        return squad(argv + 2, false);
    if (argc == 8 && strcmp(argv[1], "time") == 0)
        return squad(argv + 2, true);
    if (argc == 2 && strcmp(argv[1], "scores") == 0)
        return scores();
    fprintf(stderr, "tune_features: see its source\n");
    return 2;
}
