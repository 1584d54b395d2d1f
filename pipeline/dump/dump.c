/* The flow of a dump: open (recognise it, read its head), read, decode, cut, and the state for a restart. Start reading
 * at dump_cut. The parts: source (bytes), window (pieces), bzip2 (one block), chain (the verdict), cutter (records),
 * sniff (the head). */
#include "pipeline/dump/dump.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/dump/chain.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/cutter.h"
#include "pipeline/dump/record_format.h"
#include "pipeline/dump/sniff.h"
#include "pipeline/dump/sum.h"
#include "pipeline/dump/window.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>

struct dump {
    struct dump_options options;
    char *path;
    struct arena arena; /* holds the siteinfo */
    struct siteinfo siteinfo;
    enum source_kind kind;
    const struct record_format *format; /* of that kind */
    enum container container;
    bool compressed; /* bzip2: windows of blocks */
    bool bom;        /* the text begins with a byte order mark */
    bool blank;      /* nothing shows in all of it */
    struct buf head; /* see dump_head */
    uint32_t level;  /* of the first stream: the guess for windows inside a stream */

    struct byte_source source; /* owned by dump_read; the other steps only use source_read_file */

    /* dump_cut's: */
    struct chain chain;
    struct cutter cutter;
    uint64_t next_window; /* the next window to be cut */
    bool inside;          /* in that window: the previous call returned 1 */
    uint64_t expanded;    /* bytes of text of that window so far */
    struct str rest;      /* of the chain's last text, still to be cut */
    struct group complete;
    bool waits;  /* `complete` is a group for the next call */
    bool failed; /* the chain failed; the next call reports it */
    struct error failure;
    uint64_t hash;
    struct well_formed utf8; /* of text whose encoding is checked */
    struct file_sum sum;
};

struct dump_options dump_defaults(const struct record_format *const *formats)
{
    return (struct dump_options){.formats = formats,
                                 .kind = SOURCE_UNKNOWN,
                                 .window_bytes = WINDOW_BYTES,
                                 .window_bytes_plain = WINDOW_BYTES_PLAIN,
                                 .group_bytes_max = GROUP_BYTES_MAX,
                                 .page_bytes_max = PAGE_BYTES_MAX,
                                 .piece_bytes_max = PIECE_BYTES_MAX,
                                 .blank_lines = 1,
                                 .ratio_max = RATIO_MAX,
                                 .ratio_text_min = RATIO_TEXT_MIN};
}

enum source_kind dump_kind(const struct dump *dump)
{
    return dump->kind;
}

enum container dump_container(const struct dump *dump)
{
    return dump->container;
}

const struct siteinfo *dump_siteinfo(const struct dump *dump)
{
    return &dump->siteinfo;
}

struct str dump_head(const struct dump *dump)
{
    return buf_str(&dump->head);
}

void dump_let_head_go(struct dump *dump)
{
    buf_release(&dump->head);
}

const char *dump_format(const struct dump *dump)
{
    const struct conversion *conversion = &dump->source.conversion;
    return conversion->converter ? conversion_called(conversion) : NULL;
}

bool dump_is_untyped(const struct dump *dump)
{
    return dump->source.conversion.table.header;
}

void dump_park(struct dump *dump)
{
    assert(!dump_is_summed(dump));
    byte_source_park(&dump->source);
}

uint64_t dump_bytes(const struct dump *dump)
{
    return dump->source.bytes;
}

uint64_t dump_text_guess(const struct dump *dump)
{
    return byte_source_text_guess(&dump->source);
}

bool dump_is_made(const struct dump *dump)
{
    return byte_source_is_made(&dump->source);
}

uint64_t dump_stored_bytes(const struct dump *dump)
{
    return dump->source.stored;
}

uint64_t dump_text_bytes(const struct dump *dump)
{
    const uint64_t text = dump_bytes(dump), stored = dump_stored_bytes(dump);
    const struct codec *codec = codec_of(dump->container);
    const unsigned expansion = codec ? codec->expansion_percent : 100;
    return text > stored ? text : stored / 100 * expansion + stored % 100 * expansion / 100;
}

