/* Named values, and the all-gather of blocks. */
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/rendezvous_parts.h"

#include <assert.h>
#include <inttypes.h>

int value_read(struct str frame, struct str *key, struct str *bytes)
{
    uint32_t size;
    if (frame.size < sizeof size)
        return -1;
    memcpy(&size, frame.data, sizeof size);
    frame = (struct str){frame.data + sizeof size, frame.size - sizeof size};
    if (size == 0 || size > RENDEZVOUS_KEY_MAX || size > frame.size || memchr(frame.data, '\0', size))
        return -1;
    *key = (struct str){frame.data, size};
    *bytes = (struct str){frame.data + size, frame.size - size};
    return bytes->size <= RENDEZVOUS_VALUE_MAX ? 0 : -1;
}

void value_write(struct buf *frame, struct str key, struct str bytes)
{
    const uint32_t size = (uint32_t)key.size;
    buf_add(frame, &size, sizeof size);
    buf_add_str(frame, key);
    buf_add_str(frame, bytes);
}

const struct value *rendezvous_find_value(const struct rendezvous *rendezvous, struct str key)
{
    for (size_t i = 0; i < rendezvous->values_count; i++)
        if (str_equal(str_of(rendezvous->values[i].key), key))
            return &rendezvous->values[i];
    return NULL;
}

void rendezvous_keep_value(struct rendezvous *rendezvous, struct str key, struct str bytes)
{
    struct error err;
    SCOPED(buf_release) struct buf name = {0};
    if (rendezvous_find_value(rendezvous, key))
        return;
    assert(key.size > 0 && key.size <= RENDEZVOUS_KEY_MAX && bytes.size <= RENDEZVOUS_VALUE_MAX);
    rendezvous->values_bytes += key.size + bytes.size + VALUE_COST;
    if (rendezvous->values_bytes > VALUES_BYTES) {
        fail(&err, ERR_RESOURCE, "the processes exchanged more than %zu bytes", VALUES_BYTES);
        rendezvous_declare_failure(rendezvous, NOBODY, &err);
        return;
    }
    if ((rendezvous->values_count & (rendezvous->values_count - 1)) == 0) /* full at each power of two */
        rendezvous->values = mem_grow(rendezvous->values, rendezvous->values_count ? 2 * rendezvous->values_count : 1,
                                      sizeof *rendezvous->values);
    struct value *value = &rendezvous->values[rendezvous->values_count++];
    buf_add_str(&name, key);
    *value = (struct value){.key = mem_copy_text(buf_text(&name))};
    buf_add_str(&value->bytes, bytes);
    pthread_cond_broadcast(&rendezvous->changed);
}

void value_put(struct rendezvous *rendezvous, struct str key, struct str bytes)
{
    SCOPED(buf_release) struct buf frame = {0};
    if (rendezvous->leader) {
        leader_set(rendezvous, key, bytes);
    } else {
        value_write(&frame, key, bytes);
        line_put(&rendezvous->line, FRAME_SET, frame.data, frame.size);
    }
    rendezvous_wake(rendezvous);
}

int rendezvous_set(struct rendezvous *rendezvous, const char *key, struct str value, struct error *err)
{
    const struct str name = str_of(key);
    assert(rendezvous && name.size > 0 && name.size <= RENDEZVOUS_KEY_MAX);
    if (value.size > RENDEZVOUS_VALUE_MAX)
        return fail(err, ERR_RESOURCE, "the value of %s has %zu bytes, at most %zu are allowed", key, value.size,
                    RENDEZVOUS_VALUE_MAX);
    pthread_mutex_lock(&rendezvous->lock);
    value_put(rendezvous, name, value);
    const int result = rendezvous->failed ? rendezvous_report_failure(rendezvous, err) : 0;
    pthread_mutex_unlock(&rendezvous->lock);
    return result;
}

int rendezvous_check_line(struct rendezvous *rendezvous, struct error *err)
{
    if (rendezvous->failed)
        return rendezvous_report_failure(rendezvous, err);
    if (!rendezvous->leader && rendezvous->line.fd < 0)
        return fail(err, ERR_PEER, "rank 0 has left already");
    return 0;
}

