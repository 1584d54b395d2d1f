/* Spells the pieces that a dataset has beyond a model's in the model's own, so that the rows of a word table that grows
 * begin near what they mean. */
#include "trainer/recipe/grow.h"

#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "tokenizer/wordpiece.h"
#include "trainer/data/input.h"
#include "trainer/recipe/text.h"

#define LETTERS_MAX 100 /* of a word, as in kind_wordpiece.c */

struct cutter {
    const struct text *text;     /* the model's */
    struct wordpiece *wordpiece; /* of its pieces */
    struct ids parts;
};

static bool is_unknown(const struct cutter *c, size_t before)
{
    return c->parts.count == before || (c->parts.count == before + 1 && c->parts.data[before] == c->text->vocab->unk);
}

/* Appends the parts of a new piece, at least one. Returns whether they spell it. */
static bool cut(struct cutter *c, struct str piece)
{
    static const struct str mark = {"##", 2};
    const size_t before = c->parts.count;
    const bool continues = piece.size > mark.size && str_starts(piece, mark);
    struct str word = piece;
    if (continues) {
        word = (struct str){piece.data + mark.size, piece.size - mark.size};
        wordpiece_rest(c->wordpiece, word, &c->parts);
        if (!is_unknown(c, before))
            return true;
        c->parts.count = before;
    }
    tokenizer_ids(c->text->state, word, &c->parts);
    if (c->parts.count == before)
        ids_add(&c->parts, c->text->vocab->unk);
    assert(c->parts.count > before); /* the row begins as a mean */
    return !is_unknown(c, before);
}

static void say_growth(const struct growth *growth, uint32_t unknown)
{
    char count[32], old[32], without[32];
    log_say(
        "note       %s new pieces after the model's %s: each begins as the mean of those that spell it; %s as [UNK]",
        format_count(growth->count, count), format_count(growth->pieces, old), format_count(unknown, without));
}

/* Takes the lines of `pieces` from the first new one on. */
static void cut_all(const struct text *text, struct str pieces, struct growth *growth)
{
    struct cutter cutter = {.text = text, .wordpiece = wordpiece_open(text->vocab, LETTERS_MAX)};
    struct str line;
    size_t room = 0;
    uint32_t unknown = 0;
    while (input_line(&pieces, &line)) {
        growth->ends = mem_room(growth->ends, growth->count + 1, &room, sizeof *growth->ends);
        unknown += !cut(&cutter, line);
        growth->ends[growth->count++] = cutter.parts.count;
    }
    growth->parts = mem_array(cutter.parts.count, sizeof *growth->parts);
    for (size_t i = 0; i < cutter.parts.count; i++)
        growth->parts[i] = cutter.parts.data[i];
    wordpiece_close(cutter.wordpiece);
    ids_release(&cutter.parts);
    say_growth(growth, unknown);
}

/* Skips the model's pieces at the beginning of `pieces`. */
static int skip_old(const char *directory, const struct vocab *vocab, struct str *pieces, struct error *err)
{
    struct str line;
    for (uint32_t id = 0; id < vocab->count; id++) {
        const bool more = input_line(pieces, &line);
        if (more && str_equal(line, vocab->pieces[id]))
            continue;
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET,
                "piece %" PRIu32 " is %.*s, in the dataset it is %.*s: a table grows only at its end", id,
                (int)vocab->pieces[id].size, vocab->pieces[id].data, more ? (int)line.size : 7,
                more ? line.data : "missing");
        return hint(err, "build the dataset with a vocabulary that begins with all pieces of this model");
    }
    return 0;
}

static int plan(const char *directory, struct text *text, struct str pieces, const struct tokenizer_words *words,
                struct model_config *config, struct growth *growth, struct error *err)
{
    const int32_t rows = config->vocabulary;
    const char *const first = pieces.data;
    TRY(text_open(text, directory, config, err));
    if (text->vocab->kind != VOCAB_WORDPIECE)
        return fail_at(err, ERR_UNSAFE, directory, ERROR_NO_OFFSET,
                       "is of a byte-level BPE: --grow-vocab appends pieces to a WordPiece vocabulary only");
    TRY(skip_old(directory, text->vocab, &pieces, err));
    TRY(text_check(directory, (struct str){first, (size_t)(pieces.data - first)}, words, true, err));
    if (pieces.size == 0)
        return 0;
    *growth = (struct growth){.rows = rows, .pieces = text->vocab->count};
    cut_all(text, pieces, growth);
    const int32_t all = (int32_t)(growth->pieces + growth->count);
    config->vocabulary = all > rows ? all : rows;
    config->spare = config->vocabulary - all;
    return 0;
}

int grow_plan(const char *directory, struct str pieces, const struct tokenizer_words *words,
              struct model_config *config, struct growth *growth, struct error *err)
{
    SCOPED(text_close) struct text text = {0};
    *growth = (struct growth){0};
    return plan(directory, &text, pieces, words, config, growth, err);
}
