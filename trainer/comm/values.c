/* In: the values and blocks of a process. Out: those of all. */
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/meet_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int value_read(struct str frame, struct str *key, struct str *bytes)
{
    uint32_t size;
    if (frame.size < sizeof size)
        return -1;
    memcpy(&size, frame.data, sizeof size);
    frame = (struct str){frame.data + sizeof size, frame.size - sizeof size};
    if (size == 0 || size > MEET_KEY_MAX || size > frame.size || memchr(frame.data, '\0', size))
        return -1;
    *key = (struct str){frame.data, size};
    *bytes = (struct str){frame.data + size, frame.size - size};
    return bytes->size <= MEET_VALUE_MAX ? 0 : -1;
}

void value_write(struct buf *frame, struct str key, struct str bytes)
{
    const uint32_t size = (uint32_t)key.size;
    buf_add(frame, &size, sizeof size);
    buf_add_str(frame, key);
    buf_add_str(frame, bytes);
}

const struct value *meet_find(const struct meet *meet, struct str key)
{
    for (size_t i = 0; i < meet->values_count; i++)
        if (str_equal(str_of(meet->values[i].key), key))
            return &meet->values[i];
    return NULL;
}

void meet_keep(struct meet *meet, struct str key, struct str bytes)
{
    struct error err;
    struct buf name = {0};
    if (meet_find(meet, key))
        return;
    assert(key.size > 0 && key.size <= MEET_KEY_MAX && bytes.size <= MEET_VALUE_MAX);
    meet->values_bytes += key.size + bytes.size + VALUE_COST;
    if (meet->values_bytes > VALUES_BYTES) {
        fail(&err, ERR_RESOURCE, "the processes exchanged more than %zu bytes", VALUES_BYTES);
        meet_judge(meet, NOBODY, &err);
        return;
    }
    if ((meet->values_count & (meet->values_count - 1)) == 0) /* full at each power of two */
        meet->values = mem_grow(meet->values, meet->values_count ? 2 * meet->values_count : 1, sizeof *meet->values);
    struct value *value = &meet->values[meet->values_count++];
    *value = (struct value){0};
    buf_add_str(&name, key);
    value->key = mem_copy_text(buf_text(&name));
    buf_release(&name);
    buf_add_str(&value->bytes, bytes);
    pthread_cond_broadcast(&meet->changed);
}

void value_put(struct meet *meet, struct str key, struct str bytes)
{
    struct buf frame = {0};
    if (meet->hub) {
        hub_set(meet, key, bytes);
    } else {
        value_write(&frame, key, bytes);
        line_put(&meet->line, FRAME_SET, frame.data, frame.size);
    }
    meet_wake(meet);
    buf_release(&frame);
}

int meet_set(struct meet *meet, const char *key, struct str value, struct error *err)
{
    const struct str name = str_of(key);
    assert(meet && name.size > 0 && name.size <= MEET_KEY_MAX);
    if (value.size > MEET_VALUE_MAX)
        return fail(err, ERR_RESOURCE, "the value of %s has %zu bytes, at most %zu are allowed", key, value.size,
                    MEET_VALUE_MAX);
    pthread_mutex_lock(&meet->lock);
    value_put(meet, name, value);
    const int result = meet->failed ? meet_tell(meet, err) : 0;
    pthread_mutex_unlock(&meet->lock);
    return result;
}

/* Fails if the meeting has failed, or if rank 0 has left: then no answer will come. */
static int check_line(struct meet *meet, struct error *err)
{
    if (meet->failed)
        return meet_tell(meet, err);
    if (!meet->hub && meet->line.fd < 0)
        return fail(err, ERR_PEER, "rank 0 has left already");
    return 0;
}

int meet_get(struct meet *meet, const char *key, double seconds, struct buf *out, struct error *err)
{
    const double from = clock_now();
    const struct str name = str_of(key);
    const struct value *found;
    int result = 0;
    assert(meet && name.size > 0 && name.size <= MEET_KEY_MAX);
    pthread_mutex_lock(&meet->lock);
    meet->waits++;
    found = meet_find(meet, name);
    if (!found && !meet->hub) {
        struct buf frame = {0};
        value_write(&frame, name, (struct str){0});
        line_put(&meet->line, FRAME_GET, frame.data, frame.size);
        buf_release(&frame);
        meet_wake(meet);
    }
    while (!found && result == 0) {
        result = check_line(meet, err);
        if (result == 0 && clock_now() - from > seconds)
            result = fail(err, ERR_PEER, "%s was not set within %.0f s", key, seconds);
        if (result == 0)
            meet_await(meet);
        found = meet_find(meet, name);
    }
    if (found) {
        buf_add_str(out, buf_str(&found->bytes));
        result = 0;
    }
    meet->waits--;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    return result;
}

/* ---------------------------------------------------------------------------------------------------- exchange */

