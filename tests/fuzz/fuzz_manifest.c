// room: shards
/* In: the text of a manifest. Its root_hash is put right first, so that the checks after it are reached. Held: it is
 * refused with a message, or what was read, printed and read again gives the same text; names of shards stay inside
 * the dataset. */
#include "tests/fuzz/fuzz.h"

#include "base/hash.h"
#include "shards/manifest.h"

/* Where the 16 digits stand, in a text that begins as a manifest does. */
#define HEAD "{\n\"root_hash\": \""

static void mend_hash(struct buf *text)
{
    const size_t head = sizeof HEAD - 1;
    char digits[17];
    if (text->size < head + 16 || memcmp(text->data, HEAD, head) != 0)
        return;
    SCOPED(buf_release) struct buf rest = {0};
    buf_add(&rest, text->data, head);
    buf_add(&rest, text->data + head + 16, text->size - head - 16);
    memcpy(text->data + head, hash_text(hash64(rest.data, rest.size), digits), 16);
}

static void check_manifest(struct manifest *manifest)
{
    struct manifest again;
    SCOPED(buf_release) struct buf first = {0}, second = {0};
    struct error err = {0};
    char name[SHARD_NAME_BYTES];
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        manifest_filled(length);
        assert(length->shards == 0 || !strstr(manifest_shard_name(length, length->shards - 1, name), ".."));
    }
    int result = manifest_print(manifest, &first, &err);
    assert(result == 0 && manifest_intact(buf_str(&first)));
    result = manifest_parse(&again, buf_str(&first), "printed", &err);
    assert(result == 0);
    result = manifest_print(&again, &second, &err);
    assert(result == 0 && str_equal(buf_str(&first), buf_str(&second)));
    manifest_release(&again);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct manifest manifest;
    struct error err = {0};
    SCOPED(buf_release) struct buf text = {0};
    buf_add(&text, data, size);
    mend_hash(&text);
    if (manifest_parse(&manifest, buf_str(&text), "fuzz", &err) == 0) {
        check_manifest(&manifest);
        manifest_release(&manifest);
    } else {
        assert((err.kind == ERR_VERIFY || err.kind == ERR_MISMATCH) && err.text[0]);
    }
    return 0;
}
