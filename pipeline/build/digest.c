#include "pipeline/build/digest.h"

#include "pipeline/build/repeats.h"
#include "pipeline/pairs/pairs.h"

#include <assert.h>

struct digest {
    struct digest_options options;
    struct article_reader *reader;
    struct tokenizer_state *tokenizer;
    struct sentences sentences;
    struct ids ids;
    size_t *ends; /* of the sentences in `ids` */
    size_t ends_room;
    struct documents documents;
    struct pairs pairs;
    struct shard_layout layouts[OPT_NUMBERS_MAX];
    struct sample samples[OPT_NUMBERS_MAX]; /* scratch for each layout */
    struct mask_rules rules[OPT_NUMBERS_MAX];
    struct near_rules near;
    struct gram_scratch grams;
    struct word_starts *words; /* for the rules; NULL if masking is by token */
};

static void *digest_open(const void *context)
{
    const struct digest_options *options = context;
    const struct dataset_recipe *recipe = options->recipe;
    const struct vocab *vocab = options->vocab;
    struct digest *digest = mem_clear(1, sizeof *digest);
    digest->options = *options;
    digest->reader = article_open();
    if (options->only_notes) {
        digest->near = near_rules(recipe->near_duplicates > 0 ? recipe->near_duplicates : NEAR_LEAST);
        return digest;
    }
    digest->tokenizer = tokenizer_state_open(options->tokenizer);
    if (recipe->masking == MASKS_WHOLE_WORD)
        digest->words = word_starts_open(vocab);
    for (size_t i = 0; i < recipe->length_count; i++) {
        digest->layouts[i] = shard_layout_make(recipe->seq[i], recipe->predictions[i], vocab->count);
        digest->samples[i] = sample_make(&digest->layouts[i]);
        digest->rules[i] = (struct mask_rules){.vocab_size = vocab->count,
                                               .cls = vocab->cls,
                                               .sep = vocab->sep,
                                               .mask = vocab->mask,
                                               .millionths = recipe->mask_prob,
                                               .predictions = recipe->predictions[i],
                                               .split = MASK_SPLIT_BERT,
                                               .words = digest->words};
    }
    return digest;
}

static void digest_close(void *worker)
{
    struct digest *digest = worker;
    article_close(digest->reader);
    gram_scratch_release(&digest->grams);
    tokenizer_state_close(digest->tokenizer);
    sentences_release(&digest->sentences);
    ids_release(&digest->ids);
    documents_release(&digest->documents);
    pairs_release(&digest->pairs);
    mem_free(digest->ends);
    word_starts_close(digest->words);
    for (size_t i = 0; i < digest->options.recipe->length_count; i++)
        sample_release(&digest->samples[i]);
    mem_free(digest);
}

size_t digest_entry_bytes(const struct dataset_recipe *recipe, size_t i, uint32_t vocab_size)
{
    return sizeof(struct sample_key) +
           shard_layout_make(recipe->seq[i], recipe->predictions[i], vocab_size).record_bytes;
}

static void digested_reset(struct digested *digested)
{
    digested->counts = (struct counts){0};
    missing_reset(&digested->missing);
    for (size_t set = 0; set < SETS_MAX; set++)
        buf_reset(&digested->samples[set]);
}

/* The ids of the sentences of a text. The line feed that ends its last paragraph is no part of it. */
static void cut_sentences(struct digest *digest, struct str text)
{
    const struct sentences *sentences = &digest->sentences;
    digest->ends = mem_room(digest->ends, sentences->count, &digest->ends_room, sizeof *digest->ends);
    if (text.size > 0 && text.data[text.size - 1] == '\n')
        text.size--;
    digest->ids.count = 0;
    tokenizer_sentences(digest->tokenizer, text, sentences->items, sentences->count, &digest->ids, digest->ends);
}

/* Adds the text of one article as a document of pieces; false if it gives none. */
static bool add_document(struct digest *digest, const struct article_options *options, const struct article *article,
                         struct counts *counts)
{
    const struct dataset_recipe *recipe = digest->options.recipe;
    const bool valid = document_is_held_out(article->held_by, recipe->valid);
    article_sentences(options, article, &digest->sentences);
    documents_begin(&digest->documents, article->id, valid);
    cut_sentences(digest, article->text);
    for (size_t i = 0, from = 0; i < digest->sentences.count; from = digest->ends[i++])
        documents_sentence(&digest->documents, digest->ids.data + from, digest->ends[i] - from);
    for (size_t k = 0; k < digest->ids.count; k++)
        counts->unknown += digest->ids.data[k] == digest->options.vocab->unk;
    if (!documents_end(&digest->documents))
        return false;
    counts->documents++;
    counts->documents_valid += valid;
    for (size_t i = 0; i < HELD_STEPS; i++)
        counts->held[i] += document_is_held_out(article->held_by, counts_held_steps[i]);
    counts->text_bytes += article->text.size;
    counts->sentences += digest->sentences.count;
    counts->pieces += digest->ids.count;
    return true;
}