size_t dump_memory(const struct dump *dump)
{
    return dump->source.memory;
}

int dump_measure(struct dump *dump, struct error *err)
{
    return byte_source_measure(&dump->source, err);
}

size_t dump_window_bytes(const struct dump *dump)
{
    return dump->compressed ? dump->options.window_bytes : dump->options.window_bytes_plain;
}

uint64_t dump_windows(const struct dump *dump)
{
    size_t bytes = dump_window_bytes(dump);
    return dump->source.bytes / bytes + (dump->source.bytes % bytes != 0);
}

uint64_t dump_hash(const struct dump *dump)
{
    return dump->hash;
}

bool dump_is_summed(const struct dump *dump)
{
    return dump->sum.wanted[0] != '\0';
}

/* -------------------------------------------------------------------------------------------------- encoding */

/* The text is UTF-8 already, and must be well-formed. */
static bool is_checked(const struct dump *dump)
{
    return dump->format->strict_utf8 && !dump->options.encoding.lossy && !encoding_converts(&dump->options.encoding);
}

/* The character at byte `bad` of the text is ill-formed; `text` was read last. */
static int refuse_ill_formed(const struct dump *dump, uint64_t bad, struct str text, struct error *err)
{
    encoding_refuse(dump->source.name, "UTF-8", dump->container != CONTAINER_NONE, bad, err);
    return encoding_hint(text, dump->options.journalled, err);
}

/* Checks the next text of the file. */
static int check_text(struct dump *dump, struct str text, struct error *err)
{
    uint64_t bad;
    if (!is_checked(dump) || well_formed_feed(&dump->utf8, text, &bad))
        return 0;
    return refuse_ill_formed(dump, bad, text, err);
}

/* ------------------------------------------------------------------------------------------------------ read */

static int read_window(struct dump *dump, uint64_t window, struct dump_piece *piece, struct error *err)
{
    size_t beyond = !dump->compressed   ? 0
                    : dump->source.pipe ? WINDOW_BEYOND + BZIP2_BLOCK_BYTES_MAX /* it cannot read on later */
                                        : WINDOW_BEYOND;
    return piece_read(&dump->source, window, dump_window_bytes(dump), beyond, piece, err);
}

int dump_read(struct dump *dump, uint64_t window, struct dump_piece *piece, struct error *err)
{
    byte_source_forget(&dump->source, window * dump_window_bytes(dump));
    const int filled = read_window(dump, window, piece, err);
    if (filled < 0 && err->kind == ERR_UNSAFE && encoding_converts(&dump->options.encoding) && !err->hint[0])
        encoding_hint(STR(""), dump->options.journalled, err);
    if (filled == 0)
        byte_source_let_go(&dump->source);
    return filled;
}

/* ---------------------------------------------------------------------------------------------------- decode */

int dump_decode(const struct dump *dump, struct dump_piece *piece, struct error *err)
{
    if (piece->end)
        return 0;
    piece->hash = hash64(piece->bytes.data, piece->window_size);
    return dump->compressed ? piece_decode(&dump->source, piece, dump->level, dump->options.piece_bytes_max, err) : 0;
}

/* ------------------------------------------------------------------------------------------------------- cut */

/* How the source of this dump is unpacked, and which ratios are allowed. */
static struct unpack_options unpacking(const struct dump *dump)
{
    return (struct unpack_options){.name = dump->source.name,
                                   .container = dump->container,
                                   .salvage = dump->options.salvage,
                                   .ratio_max = dump->options.ratio_max,
                                   .ratio_text_min = dump->options.ratio_text_min};
}

/* Refuses bombs. Honest text is 3 to 30 times its compressed size. */
static int refuse_bomb(struct dump *dump, const struct dump_piece *piece, struct error *err)
{
    const uint64_t at = dump->chain.bit / 8, bytes = at > piece->from ? at - piece->from : 1;
    const struct unpack_options options = unpacking(dump);
    return unpack_check_ratio(&options, at, bytes, dump->expanded, err);
}

