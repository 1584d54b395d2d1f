#include "pipeline/text/words/count.h"

uint64_t words_count(struct str text, uint64_t most)
{
    uint64_t words = 0;
    bool inside = false;
    for (size_t at = 0; at < text.size && words < most;) {
        uint32_t code_point = 0;
        unsigned skip = 1;
        const unsigned length = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        at += length ? length : skip;
        const bool blank = code_point <= ' ' || code_point == 0x3000;
        const bool alone =
            (code_point >= 0x3040 && code_point <= 0x30FF) || (code_point >= 0x3400 && code_point <= 0x9FFF);
        words += alone || (!blank && !inside);
        inside = !blank && !alone;
    }
    return words;
}
