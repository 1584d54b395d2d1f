#include "pipeline/build/dataset_recipe.h"

#include "base/output.h"
#include "pipeline/clean/filter.h"
#include "pipeline/clean/near.h"

#include <inttypes.h>
#include <stdio.h>

/* Mask probability x length, rounded up to a multiple of 4: 20 for 128, 80 for 512 at 0.15. Never 0,
 * because a record has room for at least one label (shard_layout_make). */
static uint32_t predictions_default(uint32_t seq, uint32_t mask_prob)
{
    uint64_t share = ((uint64_t)seq * mask_prob + MILLION - 1) / MILLION;
    uint64_t predictions = (share + 3) / 4 * 4;
    return predictions == 0 ? 4 : predictions > seq ? seq : (uint32_t)predictions;
}

static bool learns_bytes(const struct dsdata_settings *settings)
{
    return !settings->vocab && settings->kind == VOCAB_BPE_BYTES;
}

void dataset_recipe_make_words(const struct dsdata_settings *settings, bool english, struct dataset_recipe *recipe)
{
    *recipe = (struct dataset_recipe){.keep = settings->keep,
                                      .drop = settings->drop,
                                      .variant = settings->variant,
                                      .namespaces = settings->namespaces,
                                      .text_key = settings->text_key,
                                      .id_key = settings->id_key,
                                      .limit = settings->limit,
                                      .drop_duplicates = settings->duplicates == DUPLICATES_DROP,
                                      .near_duplicates = settings->near_duplicates,
                                      .salvage = settings->salvage,
                                      .cased = settings->cased || learns_bytes(settings),
                                      .profile = (enum profile)settings->profile,
                                      .joined = settings->joined,
                                      .special_in_text = settings->special_in_text,
                                      .learned = settings->vocab == NULL,
                                      .kind = (enum vocab_kind)settings->kind,
                                      .names = (enum special_names)settings->special_names,
                                      .vocab_size = (uint32_t)settings->vocab_size,
                                      .unused = (uint32_t)settings->unused,
                                      .min_frequency = settings->min_frequency,
                                      .limit_alphabet = (uint32_t)settings->limit_alphabet,
                                      .algo = (enum learn_algorithm)settings->algo};
    /* auto: uncased text loses its accents, as for BERT's own vocabulary and in Google's program. A vocabulary learned
     * from another language keeps them, because there they distinguish words. */
    if (settings->accents == ACCENTS_AUTO)
        recipe->strip_accents = !recipe->cased && (!recipe->learned || english || settings->compat == COMPAT_GOOGLE);
    else
        recipe->strip_accents = settings->accents == ACCENTS_STRIP;
}

int dataset_recipe_check_kind(const struct dsdata_settings *settings, const char *option, struct error *err)
{
    static const char *const of_wordpiece[] = {"algo", "unused", "limit-alphabet"};
    if (settings->kind == VOCAB_WORDPIECE)
        return settings->special_names == NAMES_BERT
                   ? 0
                   : fail(err, ERR_USAGE, "--special-names is for --%s bpe-bytes", option);
    if (settings->vocab)
        return fail(err, ERR_USAGE, "--%s is of a learned vocabulary, but --vocab names one", option);
    for (size_t i = 0; i < sizeof of_wordpiece / sizeof *of_wordpiece; i++)
        if (opts_given(settings->program, settings->result, of_wordpiece[i]))
            return fail(err, ERR_USAGE, "--%s is of WordPiece: --%s bpe-bytes has none", of_wordpiece[i], option);
    if (settings->accents == ACCENTS_STRIP || settings->profile == PROFILE_GOOGLE)
        return fail(err, ERR_USAGE,
                    "--%s bpe-bytes keeps all of a text: --accents strip and --profile google are of WordPiece",
                    option);
    return 0;
}

int dataset_recipe_check(const struct dataset_recipe *recipe, struct error *err)
{
    if (recipe->near_duplicates == 0 || recipe->near_duplicates >= NEAR_LEAST)
        return 0;
    fail(err, ERR_USAGE, "--near-duplicates %g is less than %g", recipe->near_duplicates / (double)MILLION,
         NEAR_LEAST / (double)MILLION);
    return hint(err, "0.8 is usual; documents of equal text only: --duplicates drop");
}

