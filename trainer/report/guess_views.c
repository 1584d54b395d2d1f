/* Shows held-out samples with the guesses of the first run's model: right ones on green, wrong ones on red below the
 * original piece. */
#include "trainer/report/sections.h"

#include <stdio.h>

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

static bool goes_on(const char *piece)
{
    return strncmp(piece, "##", 2) == 0 && piece[2];
}

static void put_bare(struct buf *page, const char *piece)
{
    html_text(page, str_of(goes_on(piece) ? piece + 2 : piece), PIECE_LETTERS);
}

static void put_guess(struct buf *page, const char *guess, const char *was)
{
    const bool right = strcmp(guess, was) == 0;
    buf_addf(page, "<ruby class=\"%s\"><b>", right ? "kept" : "random");
    put_bare(page, guess);
    buf_add_text(page, "</b>");
    if (!right) {
        buf_add_text(page, "<rt>");
        put_bare(page, was);
        buf_add_text(page, "</rt>");
    }
    buf_add_text(page, "</ruby>");
}

static void put_sample(struct buf *page, const json_t *sample)
{
    const json_t *pieces = json_object_get(sample, "pieces"), *guesses = json_object_get(sample, "guesses"), *value;
    size_t i, next = 0;
    buf_addf(page, "<h3>Sample %d", count_of(sample, "sample"));
    if (json_object_get(sample, "dataset"))
        buf_addf(page, " of dataset %d", count_of(sample, "dataset"));
    buf_addf(page, ": %d of %d right</h3>\n<p class=\"text\">", count_of(sample, "right"), count_of(sample, "masked"));
    json_array_foreach(pieces, i, value)
    {
        const char *piece = text_of(value);
        const json_t *at = json_array_get(guesses, next);
        if (i >= PIECES_MAX)
            break;
        if (i > 0 && !goes_on(piece))
            buf_add_byte(page, ' ');
        if (at && count_of(at, "position") == (int)i) {
            put_guess(page, text_of(json_object_get(at, "piece")), piece);
            next++;
        } else if (strcmp(piece, "[CLS]") == 0 || strcmp(piece, "[SEP]") == 0) {
            buf_addf(page, "<span class=\"special\">%s</span>", piece);
        } else {
            put_bare(page, piece);
        }
    }
    buf_add_text(page, "</p>\n");
}

void section_guesses(struct buf *page, const struct report *report)
{
    html_section(page, "guesses", "Samples with the model’s guesses");
    const json_t *samples = json_object_get(report->guesses, "samples"), *sample;
    size_t i;
    int masked = 0, right = 0, commonest_right = 0;
    if (json_array_size(samples) == 0) {
        buf_add_text(page, "<p>None are shown: ");
        html_text(page, str_of(report->no_guesses ? report->no_guesses : "there are no held-out samples"), 400);
        buf_add_text(page, "</p>\n");
        html_section_end(page);
        return;
    }
    json_array_foreach(samples, i, sample)
    {
        masked += count_of(sample, "masked");
        right += count_of(sample, "right");
        commonest_right += count_of(sample, "commonest_right");
    }
    buf_add_text(page, "<p class=\"soft\">Held-out text that ");
    section_run_name(page, report, 0);
    buf_addf(
        page,
        " has not learned from, with its guess at every masked place: %d of %d are right; the commonest piece at "
        "every place would be right %d times.</p>\n<ul class=\"legend\"><li><ruby class=\"kept\"><b>right</b></ruby>"
        "</li><li><ruby class=\"random\"><b>wrong</b><rt>what was there</rt></ruby></li></ul>\n",
        right, masked, commonest_right);
    json_array_foreach(samples, i, sample) put_sample(page, sample);
    html_section_end(page);
}
