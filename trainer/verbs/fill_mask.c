/* dstrain fill-mask: the most likely pieces for every [MASK] of a text. */

#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/same_math.h"
#include "trainer/data/input.h"
#include "trainer/tune/reading.h"

#define LINES_BYTES_MAX (64u << 20)
#define SHOWN_BYTES     80 /* of a line, in an error */

/* A line as the model reads it: its pieces between [CLS] and [SEP]. */
struct line {
    struct str text;
    size_t first, length;     /* its ids in `ids` */
    size_t mask_first, masks; /* its masks in `places` */
};

/* A prediction for one mask. */
struct guess {
    uint32_t piece;
    double probability;
};

struct fill {
    struct reading reading;
    struct buf text; /* the lines point into it */
    struct line *lines;
    size_t line_count, line_room;
    struct ids ids;    /* of all lines */
    struct ids places; /* of all masks: the mask's token in its line */
    size_t top;
    struct guess *guesses; /* [masks, top], the most likely first */
    size_t answered;       /* masks so far */
};

static struct str mask_of(const struct fill *f)
{
    return f->reading.text.vocab->pieces[f->reading.text.vocab->mask];
}

/* The text between masks is cut as the tokenizer cuts a whole text. A byte-level BPE finds masks itself, because they
 * may take the white space beside them. */
static void cut(struct fill *f, struct line *line)
{
    const struct vocab *vocab = f->reading.text.vocab;
    const struct str mask = mask_of(f);
    struct str rest = line->text;
    line->first = f->ids.count;
    line->mask_first = f->places.count;
    ids_add(&f->ids, vocab->before.ids[0]);
    for (size_t at; vocab->kind == VOCAB_WORDPIECE && (at = str_find(rest, mask)) != SIZE_MAX;) {
        tokenizer_ids(f->reading.text.state, (struct str){rest.data, at}, &f->ids);
        ids_add(&f->ids, vocab->mask);
        rest = (struct str){rest.data + at + mask.size, rest.size - at - mask.size};
    }
    tokenizer_ids(f->reading.text.state, rest, &f->ids);
    ids_add(&f->ids, vocab->after.ids[0]);
    line->length = f->ids.count - line->first;
    for (size_t i = 0; i < line->length; i++)
        if (f->ids.data[line->first + i] == vocab->mask)
            ids_add(&f->places, (uint32_t)i);
    line->masks = f->places.count - line->mask_first;
}

static int add_line(struct fill *f, struct str text, struct error *err)
{
    const size_t positions = (size_t)f->reading.recipe.config.positions;
    const int shown = (int)(text.size < SHOWN_BYTES ? text.size : SHOWN_BYTES);
    f->lines = mem_room(f->lines, f->line_count + 1, &f->line_room, sizeof *f->lines);
    struct line *line = &f->lines[f->line_count++];
    *line = (struct line){.text = text};
    cut(f, line);
    if (line->masks == 0) {
        const struct str mask = mask_of(f);
        const int size = (int)(mask.size < SHOWN_BYTES ? mask.size : SHOWN_BYTES);
        fail(err, ERR_USAGE, "line %zu has no %.*s: %.*s", f->line_count, size, mask.data, shown, text.data);
        return hint(err, "write %.*s, exactly so, for each piece to find", size, mask.data);
    }
    if (line->length > positions)
        return fail(err, ERR_MISMATCH,
                    "line %zu is %zu pieces long with [CLS] and [SEP], the model has %zu positions: %.*s",
                    f->line_count, line->length, positions, shown, text.data);
    return 0;
}

