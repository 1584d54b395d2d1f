/* What every row of the formats of `dsdata export` needs, so that a further one that lacks something is named here. */
#include "base/target.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/verbs/export_formats.h"
#include "tests/unit.h"

#define FORMAT_ROW(NAME, row, typed) &export_##row,
static const struct export_format *const formats[] = {EXPORT_FORMAT_LIST(FORMAT_ROW)};

static void need(bool has, size_t format, const char *what)
{
    if (!has)
        fail_msg("export_%s lacks %s", export_format_names[format], what);
}

TEST(every_row_is_complete)
{
    for (size_t i = 0; i < EXPORT_FORMATS; i++) {
        const struct export_format *format = formats[i];
        const bool writes = format->put || format->write;
        need(format->endings && format->endings[0], i, "endings");
        need(!(format->put && format->write), i, "one of put and write: it has both");
        need(!format->put || format->bytes_max, i, "bytes_max, the size of a record");
        need(!writes || format->folder || format->form.holds, i, "form, by which a file of its own is known");
        need(!format->folder || (format->name_file && format->ours), i, "name_file or ours, for its folder");
    }
}

/* No ending belongs to two formats, so that a file's name says its format. */
TEST(endings_differ)
{
    for (size_t i = 0; i < EXPORT_FORMATS; i++)
        for (size_t k = 0; k < i; k++)
            for (const char *const *one = formats[i]->endings; *one; one++)
                for (const char *const *other = formats[k]->endings; *other; other++)
                    assert_string_not_equal(*one, *other);
}
