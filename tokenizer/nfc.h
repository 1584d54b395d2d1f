/* Canonical composition (NFC), as the package tokenizers does it: by Unicode 9. */
#pragma once

#include "base/str.h"
#include "tokenizer/normalize.h"

/* The text in NFC: itself if it is, else a view into `out`. `facts` is from split_facts_open, the text well-formed
 * UTF-8; `normalizer` is scratch with the tables of unicode_hf. Time and memory are linear. */
struct str nfc(struct normalizer *normalizer, const uint8_t *facts, struct str text, struct buf *out);
