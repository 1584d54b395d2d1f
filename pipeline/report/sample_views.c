/* A few samples in readable form: pieces joined to words, with the original above each word that the model has to
 * guess. The root hash selects them, so the choice is arbitrary, and the same dataset always shows the same samples. */
#include "pipeline/report/corpus_sections.h"

#include "base/mem.h"
#include "base/random.h"
#include "pipeline/report/corpus_report.h"
#include "shards/dataset.h"
#include "shards/masking.h"

#include <inttypes.h>

#define SAMPLES_SHOWN     5u
#define TOKENS_SHOWN      512u /* of a sample */
#define PIECE_LETTERS     40u
#define BLANK_MARK        STR("\xC4\xA0")             /* "Ġ" of a byte-level BPE */
#define SAMPLES_BYTES_MAX (REPORT_BYTES_MAX - 100000) /* the page ends soon after them */

struct view {
    struct buf *page;
    const struct vocab *vocab;
    const struct special_ids *special;
    const struct sample *sample; /* with its masks removed: the originals */
    const uint32_t *seen;        /* [length] ids as the model sees them */
    const bool *masked;          /* [length] is to be predicted */
};

/* ------------------------------------------------------------------------------------------------- blanks */

static uint32_t first_letter(struct str text)
{
    uint32_t c = 0;
    unsigned skip;
    return text.size && utf8_decode(text.data, text.size, &c, &skip) ? c : 0;
}

static uint32_t last_letter(struct str text)
{
    size_t at = text.size;
    while (at > 0 && (text.data[--at] & 0xC0) == 0x80)
        ;
    return first_letter((struct str){text.data + at, text.size - at});
}

static bool is_one_of(uint32_t c, const char *letters)
{
    char bytes[5] = {0};
    return c && utf8_write(c, bytes) && strstr(letters, bytes);
}

/* Scripts written without blanks: kana, ideographs, their punctuation. */
static bool is_east_asian(uint32_t c)
{
    return (c >= 0x2E80 && c < 0xA000) || (c >= 0xF900 && c < 0xFB00) || (c >= 0xFF00 && c < 0xFFA0) ||
           (c >= 0x20000 && c < 0x40000);
}

/* Pieces do not record where blanks were, so this follows common typography. `quoted`: an odd number of straight
 * quotation marks precedes. */
static bool is_blank_between(struct str before, struct str piece, bool quoted)
{
    const uint32_t last = last_letter(before), first = first_letter(piece);
    if (is_one_of(first, ".,;:!?،؛؟।)]}%’”»…-–—'/") || is_one_of(last, "([{“«„‘-–—'’/"))
        return false;
    if (quoted && (first == '"' || last == '"'))
        return false;
    return !(is_east_asian(last) && is_east_asian(first));
}

/* ------------------------------------------------------------------------------------------------- pieces */

static bool is_special(const struct view *view, uint32_t id)
{
    return id == view->special->cls || id == view->special->sep;
}

/* The piece; `bare`: without the mark that says whether a blank is before it. */
static void put_piece(const struct view *view, uint32_t id, bool bare)
{
    SCOPED(buf_release) struct buf text = {0};
    vocab_readable(view->vocab, id, &text);
    struct str piece = buf_str(&text);
    const struct str mark = view->vocab->kind == VOCAB_WORDPIECE ? STR("##") : BLANK_MARK;
    if (bare && str_starts(piece, mark) && piece.size > mark.size)
        piece = (struct str){piece.data + 2, piece.size - 2};
    html_text(view->page, piece, PIECE_LETTERS);
}

/* The tooltip of a token: position, piece, id; isolated, because a piece may run from right to left. */
static void put_title(const struct view *view, uint32_t position, const char *what)
{
    const uint32_t id = view->sample->ids[position];
    buf_addf(view->page, " title=\"%u: \u2068", position);
    put_piece(view, id, false);
    buf_addf(view->page, "\u2069 (%u)%s\"", id, what);
}

static void put_masked(const struct view *view, uint32_t position, bool bare)
{
    const uint32_t seen = view->seen[position], original = view->sample->ids[position];
    const bool hidden = seen == view->special->mask, kept = seen == original;
    buf_addf(view->page, "<ruby class=\"%s\"", hidden ? "hidden" : kept ? "kept" : "random");
    put_title(view, position, hidden ? ", masked" : kept ? ", to be predicted and kept" : ", replaced at random");
    buf_addf(view->page, "><b%s>", hidden ? " dir=\"ltr\"" : "");
    put_piece(view, seen, bare);
    buf_add_text(view->page, "</b><rt>");
    put_piece(view, original, bare);
    buf_add_text(view->page, "</rt></ruby>");
}

static void put_token(const struct view *view, uint32_t position, bool bare)
{
    const uint32_t id = view->sample->ids[position];
    if (view->masked[position]) {
        put_masked(view, position, bare);
        return;
    }
    buf_addf(view->page, "<span%s", is_special(view, id) ? " class=\"special\" dir=\"ltr\"" : "");
    put_title(view, position, "");
    buf_add_text(view->page, ">");
    put_piece(view, id, bare);
    buf_add_text(view->page, "</span>");
}

