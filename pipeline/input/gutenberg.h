/* The frame of Project Gutenberg's books: a header before the text, a licence after it. */
#pragma once

#include "base/str.h"

/* The text of a file between the lines that mark its beginning and its end, or all of it where there are none. */
struct str gutenberg_text(struct str file);
