#include "trainer/tune/samples.h"

#include <assert.h>

#include "base/hash.h"
#include "shards/order.h"

void features_truncate(struct ids *a, struct ids *b, size_t most)
{
    while (a->count + b->count > most)
        (a->count > b->count ? a : b)->count--;
}

static void append(struct ids *out, const struct ids *more)
{
    ids_reserve(out, more->count);
    if (more->count > 0)
        memcpy(out->data + out->count, more->data, more->count * sizeof *out->data);
    out->count += more->count;
}

static void append_frame(struct ids *out, const struct vocab_frame *frame)
{
    for (size_t i = 0; i < frame->count; i++)
        ids_add(out, frame->ids[i]);
}

uint32_t features_pair(struct ids *a, struct ids *b, const struct vocab *vocab, uint32_t length, struct ids *out)
{
    struct ids none = {0};
    const size_t around = vocab->before.count + vocab->after.count + (b ? vocab->between.count : 0);
    assert(length >= around);
    features_truncate(a, b ? b : &none, length - around);
    out->count = 0;
    append_frame(out, &vocab->before);
    append(out, a);
    if (b) {
        append_frame(out, &vocab->between);
        const uint32_t a_length = (uint32_t)out->count;
        append(out, b);
        append_frame(out, &vocab->after);
        assert(out->count <= length);
        return vocab->second_type ? a_length : (uint32_t)out->count;
    }
    append_frame(out, &vocab->after);
    assert(out->count <= length);
    return (uint32_t)out->count;
}

void samples_add(struct samples *s, const uint32_t *ids, struct task_sample sample)
{
    assert(sample.length > 0 && sample.a_length <= sample.length && sample.token < sample.length);
    s->ids = mem_room(s->ids, s->id_count + sample.length, &s->id_room, sizeof *s->ids);
    s->items = mem_room(s->items, s->count + 1, &s->room, sizeof *s->items);
    memcpy(s->ids + s->id_count, ids, sample.length * sizeof *ids);
    sample.at = s->id_count;
    sample.mark_at = s->mark_count;
    s->id_count += sample.length;
    s->items[s->count++] = sample;
    s->longest = sample.length > s->longest ? sample.length : s->longest;
}

void samples_mark(struct samples *s, uint32_t token, uint32_t label)
{
    struct task_sample *last = &s->items[s->count - 1];
    assert(token < last->length);
    s->marks = mem_room(s->marks, s->mark_count + 1, &s->mark_room, sizeof *s->marks);
    s->marks[s->mark_count++] = (struct sample_mark){token, label};
    last->marks++;
    s->marks_most = last->marks > s->marks_most ? last->marks : s->marks_most;
}

void samples_reset(struct samples *s)
{
    s->count = s->id_count = s->mark_count = 0;
    s->longest = s->marks_most = 0;
}

void samples_release(struct samples *s)
{
    mem_free(s->marks);
    mem_free(s->ids);
    mem_free(s->items);
    *s = (struct samples){.head = s->head};
}

uint64_t samples_hash(const struct samples *s)
{
    struct hash *hash = hash_open();
    for (size_t i = 0; i < s->count; i++) {
        const struct task_sample *item = &s->items[i];
        const uint32_t numbers[] = {item->length, item->a_length, item->token, item->label};
        hash_add(hash, numbers, sizeof numbers);
        hash_add(hash, s->ids + item->at, item->length * sizeof *s->ids);
    }
    if (s->mark_count > 0)
        hash_add(hash, s->marks, s->mark_count * sizeof *s->marks);
    const uint64_t value = hash_value(hash);
    hash_close(hash);
    return value;
}

static uint64_t number(const void *context, uint64_t k)
{
    const struct samples_reading *reading = context;
    const uint64_t count = reading->samples->count;
    const struct order order = {.samples = count, .shards = 1, .seed = reading->seed, .shuffled = reading->shuffled};
    return order_sample(&order, k / count, k % count);
}

static int fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct samples_reading *reading = context;
    const struct samples *samples = reading->samples;
    const struct task_sample *item = &samples->items[number(context, k)];
    struct marks *marks = &sequence->marks[samples->head];
    (void)err;
    assert(item->at + item->length <= samples->id_count);
    memcpy(sequence->ids, samples->ids + item->at, item->length * sizeof *sequence->ids);
    sequence->length = item->length;
    sequence->a_length = item->a_length;
    if (samples->marks_most == 0) {
        marks->count = 1;
        marks->tokens[0] = item->token;
        marks->labels[0] = item->label;
        return 0;
    }
    marks->count = item->marks;
    for (uint32_t i = 0; i < item->marks; i++) {
        marks->tokens[i] = samples->marks[item->mark_at + i].token;
        marks->labels[i] = samples->marks[item->mark_at + i].label;
    }
    return 0;
}

struct source samples_source(const struct samples_reading *reading, uint32_t length)
{
    const struct samples *samples = reading->samples;
    assert(samples->longest <= length);
    struct source source = {
        .samples = samples->count,
        .tokens = samples->id_count,
        .room = {.length = length},
        .context = reading,
        .fetch = fetch,
        .number = number,
    };
    source.room.marks[samples->head] = samples->marks_most > 0 ? samples->marks_most : 1;
    return source;
}
