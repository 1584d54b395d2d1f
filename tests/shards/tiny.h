/* A dataset small enough to damage every byte of it: two lengths, train and valid, a vocabulary of a few pieces. The
 * functions are static because each test is one program. */
#pragma once

#include "base/file.h"
#include "base/hash.h"
#include "shards/manifest.h"
#include "shards/sample.h"
#include "shards/writer.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#define TINY_VOCAB  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\nof\nwater\nriver\n"
#define TINY_PIECES 10u

static struct error tiny_err;
static enum mask_kind tiny_masking = MASKS_TOKEN; /* kind of the datasets made from here on */

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            fail_msg("%s: %s: %s", #call, tiny_err.file, tiny_err.text);                                               \
    } while (0)

/* The call must fail with this kind and a message. */
#define assert_fails(call, wanted)                                                                                     \
    do {                                                                                                               \
        tiny_err = (struct error){0};                                                                                  \
        assert_true((call) < 0);                                                                                       \
        if (tiny_err.kind != (wanted) || !tiny_err.text[0])                                                            \
            fail_msg("%s: kind %d, %s: %s", #call, tiny_err.kind, tiny_err.file, tiny_err.text);                       \
    } while (0)

/* A new directory under the build folder's current directory. The caller frees it with tiny_remove. */
__attribute__((unused)) static char *tiny_directory(void)
{
    char *name = mem_copy_text("tiny-XXXXXX");
    assert_non_null(mkdtemp(name));
    return name;
}

__attribute__((unused)) static void tiny_remove(char *directory)
{
    char command[512];
    assert_true(strlen(directory) > 4 && memcmp(directory, "tiny", 4) == 0);
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
    mem_free(directory);
}

/* Sample n of a set, computed from n, so that a reader can be checked against it. */
__attribute__((unused)) static void tiny_sample(const struct shard_layout *layout, uint64_t n, struct sample *sample)
{
    sample->length = 5 + (uint32_t)(n % (layout->seq - 4));
    sample->a_length = 3 + (uint32_t)(n % (sample->length - 4));
    sample->is_random_next = n % 3 == 0;
    sample->document_a = 1000 + n;
    sample->document_b = n % 3 ? sample->document_a : ((uint64_t)1 << 51) + n;
    for (uint32_t i = 0; i < sample->length; i++)
        sample->ids[i] = 5 + (uint32_t)((n * 7 + i * 3) % (layout->vocab_size - 5));
    sample->ids[0] = 2;
    sample->ids[sample->a_length - 1] = sample->ids[sample->length - 1] = 3;
    sample->masked = 0;
    for (uint32_t i = 1; i < sample->a_length - 1 && sample->masked < layout->predictions; i += 1 + n % 4) {
        sample->positions[sample->masked] = i;
        sample->labels[sample->masked++] = sample->ids[i];
        sample->ids[i] = 4;
    }
}

__attribute__((unused)) static void assert_same_sample(const struct sample *a, const struct sample *b)
{
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->a_length, b->a_length);
    assert_int_equal(a->masked, b->masked);
    assert_int_equal(a->is_random_next, b->is_random_next);
    assert_int_equal(a->document_a, b->document_a);
    assert_int_equal(a->document_b, b->document_b);
    assert_memory_equal(a->ids, b->ids, a->length * sizeof(*a->ids));
    assert_memory_equal(a->positions, b->positions, a->masked * sizeof(*a->positions));
    assert_memory_equal(a->labels, b->labels, a->masked * sizeof(*a->labels));
}

/* Writes the shard that `header` describes, with samples first, first + 1, … */
__attribute__((unused)) static uint64_t tiny_shard(const char *path, const struct shard_header *header, uint64_t first)
{
    const struct shard_layout layout = shard_layout_make(header->seq, header->predictions, header->vocab_size);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    SCOPED(mem_free_at) uint8_t *record = mem_alloc(layout.record_bytes);
    struct shard_writer writer;
    uint64_t hash, bytes;
    assert_ok(writer_open(&writer, path, header, &tiny_err));
    for (uint64_t i = 0; i < header->record_count; i++) {
        tiny_sample(&layout, first + i, &sample);
        record_encode(&layout, &sample, record);
        assert_ok(writer_add(&writer, record, layout.record_bytes, &tiny_err));
    }
    assert_ok(writer_commit(&writer, &hash, &bytes, &tiny_err));
    return hash;
}

