/* dstrain embed: a vector for each text, from the last layer of a model, as sentence-transformers computes it: the mean
 * over the tokens of a text (Reimers and Gurevych 2019, 3), its first token, or the largest value of each column. */
#include <inttypes.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "trainer/model/config.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/columns.h"
#include "trainer/tune/reading.h"
#include "trainer/verbs/export_files.h"

#define WINDOW     4096u /* texts */
#define SEQ_LIKELY 512u
#define NPY_BYTES  128u /* of the header, with room for any number of rows */

static const char *const pooling_names[] = {[POOLING_MEAN] = "mean", [POOLING_CLS] = "cls", [POOLING_MAX] = "max"};
enum { POOLINGS = sizeof pooling_names / sizeof *pooling_names };

/* How a model's directory says that the vectors of texts are made: the files of sentence-transformers. */
struct embed_modules {
    bool found;        /* the directory has modules.json; without, the pooling is the mean, and nothing is done to it */
    int pooling;       /* enum pooling */
    bool normalize;    /* vectors have length 1 */
    bool lower;        /* texts are lowered before they are cut */
    uint64_t length;   /* of a text in tokens; 0: not said */
    char others[96];   /* modules that are no Transformer, Pooling or Normalize; empty: none */
    char poolings[96]; /* a pooling that is none of ours, as the file has it; empty: none */
};

static void list(char *names, size_t room, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, room - used, "%s%s", used > 0 ? ", " : "", name);
}

static void take_pooling(struct embed_modules *s, const char *name)
{
    for (int i = 0; i < POOLINGS; i++)
        if (strcmp(name, pooling_names[i]) == 0)
            s->pooling = i;
    list(s->poolings, sizeof s->poolings, name);
}

static bool is_ours(const struct embed_modules *s)
{
    return s->poolings[0] == '\0' || strcmp(s->poolings, pooling_names[s->pooling]) == 0;
}

/* "pooling_mode": a name or several, whose vectors are joined; in older files a boolean for each,
 * "pooling_mode_mean_tokens" among them. Without either it is the mean. */
static int read_pooling(const char *path, struct embed_modules *s, struct error *err)
{
    static const char before[] = "pooling_mode_";
    const char *key;
    char name[64];
    json_t *config, *value, *one;
    size_t i;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &config, err));
    json_t *modes = json_object_get(config, "pooling_mode");
    s->pooling = POOLING_MEAN;
    if (json_is_string(modes))
        take_pooling(s, json_string_value(modes));
    json_array_foreach(modes, i, one) if (json_is_string(one)) take_pooling(s, json_string_value(one));
    json_object_foreach(config, key, value)
    {
        if (modes || !json_is_true(value) || strncmp(key, before, sizeof before - 1) != 0)
            continue;
        snprintf(name, sizeof name, "%s", key + sizeof before - 1);
        char *end = strstr(name, "_token");
        if (end && (strcmp(end, "_tokens") == 0 || strcmp(end, "_token") == 0))
            *end = '\0';
        take_pooling(s, name);
    }
    json_decref(config);
    if (is_ours(s))
        s->poolings[0] = '\0';
    return 0;
}

static int read_length(const char *path, struct embed_modules *s, struct error *err)
{
    json_t *config;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &config, err));
    const json_int_t length = json_integer_value(json_object_get(config, "max_seq_length"));
    s->length = length > 0 ? (uint64_t)length : 0;
    s->lower = json_is_true(json_object_get(config, "do_lower_case"));
    json_decref(config);
    return 0;
}

/* Reads a file of the directory if it is there. */
static int read_beside(const char *directory, const char *name,
                       int (*read)(const char *path, struct embed_modules *s, struct error *err),
                       struct embed_modules *s, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path) ? read(path, s, err) : 0;
}

static int take_module(const char *directory, const json_t *module, struct embed_modules *s, struct error *err)
{
    const char *path = json_string_value(json_object_get(module, "path"));
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *point = type ? strrchr(type, '.') : NULL, *name = point ? point + 1 : type;
    if (!name)
        return fail(err, ERR_UNSAFE, "a module has no \"type\"");
    if (strcmp(name, "Transformer") == 0)
        return read_beside(directory, SENTENCE_NAME, read_length, s, err);
    if (strcmp(name, "Normalize") == 0) {
        s->normalize = true;
        return 0;
    }
    if (strcmp(name, "Pooling") != 0) {
        list(s->others, sizeof s->others, name);
        return 0;
    }
    SCOPED(mem_free_at) char *folder = path_join(directory, path ? path : POOLING_NAME);
    return read_beside(folder, CONFIG_NAME, read_pooling, s, err);
}

