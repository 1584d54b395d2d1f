/* dstrain score: how often a model finds the good sentence of a pair more likely than the bad one. A sentence's score
 * is its pseudo-log-likelihood (Salazar et al. 2020, "Masked Language Model Scoring"): the sum over its pieces of
 * log p(piece | the sentence with that piece masked). Sample k of the pass is the sentence of piece k with piece k
 * masked. Measured as in BLiMP (Warstadt et al. 2020): right means good > bad. */

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/target.h"
#include "trainer/data/input.h"
#include "trainer/tune/reading.h"

/* What is kept of the pairs: at most 300 MB. BLiMP has 67,000 pairs of 67 paradigms, with 1.3 million pieces. */
#define PAIRS_MAX       (1u << 21)
#define PIECES_MAX      (1u << 24)
#define GROUPS_MAX      4096u
#define LABEL_BYTES_MAX 256u

/* Pairs that share a label. */
struct group {
    char *name;
    uint64_t pairs, right;
};

struct groups {
    const char *key;     /* "paradigm" */
    struct group *items; /* in the order of their first pairs */
    size_t count, room;
};

enum { BY_PARADIGM, BY_PHENOMENON, LABELS };

struct pair {
    size_t group[LABELS]; /* SIZE_MAX: the pair has no such label */
};

struct score {
    struct reading reading;
    const char *path;
    struct pair *pairs;
    size_t pair_count, pair_room;
    struct ids ids;  /* of all sentences without [CLS] and [SEP]; of each pair the good one, then the bad one */
    size_t *firsts;  /* [2 pairs + 1] where each sentence begins in `ids` */
    double *scores;  /* [2 pairs] */
    size_t length;   /* pieces of the longest sentence */
    size_t done;     /* masked pieces with a result */
    size_t sentence; /* the sentence of the next one */
    struct groups labels[LABELS];
    uint64_t right;
    double seconds;
};

/* The number of the group, or SIZE_MAX where there would be too many. */
static size_t group_named(struct groups *groups, const char *name)
{
    for (size_t i = groups->count; i-- > 0;) /* pairs with the same label are usually adjacent */
        if (strcmp(groups->items[i].name, name) == 0)
            return i;
    if (groups->count == GROUPS_MAX)
        return SIZE_MAX;
    groups->items = mem_room(groups->items, groups->count + 1, &groups->room, sizeof *groups->items);
    groups->items[groups->count] = (struct group){.name = mem_copy_text(name)};
    return groups->count++;
}

static int take_label(struct score *s, const json_t *json, int label, size_t *group, size_t number, uint64_t at,
                      struct error *err)
{
    struct groups *groups = &s->labels[label];
    const json_t *value = json_object_get(json, groups->key);
    *group = SIZE_MAX;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return fail_at(err, ERR_INPUT, s->path, at, "line %zu: \"%s\" is not a string", number, groups->key);
    if (json_string_length(value) > LABEL_BYTES_MAX)
        return fail_at(err, ERR_INPUT, s->path, at, "line %zu: \"%s\" is longer than %u bytes", number, groups->key,
                       LABEL_BYTES_MAX);
    *group = group_named(groups, json_string_value(value));
    return *group < SIZE_MAX ? 0
                             : fail_at(err, ERR_UNSAFE, s->path, at, "line %zu: more than %u different \"%s\"", number,
                                       GROUPS_MAX, groups->key);
}

static int add_sentence(struct score *s, const json_t *pair, const char *key, size_t number, uint64_t at,
                        struct error *err)
{
    const json_t *text = json_object_get(pair, key);
    const size_t positions = (size_t)s->reading.recipe.config.positions;
    if (!json_is_string(text))
        return fail_at(err, ERR_INPUT, s->path, at, "line %zu: \"%s\" is %s", number, key,
                       text ? "not a string" : "missing");
    tokenizer_ids(s->reading.text.state, (struct str){json_string_value(text), json_string_length(text)}, &s->ids);
    const size_t sentence = 2 * s->pair_count + (str_equal(str_of(key), STR("bad")) ? 1 : 0);
    const size_t length = s->ids.count - s->firsts[sentence];
    if (length == 0)
        return fail_at(err, ERR_INPUT, s->path, at, "line %zu: \"%s\" has no words", number, key);
    if (length + 2 > positions)
        return fail_at(err, ERR_MISMATCH, s->path, at,
                       "line %zu: \"%s\" is %zu pieces long with [CLS] and [SEP], the model has %zu positions", number,
                       key, length + 2, positions);
    s->length = length > s->length ? length : s->length;
    s->firsts[sentence + 1] = s->ids.count;
    return 0;
}