int dataset_recipe_make(const struct dsdata_settings *settings, bool english, struct dataset_recipe *recipe,
                        struct error *err)
{
    dataset_recipe_make_words(settings, english, recipe);
    TRY(dataset_recipe_check(recipe, err));
    recipe->length_count = settings->seq.count;
    recipe->mask_prob = settings->mask_prob;
    recipe->short_seq_prob = settings->short_seq_prob;
    recipe->valid = settings->valid;
    recipe->valid_by = (enum valid_by)settings->valid_by;
    recipe->copies = (uint32_t)settings->copies;
    recipe->seed = settings->seed;
    recipe->shard_bytes = settings->shard_bytes;
    recipe->pairs = (enum pair_kind)settings->pairs;
    recipe->packed = settings->pack;
    recipe->masking = (enum mask_kind)settings->masking;
    recipe->compat = (enum compat)settings->compat;
    if (recipe->learned && recipe->vocab_size)
        TRY(learn_check_room(recipe->kind, recipe->vocab_size, recipe->unused, err));
    if (recipe->packed && recipe->pairs != PAIRS_NONE)
        return fail(err, ERR_USAGE, "--pack is for --pairs none: a pair has documents of its own");
    if (recipe->length_count == 0)
        return fail(err, ERR_USAGE, "--seq needs at least one length");
    const struct opt_numbers *predictions = &settings->max_predictions;
    if (predictions->count > 0 && predictions->count != recipe->length_count)
        return fail(err, ERR_USAGE, "--max-predictions has %zu numbers, --seq has %zu: one for each length",
                    predictions->count, recipe->length_count);
    for (size_t i = 0; i < recipe->length_count; i++) {
        recipe->seq[i] = settings->seq.values[i];
        if (i > 0 && recipe->seq[i] <= recipe->seq[i - 1]) /* set numbers (counts.h) follow this order */
            return fail(err, ERR_USAGE, "--seq must rise: %u comes after %u", recipe->seq[i], recipe->seq[i - 1]);
        recipe->predictions[i] =
            predictions->count > 0 ? predictions->values[i] : predictions_default(recipe->seq[i], recipe->mask_prob);
        if (recipe->predictions[i] > recipe->seq[i])
            return fail(err, ERR_USAGE, "--max-predictions %u is more than the sequence length %u holds",
                        recipe->predictions[i], recipe->seq[i]);
    }
    return 0;
}

void dataset_recipe_take_inputs(struct dataset_recipe *recipe, const struct inputs *inputs)
{
    recipe->lang = inputs->lang;
    recipe->languages = inputs->named;
    recipe->forms = inputs->forms;
    recipe->filters = inputs->filters;
    if (encoding_converts(&inputs->encoding) || inputs->encoding.lossy)
        recipe->encoding = inputs->encoding.name;
    recipe->iconv = encoding_library(&inputs->encoding);
}

struct tokenizer_options dataset_recipe_words(const struct dataset_recipe *recipe)
{
    return (struct tokenizer_options){.cased = recipe->cased,
                                      .strip_accents = recipe->strip_accents,
                                      .profile = recipe->profile,
                                      .joined = recipe->joined,
                                      .special_in_text = recipe->special_in_text};
}

static void put_list(json_t *object, const char *name, const uint32_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(values[i]));
    json_object_set_new(object, name, list);
}

static void put_number(json_t *object, const char *name, uint64_t value)
{
    /* A string, because --seed has 64 bits and JSON's integers only 63. */
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    json_object_set_new(object, name, value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(text));
}

