// labels: threads
/* Shards written and read back; damaged and hostile ones are refused. */
#include "tests/needs_faults.h"
#include "tests/shards/tiny.h"

#include "shards/reader.h"

#include <errno.h>
#include <pthread.h>

static struct shard_header header_of(uint32_t seq, uint32_t vocab_size, uint64_t records)
{
    struct shard_header header = {.text_version = 3,
                                  .seq = seq,
                                  .predictions = 4,
                                  .vocab_size = vocab_size,
                                  .special = {0, 1, 2, 3, 4},
                                  .mask_millionths = 150000,
                                  .shard_count = 1,
                                  .record_count = records};
    shard_header_finish(&header);
    return header;
}

static void check_samples(const struct shard *shard)
{
    SCOPED(sample_release) struct sample expected = sample_make(&shard->layout), sample = sample_make(&shard->layout);
    for (uint64_t i = 0; i < shard->header.record_count; i++) {
        tiny_sample(&shard->layout, i, &expected);
        assert_ok(shard_sample(shard, i, &sample, &tiny_err));
        assert_same_sample(&sample, &expected);
    }
}

TEST(records_read_back)
{
    /* One record; blocks that end within a record; 4-byte ids; one block to the byte: 2^20 / 64. */
    static const uint64_t cases[][3] = {
        {16, 10, 1}, {32, 10, 30000}, {32, 70000, 3000}, {16, 10, 13107}, {17, 10, 16384}};
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct shard_header header = header_of((uint32_t)cases[i][0], (uint32_t)cases[i][1], cases[i][2]);
        struct shard shard;
        const uint64_t hash = tiny_shard(path, &header, 0);
        assert_ok(shard_open(&shard, path, &tiny_err));
        assert_memory_equal(&shard.header, &header, sizeof(header));
        assert_int_equal(shard.hash, hash);
        assert_int_equal(shard.mapping.size, shard_file_bytes(&header));
        shard_prefetch(&shard);
        check_samples(&shard);
        shard_close(&shard);
    }
    mem_free(path);
    tiny_remove(directory);
}

static void *read_all(void *context)
{
    check_samples(context);
    return NULL;
}

TEST(threads_share_a_shard)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(32, 10, 20000);
    struct shard shard;
    pthread_t threads[4];
    tiny_shard(path, &header, 0);
    assert_ok(shard_open(&shard, path, &tiny_err));
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &shard), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    shard_close(&shard);
    mem_free(path);
    tiny_remove(directory);
}

/* Opens the file and reads all of it. Returns the kind of the first error. */
static enum error_kind read_through(const char *path)
{
    struct error err = {0};
    struct shard shard;
    if (shard_open(&shard, path, &err) < 0)
        return err.kind;
    SCOPED(sample_release) struct sample sample = sample_make(&shard.layout);
    for (uint64_t i = 0; i < shard.header.record_count && err.kind == ERR_NONE; i++)
        shard_sample(&shard, i, &sample, &err);
    shard_close(&shard);
    return err.kind;
}

TEST(no_damage_gets_through)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(16, 10, 5);
    tiny_shard(path, &header, 0);
    struct buf bytes = tiny_read(directory, "a.dss");
    for (size_t i = 0; i < bytes.size; i++) { /* a bit of every byte */
        bytes.data[i] ^= (char)(1 << i % 8);
        tiny_write(directory, "a.dss", bytes.data, bytes.size);
        const enum error_kind kind = read_through(path);
        if (kind != ERR_VERIFY && !(kind == ERR_MISMATCH && i >= 8 && i < 12)) /* the version */
            fail_msg("a flip in byte %zu gives %d", i, kind);
        bytes.data[i] ^= (char)(1 << i % 8);
    }
    for (size_t size = 0; size < bytes.size; size += size < 4090 ? 13 : 1) { /* cut off */
        tiny_write(directory, "a.dss", bytes.data, size);
        assert_int_equal(read_through(path), ERR_VERIFY);
    }
    for (size_t more = 1; more < 20; more++) { /* extended */
        buf_add_byte(&bytes, 0);
        tiny_write(directory, "a.dss", bytes.data, bytes.size);
        assert_int_equal(read_through(path), ERR_VERIFY);
    }
    buf_release(&bytes);
    mem_free(path);
    tiny_remove(directory);
}