/* The notes of the pass that looks for repeated documents. */
static void note_for_repeats(struct digest *digest, const struct sample_key *entry, struct str text,
                             struct digested *digested)
{
    const struct dataset_recipe *recipe = digest->options.recipe;
    if (recipe->drop_duplicates)
        buf_add(&digested->samples[0], entry, sizeof *entry);
    if (recipe->near_duplicates == 0)
        return;
    const struct grams grams = grams_of(&digest->grams, text, NEAR_WORDS);
    struct sketched sketched = {.document = *entry};
    if (grams.count == 0)
        return;
    near_sketch_make(&digest->near, grams, &sketched.sketch);
    buf_add(&digested->samples[1], &sketched, offsetof(struct sketched, sketch) + near_sketch_bytes(&digest->near));
}

/* Notes a document's text; returns its fate, PAGE_KEPT unless it repeats an earlier one and is to be dropped. */
static enum page_fate note_text(struct digest *digest, const struct group *group, size_t index,
                                const struct article *article, struct digested *digested)
{
    const struct digest_options *options = &digest->options;
    const struct sample_key entry = repeats_key(group, index, article_hash(digest->reader, article));
    if (options->only_notes) {
        note_for_repeats(digest, &entry, article->text, digested);
        return PAGE_KEPT;
    }
    const enum page_fate fate = options->repeats ? repeats_judge(options->repeats, &entry) : PAGE_KEPT;
    if (fate == PAGE_KEPT)
        buf_add(&digested->samples[2 * options->recipe->length_count], &entry, sizeof entry);
    return fate;
}

static void read_documents(struct digest *digest, const struct article_options *options, struct group *group,
                           struct digested *digested)
{
    struct counts *counts = &digested->counts;
    documents_reset(&digest->documents);
    article_count_group(options, group, counts, &digested->missing);
    for (size_t i = 0; i < group->record_count; i++) {
        struct article article;
        counts->input_bytes += group->records[i].size;
        article_read(digest->reader, options, group, i, &article);
        if (article.fate == PAGE_KEPT)
            article.fate = note_text(digest, group, i, &article, digested);
        if (digest->options.only_notes)
            continue;
        if (article.fate == PAGE_KEPT && !add_document(digest, options, &article, counts))
            article.fate = PAGE_EMPTY;
        article_count(digest->reader, &article, counts, &digested->missing);
    }
    /* Every record of the group has one fate. */
    assert(digest->options.only_notes || counts_pages(counts) == group->record_count + group->oversize + group->cut);
}

/* Writes segment A, with [SEP] between its documents if it is packed. Returns the end of what was written. */
static uint32_t *lay_out_a(const struct documents *documents, const struct sample_pair *pair, uint32_t sep,
                           uint32_t *at)
{
    const bool valid = documents->items[pair->document_a].valid;
    size_t from = pair->a, left = pair->a_size;
    for (uint32_t d = pair->document_a; left > 0; d++) {
        assert(d < documents->count);
        if (documents->items[d].valid != valid)
            continue;
        if (d > pair->document_a) {
            *at++ = sep;
            from = document_start(documents, d);
        }
        const size_t rest = document_end(documents, d) - from, taken = rest < left ? rest : left;
        memcpy(at, documents->ids + from, taken * sizeof *at);
        at += taken;
        left -= taken;
    }
    return at;
}

/* [CLS] A [SEP] B [SEP], or [CLS] A [SEP]. */
static void lay_out(const struct digest *digest, const struct sample_pair *pair, struct sample *sample)
{
    const struct documents *documents = &digest->documents;
    const struct vocab *vocab = digest->options.vocab;
    uint32_t *at = sample->ids;
    *at++ = vocab->cls;
    at = lay_out_a(documents, pair, vocab->sep, at);
    *at++ = vocab->sep;
    sample->a_length = (uint32_t)(at - sample->ids);
    if (pair->b_size > 0) {
        memcpy(at, documents->ids + pair->b, pair->b_size * sizeof *at);
        at += pair->b_size;
        *at++ = vocab->sep;
    }
    sample->length = (uint32_t)(at - sample->ids);
    sample->masked = 0;
    sample->is_random_next = pair->is_random_next;
    sample->document_a = documents->items[pair->document_a].id;
    sample->document_b = documents->items[pair->document_b].id;
}

