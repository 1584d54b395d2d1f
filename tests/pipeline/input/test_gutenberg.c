/* The frame of Project Gutenberg's books. */
#include "pipeline/input/gutenberg.h"
#include "tests/unit.h"

static const struct {
    const char *file, *text;
} cases[] = {
    {"Title\n\n*** START OF THE PROJECT GUTENBERG EBOOK BOATS ***\nOne.\nTwo.\n*** END OF THE PROJECT GUTENBERG EBOOK "
     "BOATS ***\nLicence\n",
     "One.\nTwo.\n"},
    {"T\r\n***START OF THIS PROJECT GUTENBERG EBOOK BOATS***\r\nOne.\r\n***END OF THIS PROJECT GUTENBERG EBOOK***\r\nL",
     "One.\r\n"},
    {"T\n*** START OF THE PROJECT GUTENBERG EBOOK BOATS\nAND SHIPS ***\nOne.\n", "One.\n"},
    {"T\n*** START OF THE PROJECT GUTENBERG EBOOK BOATS\n\nOne. ***\n", "\nOne. ***\n"},
    {"T\n*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\nOne.\nEnd of the Project Gutenberg Etext of "
     "Boats\nL\n",
     "One.\n"},
    {"One.\nEnd of Project Gutenberg's Boats, by A. B.\n\n*** END OF THIS PROJECT GUTENBERG EBOOK BOATS ***\n",
     "One.\n"},
    {"One.\n*** START OF THE BOATS ***\nTwo.\n***\nThree.\n", "One.\n*** START OF THE BOATS ***\nTwo.\n***\nThree.\n"},
    {"A line on *** START OF THE PROJECT GUTENBERG EBOOK\nTwo.",
     "A line on *** START OF THE PROJECT GUTENBERG EBOOK\nTwo."},
    {"The end of the Project Gutenberg Etext\n", "The end of the Project Gutenberg Etext\n"},
    {"*** START OF THE PROJECT GUTENBERG EBOOK ***", ""},
    {"*** START OF THE PROJECT GUTENBERG EBOOK", ""},
    {"***", "***"},
    {"", ""},
};

TEST(frames_are_left_out)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct str text = gutenberg_text(str_of(cases[i].file));
        if (!str_equal(text, str_of(cases[i].text)))
            fail_msg("case %zu: '%.*s'", i, (int)text.size, text.data);
    }
}

/* A mark far into a file is part of its text. */
TEST(only_at_the_beginning)
{
    SCOPED(buf_release) struct buf file = {0};
    for (int i = 0; i < 20000; i++)
        buf_add_text(&file, "word\n");
    buf_add_text(&file, "*** START OF THE PROJECT GUTENBERG EBOOK BOATS ***\nOne.\n");
    assert_int_equal(gutenberg_text(buf_str(&file)).size, file.size);
}
