/* dsdata vocab --check FILE: reports what is wrong with a vocabulary. Defects that a documented rule repairs are
 * listed, and the exit code stays 0; a file that cannot be used is the same error as in `build`. */
#include "base/file.h"
#include "base/output.h"
#include "pipeline/build/published.h"
#include "pipeline/verbs/dsdata_vocab_check.h"
#include "tokenizer/bpe.h"
#include "tokenizer/vocab_check.h"

#include <inttypes.h>
#include <stdio.h>

#define ID_16_PIECES_MAX 65535u /* larger vocabularies take four bytes per id in a shard */

static void tell(const char *path, uint64_t line, uint64_t count, const char *what, const char *note)
{
    if (count)
        output_line("%s:%" PRIu64 ": %s: %" PRIu64 "%s", path, line, what, count, note);
}

static void tell_defects(const char *path, const struct vocab_defects *d)
{
    if (d->byte_order_mark)
        output_line("%s:1: a byte order mark, which becomes part of the first piece: remove it", path);
    tell(path, d->first_crlf, d->crlf, "lines that end in CR LF", " (the CR is ignored)");
    tell(path, d->first_spaced, d->spaced, "lines that end in white space", " (it is ignored)");
    tell(path, d->first_empty, d->empty, "empty lines", " (their ids never come out; those at the end are ignored)");
    tell(path, d->first_duplicate, d->duplicates, "duplicate lines", " (the id of the last one counts)");
    tell(path, d->first_ill_formed, d->ill_formed, "lines that are not UTF-8", "");
    if (d->no_final_newline)
        output_line("%s:%" PRIu64 ": no line feed at the end of the last line", path, d->lines);
    for (size_t i = 0; i < d->missing_count; i++)
        output_line("%s: no %s", path, d->missing[i]);
}

/* The facts, and the keys of the error where there is one: one object. */
static void print_json(const struct vocab_defects *d, const struct vocab *vocab, const struct vocab_unreachable *found,
                       const struct error *failed)
{
    json_t *facts = json_pack("{sI si sI sI sI sI sI sb sb sI si}", "lines", (json_int_t)d->lines, "pieces",
                              vocab ? (int)vocab->count : 0, "crlf", (json_int_t)d->crlf, "spaced",
                              (json_int_t)d->spaced, "empty", (json_int_t)d->empty, "duplicates",
                              (json_int_t)d->duplicates, "ill_formed", (json_int_t)d->ill_formed, "byte_order_mark",
                              (int)d->byte_order_mark, "final_newline", (int)!d->no_final_newline, "missing_specials",
                              (json_int_t)d->missing_count, "unreachable", (int)found->unreachable);
    json_auto_t *error = failed ? error_json(failed) : NULL;
    json_object_update(facts, error);
    output_json(facts, 0);
}

void vocab_say_next(const struct dsdata_settings *settings, const char *path, bool cased, bool strip_accents)
{
    static const char learning[] = " out limit cased accents vocab-size algo unused min-frequency "
                                   "limit-alphabet kind special-names ";
    struct buf command = settings_command(settings, "build", learning);
    if (settings->check) /* there were no inputs */
        command_add(&command, "INPUT");
    if (settings->spool) /* standard input names no dataset */
        command_option(&command, "out", "DIR");
    command_option(&command, "vocab", path);
    if (cased)
        command_option(&command, "cased", NULL);
    if (cased == strip_accents)
        command_option(&command, "accents", cased ? "strip" : "keep");
    say_next(command.data);
}

/* What a byte-level BPE lacks. */
static void tell_bytes(const char *path, const struct vocab *vocab)
{
    unsigned missing = 0, first = 0;
    char added[56];
    for (unsigned byte = 256; byte-- > 0;)
        if (vocab->bpe->of_byte[byte] == VOCAB_NONE) {
            missing++;
            first = byte;
        }
    if (missing)
        output_line("%s: %u of 256 bytes have no piece, the first is 0x%02X: in a text they are %s", path, missing,
                    first, vocab->bpe->unknown == VOCAB_NONE ? "dropped" : "unknown");
    for (size_t role = 0; role < ROLES; role++)
        if (vocab->roles[role] == VOCAB_NONE && role != ROLE_UNK)
            output_line("%s: no %s token, which a dataset needs", path, vocab_role_name((enum vocab_role)role));
    output_line("%s: %u pieces, byte-level BPE of %zu merges, %s, %s%s", path, vocab->count, vocab->bpe->merge_count,
                format_counted(vocab->added.count, "added token", added), vocab->bpe->nfc ? "NFC" : "text as it is",
                vocab->bpe->prefix_space ? ", a blank before a text" : "");
}

static void tell_vocab(const char *path, const struct vocab *vocab, const struct tokenizer_options *options,
                       const struct vocab_unreachable *found)
{
    if (vocab->count > ID_16_PIECES_MAX)
        output_line("%s: more than %u pieces: an id takes four bytes in a shard, not two", path, ID_16_PIECES_MAX);
    if (found->unreachable)
        output_line("%s: %u of %u pieces can never come out, the first is %.*s", path, found->unreachable,
                    found->pieces, (int)vocab->pieces[found->first].size, vocab->pieces[found->first].data);
    if (vocab->kind == VOCAB_BPE_BYTES)
        tell_bytes(path, vocab);
    else
        output_line("%s: %u pieces, %s, accents %s", path, vocab->count, options->cased ? "cased" : "uncased",
                    options->strip_accents ? "stripped" : "kept");
}

int vocab_check(struct dsdata_settings *settings, struct error *err)
{
    const char *const path = settings->vocab = settings->check;
    struct vocab_defects defects = {0};
    struct vocab_unreachable found = {0};
    const bool is_text = !path_is_directory(path) && !str_ends(str_of(path), STR(".json"));
    if (is_text) {
        SCOPED(buf_release) struct buf file = {0};
        TRY(file_read_all(path, VOCAB_FILE_BYTES_MAX, &file, err));
        vocab_inspect(buf_str(&file), &defects);
        if (!settings->json)
            tell_defects(path, &defects);
    }
    struct vocab *vocab = NULL;
    struct tokenizer_options options = {0};
    int result = published_vocab(settings, &vocab, err);
    if (result == 0) {
        options = published_words(settings);
        vocab_unreachable(vocab, &options, NULL, &found);
        if (!settings->json)
            tell_vocab(path, vocab, &options, &found);
    }
    if (result == 0 && vocab->kind == VOCAB_WORDPIECE)
        result = published_fits(settings->vocab, vocab, &options, err);
    if (settings->json)
        print_json(&defects, vocab, &found, result < 0 ? err : NULL);
    const bool words = vocab && vocab->kind == VOCAB_WORDPIECE; /* of a BPE no option says them */
    vocab_close(vocab);
    if (fflush(stdout) != 0 && result == 0)
        return output_failed(err);
    if (result == 0)
        vocab_say_next(settings, path, words && options.cased, !words || options.strip_accents);
    return result < 0 && settings->json ? (int)err->kind : result; /* the object has reported it */
}