/* The next text of a window without blocks: its bytes up to the next gap or the window's end. */
static int plain_next(struct dump *dump, struct dump_piece *piece, struct str *text)
{
    const bool gap = piece->next_gap < piece->gap_count;
    const size_t stop = gap ? (size_t)(piece->gaps[piece->next_gap].at - piece->from) : piece->window_size;
    assert(piece->taken <= stop && stop <= piece->window_size); /* gaps are sorted, and those of this window */
    *text = (struct str){piece->bytes.data + piece->taken, stop - piece->taken};
    if (piece->taken < stop) {
        piece->taken = stop;
        return CHAIN_TEXT;
    }
    if (!gap)
        return CHAIN_END;
    dump->chain.gap_bytes = piece->gaps[piece->next_gap++].bytes;
    return CHAIN_GAP;
}

/* The next text of the window for any kind of file; results as for chain_next. */
static int text_next(struct dump *dump, struct dump_piece *piece, struct str *text, struct error *err)
{
    if (dump->compressed) {
        const int more = chain_next(&dump->chain, &dump->source, piece, text, err);
        if (more != CHAIN_TEXT)
            return more;
        dump->expanded += text->size;
        TRY(refuse_bomb(dump, piece, err));
        return CHAIN_TEXT;
    }
    return plain_next(dump, piece, text);
}

static void state_now(const struct dump *dump, struct dump_state *state)
{
    *state = (struct dump_state){.next_window = dump->next_window,
                                 .bit = dump->chain.bit,
                                 .level = dump->chain.level,
                                 .crc = dump->chain.crc,
                                 .padding = dump->chain.padding,
                                 .unsure = dump->chain.unsure,
                                 .lost = dump->chain.lost,
                                 .hash = dump->hash,
                                 .utf8 = dump->utf8,
                                 .head = dump->chain.head};
    if (dump_is_summed(dump))
        state->sum = dump->sum.is;
    cutter_state(&dump->cutter, state);
}

static void window_enter(struct dump *dump, const struct dump_piece *piece)
{
    struct dump_state entry;
    assert(dump->rest.size == 0 && !dump->waits && !dump->failed); /* the window before was used up */
    assert(piece->window < UINT32_MAX);                            /* groups have its number in 32 bits */
    state_now(dump, &entry);
    cutter_enter(&dump->cutter, (uint32_t)piece->window, &entry);
    const uint64_t words[2] = {htole64(piece->window), htole64(piece->hash)};
    dump->hash += hash64(words, sizeof(words));
    if (dump_is_summed(dump) && !byte_source_is_made(&dump->source))
        sha256_add(&dump->sum.is, piece->bytes.data, piece->window_size);
    dump->inside = true;
    dump->expanded = 0;
}

/* Frees buffers at the end of the input: with many inputs they would add up. */
static void let_go(struct dump *dump)
{
    group_release(&dump->complete);
    group_release(&dump->cutter.group);
    buf_release(&dump->chain.text);
}

/* Cuts the END piece. With salvage a dump may end anywhere, but a premature end counts as damage. */
static int cut_end(struct dump *dump, const struct dump_piece *piece, struct group *out, struct error *err)
{
    assert(piece->window == dump->next_window && !dump->inside && !dump->waits);
    int gap = dump->compressed ? chain_end(&dump->chain, &dump->source, piece, err) : 0;
    TRY(gap);
    uint64_t bad;
    if (!dump->options.salvage && is_checked(dump) && !well_formed_end(&dump->utf8, &bad))
        return refuse_ill_formed(dump, bad, STR(""), err);
    if (piece->gap_count > 0) {
        gap = CHAIN_GAP;
        dump->chain.gap_bytes = piece->gaps[0].bytes;
    }
    struct dump_state entry;
    state_now(dump, &entry);
    cutter_enter(&dump->cutter, (uint32_t)piece->window, &entry);
    if (gap)
        cutter_gap(&dump->cutter, dump->chain.gap_bytes, true);
    else if (dump->options.salvage && !cutter_complete(&dump->cutter))
        cutter_gap(&dump->cutter, 0, true);
    TRY(cutter_end(&dump->cutter, dump->options.salvage ? NULL : dump->source.name, piece->from, out, err));
    let_go(dump);
    return dump_is_summed(dump) ? file_sum_check(&dump->sum, &dump->source, dump->options.salvage, out, err) : 0;
}

