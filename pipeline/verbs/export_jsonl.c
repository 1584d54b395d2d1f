/* export --format jsonl: a line with one JSON object per sample. Numbers are formatted by our own code: a sample has
 * hundreds, and printf would be by far the slowest part. */
#include "base/str.h"
#include "pipeline/verbs/export_formats.h"

static char *put_text(char *at, struct str text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* Adds `used` numbers, or `used` times the text `one` if numbers is NULL; then `zero` up to `count` items. */
static char *put_list(char *at, struct str key, const uint32_t *numbers, struct str one, uint32_t used, struct str zero,
                      uint32_t count)
{
    at = put_text(at, key);
    *at++ = '[';
    for (uint32_t i = 0; i < count; i++) {
        if (i >= used)
            at = put_text(at, zero);
        else
            at = numbers ? put_number(at, numbers[i]) : put_text(at, one);
        *at++ = ',';
    }
    at[-1] = ']'; /* count is at least 1 */
    return at;
}

/* Ids have at most 8 digits, positions 4; keys and the rest fit into 512 bytes. */
static size_t line_bytes_max(const struct shard_layout *layout)
{
    return 512 + (size_t)layout->seq * (9 + 2 + 2) + (size_t)layout->predictions * (5 + 9 + 4);
}

static size_t put_line(char *line, const struct shard_layout *layout, const struct sample *sample)
{
    const uint32_t seq = layout->seq, places = layout->predictions;
    char *at = put_list(line, STR("{\"input_ids\":"), sample->ids, STR(""), sample->length, STR("0"), seq);
    at = put_list(at, STR(",\"input_mask\":"), NULL, STR("1"), sample->length, STR("0"), seq);
    at = put_text(at, STR(",\"segment_ids\":["));
    for (uint32_t i = 0; i < seq; i++) {
        *at++ = i >= sample->a_length && i < sample->length ? '1' : '0';
        *at++ = i + 1 < seq ? ',' : ']';
    }
    at = put_list(at, STR(",\"masked_lm_positions\":"), sample->positions, STR(""), sample->masked, STR("0"), places);
    at = put_list(at, STR(",\"masked_lm_ids\":"), sample->labels, STR(""), sample->masked, STR("0"), places);
    at = put_list(at, STR(",\"masked_lm_weights\":"), NULL, STR("1.0"), sample->masked, STR("0.0"), places);
    at = put_text(at, STR(",\"next_sentence_labels\":"));
    at = put_number(at, sample->is_random_next);
    at = put_text(at, STR(",\"page_id\":"));
    at = put_number(at, sample->document_a);
    at = put_text(at, STR("}\n"));
    return (size_t)(at - line);
}

static const char *const keys[] = {"],\"input_mask\":[", "],\"segment_ids\":[",
                                   "],\"next_sentence_labels\":", ",\"page_id\":", NULL};
static const char *const endings[] = {".jsonl", NULL};
const struct export_format export_jsonl = {.endings = endings,
                                           .bytes_max = line_bytes_max,
                                           .put = put_line,
                                           .form = {.begins = "{\"input_ids\":[", .holds = keys}};