int rendezvous_get(struct rendezvous *rendezvous, const char *key, double seconds, struct buf *out, struct error *err)
{
    const double from = clock_now();
    const struct str name = str_of(key);
    const struct value *found;
    int result = 0;
    assert(rendezvous && name.size > 0 && name.size <= RENDEZVOUS_KEY_MAX);
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous->waits++;
    found = rendezvous_find_value(rendezvous, name);
    if (!found && !rendezvous->leader) {
        SCOPED(buf_release) struct buf frame = {0};
        value_write(&frame, name, (struct str){0});
        line_put(&rendezvous->line, FRAME_GET, frame.data, frame.size);
        rendezvous_wake(rendezvous);
    }
    while (!found && result == 0) {
        result = rendezvous_check_line(rendezvous, err);
        if (result == 0 && clock_now() - from > seconds)
            result = fail(err, ERR_PEER, "%s was not set within %.0f s", key, seconds);
        if (result == 0)
            rendezvous_await(rendezvous);
        found = rendezvous_find_value(rendezvous, name);
    }
    if (found) {
        buf_add_str(out, buf_str(&found->bytes));
        result = 0;
    }
    rendezvous->waits--;
    rendezvous->report.moves++;
    pthread_mutex_unlock(&rendezvous->lock);
    return result;
}

void rendezvous_take_blocks(struct rendezvous *rendezvous, struct str bytes)
{
    buf_reset(&rendezvous->given);
    buf_add_str(&rendezvous->given, bytes);
    rendezvous->exchanges++;
    pthread_cond_broadcast(&rendezvous->changed);
}

/* < 0: the sizes do not fit the bytes. */
static int cut_blocks(struct rendezvous_blocks *blocks, uint32_t count)
{
    size_t at = count * sizeof(uint32_t);
    blocks->of = mem_array(count, sizeof *blocks->of);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        if (blocks->bytes.size < at)
            return -1;
        memcpy(&size, blocks->bytes.data + i * sizeof size, sizeof size);
        if (size > blocks->bytes.size - at)
            return -1;
        blocks->of[i] = (struct str){blocks->bytes.data + at, size};
        at += size;
    }
    return at == blocks->bytes.size ? 0 : -1;
}

static void give_alone(struct str block, struct rendezvous_blocks *blocks)
{
    buf_add_str(&blocks->bytes, block);
    blocks->of = mem_array(1, sizeof *blocks->of);
    blocks->of[0] = buf_str(&blocks->bytes);
}

int rendezvous_all_gather(struct rendezvous *rendezvous, struct str block, struct rendezvous_blocks *blocks,
                          struct error *err)
{
    int result = 0;
    *blocks = (struct rendezvous_blocks){0};
    assert(block.size <= RENDEZVOUS_BLOCK_MAX);
    if (!rendezvous) {
        give_alone(block, blocks);
        return 0;
    }
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous->waits++;
    const uint64_t before = rendezvous->exchanges;
    if (rendezvous->leader)
        leader_take_block(rendezvous, 0, block);
    else
        line_put(&rendezvous->line, FRAME_BLOCK, block.data, block.size);
    rendezvous_wake(rendezvous);
    while (rendezvous->exchanges == before && result == 0) {
        result = rendezvous_check_line(rendezvous, err);
        if (result == 0)
            rendezvous_await(rendezvous);
    }
    if (rendezvous->exchanges > before) {
        buf_add_str(&blocks->bytes, buf_str(&rendezvous->given));
        result = 0;
    }
    rendezvous->waits--;
    rendezvous->report.moves++;
    pthread_mutex_unlock(&rendezvous->lock);
    if (result == 0 && cut_blocks(blocks, rendezvous->options.size) < 0)
        result = fail(err, ERR_PEER, "rank 0 sent what is not its processes' blocks");
    if (result < 0)
        rendezvous_blocks_release(blocks);
    return result;
}

void rendezvous_blocks_release(struct rendezvous_blocks *blocks)
{
    buf_release(&blocks->bytes);
    mem_free(blocks->of);
    *blocks = (struct rendezvous_blocks){0};
}

int rendezvous_all_gather_equal(struct rendezvous *rendezvous, const void *mine, size_t size, void *all,
                                struct error *err)
{
    struct rendezvous_blocks blocks;
    int result = rendezvous_all_gather(rendezvous, (struct str){mine, size}, &blocks, err);
    for (uint32_t i = 0; result == 0 && i < rendezvous_size(rendezvous); i++) {
        if (blocks.of[i].size == size)
            memcpy((char *)all + i * size, blocks.of[i].data, size);
        else
            result = fail(err, ERR_PEER, "rank %" PRIu32 " gave %zu bytes instead of %zu", i, blocks.of[i].size, size);
    }
    rendezvous_blocks_release(&blocks);
    return result;
}