/* Gives the complete group to the caller. False if this call has given one already, so that it must wait for the
 * next. */
static bool hand_over(struct dump *dump, struct group *out, bool *given)
{
    assert(dump->waits);
    if (*given)
        return false;
    const struct group swapped = *out;
    *out = dump->complete;
    dump->complete = swapped;
    dump->waits = false;
    return *given = true;
}

int dump_cut(struct dump *dump, struct dump_piece *piece, struct group *out, struct error *err)
{
    group_reset(out);
    if (piece->end)
        return cut_end(dump, piece, out, err);
    assert(piece->window == dump->next_window);
    if (!dump->inside)
        window_enter(dump, piece);
    bool given = false;
    if (dump->waits)
        hand_over(dump, out, &given);
    for (;;) {
        if (dump->rest.size == 0) {
            int more = dump->failed ? -1 : text_next(dump, piece, &dump->rest, err);
            if (more == CHAIN_TEXT && check_text(dump, dump->rest, err) < 0)
                more = -1;
            if (more < 0 && given) { /* first return the group that came before the damage */
                dump->failed = true;
                dump->failure = *err;
                return 1;
            }
            if (more < 0) {
                *err = dump->failed ? dump->failure : *err;
                return -1;
            }
            if (more == CHAIN_END)
                break;
            if (more == CHAIN_GAP) {
                well_formed_gap(&dump->utf8);
                cutter_gap(&dump->cutter, dump->chain.gap_bytes, false);
                continue;
            }
        }
        const uint64_t at =
            dump->compressed ? RECORD_NOWHERE : piece->from + (uint64_t)(dump->rest.data - piece->bytes.data);
        size_t taken = cutter_feed(&dump->cutter, dump->rest, at, &dump->complete, &dump->waits);
        assert(taken <= dump->rest.size && (taken == dump->rest.size || dump->waits)); /* only a full group stops it */
        dump->rest = (struct str){dump->rest.data + taken, dump->rest.size - taken};
        if (dump->waits && !hand_over(dump, out, &given))
            return 1;
    }
    while ((dump->waits = cutter_leave(&dump->cutter, &dump->complete)))
        if (!hand_over(dump, out, &given))
            return 1;
    assert(dump->rest.size == 0);
    dump->inside = false;
    dump->next_window++;
    return 0;
}

/* Of a window without its neighbours: the character at either end may be incomplete. */
static int check_window(const struct dump *dump, const struct dump_piece *piece, struct str text, struct error *err)
{
    uint64_t bad;
    struct well_formed state = {.passed = dump->compressed ? 0 : piece->from, .after_gap = piece->window > 0};
    if (!is_checked(dump) || well_formed_feed(&state, text, &bad))
        return 0;
    if (!dump->compressed)
        return refuse_ill_formed(dump, bad, text, err);
    fail_at(err, ERR_UNSAFE, dump->source.name, piece->from,
            "is not text in UTF-8: a bzip2 block that begins after this byte has an ill-formed character");
    return encoding_hint(text, dump->options.journalled, err);
}

int dump_peek(const struct dump *dump, const struct dump_piece *piece, struct group *out, struct error *err)
{
    struct cutter cutter;
    struct str text = dump->compressed ? buf_str(&piece->text) : (struct str){piece->bytes.data, piece->window_size};
    TRY(check_window(dump, piece, text, err));
    cutter_init(&cutter, &dump->options, dump->format, piece->window == 0 && has_byte_order_mark(text));
    cutter_peek(&cutter, text, piece->window == 0, piece->last, out);
    cutter_release(&cutter);
    return 0;
}

/* -------------------------------------------------------------------------------------------------- restart */

