/* Lowers capital sigmas. Both small sigmas take two bytes like the capital, so they overwrite it. One that may be final
 * is written as final, and corrected when a cased letter follows. */
#include "tokenizer/sigma.h"

#define CAPITAL 0x3A3u
#define SMALL   "\xCF\x83"
#define FINAL   "\xCF\x82"

struct str sigma_lower(const struct unicode *unicode, struct str text, struct buf *scratch)
{
    if (!text.size || !memmem(text.data, text.size, "\xCE\xA3", 2))
        return text;
    buf_reset(scratch);
    buf_add_str(scratch, text);
    char *final = NULL;       /* the last sigma, while only ignorable letters follow it */
    bool after_cased = false; /* the word's last letter that is not ignorable is cased */
    unsigned size, skip;
    for (size_t at = 0; at < text.size; at += size ? size : skip) {
        uint32_t code_point;
        size = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        if (!size)
            continue;
        const struct letter *letter = unicode_letter(unicode, code_point);
        if (letter->kind == LETTER_SPACE || letter->kind == LETTER_IDEOGRAPH) {
            final = NULL;
            after_cased = false;
        } else if (letter->kind != LETTER_DROP && letter->sigma != SIGMA_IGNORABLE) {
            const bool cased = letter->sigma == SIGMA_CASED;
            if (final && cased)
                memcpy(final, SMALL, 2);
            final = NULL;
            if (code_point == CAPITAL) {
                memcpy(scratch->data + at, after_cased ? FINAL : SMALL, 2);
                final = after_cased ? scratch->data + at : NULL;
            }
            after_cased = cased;
        }
    }
    return buf_str(scratch);
}