json_t *dataset_recipe_json(const struct dataset_recipe *recipe)
{
    /* A resume compares this, and manifests keep it. An option that was added later appears only where it changes
     * something, so that builds without it keep their identity and their root hash. */
    json_t *object = json_object();
    put_number(object, "text_version", TEXT_VERSION);
    put_number(object, "format_version", SHARD_FORMAT_VERSION);
    put_list(object, "seq", recipe->seq, recipe->length_count);
    put_list(object, "max-predictions", recipe->predictions, recipe->length_count);
    put_number(object, "mask-prob", recipe->mask_prob);
    put_number(object, "short-seq-prob", recipe->short_seq_prob);
    put_number(object, "valid", recipe->valid);
    if (recipe->valid_by != VALID_AUTO)
        json_object_set_new(object, "valid-by", json_string(recipe->valid_by == VALID_BY_ID ? "id" : "text"));
    put_number(object, "copies", recipe->copies);
    put_number(object, "seed", recipe->seed);
    put_number(object, "limit", recipe->limit);
    put_number(object, "shard-bytes", recipe->shard_bytes);
    put_number(object, "keep", recipe->keep);
    put_number(object, "drop", recipe->drop);
    json_object_set_new(object, "lang", json_string(recipe->lang ? recipe->lang : ""));
    if (recipe->encoding)
        json_object_set_new(object, "encoding", json_string(recipe->encoding));
    if (recipe->iconv)
        json_object_set_new(object, "iconv", json_string(recipe->iconv));
    if (recipe->variant)
        json_object_set_new(object, "variant", json_string(recipe->variant));
    if (recipe->namespaces && strcmp(recipe->namespaces, "0") != 0)
        json_object_set_new(object, "namespaces", json_string(recipe->namespaces));
    if (recipe->languages)
        json_object_set_new(object, "languages", json_string(recipe->languages));
    if (recipe->forms)
        json_object_set_new(object, "text-form", json_string(recipe->forms));
    if (recipe->text_key && strcmp(recipe->text_key, TEXT_KEY) != 0)
        json_object_set_new(object, "text-key", json_name(recipe->text_key));
    if (recipe->id_key && strcmp(recipe->id_key, ID_KEY) != 0)
        json_object_set_new(object, "id-key", json_name(recipe->id_key));
    filters_identify(recipe->filters, object);
    if (recipe->drop_duplicates)
        json_object_set_new(object, "duplicates", json_string("drop"));
    if (recipe->near_duplicates > 0)
        put_number(object, "near-duplicates", recipe->near_duplicates);
    if (recipe->templates[0])
        json_object_set_new(object, "templates", json_string(recipe->templates));
    if (recipe->templates_bytes > 0)
        put_number(object, "templates-bytes", recipe->templates_bytes);
    json_object_set_new(object, "cased", json_boolean(recipe->cased));
    json_object_set_new(object, "accents", json_string(recipe->strip_accents ? "strip" : "keep"));
    if (recipe->pairs != PAIRS_NSP)
        json_object_set_new(object, "pairs", json_string(pair_names[recipe->pairs]));
    if (recipe->packed)
        json_object_set_new(object, "pack", json_true());
    if (recipe->masking != MASKS_TOKEN)
        json_object_set_new(object, "masking", json_string(mask_names[recipe->masking]));
    if (recipe->compat == COMPAT_GOOGLE)
        json_object_set_new(object, "compat", json_string("google"));
    if (recipe->profile == PROFILE_GOOGLE)
        json_object_set_new(object, "profile", json_string("google"));
    if (recipe->salvage)
        json_object_set_new(object, "salvage", json_true());
    if (recipe->special_in_text)
        json_object_set_new(object, "special-in-text", json_true());
    if (recipe->joined)
        json_object_set_new(object, "handle-chinese-chars", json_false());
    if (recipe->kind == VOCAB_BPE_BYTES)
        json_object_set_new(object, "vocab-kind", json_string("bpe-bytes"));
    if (recipe->learned) { /* a vocabulary from --vocab is known by its hash instead */
        if (recipe->vocab_size)
            put_number(object, "vocab-size", recipe->vocab_size);
        else
            json_object_set_new(object, "vocab-size", json_string("auto"));
        if (recipe->kind == VOCAB_WORDPIECE)
            put_number(object, "unused", recipe->unused);
        if (recipe->names == NAMES_ROBERTA)
            json_object_set_new(object, "special-names", json_string("roberta"));
        if (recipe->min_frequency > LEARN_COUNT_MIN)
            put_number(object, "min-frequency", recipe->min_frequency);
        if (recipe->limit_alphabet && recipe->limit_alphabet < LEARN_LETTERS_MAX)
            put_number(object, "limit-alphabet", recipe->limit_alphabet);
        if (recipe->algo != LEARN_GREEDY)
            json_object_set_new(object, "algo", json_string(learn_names[recipe->algo]));
    }
    return object;
}

const char *const keep_names[] = {"headings", "lists", "prose-lists", "pre", "captions"};
const char *const drop_names[] = {"disambiguation", "lists", "stubs"};

/* Options whose JSON values are whole millionths or bits. */
static const char *const shares[] = {"mask-prob", "short-seq-prob", "valid", "near-duplicates"};
static const struct {
    const char *option, *const *names;
    size_t count;
} sets[] = {{"keep", keep_names, KEEP_NAMES}, {"drop", drop_names, DROP_NAMES}};

static void add_names(const char *const *names, size_t count, uint64_t bits, struct buf *out)
{
    const size_t before = out->size;
    for (size_t i = 0; i < count; i++)
        if (bits >> i & 1)
            buf_addf(out, "%s%s", out->size > before ? "," : "", names[i]);
    if (out->size == before)
        buf_add_text(out, "nothing");
}

void dataset_recipe_value_text(const char *name, const json_t *value, struct buf *out)
{
    const char *text = json_string_value(value); /* numbers too: large ones (put_number), and all in a manifest */
    const uint64_t number = text ? strtoull(text, NULL, 10) : (uint64_t)json_integer_value(value);
    const bool is_number = json_is_integer(value) || (text && text[0] && text[strspn(text, "0123456789")] == 0);
    for (size_t i = 0; is_number && i < sizeof shares / sizeof *shares; i++)
        if (strcmp(name, shares[i]) == 0) {
            buf_addf(out, "%g", (double)number / MILLION);
            return;
        }
    for (size_t i = 0; is_number && i < sizeof sets / sizeof *sets; i++)
        if (strcmp(name, sets[i].option) == 0) {
            add_names(sets[i].names, sets[i].count, number, out);
            return;
        }
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) buf_addf(out, "%s%lld", i ? "," : "", (long long)json_integer_value(item));
    if (json_is_array(value))
        return;
    char *dumped = text || !value ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    buf_add_text(out, text && text[0] ? text : dumped ? dumped : "none");
    mem_free(dumped);
}