void dump_state(const struct dump *dump, struct dump_state *state)
{
    const struct cutter *cutter = &dump->cutter;
    assert(!dump->inside);
    if (cutter->begun) {
        *state = cutter->group_entry;
        state->next_part = cutter->group.part;
    } else {
        state_now(dump, state);
        state->next_part = 0;
    }
    if (state->next_window == cutter->resume_window && state->next_part < cutter->resume_part)
        state->next_part = cutter->resume_part;
}

/* Rejects impossible states, which would trip asserts. The state of another file of the same size is detected by its
 * hash. */
static bool state_is_possible(const struct dump *dump, const struct dump_state *state)
{
    uint64_t at = state->bit / 8, windows = dump_windows(dump);
    if (byte_source_is_made(&dump->source) && windows == 0)
        return at == 0; /* not measured: reading will show whether the window exists */
    if (state->next_window > windows || state->level > BZIP2_LEVEL_MAX || at > dump->source.bytes)
        return false;
    if (!dump->compressed || state->next_window == windows)
        return true;
    if ((state->head.place == HEAD_SOUGHT && state->lost > 0) || (state->head.place == HEAD_INSIDE && !state->unsure))
        return false; /* chain.c asserts these */
    return at >= state->next_window * dump_window_bytes(dump) && (state->level > 0 || state->bit % 8 == 0) &&
           state->head.place <= HEAD_UNCHECKED;
}

static void chain_restore(struct chain *chain, const struct dump_state *state)
{
    *chain = (struct chain){.bit = state->bit,
                            .level = state->level,
                            .crc = state->crc,
                            .padding = state->padding,
                            .unsure = state->unsure,
                            .lost = state->lost,
                            .head = state->head,
                            .salvage = chain->salvage,
                            .text = chain->text};
}

void dump_rewind(struct dump *dump)
{
    chain_restore(&dump->chain, &(struct dump_state){0});
    cutter_release(&dump->cutter);
    cutter_init(&dump->cutter, &dump->options, dump->format, dump->bom);
    dump->next_window = 0;
    dump->inside = dump->waits = dump->failed = false;
    dump->rest = (struct str){0};
    dump->hash = 0;
    dump->utf8 = (struct well_formed){0};
    dump->sum.is = sha256_begin();
}

static int restore_sum(struct dump *dump, const struct dump_state *state, struct error *err)
{
    const uint64_t from = state->next_window * dump_window_bytes(dump);
    const uint64_t at = from < dump->source.bytes ? from : dump->source.bytes;
    if (at > 0 && state->sum.bytes == at)
        dump->sum.is = state->sum;
    return file_sum_to(&dump->sum, &dump->source, at, err);
}

int dump_restore(struct dump *dump, const struct dump_state *state, struct error *err)
{
    if (dump->source.pipe)
        return fail_at(err, ERR_USAGE, dump->source.name, ERROR_NO_OFFSET, "a pipe cannot be read from the middle");
    dump_rewind(dump);
    if (!state_is_possible(dump, state) || cutter_restore(&dump->cutter, state) < 0)
        return fail_at(err, ERR_MISMATCH, dump->source.name, ERROR_NO_OFFSET,
                       "is not the file that the journal describes");
    chain_restore(&dump->chain, state);
    dump->next_window = state->next_window;
    dump->hash = state->hash;
    dump->utf8 = state->utf8;
    return dump_is_summed(dump) && !byte_source_is_made(&dump->source) ? restore_sum(dump, state, err) : 0;
}

/* ---------------------------------------------------------------------------------------------------- parts */

bool dump_divides(const struct dump *dump)
{
    return dump->format->cut->marked && !dump->source.pipe && !byte_source_is_made(&dump->source) &&
           !dump_is_summed(dump);
}

void dump_guess(const struct dump *dump, uint64_t window, struct dump_state *state)
{
    assert(window > 0 && dump_divides(dump));
    *state = (struct dump_state){.next_window = window,
                                 .bit = window * dump_window_bytes(dump) * 8,
                                 .open = true,
                                 .head.place = dump->compressed ? HEAD_SOUGHT : HEAD_UNCHECKED,
                                 .head.guessed = true};
}

