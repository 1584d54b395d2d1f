#include "pipeline/build/resource_plan.h"

#include "base/cores.h"
#include "pipeline/build/digest.h"
#include "pipeline/build/repeats.h"
#include "pipeline/store/spill.h"
#include "pipeline/text/templates/expand_body.h"

#define MIB (1ull << 20)

/* Memory, measured on dumps and rounded up: the program with its tables and the buffers of spills, or with the words
 * while a vocabulary is learned; the scratch of a thread; a job with its window, text, group and samples. */
#define FIXED_BYTES  (224 * MIB)
#define THREAD_BYTES (24 * MIB)
#define JOB_BYTES    (40 * MIB)

/* A third of what fits into MANIFEST_BYTES_MAX, because a plan is an estimate. */
#define SHARDS_MAX 200000u

/* Spill files open at once, of all training sets; the other sets may have half as many. */
#define BUCKETS_MAX        512u
#define SMALL_BUCKET_BYTES (8 * MIB) /* not worth dividing */

#define FILLED_PERCENT   85  /* of a sample, for English */
#define XML_PER_DOCUMENT 500 /* low: for short texts */
#define HASH_BUCKETS_MAX 64u

/* What the templates of the dump take. Before they are known: their text, which is at most all of the dump's, is held
 * twice while the list of them is written or read. */
static uint64_t memory_of_templates(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    const uint64_t most = 2 * (uint64_t)TEMPLATES_BYTES_MAX + 2 * BODY_CACHE_BYTES_MAX;
    const bool are_read = !settings->templates || strcmp(settings->templates, "auto") == 0;
    uint64_t text = 0;
    if (inputs->templates)
        return templates_memory(inputs->templates) / MIB * MIB;
    for (size_t i = 0; i < inputs->count; i++)
        if (input_kind_of(inputs->dumps[i])->of_pages && are_read)
            text += dump_text_bytes(inputs->dumps[i]);
    return (text / 2 < most ? text / 2 : most) / MIB * MIB;
}

int resource_plan_threads(const struct dsdata_settings *settings, const struct inputs *inputs,
                          struct resource_plan *plan, struct error *err)
{
    *plan = (struct resource_plan){.threads = settings->threads ? settings->threads : cores_allowed()};
    const uint64_t templates = memory_of_templates(settings, inputs);
    plan->memory = settings->memory;
    if (plan->memory == 0)
        plan->memory = templates + (plan->threads * 64 * MIB > 1024 * MIB ? plan->threads * 64 * MIB : 1024 * MIB);
    const uint64_t fixed = FIXED_BYTES + inputs_memory(inputs) + templates, least = fixed + THREAD_BYTES + JOB_BYTES;
    if (plan->memory < least) {
        fail(err, ERR_USAGE, "--memory %lluM is too little for one thread", (unsigned long long)(plan->memory / MIB));
        return hint(err, "the least is --memory %lluM", (unsigned long long)((least + MIB - 1) / MIB));
    }
    /* Twice as many jobs as threads hide one slow job. If memory is short, first the depth is reduced, then the
     * threads. */
    const uint64_t room = plan->room_bytes = plan->memory - fixed;
    while (plan->threads > 1 && plan->threads * (THREAD_BYTES + JOB_BYTES) > room)
        plan->threads--;
    plan->depth = 2 * plan->threads;
    while (plan->depth > 1 && plan->threads * THREAD_BYTES + plan->depth * JOB_BYTES > room)
        plan->depth--;
    plan->load_bytes_max = plan->memory / 8;
    return 0;
}

/* Chooses buckets so small that each is one load of the seal even if the estimate is far too low, and at least one per
 * thread. */
static uint32_t bucket_bits(const struct resource_plan *plan, uint64_t spilled, uint64_t buckets_max)
{
    uint32_t bits = 0;
    if (buckets_max > SPILL_BUCKETS_MAX)
        buckets_max = SPILL_BUCKETS_MAX;
    while (2ull << bits <= buckets_max && (spilled >> bits > plan->load_bytes_max * 2 / 5 ||
                                           (1u << bits < plan->threads && spilled >> bits > SMALL_BUCKET_BYTES)))
        bits++;
    return bits;
}

/* The documents of text and JSON lines, estimated from their beginnings: each gives a sample, however short it is. */
static uint64_t count_documents(const struct inputs *inputs)
{
    uint64_t documents = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const uint64_t text = dump_text_bytes(inputs->dumps[i]), seen = text < DUMP_HEAD_BYTES ? text : DUMP_HEAD_BYTES;
        if (inputs->probes[i].form == FORM_FILE)
            documents++;
        else if (seen > 0)
            documents += (uint64_t)((double)text / (double)seen * (double)inputs->probes[i].documents);
    }
    return documents;
}

int resource_plan_make(const struct dsdata_settings *settings, const struct inputs *inputs,
                       const struct dataset_recipe *recipe, uint32_t vocab_size, struct resource_plan *plan,
                       struct error *err)
{
    TRY(resource_plan_threads(settings, inputs, plan, err));
    uint64_t pieces = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const uint64_t text = dump_text_bytes(inputs->dumps[i]);
        plan->xml_bytes += text;
        pieces += text / input_kind_of(inputs->dumps[i])->bytes_per_piece;
    }
    pieces *= recipe->copies;
    const uint64_t documents = recipe->packed ? 0 : count_documents(inputs) * recipe->copies;
    for (size_t i = 0; i < recipe->length_count; i++) {
        plan->samples[i] = pieces * 100 / (recipe->seq[i] * FILLED_PERCENT) + 1;
        if (plan->samples[i] < documents)
            plan->samples[i] = documents;
        const uint64_t entry = digest_entry_bytes(recipe, i, vocab_size), spilled = plan->samples[i] * entry;
        plan->dataset_bytes += spilled;
        plan->bucket_bits[2 * i + SPLIT_TRAIN] = bucket_bits(plan, spilled, BUCKETS_MAX / recipe->length_count);
        const uint64_t held_out = spilled / recipe->copies / MILLION * recipe->valid; /* one copy */
        plan->bucket_bits[2 * i + SPLIT_VALID] = bucket_bits(plan, held_out, BUCKETS_MAX / 2 / recipe->length_count);
    }
    const uint64_t hashes = plan->xml_bytes / XML_PER_DOCUMENT * sizeof(struct sample_key);
    plan->bucket_bits[2 * recipe->length_count] = bucket_bits(plan, hashes, HASH_BUCKETS_MAX);
    struct spill_set notes[REPEATS_SETS];
    repeats_sets(recipe, 0, notes);
    const uint64_t sketches = plan->xml_bytes / XML_PER_DOCUMENT * notes[1].entry_bytes; /* gone when samples come */
    plan->disk_bytes = 2 * plan->dataset_bytes + hashes;
    if (recipe->near_duplicates > 0 && plan->disk_bytes < hashes + sketches)
        plan->disk_bytes = hashes + sketches;
    if (recipe->limit == 0 && plan->dataset_bytes / recipe->shard_bytes > SHARDS_MAX) {
        fail(err, ERR_USAGE, "these inputs would give about %llu shards, more than a manifest can name safely",
             (unsigned long long)(plan->dataset_bytes / recipe->shard_bytes));
        return hint(err, "give at least --shard-bytes %lluM",
                    (unsigned long long)(plan->dataset_bytes / SHARDS_MAX / MIB + 1));
    }
    return 0;
}
