/* Converts between samples and the bytes of records. Records may come from anywhere, so decoding trusts nothing. The
 * checks are branch-free reductions over whole arrays, which the compiler vectorises. */
#include "shards/sample.h"

#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

struct shard_layout shard_layout_make(uint32_t seq, uint32_t predictions, uint32_t vocab_size)
{
    assert(seq >= SHARD_SEQ_MIN && seq <= SHARD_SEQ_MAX);
    assert(predictions >= 1 && predictions <= seq);
    assert(vocab_size >= 1 && vocab_size <= SHARD_VOCAB_MAX);
    struct shard_layout layout = {.seq = seq, .predictions = predictions, .vocab_size = vocab_size};
    layout.id_bytes = vocab_size > SHARD_ID_2_BYTES ? 4 : 2;
    layout.labels = (uint32_t)sizeof(struct record_head) + seq * layout.id_bytes;
    layout.positions = layout.labels + predictions * layout.id_bytes;
    layout.record_bytes = (layout.positions + predictions * 2 + 7) / 8 * 8;
    return layout;
}

/* Writes `used` numbers of `bytes` bytes each, then zeros up to `count` numbers. Returns the largest. */
static uint32_t put(uint8_t *out, const uint32_t *numbers, uint32_t used, uint32_t count, uint32_t bytes)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < used; i++) {
        largest = numbers[i] > largest ? numbers[i] : largest;
        const uint16_t narrow = (uint16_t)numbers[i];
        if (bytes == 2)
            memcpy(out + (size_t)i * 2, &narrow, 2);
        else
            memcpy(out + (size_t)i * 4, &numbers[i], 4);
    }
    memset(out + (size_t)used * bytes, 0, (size_t)(count - used) * bytes);
    return largest;
}

/* Reads the first `used` numbers of `bytes` bytes each. Returns the largest. */
static uint32_t get(const uint8_t *bytes_in, uint32_t used, uint32_t bytes, uint32_t *numbers)
{
    uint32_t largest = 0;
    if (bytes == 4) {
        memcpy(numbers, bytes_in, (size_t)used * 4);
    } else {
        for (uint32_t i = 0; i < used; i++) {
            uint16_t narrow;
            memcpy(&narrow, bytes_in + (size_t)i * 2, 2);
            numbers[i] = narrow;
        }
    }
    for (uint32_t i = 0; i < used; i++)
        largest = numbers[i] > largest ? numbers[i] : largest;
    return largest;
}

/* True if each position is larger than the one before, and the last below `end`. */
static bool rising(const uint32_t *positions, uint32_t count, uint32_t end)
{
    bool good = count == 0 || positions[count - 1] < end;
    for (uint32_t i = 1; i < count; i++)
        good &= positions[i - 1] < positions[i];
    return good;
}

void record_encode(const struct shard_layout *layout, const struct sample *sample, uint8_t *out)
{
    assert(sample->length >= 1 && sample->length <= layout->seq);
    assert(sample->a_length >= 1 && sample->a_length <= sample->length);
    assert(sample->masked <= layout->predictions);
    assert(sample->is_random_next <= 1);
    assert(rising(sample->positions, sample->masked, sample->length));
    const struct record_head head = {
        .document_a = sample->document_a,
        .document_b = sample->document_b,
        .length = (uint16_t)sample->length,
        .a_length = (uint16_t)sample->a_length,
        .masked = (uint16_t)sample->masked,
        .is_random_next = (uint16_t)sample->is_random_next,
    };
    const uint32_t end = layout->positions + layout->predictions * 2;
    memcpy(out, &head, sizeof(head));
    const uint32_t id = put(out + sizeof(head), sample->ids, sample->length, layout->seq, layout->id_bytes);
    const uint32_t label =
        put(out + layout->labels, sample->labels, sample->masked, layout->predictions, layout->id_bytes);
    put(out + layout->positions, sample->positions, sample->masked, layout->predictions, 2);
    memset(out + end, 0, layout->record_bytes - end);
    assert(id < layout->vocab_size && (sample->masked == 0 || label < layout->vocab_size));
}

const char *record_decode(const struct shard_layout *layout, const uint8_t *bytes, struct sample *sample)
{
    struct record_head head;
    memcpy(&head, bytes, sizeof(head));
    if (head.length < 1 || head.length > layout->seq)
        return "a sample's length is out of range";
    if (head.a_length < 1 || head.a_length > head.length)
        return "the length of a sample's first segment is out of range";
    if (head.masked > layout->predictions)
        return "a sample has more masked tokens than the header allows";
    if (head.is_random_next > 1)
        return "a sample's next-sentence label is neither 0 nor 1";
    sample->document_a = head.document_a;
    sample->document_b = head.document_b;
    sample->length = head.length;
    sample->a_length = head.a_length;
    sample->masked = head.masked;
    sample->is_random_next = head.is_random_next;
    const uint32_t id = get(bytes + sizeof(head), head.length, layout->id_bytes, sample->ids);
    const uint32_t label = get(bytes + layout->labels, head.masked, layout->id_bytes, sample->labels);
    get(bytes + layout->positions, head.masked, 2, sample->positions);
    if (id >= layout->vocab_size || label >= layout->vocab_size)
        return "a sample has an id that is not in the vocabulary";
    if (!rising(sample->positions, head.masked, head.length))
        return "a sample's masked positions do not rise within its length";
    return NULL;
}

struct sample sample_make(const struct shard_layout *layout)
{
    uint32_t *memory = mem_clear((size_t)layout->seq + 2 * (size_t)layout->predictions, sizeof(*memory));
    return (struct sample){
        .ids = memory, .positions = memory + layout->seq, .labels = memory + layout->seq + layout->predictions};
}

void sample_release(struct sample *sample)
{
    mem_free(sample->ids);
    *sample = (struct sample){0};
}