bool dump_settled(const struct dump *dump, uint64_t window)
{
    return dump->next_window >= window && cutter_settled(&dump->cutter, window) &&
           !(dump->waits && dump->complete.window < window);
}

bool dump_closed(const struct dump *dump, uint64_t window)
{
    return cutter_closed(&dump->cutter, window);
}

void dump_entry(const struct dump *dump, struct dump_state *state)
{
    assert(!dump->inside);
    state_now(dump, state);
}

/* Advances the chain from `window` to the next block, over headers and ends of streams only; 0 if there is none. */
static int find_block(struct dump *dump, uint64_t window, struct error *err)
{
    struct dump_piece piece = {0};
    int more, at_block = CHAIN_END;
    while ((more = read_window(dump, window++, &piece, err)) > 0) {
        at_block = chain_to_block(&dump->chain, &dump->source, &piece, err);
        if (at_block != CHAIN_END)
            break;
    }
    piece_release(&piece);
    return more < 0 ? -1 : at_block;
}

/* Combines the CRC of a stream's blocks so far with the combined CRC of `blocks` further blocks. Possible because the
 * combination is linear: crc = rotl(crc, 1) ^ crc of the block. */
static uint32_t combine(uint32_t crc, const uint64_t blocks, uint32_t further)
{
    const unsigned turn = (unsigned)(blocks % 32);
    return (turn ? crc << turn | crc >> (32 - turn) : crc) ^ further;
}

/* Damage is not reported here: the process that reads on from `truth` will find it. */
int dump_join(struct dump *dump, uint64_t window, const struct dump_state *truth, const struct dump_head *head,
              struct dump_state *end, struct error *err)
{
    if (truth->head.place != HEAD_TRUE || truth->next_window != window || truth->closed || truth->lost ||
        head->guessed || head->doubt || head->place == HEAD_SOUGHT)
        return 0;
    if (dump->compressed) {
        chain_restore(&dump->chain, truth);
        const int found = find_block(dump, window, err);
        const struct chain chain = dump->chain;
        dump_rewind(dump);
        if (found < 0 && err->kind != ERR_INPUT)
            return -1;
        if (found != CHAIN_TEXT || chain.bit != head->bit || head->level > chain.level)
            return 0;
        if (head->place == HEAD_AFTER && !chain.unsure && combine(chain.crc, head->blocks, head->crc) != head->stored)
            return 0;
        if (head->place == HEAD_INSIDE) {
            end->crc = combine(chain.crc, head->blocks, end->crc);
            end->level = chain.level;
            end->unsure = chain.unsure;
        }
    }
    end->head = (struct dump_head){0};
    return 1;
}

/* ------------------------------------------------------------------------------------------- open and close */

/* Adds text to the head, which ends with the first <page>. True once it is complete; *rest is the text after it. */
static bool head_add(struct buf *head, struct str text, struct str *rest)
{
    size_t room = HEAD_BYTES_MAX - head->size, before = head->size < 5 ? head->size : 5; /* the tag may have begun */
    size_t size = head->size, from = size - before;
    buf_add(head, text.data, text.size < room ? text.size : room);
    size_t page = str_find((struct str){head->data + from, head->size - from}, STR("<page>"));
    if (page != SIZE_MAX)
        head->size = from + page + strlen("<page>");
    *rest = str_range(text.data + (head->size - size), text.data + text.size);
    return page != SIZE_MAX || head->size == HEAD_BYTES_MAX;
}

/* Reads the head, and into dump->head what was decoded with it; the belt will read these bytes again. */
static int read_head(struct dump *dump, struct buf *head, struct error *err)
{
    struct dump_piece piece = {0};
    struct str text, rest = {0};
    bool complete = false;
    int more = 1;
    for (uint64_t window = 0; more > 0 && !complete; window++) {
        more = read_window(dump, window, &piece, err);
        if (more == 0 && dump->compressed)
            more = chain_end(&dump->chain, &dump->source, &piece, err);
        if (more <= 0)
            break;
        while (!complete && (more = text_next(dump, &piece, &text, err)) > 0)
            complete = more == CHAIN_TEXT && head_add(head, text, &rest);
        more = more < 0 ? -1 : 1;
    }
    buf_add(&dump->head, rest.data, rest.size < DUMP_HEAD_BYTES ? rest.size : DUMP_HEAD_BYTES);
    piece_release(&piece);
    dump->chain = (struct chain){.text = dump->chain.text};
    return more < 0 ? -1 : 0;
}