static int take_modules(const char *directory, const char *path, struct embed_modules *s, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    json_error_t why;
    json_t *module;
    size_t i;
    TRY(file_read_all(path, CONFIG_BYTES_MAX, &text, err));
    json_auto_t *modules = json_parse(str_without_mark(buf_str(&text)), CONFIG_BYTES_MAX, &why);
    if (!json_is_array(modules))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "is not a list of modules: %.200s",
                       modules ? "it is a JSON object" : why.text);
    s->found = true;
    json_array_foreach(modules, i, module) TRY(take_module(directory, module, s, err));
    return 0;
}

/* Reads modules.json, and the files of its modules beside it. ERR_UNSAFE: one of them is not what it should be. */
static int embed_modules_read(const char *directory, struct embed_modules *out, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, MODULES_NAME);
    *out = (struct embed_modules){.pooling = POOLING_MEAN};
    return path_exists(path) ? take_modules(directory, path, out, err) : 0;
}

struct embedding {
    const struct settings *settings;
    const char *model, *file;
    struct reading reading;
    size_t hidden;
    struct embed_modules how; /* as the options have it, else as the model's directory has it */
    bool tabular, lines;      /* the input is a table; the output is JSON lines */
    struct input input;
    struct table table;
    struct columns columns;

    struct class_cutter cutter;
    struct samples samples; /* of the window: texts that are not empty */
    size_t row_of[WINDOW];  /* of each sample */
    size_t rows;            /* of the window */
    float *vectors;         /* [WINDOW, hidden] */
    size_t pooled;          /* samples of the window so far */
    double *sums;           /* [hidden] */
    uint64_t count, empty, cut;
    struct buf out;
    struct file to;
};

static int next_text(struct embedding *e, struct str *text, struct error *err)
{
    if (!e->tabular)
        return input_next(&e->input, text, err);
    const int more = table_next(&e->table, err);
    if (more > 0)
        *text = e->table.fields[e->columns.text];
    return more;
}

/* 1: the window has texts. */
static int read_window(struct embedding *e, struct error *err)
{
    struct str text;
    int more = 1;
    samples_reset(&e->samples);
    e->pooled = 0;
    for (e->rows = 0; e->rows < WINDOW && (more = next_text(e, &text, err)) > 0; e->rows++) {
        if (str_is_blank(text)) {
            e->empty++;
            continue;
        }
        e->row_of[e->samples.count] = e->rows;
        class_cut(&e->cutter, text, NULL, 0, &e->samples);
    }
    return more < 0 ? -1 : e->rows > 0;
}

static int fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct samples *samples = context;
    const struct task_sample *item = &samples->items[k];
    (void)err;
    memcpy(sequence->ids, samples->ids + item->at, item->length * sizeof *sequence->ids);
    sequence->length = sequence->a_length = item->length;
    return 0;
}

static struct source source_of(const struct embedding *e)
{
    return (struct source){
        .samples = e->samples.count,
        .tokens = e->samples.id_count,
        .room.length = e->cutter.length,
        .context = &e->samples,
        .fetch = fetch,
    };
}

static void add_row(const float *row, bool largest, size_t hidden, double *sums)
{
    for (size_t i = 0; i < hidden; i++)
        sums[i] = largest ? fmax(sums[i], (double)row[i]) : sums[i] + (double)row[i];
}

/* Vector of a text from its rows [count > 0, hidden]. */
static void pool(struct embedding *e, const float *rows, size_t count, float *out)
{
    const bool largest = e->how.pooling == POOLING_MAX;
    const size_t used = e->how.pooling == POOLING_CLS ? 1 : count;
    double squares = 0;
    for (size_t i = 0; i < e->hidden; i++)
        e->sums[i] = largest ? (double)rows[i] : 0;
    for (size_t k = 0; k < used; k++)
        add_row(rows + k * e->hidden, largest, e->hidden, e->sums);
    for (size_t i = 0; i < e->hidden; i++) {
        e->sums[i] /= largest ? 1 : (double)used;
        squares += e->sums[i] * e->sums[i];
    }
    const double norm = e->how.normalize ? fmax(sqrt(squares), 1e-12) : 1;
    for (size_t i = 0; i < e->hidden; i++)
        out[i] = (float)(e->sums[i] / norm);
}