__attribute__((unused)) static void tiny_manifest(struct manifest *manifest)
{
    *manifest = (struct manifest){
        .text_version = 1,
        .vocab_size = TINY_PIECES,
        .vocab_bytes = sizeof(TINY_VOCAB) - 1,
        .vocab_hash = hash64(TINY_VOCAB, sizeof(TINY_VOCAB) - 1),
        .special = {0, 1, 2, 3, 4},
        .pairs = PAIRS_NSP,
        .masking = tiny_masking,
        .mask_millionths = 150000,
        .seed = UINT64_MAX,
        .documents = 17,
        .pages_kept = 17,
    };
    manifest_add_source(manifest,
                        (struct manifest_source){.bytes = 12345, .hash = 0xfedcba9876543210, .kind = 3, .rule = 2});
    manifest_add_source(manifest, (struct manifest_source){.kind = 1, .rule = 1});
    manifest_add_option(manifest, "lang", "en \"\\ \xc3\xa9");
    manifest_add_option(manifest, "copies", "1");
    manifest_add_dropped(manifest, "redirect", 5, 120);
    manifest_add_dropped(manifest, "empty", 0, 0);
    manifest_add_fate(manifest, "kept", 6000);
    manifest_add_fate(manifest, "markup", 381);
    manifest->unknown = (struct manifest_unknown){.count = 7, .bytes = 109, .characters = 100, .sentences = 4};
    manifest_add_language(manifest, "fi", 3, 1500);
    manifest_add_language(manifest, "de", 1, 500);
    manifest_add_repaired(manifest, "id", 3);
    manifest_add_repaired(manifest, "encoding", 5);
    manifest->repaired_documents = 6;
    manifest->leaks = 8;
    manifest_add_length(manifest, 32, 5, SPLIT_VALID, 0, 0, 0);
    manifest_add_length(manifest, 16, 4, SPLIT_TRAIN, 17, 17 * 9, 3);
    manifest_add_length(manifest, 16, 4, SPLIT_VALID, 2, 20, 1);
    manifest_add_length(manifest, 32, 5, SPLIT_TRAIN, 4, 4 * 32, 1);
}

/* A whole dataset. Sample n of a set is tiny_sample(n). */
__attribute__((unused)) static void tiny_dataset(const char *directory)
{
    char name[SHARD_NAME_BYTES];
    struct manifest manifest;
    struct shard_header header;
    tiny_manifest(&manifest);
    for (size_t l = 0; l < manifest.length_count; l++) {
        const struct manifest_length *length = &manifest.lengths[l];
        snprintf(name, sizeof(name), "seq%u", length->seq);
        SCOPED(mem_free_at) char *folder = path_join(directory, name);
        assert_ok(path_make_directory(folder, &tiny_err));
        for (uint32_t s = 0; s < length->shards; s++) {
            SCOPED(mem_free_at) char *path = path_join(directory, manifest_shard_name(length, s, name));
            manifest_shard_header(&manifest, length, s, &header);
            length->hashes[s] = tiny_shard(path, &header, shard_first(length->samples, length->shards, s));
        }
    }
    SCOPED(mem_free_at) char *vocab = path_join(directory, VOCAB_NAME);
    assert_ok(file_write_all(vocab, TINY_VOCAB, sizeof(TINY_VOCAB) - 1, &tiny_err));
    assert_ok(manifest_write(&manifest, directory, &tiny_err));
    manifest_release(&manifest);
}

/* Reads a file, so that a test can change its bytes and write them back. */
__attribute__((unused)) static struct buf tiny_read(const char *directory, const char *name)
{
    struct buf bytes = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    assert_ok(file_read_all(path, 64u << 20, &bytes, &tiny_err));
    return bytes;
}

/* Writes in place, because tests do this tens of thousands of times, and a file system may sync a file that is
 * truncated and rewritten. */
__attribute__((unused)) static void tiny_write(const char *directory, const char *name, const void *data, size_t size)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    struct stat status;
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    if ((size_t)status.st_size > size)
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(write(fd, data, size), size);
    assert_int_equal(close(fd), 0);
}

/* A test's state is the path of a directory with that dataset. */
__attribute__((unused)) static int tiny_set_up(void **state)
{
    char *directory = tiny_directory();
    tiny_dataset(directory);
    *state = directory;
    return 0;
}

/* An empty directory in place of the dataset. */
__attribute__((unused)) static int tiny_enter(void **state)
{
    *state = tiny_directory();
    return 0;
}

__attribute__((unused)) static int tiny_tear_down(void **state)
{
    tiny_remove(*state);
    return 0;
}