static int add_pair(struct score *s, const json_t *json, size_t number, uint64_t at, struct error *err)
{
    if (s->pair_count == s->pair_room) {
        s->pair_room = 2 * s->pair_room + 1024;
        s->pairs = mem_grow(s->pairs, s->pair_room, sizeof *s->pairs);
        s->firsts = mem_grow(s->firsts, 2 * s->pair_room + 1, sizeof *s->firsts);
        s->firsts[0] = 0;
    }
    TRY(add_sentence(s, json, "good", number, at, err));
    TRY(add_sentence(s, json, "bad", number, at, err));
    struct pair *pair = &s->pairs[s->pair_count++];
    for (int label = 0; label < LABELS; label++)
        TRY(take_label(s, json, label, &pair->group[label], number, at, err));
    return 0;
}

static int check_room(const struct score *s, struct error *err)
{
    if (s->pair_count < PAIRS_MAX && s->ids.count < PIECES_MAX)
        return 0;
    char pairs[32], pieces[32];
    fail_at(err, ERR_UNSAFE, s->path, ERROR_NO_OFFSET, "holds more than %s pairs, or %s pieces of them",
            format_count(PAIRS_MAX, pairs), format_count(PIECES_MAX, pieces));
    return hint(err, "--limit N scores the first N pairs");
}

static int read_pair(struct score *s, struct str line, size_t number, uint64_t at, struct error *err)
{
    json_error_t why;
    if (str_trim(line).size == 0)
        return 0;
    TRY(check_room(s, err));
    json_auto_t *json = json_parse(line, INPUT_LINE_BYTES_MAX, &why);
    if (!json)
        return fail_at(err, ERR_INPUT, s->path, at + json_error_place(&why), "line %zu is not JSON: %.200s", number,
                       why.text);
    if (!json_is_object(json))
        return fail_at(err, ERR_INPUT, s->path, at, "line %zu is not a JSON object", number);
    return add_pair(s, json, number, at, err);
}

static int read_pairs(struct score *s, uint64_t limit, struct error *err)
{
    struct input input;
    struct str line;
    int more = input_open(&input, s->path, err) < 0 ? -1 : 1;
    while (more > 0 && s->pair_count < limit) {
        more = input_next(&input, &line, err);
        if (more > 0 && read_pair(s, line, (size_t)input.number, input.offset, err) < 0)
            more = -1;
    }
    input_close(&input);
    if (more < 0 && err->kind == ERR_INPUT && !*err->hint)
        return hint(err, "each line is an object: {\"good\": \"The cats sleep.\", \"bad\": \"The cats sleeps.\"}");
    if (more >= 0 && s->pair_count == 0)
        return fail_at(err, ERR_INPUT, s->path, ERROR_NO_OFFSET, "holds no pairs");
    return more < 0 ? -1 : 0;
}