static void take_batch(void *context, const struct batch *batch)
{
    struct embedding *e = context;
    const struct ops *ops = e->reading.engine.ops;
    void *memory = (void *)(uintptr_t)model_hidden(e->reading.engine.model);
    const size_t bytes = (size_t)batch->tokens * e->hidden * sizeof(float);
    const float *rows = ops->map(ops->device, memory, bytes, MAP_READ);
    for (int32_t s = 0; s < batch->sequences; s++) {
        const size_t from = (size_t)batch->starts[s], count = (size_t)(batch->starts[s + 1] - batch->starts[s]);
        pool(e, rows + from * e->hidden, count, e->vectors + e->row_of[e->pooled++] * e->hidden);
    }
    ops->unmap(ops->device, memory, (void *)(uintptr_t)rows, bytes, MAP_READ);
}

/* NumPy's format 1.0: magic, version, the header's size, a Python dict, blanks up to a line feed. */
static void npy_header(uint64_t rows, size_t columns, char out[NPY_BYTES])
{
    char text[NPY_BYTES];
    memset(out, ' ', NPY_BYTES);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(NPY_BYTES - 10);
    out[9] = 0;
    const int size = snprintf(text, sizeof text,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %zu), }", rows, columns);
    memcpy(out + 10, text, (size_t)size);
    out[NPY_BYTES - 1] = '\n';
}

static int write_window(struct embedding *e, struct error *err)
{
    buf_reset(&e->out);
    if (!e->lines)
        buf_add(&e->out, e->vectors, e->rows * e->hidden * sizeof *e->vectors);
    for (size_t row = 0; e->lines && row < e->rows; row++) {
        for (size_t i = 0; i < e->hidden; i++)
            buf_addf(&e->out, "%c%.9g", i == 0 ? '[' : ',', (double)e->vectors[row * e->hidden + i]);
        buf_add_text(&e->out, "]\n");
    }
    e->count += e->rows;
    return file_write(&e->to, e->out.data, e->out.size, err);
}

static int embed_window(struct embedding *e, struct error *err)
{
    memset(e->vectors, 0, e->rows * e->hidden * sizeof *e->vectors);
    e->reading.task.samples = source_of(e);
    if (e->samples.count > 0)
        TRY(reading_pass(&e->reading, take_batch, e, err));
    return write_window(e, err);
}

static int embed_all(struct embedding *e, struct error *err)
{
    char header[NPY_BYTES];
    int more;
    npy_header(0, e->hidden, header);
    if (!e->lines)
        TRY(file_write(&e->to, header, sizeof header, err));
    while ((more = read_window(e, err)) > 0)
        TRY(embed_window(e, err));
    TRY(more);
    npy_header(e->count, e->hidden, header);
    return e->lines ? 0 : file_write_at(&e->to, header, sizeof header, 0, err);
}

static int check_out(struct embedding *e, struct error *err)
{
    const char *const reads[] = {e->file};
    const char *out = e->settings->out;
    const struct target_form forms[] = {{.begins = "\x93NUMPY\x01"}, {.begins = "["}};
    if (!out)
        return fail(err, ERR_USAGE, "--out FILE is missing: a name that ends in .npy or .jsonl");
    e->lines = str_ends(str_of(out), STR(".jsonl"));
    if (!e->lines && !str_ends(str_of(out), STR(".npy")))
        return fail(err, ERR_USAGE, "--out %.200s: the name should end in .npy or .jsonl", out);
    const struct target target = {.option = "out",
                                  .path = out,
                                  .force = e->settings->force,
                                  .forms = &forms[e->lines],
                                  .form_count = 1,
                                  .reads = reads,
                                  .read_count = 1};
    return target_check(&target, err);
}

static int refuse(const struct embedding *e, const char *what, const char *names, const char *option, struct error *err)
{
    fail_at(err, ERR_UNSAFE, e->reading.origin.files, ERROR_NO_OFFSET, "%s %.90s, which embed does not compute", what,
            names);
    return hint(err, "%s leaves it out; the vectors are then not those of sentence-transformers", option);
}