/* From here on the source gives UTF-8. Refuses an encoding that the first bytes contradict, because most encodings read
 * anything without an error. */
static int open_encoding(struct dump *dump, struct error *err)
{
    struct byte_source *source = &dump->source;
    const struct encoding *encoding = &dump->options.encoding;
    SCOPED(buf_release) struct buf start = {0};
    if (dump->options.salvage && dump->container != CONTAINER_NONE) {
        fail_at(err, ERR_USAGE, source->name, ERROR_NO_OFFSET,
                "--salvage and --encoding %s do not go together: after damage, text may begin inside a character",
                encoding->name);
        return hint(err, "convert what can be decompressed to UTF-8 with iconv -c");
    }
    TRY(byte_source_read(source, 0, ENCODING_SAMPLE_BYTES, &start, err));
    TRY(encoding_check(source->name, encoding, buf_str(&start), err));
    return byte_source_recode(source, encoding, err);
}

static void unpack_source(struct dump *dump)
{
    const struct unpack_options options = unpacking(dump);
    byte_source_unpack(&dump->source, &options);
}

static int open_source(struct dump *dump, struct error *err)
{
    struct byte_source *source = &dump->source;
    SCOPED(buf_release) struct buf start = {0};
    if (dump->options.members)
        byte_source_open_member(source, dump->path, dump->options.members, dump->options.member,
                                dump->options.member_bytes);
    else
        TRY(byte_source_open(source, dump->path, err));
    if (dump->options.name)
        source->name = dump->options.name;
    TRY(byte_source_read(source, 0, SNIFF_BYTES, &start, err));
    dump->blank = start.size == 0;
    if (dump->blank)
        return fail_at(err, ERR_INPUT, source->name, ERROR_NO_OFFSET, "is empty");
    const int sniffed = sniff_container(source->name, buf_str(&start), &dump->container, err);
    if (sniffed < 0)
        return sniffed;
    /* Blocks of bzip2 can be decoded alone, but not converted, because a character may lie in two of them; and not in
     * an archive, which is read from its beginning. */
    const bool converts = encoding_converts(&dump->options.encoding);
    dump->compressed = dump->container == CONTAINER_BZIP2 && !converts && !source->members;
    if (dump->container != CONTAINER_NONE && !dump->compressed)
        unpack_source(dump);
    dump->level = stream_level((const uint8_t *)start.data, start.size);
    return converts ? open_encoding(dump, err) : 0;
}

/* If the text is in a format that is converted to JSON lines, and was not named as something else, reads the head
 * anew. */
static int open_converter(struct dump *dump, struct buf *head, struct error *err)
{
    const struct dump_options *options = &dump->options;
    const struct str text = text_begin(buf_str(head));
    const bool lines = options->kind == SOURCE_UNKNOWN || options->kind == SOURCE_JSONL;
    struct conversion conversion = {0};
    if (lines && !options->has_form)
        conversion = conversion_find(text);
    if (!conversion.converter)
        return 0;
    if (options->salvage && dump->container != CONTAINER_NONE)
        return fail_at(err, ERR_USAGE, dump->source.name, ERROR_NO_OFFSET,
                       "--salvage cannot be combined with %s that is compressed", conversion.converter->name);
    if (dump->compressed) /* blocks can be decoded alone, but not converted */
        unpack_source(dump);
    dump->compressed = false;
    byte_source_convert(&dump->source, &conversion);
    buf_reset(head);
    buf_reset(&dump->head);
    return read_head(dump, head, err);
}