/* Headers and footers with valid hashes, made to cause reads outside the file. */
TEST(hostile_headers_are_refused)
{
    static const uint64_t values[] = {0,
                                      1,
                                      5,
                                      6,
                                      15,
                                      17,
                                      4097,
                                      65536,
                                      1u << 24,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      (uint64_t)1 << 32,
                                      (uint64_t)1 << 43,
                                      INT64_MAX,
                                      UINT64_MAX / 72,
                                      UINT64_MAX / 72 + 6,
                                      UINT64_MAX};
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(16, 10, 5);
    tiny_shard(path, &header, 0);
    struct buf bytes = tiny_read(directory, "a.dss");
    unsigned refused = 0, harmless = 0;
    for (size_t at = 12; at < 112; at += 4)
        for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
            SCOPED(buf_release) struct buf changed = {0};
            struct shard_header hostile;
            buf_add(&changed, bytes.data, bytes.size);
            memcpy(&hostile, bytes.data, sizeof(hostile));
            memcpy((char *)&hostile + at, &values[i], at == 40 || at == 80 || at == 104 ? 8 : 4);
            hostile.hash = hash64(&hostile, offsetof(struct shard_header, hash));
            memcpy(changed.data, &hostile, sizeof(hostile));
            tiny_write(directory, "a.dss", changed.data, changed.size);
            const enum error_kind kind = read_through(path);
            assert_true(kind == ERR_NONE || kind == ERR_VERIFY);
            *(kind == ERR_NONE ? &harmless : &refused) += 1;
        }
    assert_true(refused > 200 && harmless > 50); /* some fields, such as the seed, may have any value */
    for (size_t at = bytes.size - SHARD_FOOTER_BYTES; at < bytes.size - 8; at += 8)
        for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
            struct shard_footer footer;
            const size_t start = bytes.size - sizeof(footer);
            SCOPED(buf_release) struct buf changed = {0};
            buf_add(&changed, bytes.data, bytes.size);
            memcpy(changed.data + at, &values[i], 8);
            memcpy(&footer, changed.data + start, sizeof(footer));
            footer.hash = hash64(&footer, offsetof(struct shard_footer, hash));
            memcpy(changed.data + start, &footer, sizeof(footer));
            tiny_write(directory, "a.dss", changed.data, changed.size);
            const bool same = memcmp(changed.data, bytes.data, bytes.size) == 0;
            assert_int_equal(read_through(path), same ? ERR_NONE : ERR_VERIFY);
        }
    buf_release(&bytes);
    mem_free(path);
    tiny_remove(directory);
}

/* A record with a value out of range, although all hashes are valid. */
TEST(hostile_records_are_refused)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(16, 10, 2);
    const struct shard_layout layout = shard_layout_make(16, 4, 10);
    struct sample sample = sample_make(&layout);
    struct shard_writer writer;
    SCOPED(mem_free_at) uint8_t *record = mem_alloc(layout.record_bytes);
    assert_ok(writer_open(&writer, path, &header, &tiny_err));
    tiny_sample(&layout, 0, &sample);
    record_encode(&layout, &sample, record);
    assert_ok(writer_add(&writer, record, layout.record_bytes, &tiny_err));
    memset(record, 0xFF, layout.record_bytes);
    assert_ok(writer_add(&writer, record, layout.record_bytes, &tiny_err));
    assert_ok(writer_commit(&writer, NULL, NULL, &tiny_err));
    struct shard shard;
    assert_ok(shard_open(&shard, path, &tiny_err));
    assert_ok(shard_sample(&shard, 0, &sample, &tiny_err));
    assert_fails(shard_sample(&shard, 1, &sample, &tiny_err), ERR_VERIFY);
    assert_int_equal(tiny_err.offset, SHARD_HEADER_BYTES + layout.record_bytes);
    shard_close(&shard);
    sample_release(&sample);
    mem_free(path);
    tiny_remove(directory);
}

TEST(a_newer_version_says_update)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(16, 10, 5);
    struct shard shard;
    tiny_shard(path, &header, 0);
    struct buf bytes = tiny_read(directory, "a.dss");
    bytes.data[8] = 2;
    tiny_write(directory, "a.dss", bytes.data, bytes.size);
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.hint, "update"));
    tiny_write(directory, "a.dss", bytes.data, 12); /* regardless of the rest */
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_MISMATCH);
    buf_release(&bytes);
    mem_free(path);
    tiny_remove(directory);
}

