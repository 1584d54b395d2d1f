#include "trainer/keep/events.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <time.h>

#include "base/mem.h"
#include "base/tfrecord.h"
#include "trainer/keep/metrics.h"

#define VALID_PREFIX "valid/"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_NAME = 1, VALUE_FLOAT = 2 };

#define KEY(field, wire) ((char)((field) << 3 | (wire)))

static void add_varint(struct buf *out, uint64_t number)
{
    for (; number > 127; number >>= 7)
        buf_add_byte(out, (char)(number | 128));
    buf_add_byte(out, (char)number);
}

static void add_part(struct buf *out, int field, struct str part)
{
    buf_add_byte(out, KEY(field, WIRE_BYTES));
    add_varint(out, part.size);
    buf_add_str(out, part);
}

static void add_float(struct buf *out, int field, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits = htole32(bits);
    buf_add_byte(out, KEY(field, WIRE_32));
    buf_add(out, &bits, sizeof bits);
}

/* Events hold floats; a value that is not finite as a float is left out. */
static void add_scalar(struct buf *out, const char *prefix, const char *key, double number)
{
    char name[128];
    struct buf value = {0};
    if (!isfinite((float)number))
        return;
    snprintf(name, sizeof name, "%s%s", prefix, key);
    add_part(&value, VALUE_NAME, str_of(name));
    add_float(&value, VALUE_FLOAT, (float)number);
    add_part(out, SUMMARY_VALUE, buf_str(&value));
    buf_release(&value);
}

static void add_means(struct buf *out, const char *prefix, const struct metric_table *metrics,
                      const struct evaluation *means)
{
    char key[METRIC_KEY_BYTES];
    add_scalar(out, prefix, "loss", means->loss);
    for (size_t i = 0; i < metrics->count; i++)
        add_scalar(out, prefix, metrics->rows[i].key, means->values[i]);
    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->rows[i].baseline && means->baselines[i] > 0)
            add_scalar(out, prefix, metric_baseline_key(&metrics->rows[i], key), means->baselines[i]);
}

static void add_summary(struct buf *out, const struct metrics_line *line)
{
    add_means(out, line->valid ? VALID_PREFIX : "", line->metrics, line->means);
    for (uint32_t d = 0; d < line->datasets; d++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, VALID_PREFIX "dataset%" PRIu32 "/", d + 1);
        add_means(out, prefix, line->metrics, &line->each[d]);
    }
    if (line->valid)
        return;
    add_scalar(out, "", "learning_rate", line->learning_rate);
    add_scalar(out, "", "grad_norm", line->grad_norm);
    add_scalar(out, "", "sequences_per_second", line->sequences_per_second);
    add_scalar(out, "", "loss_scale", line->loss_scale);
}

static int write_event(struct events *events, uint64_t step, int field, struct str part, struct error *err)
{
    SCOPED(buf_release) struct buf record = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    bits = htole64(bits);
    buf_reserve(&record, TFRECORD_BYTES_BEFORE);
    record.size = TFRECORD_BYTES_BEFORE;
    buf_add_byte(&record, KEY(EVENT_TIME, WIRE_64));
    buf_add(&record, &bits, sizeof bits);
    buf_add_byte(&record, KEY(EVENT_STEP, WIRE_VARINT));
    add_varint(&record, step);
    add_part(&record, field, part);
    buf_reserve(&record, TFRECORD_BYTES_AFTER);
    record.size = tfrecord_frame(record.data, record.size - TFRECORD_BYTES_BEFORE);
    assert(record.size <= record.capacity);
    return file_write(&events->file, record.data, record.size, err);
}

int events_write(struct events *events, const struct metrics_line *line, struct error *err)
{
    SCOPED(buf_release) struct buf summary = {0};
    add_summary(&summary, line);
    return write_event(events, line->step, EVENT_SUMMARY, buf_str(&summary), err);
}

int events_write_norms(struct events *events, uint64_t step, const struct params *params, const double *norms,
                       struct error *err)
{
    static const char *const prefixes[] = {"norms/gradient/", "norms/weight/", "norms/update/"};
    SCOPED(buf_release) struct buf summary = {0};
    for (size_t tensor = 0; tensor < params->count; tensor++)
        for (size_t i = 0; i < 3; i++)
            add_scalar(&summary, prefixes[i], params->items[tensor].name, norms[3 * tensor + i]);
    return write_event(events, step, EVENT_SUMMARY, buf_str(&summary), err);
}

/* Parses the step and the kind of a message made by write_event. */
static bool read_event(struct str message, uint64_t *step, char *key)
{
    size_t at = 1 + sizeof(double);
    if (message.size <= at || message.data[0] != KEY(EVENT_TIME, WIRE_64) ||
        message.data[at++] != KEY(EVENT_STEP, WIRE_VARINT))
        return false;
    *step = 0;
    for (unsigned shift = 0; shift < 63 && at < message.size; shift += 7) {
        const char byte = message.data[at++];
        *step |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) {
            *key = at < message.size ? message.data[at] : 0;
            return true;
        }
    }
    return false;
}

/* Bytes from the start of the file that are kept. */
static size_t kept_bytes(struct str file, uint64_t step, bool evaluated)
{
    struct str message;
    size_t kept = 0;
    while (tfrecord_message((struct str){file.data + kept, file.size - kept}, &message)) {
        uint64_t number;
        char key;
        if (!read_event(message, &number, &key) || number > step ||
            key != KEY(kept == 0 ? EVENT_VERSION : EVENT_SUMMARY, WIRE_BYTES))
            break;
        if (number == step && !evaluated && str_find(message, STR(VALID_PREFIX)) != SIZE_MAX)
            break;
        kept += TFRECORD_BYTES_BEFORE + message.size + TFRECORD_BYTES_AFTER;
    }
    return kept;
}

static int open_at(struct events *events, const char *path, uint64_t step, bool evaluated, struct error *err)
{
    size_t kept = 0;
    if (path_exists(path)) {
        struct mapping file;
        TRY(file_map(&file, path, err));
        if (file.size > 0)
            kept = kept_bytes((struct str){(const char *)file.data, file.size}, step, evaluated);
        assert(kept <= file.size);
        file_unmap(&file);
    }
    TRY(file_append_open(&events->file, path, err));
    TRY(file_truncate(&events->file, kept, err));
    return kept > 0 ? 0 : write_event(events, 0, EVENT_VERSION, STR("brain.Event:2"), err);
}

int events_open(struct events *events, const char *directory, uint64_t step, bool evaluated, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, EVENTS_NAME);
    *events = EVENTS_CLOSED;
    const int result = open_at(events, path, step, evaluated, err);
    if (result < 0)
        events_close(events);
    return result;
}

void events_close(struct events *events)
{
    file_close(&events->file);
}
