/* Shows held-out samples with the guesses of each run's model: right ones on green, wrong ones on red below the
 * original piece. */
#include "trainer/report/sections.h"

#include "trainer/data/piece_text.h"
#define PIECES_MAX    512u /* shown per sample */
#define PIECE_LETTERS 40u

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? text : "?";
}

static int count_of(const json_t *object, const char *name)
{
    return (int)json_integer_value(json_object_get(object, name));
}

static void put_bare(struct buf *page, const char *piece, bool byte_level)
{
    html_text(page, str_of(piece_bare(piece, byte_level)), PIECE_LETTERS);
}

static void put_guess(struct buf *page, const char *guess, const char *was, bool byte_level)
{
    const bool right = strcmp(guess, was) == 0;
    buf_addf(page, "<ruby class=\"%s\"><b>", right ? "kept" : "random");
    put_bare(page, guess, byte_level);
    buf_add_text(page, "</b>");
    if (!right) {
        buf_add_text(page, "<rt>");
        put_bare(page, was, byte_level);
        buf_add_text(page, "</rt>");
    }
    buf_add_text(page, "</ruby>");
}

static void put_text(struct buf *page, const json_t *sample, bool byte_level)
{
    const json_t *pieces = json_object_get(sample, "pieces"), *guesses = json_object_get(sample, "guesses"), *value;
    size_t i, next = 0;
    buf_add_text(page, "<p class=\"text\">");
    json_array_foreach(pieces, i, value)
    {
        const char *piece = text_of(value);
        const json_t *at = json_array_get(guesses, next);
        if (i >= PIECES_MAX)
            break;
        if (i > 0 && !piece_goes_on(piece, byte_level))
            buf_add_byte(page, ' ');
        if (at && count_of(at, "position") == (int)i) {
            put_guess(page, text_of(json_object_get(at, "piece")), piece, byte_level);
            next++;
        } else if (strcmp(piece, "[CLS]") == 0 || strcmp(piece, "[SEP]") == 0) {
            buf_addf(page, "<span class=\"special\">%s</span>", piece);
        } else {
            put_bare(page, piece, byte_level);
        }
    }
    buf_add_text(page, "</p>\n");
}

static void put_title(struct buf *page, const json_t *sample)
{
    buf_addf(page, "Sample %d", count_of(sample, "sample"));
    if (json_object_get(sample, "dataset"))
        buf_addf(page, " of dataset %d", count_of(sample, "dataset"));
    buf_addf(page, ": %d of %d right", count_of(sample, "right"), count_of(sample, "masked"));
}

static const json_t *sample_of(const struct report *report, size_t run, size_t i)
{
    return json_array_get(json_object_get(report->runs[run].guesses, "samples"), i);
}

static void put_sample(struct buf *page, const struct report *report, size_t i)
{
    for (size_t r = 0; r < report->count; r++) {
        const json_t *sample = sample_of(report, r, i);
        if (!sample)
            continue;
        buf_add_text(page, report->count > 1 ? "<h3 class=\"who\">" : "<h3>");
        if (report->count > 1) {
            section_run_name(page, report, r);
            buf_add_text(page, " · ");
        }
        put_title(page, sample);
        buf_add_text(page, "</h3>\n");
        put_text(page, sample, json_is_true(json_object_get(report->runs[r].guesses, "byte_level")));
    }
}

/* How often a run is right in all samples; or why it has none. */
static void put_sum(struct buf *page, const struct report *report, size_t run)
{
    const struct report_run *of = &report->runs[run];
    const json_t *samples = json_object_get(of->guesses, "samples"), *sample;
    size_t i;
    int masked = 0, right = 0, commonest_right = 0;
    buf_add_text(page, "<p class=\"soft who\">");
    if (report->count > 1) {
        section_run_name(page, report, run);
        buf_add_text(page, ": ");
    }
    json_array_foreach(samples, i, sample)
    {
        masked += count_of(sample, "masked");
        right += count_of(sample, "right");
        commonest_right += count_of(sample, "commonest_right");
    }
    if (masked > 0) {
        buf_addf(page, "%d of %d are right; the commonest piece at every place would be right %d times.", right, masked,
                 commonest_right);
    } else {
        buf_add_text(page, "None are shown: ");
        html_text(page, str_of(of->no_guesses[0] ? of->no_guesses : "there are no held-out samples"), 400);
    }
    buf_add_text(page, "</p>\n");
}

void section_guesses(struct buf *page, const struct report *report)
{
    size_t shown = 0;
    html_section(page, "guesses",
                 report->count > 1 ? "Samples with the models’ guesses" : "Samples with the model’s guesses");
    for (size_t r = 0; r < report->count; r++) {
        const size_t count = json_array_size(json_object_get(report->runs[r].guesses, "samples"));
        shown = count > shown ? count : shown;
    }
    if (shown > 0)
        buf_add_text(page, "<p class=\"soft\">Held-out text that was not learned from, with a guess at every masked "
                           "place.</p>\n");
    for (size_t r = 0; r < report->count; r++)
        put_sum(page, report, r);
    if (shown > 0)
        buf_add_text(page, "<ul class=\"legend\"><li><ruby class=\"kept\"><b>right</b></ruby></li><li><ruby "
                           "class=\"random\"><b>wrong</b><rt>what was there</rt></ruby></li></ul>\n");
    for (size_t i = 0; i < shown; i++)
        put_sample(page, report, i);
    html_section_end(page);
}