/* Adds tokens [from, to) as far as there is room. */
static uint32_t put_tokens(const struct view *view, uint32_t from, uint32_t to)
{
    const struct str *before = NULL; /* the previous piece, if it is part of the text */
    bool quoted = false;
    uint32_t position = from;
    for (; position < to && position < TOKENS_SHOWN && view->page->size < SAMPLES_BYTES_MAX; position++) {
        const uint32_t id = view->sample->ids[position];
        const struct str *piece = &view->vocab->pieces[id];
        const bool wordpiece = view->vocab->kind == VOCAB_WORDPIECE;
        const bool inside = before && (wordpiece ? str_starts(*piece, STR("##")) : !str_starts(*piece, BLANK_MARK));
        if (position > from && !inside && (!before || !wordpiece || is_blank_between(*before, *piece, quoted)))
            buf_add_text(view->page, " ");
        put_token(view, position, inside || !wordpiece);
        quoted ^= str_equal(*piece, STR("\""));
        before = is_special(view, id) ? NULL : piece;
    }
    return position;
}

/* The direction is that of the text. Our own marks set theirs explicitly, so that they have no influence on it. */
static void put_segment(const struct view *view, uint32_t from, uint32_t to, const char *name)
{
    const char *class = from ? " second" : "";
    buf_addf(view->page, "<p class=\"tag%s\">%s</p>\n<p class=\"text%s\" dir=\"auto\">", class, name, class);
    const uint32_t end = put_tokens(view, from, to);
    if (end < to)
        buf_addf(view->page, "<span class=\"special\"> … %u more tokens</span>", to - end);
    buf_add_text(view->page, "</p>\n");
}

/* ------------------------------------------------------------------------------------------------ samples */

static const char *relation(enum pair_kind pairs, const struct sample *sample)
{
    if (sample->a_length == sample->length)
        return "one segment";
    if (pairs == PAIRS_SOP)
        return sample->is_random_next ? "A follows B: swapped" : "B follows A";
    return sample->is_random_next ? "B is from elsewhere" : "B follows A";
}

static void put_heading(struct buf *page, const struct dataset *dataset, uint64_t number, const struct sample *sample)
{
    const bool one = sample->a_length == sample->length || sample->document_a == sample->document_b;
    buf_addf(page, "<h3>Sample %" PRIu64 "</h3>\n<p class=\"soft\">%u tokens, %u to predict; %s. Document%s %" PRIu64,
             number, sample->length, sample->masked, relation(dataset->manifest.pairs, sample), one ? "" : "s",
             sample->document_a);
    if (!one)
        buf_addf(page, " and %" PRIu64, sample->document_b);
    buf_add_text(page, "</p>\n");
}

static void put_sample(const struct view *of_page, const struct dataset *dataset, uint64_t number,
                       struct sample *sample)
{
    uint32_t seen[SHARD_SEQ_MAX];
    bool masked[SHARD_SEQ_MAX] = {false};
    struct view view = *of_page;
    put_heading(view.page, dataset, number, sample);
    memcpy(seen, sample->ids, sample->length * sizeof *seen);
    for (uint32_t i = 0; i < sample->masked; i++)
        masked[sample->positions[i]] = true;
    mask_restore(sample);
    view.sample = sample;
    view.seen = seen;
    view.masked = masked;
    put_segment(&view, 0, sample->a_length, "Segment A");
    if (sample->a_length < sample->length)
        put_segment(&view, sample->a_length, sample->length, "Segment B");
}

static void put_legend(struct buf *page, const struct dataset *dataset)
{
    char count[32];
    buf_addf(page,
             "<p>Drawn by the root hash from the %s training samples of length %u. Colours show what the model has to "
             "predict; the small word above is the answer. Pieces are joined to words, and blanks are set as people "
             "write; <code>dsdata show DIR --sample I</code> shows the same sample piece by piece.</p>\n",
             format_count(dataset->samples, count), dataset->layout.seq);
    buf_add_text(page, "<ul class=\"legend\"><li><ruby class=\"hidden\"><b>[MASK]</b><rt>answer</rt></ruby> hidden"
                       "</li><li><ruby class=\"random\"><b>other</b><rt>answer</rt></ruby> replaced at random</li>"
                       "<li><ruby class=\"kept\"><b>answer</b><rt>answer</rt></ruby> kept as it was</li></ul>\n");
}

static int put_samples(struct buf *page, const struct corpus_report *report, const struct dataset *dataset,
                       struct error *err)
{
    SCOPED(sample_release) struct sample sample = sample_make(&dataset->layout);
    const struct view view = {.page = page, .vocab = report->vocab, .special = &report->manifest.special};
    put_legend(page, dataset);
    for (uint64_t i = 0; i < SAMPLES_SHOWN && i < dataset->samples; i++) {
        const uint64_t number = permute(i, dataset->samples, report->manifest.root_hash);
        TRY(dataset_sample(dataset, number, &sample, err));
        put_sample(&view, dataset, number, &sample);
    }
    return 0;
}

int section_samples(struct buf *page, const struct corpus_report *report, struct error *err)
{
    SCOPED(dataset_close) struct dataset dataset = {0};
    TRY(dataset_open(&dataset, report->directory, 0, SPLIT_TRAIN, err));
    html_section(page, "samples", "Samples");
    if (dataset.samples)
        TRY(put_samples(page, report, &dataset, err));
    else
        buf_add_text(page, "<p>The training split is empty: there is no sample to show.</p>\n");
    html_section_end(page);
    return 0;
}