/* Makes the pairs of one length and copy in digest->pairs. Held-out documents have one copy only. */
static void make_pairs(struct digest *digest, const struct pair_options *options)
{
    const struct documents *documents = &digest->documents;
    const bool held_out = options->copy == 0;
    pairs_reset(&digest->pairs);
    if (options->kind == PAIRS_NONE) {
        pairs_of_split(documents, false, options, &digest->pairs);
        if (held_out)
            pairs_of_split(documents, true, options, &digest->pairs);
        return;
    }
    for (uint32_t i = 0; i < documents->count; i++)
        if (held_out || !documents->items[i].valid)
            pairs_of_document(documents, i, options, &digest->pairs);
}

/* Appends a sample after its key to the samples of its split. */
static void add_sample(const struct digest *digest, size_t length, enum split split, const struct sample_key *key,
                       struct digested *digested)
{
    const struct shard_layout *layout = &digest->layouts[length];
    const struct sample *sample = &digest->samples[length];
    const size_t set = 2 * length + split;
    struct buf *out = &digested->samples[set];
    assert(sample->length <= layout->seq && sample->a_length <= sample->length);
    buf_reserve(out, sizeof *key + layout->record_bytes);
    memcpy(out->data + out->size, key, sizeof *key);
    record_encode(layout, sample, (uint8_t *)out->data + out->size + sizeof *key);
    out->size += sizeof *key + layout->record_bytes;
    digested->counts.samples[set]++;
    digested->counts.tokens[set] += sample->length;
}

/* Makes the samples of length number `length` and one copy: pairs in document order, masked and encoded, each after its
 * key. */
static void make_samples(struct digest *digest, const struct group *group, size_t length, uint32_t copy,
                         struct digested *digested)
{
    const struct dataset_recipe *recipe = digest->options.recipe;
    struct sample *sample = &digest->samples[length];
    const struct pair_options options = {.kind = recipe->pairs,
                                         .packed = recipe->packed,
                                         .length = recipe->seq[length],
                                         .short_seq_prob = recipe->short_seq_prob,
                                         .seed = recipe->seed,
                                         .file = group->file,
                                         .window = group->window,
                                         .part = group->part,
                                         .copy = copy};
    make_pairs(digest, &options);
    digested->counts.pairs_borrowed += digest->pairs.borrowed;
    digested->counts.pairs_dropped += digest->pairs.dropped;

    const struct random_stream masks =
        random_stream(recipe->seed, RANDOM_MASK, group->file, group->window, group->part, recipe->seq[length], copy);
    const struct random_stream order =
        random_stream(recipe->seed, RANDOM_ORDER, group->file, group->window, group->part, recipe->seq[length], copy);
    buf_reserve(&digested->samples[2 * length + SPLIT_TRAIN], /* nearly all of what is needed */
                digest->pairs.count * (sizeof(struct sample_key) + digest->layouts[length].record_bytes));
    for (uint32_t i = 0; i < digest->pairs.count; i++) {
        const struct sample_pair *pair = &digest->pairs.items[i];
        lay_out(digest, pair, sample);
        digested->counts.pairs_random += recipe->pairs == PAIRS_NSP && pair->is_random_next;
        mask_sample(&masks, i, &digest->rules[length], sample);

        uint32_t words[4];
        random_at4(&order, i, 0, words);
        const struct sample_key key = {.key = (uint64_t)words[1] << 32 | words[0],
                                       .file = group->file,
                                       .window = group->window,
                                       .part = group->part,
                                       .copy = copy,
                                       .index = i};
        const bool held_out = digest->documents.items[pair->document_a].valid;
        add_sample(digest, length, held_out ? SPLIT_VALID : SPLIT_TRAIN, &key, digested);
    }
}

void digest_run_job(const void *context, void *worker, void *slot)
{
    struct digest *digest = worker;
    struct digest_job *job = slot;
    const struct dataset_recipe *recipe = digest->options.recipe;
    (void)context;
    digested_reset(&job->digested);
    read_documents(digest, &digest->options.inputs->articles[job->feed.file], &job->feed.group, &job->digested);
    for (size_t length = 0; !digest->options.only_notes && length < recipe->length_count; length++)
        for (uint32_t copy = 0; copy < recipe->copies; copy++)
            make_samples(digest, &job->feed.group, length, copy, &job->digested);
}

static void release_job(void *slot)
{
    struct digest_job *job = slot;
    feed_job_release(&job->feed);
    missing_release(&job->digested.missing);
    for (size_t set = 0; set < SETS_MAX; set++)
        buf_release(&job->digested.samples[set]);
}

struct feed_work digest_work(const struct digest_options *options)
{
    return (struct feed_work){.work_name = "digest",
                              .work = digest_run_job,
                              .job_size = sizeof(struct digest_job),
                              .job_release = release_job,
                              .worker_open = digest_open,
                              .worker_close = digest_close,
                              .worker_options = options};
}
