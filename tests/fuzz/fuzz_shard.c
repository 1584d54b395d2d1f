// room: shards
/* In: a byte that says how much to mend, and a file; or, mended throughout, the fields of a header and bytes of
 * records: then sizes, hashes and footer are made to fit, so that what lies after those checks is reached. Held: a
 * shard is refused with a message, or its every record is a sample in range or refused. (Bytes outside the file are
 * outside the mapping.) */
#include "tests/fuzz/fuzz.h"

#include "base/hash.h"
#include "shards/reader.h"

#define RECORDS_MAX 64u

static void check_sample(const struct shard *shard, const struct sample *sample)
{
    assert(sample->length >= 1 && sample->length <= shard->header.seq);
    assert(sample->a_length >= 1 && sample->a_length <= sample->length);
    assert(sample->masked <= shard->header.predictions && sample->is_random_next <= 1);
    for (uint32_t i = 0; i < sample->length; i++)
        assert(sample->ids[i] < shard->header.vocab_size);
    for (uint32_t i = 0; i < sample->masked; i++) {
        assert(sample->labels[i] < shard->header.vocab_size && sample->positions[i] < sample->length);
        assert(i == 0 || sample->positions[i] > sample->positions[i - 1]);
    }
}

static void check_file(struct str file, bool whole)
{
    struct shard shard;
    struct error err = {0};
    if (shard_open(&shard, fuzz_file(file), &err) < 0) {
        assert(!whole && (err.kind == ERR_VERIFY || err.kind == ERR_MISMATCH) && err.text[0]);
        return;
    }
    assert(shard_file_bytes(&shard.header) == file.size);
    SCOPED(sample_release) struct sample sample = sample_make(&shard.layout);
    for (uint64_t i = 0; i < shard.header.record_count; i++) {
        err = (struct error){0};
        if (shard_sample(&shard, i, &sample, &err) == 0)
            check_sample(&shard, &sample);
        else
            assert(err.kind == ERR_VERIFY && err.text[0] && err.offset < file.size);
    }
    shard_close(&shard);
}

/* A shard around the bytes, as often as there is room for them in up to RECORDS_MAX records. */
static void mend_whole(struct buf *file, struct str bytes)
{
    struct shard_header header = {.seq = 16, .predictions = 4, .vocab_size = 100, .shard_count = 1};
    uint8_t fields[8] = {0};
    const size_t used = bytes.size < sizeof fields ? bytes.size : sizeof fields;
    if (used)
        memcpy(fields, bytes.data, used);
    header.seq = SHARD_SEQ_MIN + fields[0];
    header.predictions = 1 + fields[1] % header.seq;
    header.vocab_size = 5 + fields[2] + (fields[3] & 1 ? 70000u : 0u);
    header.pairs = fields[4] % PAIR_KINDS;
    header.masking = fields[5] % MASK_KINDS;
    header.mask_millionths = fields[6] * 1000u;
    header.special = (struct special_ids){0, 1, 2, 3, 4};
    header.record_count = 1 + fields[7] % RECORDS_MAX;
    shard_header_finish(&header);
    buf_add(file, &header, sizeof header);
    const size_t area = (size_t)shard_area_bytes(&header);
    buf_reserve(file, area);
    memset(file->data + file->size, 0, area);
    memcpy(file->data + file->size, bytes.data + used, bytes.size - used < area ? bytes.size - used : area);
    const uint64_t table = hash64(file->data + file->size, area);
    file->size += area;
    assert(shard_block_count(&header) == 1);
    struct shard_footer footer;
    shard_footer_make(&header, &table, &footer);
    buf_add(file, &table, sizeof table);
    buf_add(file, &footer, sizeof footer);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned mend = take_byte(&data, &size);
    SCOPED(buf_release) struct buf file = {0};
    if (mend & 1) {
        mend_whole(&file, as_str(data, size));
    } else {
        buf_add(&file, data, size);
        struct shard_header header;
        if (mend & 2 && size >= sizeof header) { /* the header's hash only */
            const uint64_t hash = hash64(file.data, offsetof(struct shard_header, hash));
            memcpy(file.data + offsetof(struct shard_header, hash), &hash, sizeof hash);
        }
    }
    check_file(buf_str(&file), mend & 1);
    return 0;
}
