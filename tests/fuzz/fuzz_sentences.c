// room: pipeline
/* In: a language, and paragraphs. Held: the sentences stand in the text in their order, whole characters and all in
 * one line each; what is not in them is blank; none is empty, begins or ends with a blank of ASCII, or is too long. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/sentences/sentences_marks.h"

static const char *const codes[] = {"en", "de", "zh", "ja", "fr", "ru", "ar", "es", "it", "nl", "pl", "pt", "sv", "xx",
                                    "el", "hy", "am", "th", "my", "bo", "km", "ka", "hi", "ur", "fa", "ko", "da", "kk"};
#define CODES (sizeof codes / sizeof *codes)

/* Blanks only, those beyond ASCII too. */
static bool is_blank(struct str text)
{
    for (size_t at = 0, size; at < text.size; at += size) {
        size = blank_at(text, at);
        if (size == 0 && memchr("\n\r", text.data[at], 2))
            size = 1;
        if (size == 0)
            return false;
    }
    return true;
}

static void check_sentences(const struct sentences *found, struct str text)
{
    const char *at = text.data;
    for (size_t i = 0; i < found->count; i++) {
        const struct str sentence = found->items[i];
        assert(sentence.size > 0 && sentence.size <= SENTENCE_BYTES_MAX && sentence.data >= at);
        assert(sentence.data + sentence.size <= text.data + text.size);
        assert(is_blank(str_range(at, sentence.data)));
        assert(str_trim(sentence).size == sentence.size && utf8_valid(sentence));
        assert(!memchr(sentence.data, '\n', sentence.size));
        at = sentence.data + sentence.size;
    }
    assert(is_blank(str_range(at, text.data + text.size)));
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned lang = take_byte(&data, &size);
    SCOPED(sentences_release) struct sentences found = {0};
    SCOPED(mem_free_at) char *bytes = mem_alloc(size);
    if (size)
        memcpy(bytes, data, size);
    const struct str text = {bytes, utf8_repair(bytes, size, NULL)};
    sentences_split(language_find(str_of(codes[lang % CODES])), text, &found);
    check_sentences(&found, text);
    return 0;
}