/* Pooling, length of vectors and length of texts: the command's, else those of the model's modules. */
static int choose_how(struct embedding *e, struct error *err)
{
    const struct settings *s = e->settings;
    const bool pooled = settings_given(s, "pooling");
    struct embed_modules *how = &e->how;
    if (s->normalize && s->unnormalized)
        return fail(err, ERR_USAGE, "--normalize and --no-normalize exclude each other");
    TRY(embed_modules_read(e->reading.origin.files, how, err));
    if (!pooled && how->others[0] != '\0')
        return refuse(e, "its modules.json has a module", how->others, "--pooling mean", err);
    if (!pooled && how->poolings[0] != '\0')
        return refuse(e, "its pooling is", how->poolings, "--pooling mean", err);
    if (how->lower && e->reading.text.words.cased)
        log_warn("%s lowers texts before they are cut (do_lower_case): embed does not, as the vocabulary has capitals",
                 SENTENCE_NAME);
    how->pooling = pooled ? s->pooling : how->pooling;
    how->normalize = s->normalize || (how->normalize && !s->unnormalized);
    const uint64_t positions = (uint64_t)e->reading.recipe.config.positions;
    const uint64_t likely = how->length ? how->length : SEQ_LIKELY;
    how->length = s->seq ? s->seq : positions < likely ? positions : likely;
    if (how->found)
        log_say("vectors    %s%s; texts are cut at %" PRIu64 " tokens (%s)", pooling_names[how->pooling],
                how->normalize ? ", of length 1" : "", how->length,
                pooled || s->normalize || s->unnormalized || s->seq ? "by the options and " MODULES_NAME
                                                                    : MODULES_NAME "; options change that");
    return 0;
}

static int open_model(struct embedding *e, struct error *err)
{
    TRY(reading_find(&e->reading, e->settings, e->model, 0, err));
    TRY(choose_how(e, err));
    const struct model_config *config = &e->reading.recipe.config;
    const uint64_t positions = (uint64_t)config->positions, length = e->how.length;
    if (length > positions)
        return fail(err, ERR_MISMATCH, "--seq %" PRIu64 " is above the model's %" PRIu64 " positions", length,
                    positions);
    e->cutter = (struct class_cutter){.text = &e->reading.text, .length = (uint32_t)length};
    e->hidden = (size_t)config->hidden;
    e->vectors = mem_array(WINDOW * e->hidden, sizeof *e->vectors);
    e->sums = mem_array(e->hidden, sizeof *e->sums);
    struct source source = source_of(e);
    source.samples = WINDOW;
    source.tokens = WINDOW * length;
    return reading_open(&e->reading, &source, err);
}

static int open_input(struct embedding *e, struct error *err)
{
    const struct column_names names = {.text = e->settings->text};
    e->tabular = e->settings->text != NULL;
    if (!e->tabular)
        return input_open(&e->input, e->file, err);
    TRY(table_open(&e->table, e->file, err));
    return columns_choose(&e->table, &names, false, &e->columns, err);
}

static void report(const struct embedding *e, double seconds)
{
    char texts[56], empty[32];
    if (e->settings->json)
        output_json(json_pack("{s:o, s:I, s:I, s:I, s:f}", "model", json_name(e->model), "texts", (json_int_t)e->count,
                              "empty", (json_int_t)e->empty, "size", (json_int_t)e->hidden, "seconds", seconds),
                    JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    log_say("done       %s, vectors of %zu numbers in %.1f s%s%s", format_counted(e->count, "text", texts), e->hidden,
            seconds, e->empty > 0 ? "; empty, with zeros: " : "", e->empty > 0 ? format_count(e->empty, empty) : "");
}

static int run(struct embedding *e, struct error *err)
{
    const double from = clock_now();
    TRY(check_out(e, err));
    TRY(open_model(e, err));
    TRY(open_input(e, err));
    TRY(file_create(&e->to, e->settings->out, err));
    TRY(embed_all(e, err));
    TRY(file_commit(&e->to, err));
    report(e, clock_now() - from);
    return 0;
}

int dstrain_embed(void *context, struct opt_paths bare, struct error *err)
{
    SCOPED(mem_free_at) struct embedding *e = mem_clear(1, sizeof *e);
    *e = (struct embedding){.settings = context, .model = bare.items[0], .file = bare.items[1], .to = FILE_CLOSED};
    stop_on_signals();
    const int result = run(e, err);
    file_close(&e->to);
    input_close(&e->input);
    table_close(&e->table);
    reading_close(&e->reading);
    class_cutter_release(&e->cutter);
    samples_release(&e->samples);
    buf_release(&e->out);
    mem_free(e->vectors);
    mem_free(e->sums);
    return result;
}