/* The texts of the command line, or the lines of standard input. */
static int read_lines(struct fill *f, struct opt_paths texts, struct error *err)
{
    struct str rest, line;
    const bool input = texts.count == 0 || (texts.count == 1 && strcmp(texts.items[0], "-") == 0);
    if (input)
        TRY(input_read("-", LINES_BYTES_MAX, &f->text, err));
    for (size_t i = 0; i < texts.count && !input; i++) {
        buf_add_text(&f->text, texts.items[i]);
        buf_add_byte(&f->text, '\n');
    }
    if (!input)
        input_repair("the command line", &f->text, 0);
    rest = str_without_mark(buf_str(&f->text));
    while (input_line(&rest, &line))
        if (add_line(f, line, err) < 0)
            return texts.count > 0 && path_is_file(texts.items[0])
                       ? hint_command(err, "TEXT is the text itself; <%s reads a file", texts.items[0])
                       : -1;
    return f->line_count > 0 ? 0 : fail(err, ERR_USAGE, "standard input has no lines: give a text with a mask in it");
}

static int fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct fill *f = context;
    const struct line *line = &f->lines[k];
    struct marks *masked = &sequence->marks[HEAD_MASKED];
    (void)err;
    sequence->length = sequence->a_length = (uint32_t)line->length;
    memcpy(sequence->ids, f->ids.data + line->first, line->length * sizeof *sequence->ids);
    masked->count = (uint32_t)line->masks;
    memcpy(masked->tokens, f->places.data + line->mask_first, line->masks * sizeof *masked->tokens);
    memset(masked->labels, 0, line->masks * sizeof *masked->labels); /* unknown */
    return 0;
}

static struct source source_of(const struct fill *f)
{
    struct source source = {.samples = f->line_count, .tokens = f->ids.count, .context = f, .fetch = fetch};
    for (size_t i = 0; i < f->line_count; i++) {
        const uint32_t length = (uint32_t)f->lines[i].length, masks = (uint32_t)f->lines[i].masks;
        if (length > source.room.length)
            source.room.length = length;
        if (masks > source.room.marks[HEAD_MASKED])
            source.room.marks[HEAD_MASKED] = masks;
    }
    return source;
}

/* Finds the largest logits and their softmax; of equal ones the piece with the smaller id comes first. */
static void choose(const float *logits, size_t pieces, struct guess *best, size_t top)
{
    double sum = 0;
    assert(top > 0 && top <= pieces);
    for (size_t i = 0, held = 0; i < pieces; i++) {
        size_t at = held < top ? held++ : top;
        if (at == top && !((double)logits[i] > best[--at].probability))
            continue;
        for (; at > 0 && (double)logits[i] > best[at - 1].probability; at--)
            best[at] = best[at - 1];
        best[at] = (struct guess){(uint32_t)i, (double)logits[i]};
    }
    const double most = best[0].probability;
    for (size_t i = 0; i < pieces; i++)
        sum += same_exp((double)logits[i] - most);
    for (size_t i = 0; i < top; i++)
        best[i].probability = same_exp(best[i].probability - most) / sum;
}

static void answer(void *context, const struct batch *batch)
{
    struct fill *f = context;
    struct model *model = f->reading.engine.model;
    const struct ops *ops = f->reading.engine.ops;
    const struct model_config *config = model_config(model);
    const size_t rows = (size_t)batch->heads[HEAD_MASKED].live, columns = (size_t)vocabulary_padded(config);
    const size_t bytes = rows * columns * sizeof(float);
    void *memory = model_logits(model, HEAD_MASKED);
    float *logits = ops->map(ops->device, memory, bytes, MAP_READ);
    assert(f->answered + rows <= f->places.count);
    for (size_t row = 0; row < rows; row++)
        choose(logits + row * columns, (size_t)model_pieces(config), f->guesses + f->answered++ * f->top, f->top);
    ops->unmap(ops->device, memory, logits, bytes, MAP_READ);
}

/* What a piece stands for. */
static void piece_text(const struct fill *f, uint32_t id, struct buf *out)
{
    SCOPED(buf_release) struct buf bytes = {0};
    buf_reset(out);
    text_piece(&f->reading.text, id, &bytes);
    utf8_replace(buf_str(&bytes), out);
}