/* Versions begin at 1; a header with version 0 is damaged, even if its hash is valid. */
TEST(version_0_is_none)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    struct shard_header header = header_of(16, 10, 5);
    struct shard shard;
    tiny_shard(path, &header, 0);
    struct buf bytes = tiny_read(directory, "a.dss");
    header.format_version = 0;
    header.hash = hash64(&header, offsetof(struct shard_header, hash));
    memcpy(bytes.data, &header, sizeof header);
    tiny_write(directory, "a.dss", bytes.data, bytes.size);
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_VERIFY);
    assert_non_null(strstr(tiny_err.text, "header is damaged"));
    buf_release(&bytes);
    mem_free(path);
    tiny_remove(directory);
}

/* A record that spans two blocks is refused if either block is damaged. */
TEST(both_blocks_of_a_record_are_checked)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(32, 10, 30000);
    const uint64_t across = SHARD_BLOCK_BYTES / header.record_bytes;
    struct shard shard;
    assert_true(SHARD_BLOCK_BYTES % header.record_bytes != 0);
    tiny_shard(path, &header, 0);
    struct buf bytes = tiny_read(directory, "a.dss");
    bytes.data[SHARD_HEADER_BYTES + SHARD_BLOCK_BYTES + 5000] ^= 1; /* in the second block, far from that record */
    tiny_write(directory, "a.dss", bytes.data, bytes.size);
    assert_ok(shard_open(&shard, path, &tiny_err));
    struct sample sample = sample_make(&shard.layout);
    assert_ok(shard_sample(&shard, across - 1, &sample, &tiny_err));
    assert_fails(shard_sample(&shard, across, &sample, &tiny_err), ERR_VERIFY);
    assert_int_equal(tiny_err.offset, SHARD_HEADER_BYTES + SHARD_BLOCK_BYTES);
    sample_release(&sample);
    shard_close(&shard);
    buf_release(&bytes);
    mem_free(path);
    tiny_remove(directory);
}

TEST(not_a_shard_at_all)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    struct shard shard;
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_USAGE); /* missing */
    assert_fails(shard_open(&shard, directory, &tiny_err), ERR_USAGE);
    tiny_write(directory, "a.dss", "", 0);
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_VERIFY);
    tiny_write(directory, "a.dss", "x", 1);
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_VERIFY);
    tiny_write(directory, "a.dss", "<mediawiki xml:lang=\"en\">", 25);
    assert_fails(shard_open(&shard, path, &tiny_err), ERR_VERIFY);
    assert_int_equal(tiny_err.offset, 0);
    mem_free(path);
    tiny_remove(directory);
}

static int write_shard(const char *path, const struct shard_header *header, struct error *err)
{
    static uint8_t record[4096];
    struct shard_writer writer;
    TRY(writer_open(&writer, path, header, err));
    for (uint64_t i = 0; i < header->record_count; i++)
        if (writer_add(&writer, record,
                       shard_layout_make(header->seq, header->predictions, header->vocab_size).record_bytes, err) < 0) {
            writer_close(&writer);
            return -1;
        }
    return writer_commit(&writer, NULL, NULL, err);
}

/* Each state-changing call fails once: there is an error, and no file remains. */
TEST(a_failed_write_leaves_nothing)
{
    char *directory = tiny_directory(), *path = path_join(directory, "a.dss");
    const struct shard_header header = header_of(16, 10, 20000);
    uint64_t n = 1;
    for (;; n++) {
        struct error err = {0};
        struct path_list left;
        file_fault_set(
            (struct file_fault){.at = n, .kind = n % 2 ? FILE_FAULT_ERRNO : FILE_FAULT_SHORT, .number = EIO});
        const int result = write_shard(path, &header, &err);
        file_fault_set((struct file_fault){0});
        if (result == 0)
            break;
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_ok(path_list(&left, directory, &tiny_err));
        /* After the rename only the directory's fsync can fail: then the complete file may exist. */
        assert_true(left.count == 0 || (left.count == 1 && strcmp(left.names[0], "a.dss") == 0));
        if (left.count)
            assert_int_equal(path_remove(path, &tiny_err), 0);
        path_list_release(&left);
    }
    assert_true(n > 5);
    mem_free(path);
    tiny_remove(directory);
}
