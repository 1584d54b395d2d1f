#include "trainer/data/datasets.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"

/* ---- a text: a path, optionally with a weight ---- */

struct named {
    struct str path;
    const char *weight; /* as it was typed; NULL: none */
    uint64_t asked;     /* in billionths; 0: what was typed is not a weight, or out of range */
};

#define WEIGHT_DIGITS 9 /* before the point, and after it */

/* Reads a decimal number in billionths, truncating further digits. False: not a number. 0: out of range. */
static bool read_weight(const char *text, uint64_t *asked)
{
    const size_t whole = strspn(text, "0123456789");
    const char *point = text + whole;
    const size_t parts = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    *asked = 0;
    if (whole + parts == 0 || point[parts + (*point == '.')] != '\0')
        return false;
    if (whole > WEIGHT_DIGITS)
        return true; /* 0: too large */
    for (size_t i = 0; i < whole; i++)
        *asked = 10 * *asked + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < WEIGHT_DIGITS; i++)
        *asked = 10 * *asked + (i < parts ? (uint64_t)(point[1 + i] - '0') : 0);
    if (*asked >= (uint64_t)1 << 49)
        *asked = 0;
    return true;
}

static struct named read_named(const char *text)
{
    struct named named = {.path = str_of(text)};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || path_exists(text))
        return named;
    SCOPED(mem_free_at) char *before = mem_copy_text(text);
    before[equals - text] = '\0';
    if (read_weight(equals + 1, &named.asked) || path_exists(before)) {
        named.path = str_range(text, equals);
        named.weight = equals + 1;
    }
    return named;
}

void shards_command(const struct opt_paths *shards, struct buf *command)
{
    for (size_t i = 0; i < shards->count; i++) {
        command_add(command, "--shards");
        command_path(command, shards->items[i]);
    }
}

char *shards_path(const char *text)
{
    const struct named named = read_named(text);
    char *path = mem_copy_text(text);
    path[named.path.size] = '\0';
    return path;
}

static int bad_weight(const struct named *named, struct error *err)
{
    fail(err, ERR_USAGE, "--shards %.*s=%.60s: \"%.60s\" is not a weight", (int)named->path.size, named->path.data,
         named->weight, named->weight);
    return hint(err, "a decimal number above 0 and below 500,000: --shards A=0.7 --shards B=0.3; leave out datasets "
                     "that are not to be read");
}

static int no_weight(const struct opt_paths *shards, const char *path, struct error *err)
{
    fail(err, ERR_USAGE, "--shards is given %zu times, and %s has no weight", shards->count, path);
    hint_command(err, "a mixture says what share of the samples each dataset has: --shards %s=0.7 --shards …=0.3",
                 path);
    return -1;
}

static int read_weights(const struct opt_paths *shards, uint32_t *weights, struct error *err)
{
    uint64_t asked[MIXTURE_MAX];
    if (shards->count == 0) {
        fail(err, ERR_USAGE, "--shards DIR is missing: the dataset to train on");
        return hint(err, "dsdata build makes one");
    }
    if (shards->count > MIXTURE_MAX)
        return fail(err, ERR_USAGE, "--shards is given %zu times: a mixture has %d datasets at most", shards->count,
                    MIXTURE_MAX);
    for (size_t i = 0; i < shards->count; i++) {
        const struct named named = read_named(shards->items[i]);
        if (named.weight && named.asked == 0)
            return bad_weight(&named, err);
        if (!named.weight && shards->count > 1)
            return no_weight(shards, shards->items[i], err);
        asked[i] = named.weight ? named.asked : 1;
    }
    if (!mixture_weights(asked, (uint32_t)shards->count, weights))
        return fail(err, ERR_USAGE, "--shards: a dataset has less than a millionth of the sum of all weights");
    return 0;
}

/* ---- compatibility ---- */

static int differ(const struct dataset *first, const struct dataset *other, const char *what, struct error *err)
{
    return fail_at(err, ERR_MISMATCH, other->directory, ERROR_NO_OFFSET, "cannot be mixed with %.200s: %s",
                   first->directory, what);
}

static bool same_option(const struct manifest *a, const struct manifest *b, const char *name)
{
    const char *const left = manifest_option(a, name), *const right = manifest_option(b, name);
    return left && right ? strcmp(left, right) == 0 : left == right;
}

static int compare(const struct dataset *first, const struct dataset *other, struct error *err)
{
    const struct manifest *a = &first->manifest, *b = &other->manifest;
    char what[120];
    if (a->root_hash == b->root_hash) {
        fail(err, ERR_USAGE, "--shards: %.200s and %.200s are the same dataset", first->directory, other->directory);
        return hint(err, "give it once, with the sum of the weights");
    }
    if (a->vocab_hash != b->vocab_hash || a->vocab_size != b->vocab_size) {
        snprintf(what, sizeof what, "their vocabularies differ (%" PRIu32 " and %" PRIu32 " pieces)", a->vocab_size,
                 b->vocab_size);
        differ(first, other, what, err);
        return hint_command(err, "dsdata build --vocab %s%s makes one with the same", first->directory,
                            manifest_is_bpe(a) ? "" : "/" VOCAB_NAME);
    }
    for (int i = 0; i < TOKENIZER_FILES; i++)
        if (i != TOKENIZER_CONFIG && !same_option(a, b, tokenizer_file_names[i]))
            return differ(first, other, "their tokenizers differ", err);
    const char *han = "handle-chinese-chars";
    if (a->cased != b->cased || a->accents_kept != b->accents_kept ||
        !manifest_option(a, han) != !manifest_option(b, han))
        return differ(first, other, "their text was not read alike: case, accents or Chinese characters", err);
    if (a->pairs != b->pairs) {
        snprintf(what, sizeof what, "its samples have another kind of pairs (%s, there %s)", pair_names[b->pairs],
                 pair_names[a->pairs]);
        return differ(first, other, what, err);
    }
    if (a->masking != b->masking)
        return differ(first, other, "one masks whole words, the other pieces", err);
    return 0;
}

