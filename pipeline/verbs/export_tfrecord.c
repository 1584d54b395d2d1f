/* export --format tfrecord: what Google's create_pretraining_data.py writes, a tf.train.Example per sample.
 *
 *     Example   {1: Features {1: entry {1: key, 2: Feature}, 1: entry …}}
 *     Feature   {2: FloatList {1: packed floats}} or {3: Int64List {1: packed varints}}
 *
 * (tensorflow/core/example/{example,feature}.proto, base/tfrecord.h.) Each part of a message is preceded by its length,
 * so the message is written from its end to its front: then the length is known. */
#include "base/str.h"
#include "base/tfrecord.h"
#include "pipeline/verbs/export_formats.h"

enum { WIRE_BYTES = 2, FLOAT_LIST = 2, INT64_LIST = 3 };

/* The message so far is [front, …). */
struct message {
    char *front;
};

static void before_number(struct message *message, uint64_t number)
{
    unsigned last = 0;
    for (uint64_t rest = number >> 7; rest; rest >>= 7)
        last++;
    for (unsigned i = last + 1; i-- > 0;)
        *--message->front = (char)((number >> (7 * i) & 127) | (i < last ? 128 : 0));
}

static void before_bytes(struct message *message, const void *bytes, size_t size)
{
    message->front -= size;
    memcpy(message->front, bytes, size);
}

/* Turns [front, end) into the field `number` of what is written before it. */
static void before_part(struct message *message, unsigned number, const char *end)
{
    before_number(message, (uint64_t)(end - message->front));
    before_number(message, number << 3 | WIRE_BYTES);
}

/* Turns the packed values [front, end) of a list into an entry of the Features. */
static void before_feature(struct message *message, struct str key, unsigned list, const char *end)
{
    before_part(message, 1, end);    /* the list's values */
    before_part(message, list, end); /* the Feature's list */
    before_part(message, 2, end);    /* the entry's Feature */
    const char *key_end = message->front;
    before_bytes(message, key.data, key.size);
    before_part(message, 1, key_end);
    before_part(message, 1, end);
}

/* numbers[used], or ones if it is NULL; then zeros up to `count`. */
static void before_numbers(struct message *message, struct str key, const uint32_t *numbers, uint32_t used,
                           uint32_t count)
{
    const char *end = message->front;
    for (uint32_t i = count; i-- > 0;)
        before_number(message, i >= used ? 0 : numbers ? numbers[i] : 1);
    before_feature(message, key, INT64_LIST, end);
}

static void before_segments(struct message *message, const struct sample *sample, uint32_t seq)
{
    const char *end = message->front;
    for (uint32_t i = seq; i-- > 0;)
        before_number(message, i >= sample->a_length && i < sample->length);
    before_feature(message, STR("segment_ids"), INT64_LIST, end);
}

static void before_weights(struct message *message, uint32_t used, uint32_t count)
{
    static const char zero[4] = {0}, one[4] = {0, 0, '\x80', '\x3f'}; /* 0.0f and 1.0f, little-endian */
    const char *end = message->front;
    for (uint32_t i = count; i-- > 0;)
        before_bytes(message, i < used ? one : zero, 4);
    before_feature(message, STR("masked_lm_weights"), FLOAT_LIST, end);
}

/* Ids (below 2^24) and positions (below 8192) take at most 4 and 2 bytes; names and lengths fit into 512 bytes. */
static size_t record_bytes_max(const struct shard_layout *layout)
{
    return 512 + (size_t)layout->seq * (4 + 1 + 1) + (size_t)layout->predictions * (2 + 4 + 4);
}

static size_t put_record(char *record, const struct shard_layout *layout, const struct sample *sample)
{
    const uint32_t seq = layout->seq, places = layout->predictions;
    char *end = record + record_bytes_max(layout) - TFRECORD_BYTES_AFTER;
    struct message message = {end};
    /* written from the end: the last entry first */
    before_numbers(&message, STR("next_sentence_labels"), &sample->is_random_next, 1, 1);
    before_weights(&message, sample->masked, places);
    before_numbers(&message, STR("masked_lm_ids"), sample->labels, sample->masked, places);
    before_numbers(&message, STR("masked_lm_positions"), sample->positions, sample->masked, places);
    before_segments(&message, sample, seq);
    before_numbers(&message, STR("input_mask"), NULL, sample->length, seq);
    before_numbers(&message, STR("input_ids"), sample->ids, sample->length, seq);
    before_part(&message, 1, end); /* the Example's Features */

    const size_t bytes = (size_t)(end - message.front);
    memmove(record + TFRECORD_BYTES_BEFORE, message.front, bytes);
    return tfrecord_frame(record, bytes);
}

/* Keys with their tag and length, in our order; Google's script writes them in the order of a hash. */
static const char *const keys[] = {"\n\tinput_ids\x12", "\n\ninput_mask\x12", "\n\x0bsegment_ids\x12",
                                   "\n\x13masked_lm_positions\x12", NULL};
static const char *const endings[] = {".tfrecord", ".tfrecords", NULL};
const struct export_format export_tfrecord = {
    .endings = endings, .bytes_max = record_bytes_max, .put = put_record, .form = {.holds = keys}};