static int open_text(struct dump *dump, struct error *err)
{
    SCOPED(buf_release) struct buf head = {0};
    const bool packed = dump->container != CONTAINER_NONE;
    enum container nested; /* bzip2 inside bzip2 is not text either */
    const char *name = dump->source.name;
    int result = read_head(dump, &head, err);
    dump->blank = result == 0 && head.size < HEAD_BYTES_MAX && str_is_blank(buf_str(&head));
    if (result == 0 && packed)
        result = sniff_container(name, buf_str(&head), &nested, err);
    if (result == 0)
        result = open_converter(dump, &head, err);
    const struct sniffed sniffed = {.name = name,
                                    .head = buf_str(&head),
                                    .container = dump->container,
                                    .encoding = &dump->options.encoding,
                                    .has_form = dump->options.has_form,
                                    .asked = dump->options.kind};
    if (result == 0)
        result = sniff_kind(&sniffed, dump->options.formats, &dump->kind, err);
    const struct record_format *format = dump->format = result == 0 ? dump->options.formats[dump->kind] : NULL;
    if (result == 0 && format->read_head)
        result = format->read_head(name, text_begin(buf_str(&head)), &dump->siteinfo, &dump->arena, err);
    if (result == 0) {
        dump->bom = has_byte_order_mark(buf_str(&head));
        cutter_init(&dump->cutter, &dump->options, format, dump->bom);
    }
    if (result == 0 && !format->read_head) {
        dump->head.size = 0;
        buf_add(&dump->head, head.data, head.size < DUMP_HEAD_BYTES ? head.size : DUMP_HEAD_BYTES);
    }
    byte_source_rewind(&dump->source);
    return result;
}

int dump_open(struct dump **dump, const char *path, const struct dump_options *options, struct error *err)
{
    assert(options->window_bytes > 0 && options->window_bytes_plain > 0);
    struct dump *opened = mem_clear(1, sizeof(*opened));
    opened->options = *options;
    opened->options.journalled = false; /* not yet */
    opened->path = mem_copy_text(path);
    opened->source.file = FILE_CLOSED;
    int result = open_source(opened, err);
    result = result < 0 ? result : open_text(opened, err);
    if (result < 0) {
        result = opened->blank ? DUMP_BLANK : result == SNIFF_OTHER ? DUMP_OTHER : -1;
        dump_close(opened);
        return result;
    }
    opened->options.journalled = options->journalled;
    opened->chain.salvage = options->salvage;
    opened->sum.is = sha256_begin();
    if (options->sha256 && !opened->source.pipe)
        snprintf(opened->sum.wanted, sizeof opened->sum.wanted, "%s", options->sha256);
    *dump = opened;
    return 0;
}

void dump_cut_at(struct dump *dump, uint32_t blank_lines)
{
    assert(dump->next_window == 0 && !dump->inside);
    dump->options.blank_lines = blank_lines;
    dump_rewind(dump);
}

int dump_exceeds(struct dump *dump, uint64_t bytes, struct error *err)
{
    struct dump_piece piece = {0};
    struct str text;
    uint64_t seen = 0;
    int more = 1;
    assert(dump->next_window == 0 && !dump->inside);
    if (!dump->compressed && dump_bytes(dump) > 0)
        return dump_bytes(dump) > bytes;
    for (uint64_t window = 0; more > 0 && seen <= bytes; window++) {
        more = read_window(dump, window, &piece, err);
        int next = more;
        while (next > 0 && seen <= bytes && (next = text_next(dump, &piece, &text, err)) > 0)
            seen += next == CHAIN_TEXT ? text.size : 0;
        more = next < 0 ? -1 : more;
    }
    piece_release(&piece);
    byte_source_rewind(&dump->source);
    dump->expanded = 0;
    dump_rewind(dump);
    return more < 0 ? -1 : seen > bytes;
}

void dump_close(struct dump *dump)
{
    if (!dump)
        return;
    byte_source_close(&dump->source);
    cutter_release(&dump->cutter);
    group_release(&dump->complete);
    buf_release(&dump->chain.text);
    arena_release(&dump->arena);
    buf_release(&dump->head);
    mem_free(dump->path);
    mem_free(dump);
}