/* The sentence that contains piece k. */
static size_t sentence_of(const struct score *s, uint64_t k)
{
    size_t low = 0, high = 2 * s->pair_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (s->firsts[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct score *s = context;
    const struct vocab *vocab = s->reading.text.vocab;
    const size_t sentence = sentence_of(s, k), first = s->firsts[sentence], length = s->firsts[sentence + 1] - first;
    const size_t place = 1 + (size_t)k - first;
    assert(first <= k && k < first + length);
    struct marks *masked = &sequence->marks[HEAD_MASKED];
    (void)err;
    sequence->length = sequence->a_length = (uint32_t)length + 2;
    sequence->ids[0] = vocab->before.ids[0];
    memcpy(sequence->ids + 1, s->ids.data + first, length * sizeof *sequence->ids);
    sequence->ids[length + 1] = vocab->after.ids[0];
    masked->count = 1;
    masked->tokens[0] = (uint32_t)place;
    masked->labels[0] = sequence->ids[place];
    sequence->ids[place] = vocab->mask;
    return 0;
}

static void add_up(void *context, const struct batch *batch)
{
    struct score *s = context;
    const struct engine *engine = &s->reading.engine;
    const size_t rows = (size_t)batch->heads[HEAD_MASKED].live, bytes = 2 * rows * sizeof(double);
    void *memory = (void *)model_results(engine->model);
    double *results = engine->ops->map(engine->ops->device, memory, bytes, MAP_READ);
    assert(s->done + rows <= s->ids.count);
    for (size_t row = 0; row < rows; row++, s->done++) {
        while (s->firsts[s->sentence + 1] <= s->done)
            s->sentence++;
        s->scores[s->sentence] -= results[2 * row];
    }
    engine->ops->unmap(engine->ops->device, memory, results, bytes, MAP_READ);
}

static int pass(struct score *s, struct error *err)
{
    const struct source source = {
        .samples = s->ids.count,
        .tokens = s->ids.count,
        .room = {(uint32_t)s->length + 2, {[HEAD_MASKED] = 1}},
        .context = s,
        .fetch = fetch,
    };
    const double from = clock_now();
    s->scores = mem_clear(2 * s->pair_count, sizeof *s->scores);
    TRY(reading_open(&s->reading, &source, err));
    TRY(reading_pass(&s->reading, add_up, s, err));
    assert(s->done == s->ids.count); /* every piece has its result */
    s->seconds = clock_now() - from;
    return 0;
}

static void count(struct score *s)
{
    for (size_t i = 0; i < s->pair_count; i++) {
        const bool right = s->scores[2 * i] > s->scores[2 * i + 1];
        s->right += right;
        for (int label = 0; label < LABELS; label++) {
            if (s->pairs[i].group[label] == SIZE_MAX)
                continue;
            struct group *group = &s->labels[label].items[s->pairs[i].group[label]];
            group->pairs++;
            group->right += right;
        }
    }
}

static int write_details(const struct score *s, const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    for (size_t i = 0; path && i < s->pair_count; i++)
        buf_addf(&text, "{\"good\": %.9g, \"bad\": %.9g}\n", s->scores[2 * i], s->scores[2 * i + 1]);
    return path ? file_write_all(path, text.data, text.size, err) : 0;
}

static double share(uint64_t right, uint64_t pairs)
{
    return (double)right / (double)pairs;
}

static void print_row(const char *name, uint64_t right, uint64_t pairs)
{
    char number[32];
    output_line("%-52s %9s  %6.2f %%", name, format_count(pairs, number), 100 * share(right, pairs));
}

static void print_table(const struct score *s)
{
    for (int label = 0; label < LABELS; label++) {
        const struct groups *groups = &s->labels[label];
        if (groups->count > 0)
            output_line("%-52s %9s  %8s", groups->key, "pairs", "right");
        for (size_t i = 0; i < groups->count; i++)
            print_row(groups->items[i].name, groups->items[i].right, groups->items[i].pairs);
    }
    print_row("all", s->right, s->pair_count);
}

static void print_json(const struct score *s)
{
    json_t *facts = json_pack("{s:o, s:f, s:I, s:I, s:f}", "model", json_name(s->reading.origin.name), "accuracy",
                              share(s->right, s->pair_count), "pairs", (json_int_t)s->pair_count, "pieces",
                              (json_int_t)s->ids.count, "seconds", s->seconds);
    static const char *const keys[LABELS] = {"by_paradigm", "by_phenomenon"};
    for (int label = 0; label < LABELS; label++) {
        json_t *shares = json_object();
        for (size_t i = 0; i < s->labels[label].count; i++) {
            const struct group *group = &s->labels[label].items[i];
            json_object_set_new(shares, group->name, json_real(share(group->right, group->pairs)));
        }
        json_object_set_new(facts, keys[label], shares);
    }
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static int score(struct score *s, struct error *err)
{
    const struct settings *settings = &s->reading.settings;
    char pairs[56], pieces[56], time[32];
    static const struct target_form form = {.begins = "{\"good\": -"}; /* a file of pairs has texts there */
    const struct target target = {.option = "details",
                                  .path = settings->details,
                                  .force = settings->force,
                                  .forms = &form,
                                  .form_count = 1,
                                  .reads = &s->path,
                                  .read_count = 1};
    TRY(target_check(&target, err));
    TRY(read_pairs(s, settings->limit > 0 ? settings->limit : UINT64_MAX, err));
    TRY(pass(s, err));
    count(s);
    TRY(write_details(s, settings->details, err));
    if (settings->json)
        print_json(s);
    else
        print_table(s);
    fflush(stdout); /* results precede messages, even if both go to one pipe */
    log_say("done       %s, %s in %s", format_counted(s->pair_count, "pair", pairs),
            format_counted(s->ids.count, "masked piece", pieces), format_seconds(s->seconds, time));
    const struct vocab *vocab = s->reading.text.vocab;
    SCOPED(buf_release) struct buf sentence = {0};
    buf_addf(&sentence, "Paris is the %.*s of France.", (int)vocab->pieces[vocab->mask].size,
             vocab->pieces[vocab->mask].data);
    say_next(command_text("dstrain fill-mask %s %s", s->reading.origin.name, buf_text(&sentence)));
    return 0;
}

int dstrain_score(void *context, struct opt_paths bare, struct error *err)
{
    struct score s = {.path = bare.items[1], .labels = {{.key = "paradigm"}, {.key = "phenomenon"}}};
    stop_on_signals();
    int result = reading_find(&s.reading, context, bare.items[0], 1u << HEAD_MASKED, err);
    if (result == 0)
        result = text_need_mask(&s.reading.text, err);
    if (result == 0)
        result = score(&s, err);
    reading_close(&s.reading);
    for (int label = 0; label < LABELS; label++) {
        for (size_t i = 0; i < s.labels[label].count; i++)
            mem_free(s.labels[label].items[i].name);
        mem_free(s.labels[label].items);
    }
    ids_release(&s.ids);
    mem_free(s.pairs);
    mem_free(s.firsts);
    mem_free(s.scores);
    return result;
}