static void print_text(const struct fill *f)
{
    SCOPED(buf_release) struct buf piece = {0};
    for (size_t i = 0; i < f->line_count; i++) {
        const struct line *line = &f->lines[i];
        output_line("%.*s", (int)line->text.size, line->text.data);
        for (size_t mask = 0; mask < line->masks; mask++) {
            const struct guess *guess = f->guesses + (line->mask_first + mask) * f->top;
            if (line->masks > 1)
                output_line("  %.*s %zu", (int)mask_of(f).size, mask_of(f).data, mask + 1);
            for (size_t k = 0; k < f->top; k++) {
                piece_text(f, guess[k].piece, &piece);
                output_line("  %6.2f %%  %.*s", 100 * guess[k].probability, (int)piece.size, piece.data);
            }
        }
    }
}

static json_t *guesses_json(const struct fill *f, const struct guess *guess)
{
    const struct vocab *vocab = f->reading.text.vocab;
    SCOPED(buf_release) struct buf text = {0};
    json_t *all = json_array();
    for (size_t k = 0; k < f->top; k++) {
        const struct str piece = vocab->pieces[guess[k].piece];
        json_t *one = json_pack("{s:s%, s:i, s:f}", "piece", piece.data, piece.size, "id", (int)guess[k].piece,
                                "probability", guess[k].probability);
        if (vocab->kind != VOCAB_WORDPIECE) { /* whose pieces are no text */
            piece_text(f, guess[k].piece, &text);
            json_object_set_new(one, "text", json_stringn(buf_text(&text), text.size));
        }
        json_array_append_new(all, one);
    }
    return all;
}

static void print_json(const struct fill *f)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < f->line_count; i++) {
        const struct line *line = &f->lines[i];
        json_t *masks = json_array();
        for (size_t mask = 0; mask < line->masks; mask++)
            json_array_append_new(masks, guesses_json(f, f->guesses + (line->mask_first + mask) * f->top));
        json_array_append_new(lines,
                              json_pack("{s:s%, s:o}", "text", line->text.data, line->text.size, "masks", masks));
    }
    output_json(json_pack("{s:o, s:o}", "model", json_name(f->reading.origin.name), "lines", lines),
                JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static void print(const struct fill *f)
{
    const struct origin *origin = &f->reading.origin;
    if (f->reading.settings.json)
        print_json(f);
    else
        print_text(f);
    say_next(origin->source == SOURCE_HUGGING_FACE ? command_text("dstrain --shards DATASET --init %s", origin->name)
                                                   : command_text("dstrain export %s --out DIR", origin->name));
}

static int fill(struct fill *f, struct opt_paths texts, struct error *err)
{
    TRY(read_lines(f, texts, err));
    const struct source source = source_of(f);
    const size_t pieces = f->reading.text.vocab->count;
    f->top = f->reading.settings.top < pieces ? (size_t)f->reading.settings.top : pieces;
    f->guesses = mem_array(f->places.count * f->top, sizeof *f->guesses);
    TRY(reading_open(&f->reading, &source, err));
    TRY(reading_pass(&f->reading, answer, f, err));
    assert(f->answered == f->places.count);
    print(f);
    return 0;
}

int dstrain_fill_mask(void *context, struct opt_paths bare, struct error *err)
{
    struct fill f = {0};
    const struct opt_paths texts = {bare.items + 1, bare.count - 1};
    stop_on_signals();
    int result = reading_find(&f.reading, context, bare.items[0], 1u << HEAD_MASKED, err);
    if (result == 0)
        result = text_need_mask(&f.reading.text, err);
    if (result == 0) {
        text_take_masks(&f.reading.text);
        result = fill(&f, texts, err);
    }
    reading_close(&f.reading);
    ids_release(&f.ids);
    ids_release(&f.places);
    buf_release(&f.text);
    mem_free(f.lines);
    mem_free(f.guesses);
    return result;
}