void meet_given(struct meet *meet, struct str bytes)
{
    buf_reset(&meet->given);
    buf_add_str(&meet->given, bytes);
    meet->exchanges++;
    pthread_cond_broadcast(&meet->changed);
}

/* < 0: the sizes do not fit the bytes. */
static int cut_blocks(struct meet_blocks *blocks, uint32_t count)
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

static void give_alone(struct str block, struct meet_blocks *blocks)
{
    buf_add_str(&blocks->bytes, block);
    blocks->of = mem_array(1, sizeof *blocks->of);
    blocks->of[0] = buf_str(&blocks->bytes);
}

int meet_exchange(struct meet *meet, struct str block, struct meet_blocks *blocks, struct error *err)
{
    int result = 0;
    *blocks = (struct meet_blocks){0};
    assert(block.size <= MEET_BLOCK_MAX);
    if (!meet) {
        give_alone(block, blocks);
        return 0;
    }
    pthread_mutex_lock(&meet->lock);
    meet->waits++;
    const uint64_t before = meet->exchanges;
    if (meet->hub)
        hub_give(meet, 0, block);
    else
        line_put(&meet->line, FRAME_GIVE, block.data, block.size);
    meet_wake(meet);
    while (meet->exchanges == before && result == 0) {
        result = check_line(meet, err);
        if (result == 0)
            meet_await(meet);
    }
    if (meet->exchanges > before) {
        buf_add_str(&blocks->bytes, buf_str(&meet->given));
        result = 0;
    }
    meet->waits--;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    if (result == 0 && cut_blocks(blocks, meet->options.size) < 0)
        result = fail(err, ERR_PEER, "rank 0 sent what is not its processes' blocks");
    if (result < 0)
        meet_blocks_release(blocks);
    return result;
}

void meet_blocks_release(struct meet_blocks *blocks)
{
    buf_release(&blocks->bytes);
    mem_free(blocks->of);
    *blocks = (struct meet_blocks){0};
}

int meet_exchange_all(struct meet *meet, const void *mine, size_t size, void *all, struct error *err)
{
    struct meet_blocks blocks;
    int result = meet_exchange(meet, (struct str){mine, size}, &blocks, err);
    for (uint32_t i = 0; result == 0 && i < meet_size(meet); i++) {
        if (blocks.of[i].size == size)
            memcpy((char *)all + i * size, blocks.of[i].data, size);
        else
            result = fail(err, ERR_PEER, "rank %" PRIu32 " gave %zu bytes instead of %zu", i, blocks.of[i].size, size);
    }
    meet_blocks_release(&blocks);
    return result;
}

/* ------------------------------------------------------------------------------------------- a stop inside a step */

/* One value per step says what becomes of it. The first that is set counts. Both cannot be set: a process has either
 * begun or halted. */
#define DISCARD STR("discard")
#define GO_ON   STR("go on")

static struct str step_key(uint64_t step, char key[40])
{
    snprintf(key, 40, "step/%" PRIu64, step);
    return str_of(key);
}

static struct str halted_key(uint64_t step, uint32_t rank, char key[40])
{
    snprintf(key, 40, "halted/%" PRIu64 "/%" PRIu32, step, rank);
    return str_of(key);
}

void value_go_on(struct meet *meet, uint64_t step)
{
    char key[40];
    value_put(meet, step_key(step, key), GO_ON);
}

void meet_begin(struct meet *meet, uint64_t step)
{
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    if (meet->stop && meet->begun_step != step)
        value_go_on(meet, step);
    meet->begun_step = step;
    pthread_mutex_unlock(&meet->lock);
}

bool meet_has_begun(struct meet *meet, uint64_t step)
{
    pthread_mutex_lock(&meet->lock);
    const bool begun = meet->begun_step == step;
    pthread_mutex_unlock(&meet->lock);
    return begun;
}

/* On rank 0: waits until all have halted, or one has begun. */
static int count_halted(struct meet *meet, uint64_t step, struct error *err)
{
    char key[40];
    int result = 0;
    pthread_mutex_lock(&meet->lock);
    meet->waits++;
    while (result == 0 && !meet_find(meet, step_key(step, key))) {
        uint32_t halted = 0;
        while (halted < meet->options.size && meet_find(meet, halted_key(step, halted, key)))
            halted++;
        if (halted == meet->options.size)
            value_put(meet, step_key(step, key), DISCARD);
        else if ((result = check_line(meet, err)) == 0)
            meet_await(meet);
    }
    meet->waits--;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    return result;
}

int meet_halt(struct meet *meet, uint64_t step, bool *discard, struct error *err)
{
    char key[40];
    struct buf value = {0};
    halted_key(step, meet->options.rank, key);
    TRY(meet_set(meet, key, STR(""), err));
    if (meet->hub)
        TRY(count_halted(meet, step, err));
    step_key(step, key);
    const int result = meet_get(meet, key, HUGE_VAL, &value, err);
    *discard = result == 0 && str_equal(buf_str(&value), DISCARD);
    buf_release(&value);
    return result;
}