/* ---- opening ---- */

static int open_one(struct datasets *datasets, const char *path, uint32_t seq, struct error *err)
{
    struct dataset *train = &datasets->train[datasets->count], *valid = &datasets->valid[datasets->count];
    TRY(dataset_open(train, path, seq, SPLIT_TRAIN, err));
    datasets->count++;
    if (train->samples == 0)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "has no training samples of length %" PRIu32,
                       train->layout.seq);
    return dataset_open(valid, path, train->layout.seq, SPLIT_VALID, err);
}

int datasets_open(struct datasets *datasets, const struct opt_paths *shards, uint32_t seq, struct error *err)
{
    *datasets = (struct datasets){0};
    TRY(read_weights(shards, datasets->weights, err));
    for (size_t i = 0; i < shards->count; i++) {
        SCOPED(mem_free_at) char *path = shards_path(shards->items[i]);
        TRY(open_one(datasets, path, i == 0 ? seq : datasets->train[0].layout.seq, err));
        for (size_t other = 0; other < i; other++)
            TRY(compare(&datasets->train[other], &datasets->train[i], err));
    }
    return 0;
}

void datasets_close(struct datasets *datasets)
{
    for (uint32_t d = 0; d < datasets->count; d++) {
        dataset_close(&datasets->train[d]);
        dataset_close(&datasets->valid[d]);
    }
    *datasets = (struct datasets){0};
}

/* ---- identity and texts ---- */

uint64_t datasets_hash(const struct datasets *datasets)
{
    uint64_t words[2 * MIXTURE_MAX]; /* little-endian machine (shards/format.h) */
    if (datasets->count == 1)
        return datasets->train[0].manifest.root_hash;
    for (uint32_t d = 0; d < datasets->count; d++) {
        words[2 * d] = datasets->train[d].manifest.root_hash;
        words[2 * d + 1] = datasets->weights[d];
    }
    return hash64(words, datasets->count * 2 * sizeof *words);
}

static uint64_t sum_of(const struct datasets *datasets)
{
    uint64_t sum = 0;
    for (uint32_t d = 0; d < datasets->count; d++)
        sum += datasets->weights[d];
    return sum;
}

static double share_of(const struct datasets *datasets, uint32_t d)
{
    return (double)datasets->weights[d] / (double)sum_of(datasets);
}

char *datasets_identity(const struct datasets *datasets, char out[MIXTURE_TEXT_BYTES])
{
    char hash[17];
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t d = 0; d < datasets->count && datasets->count > 1; d++)
        used += (size_t)snprintf(out + used, MIXTURE_TEXT_BYTES - used, "%s%.9g of %s", d > 0 ? ", " : "",
                                 share_of(datasets, d), hash_text(datasets->train[d].manifest.root_hash, hash));
    return out;
}

static double epochs_of(const struct datasets *datasets, uint32_t d, uint64_t samples)
{
    return share_of(datasets, d) * (double)samples / (double)datasets->train[d].samples;
}

void datasets_add_text(const struct datasets *datasets, uint64_t samples, struct buf *out)
{
    char epochs[40];
    for (uint32_t d = 0; d < datasets->count && datasets->count > 1; d++) {
        buf_addf(out, "%s%.6g %s", d > 0 ? ", " : "", share_of(datasets, d), datasets->train[d].directory);
        buf_addf(out, " (%s)", epochs_text(epochs_of(datasets, d, samples), epochs));
    }
}

double datasets_epochs(const struct datasets *datasets, uint64_t samples)
{
    double most = 0;
    for (uint32_t d = 0; d < datasets->count; d++) {
        const double epochs = epochs_of(datasets, d, samples);
        most = epochs > most ? epochs : most;
    }
    return most;
}

/* ---- run.json ---- */

static json_t *full_text(const char *text)
{
    const struct named named = read_named(text);
    SCOPED(mem_free_at) char *path = shards_path(text), *full = path_full(path);
    SCOPED(buf_release) struct buf whole = {0};
    buf_addf(&whole, "%s%s%s", full, named.weight ? "=" : "", named.weight ? named.weight : "");
    return json_name(buf_text(&whole));
}

json_t *shards_record(const struct opt_paths *shards)
{
    if (shards->count == 1)
        return full_text(shards->items[0]);
    json_t *list = json_array();
    for (size_t i = 0; i < shards->count; i++)
        json_array_append_new(list, full_text(shards->items[i]));
    return list;
}

struct opt_paths shards_recorded(const json_t *json)
{
    const size_t count = json_is_array(json) ? json_array_size(json) : 1;
    struct opt_paths shards = {.items = mem_array(count + 1, sizeof *shards.items)};
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_is_array(json) ? json_array_get(json, i) : json);
        if (text)
            shards.items[shards.count++] = text;
    }
    return shards;
}

bool shards_missing(const struct opt_paths *shards)
{
    bool missing = false;
    for (size_t i = 0; i < shards->count; i++) {
        SCOPED(mem_free_at) char *path = shards_path(shards->items[i]);
        missing |= !path_exists(path);
    }
    return missing;
}

char *epochs_text(double epochs, char out[40])
{
    char count[32];
    if (epochs < 1000 || epochs > 1e15)
        snprintf(out, 40, "%.3g epochs", epochs);
    else
        snprintf(out, 40, "%s epochs", format_count((uint64_t)epochs, count));
    return out;
}
