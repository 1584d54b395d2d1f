/* What every row of input_kinds needs, so that a further kind that lacks something is named here: its functions, its
 * options on the command line, and a sample (below) that is recognised, cut and read. */
#include "tests/pipeline/dump/dump_files.h"

#include "pipeline/dsdata_options.h"
#include "pipeline/parts/dsdata_settings.h"

/* By kind: the beginning of an input with the two documents "One." and "Two.". */
static const char *const samples[] = {
    [SOURCE_WIKI] = "<mediawiki><page><id>1</id><ns>0</ns><revision><text>One.</text></revision></page>\n"
                    "<page><id>2</id><ns>0</ns><revision><text>Two.</text></revision></page></mediawiki>\n",
    [SOURCE_TEXT] = "One.\n\nTwo.\n",
    [SOURCE_JSONL] = "{\"text\": \"One.\"}\n{\"text\": \"Two.\"}\n",
};
_Static_assert(sizeof samples / sizeof *samples == SOURCE_KINDS, "a sample of every kind");

#define EACH_KIND(kind) (enum source_kind kind = SOURCE_UNKNOWN + 1; kind < SOURCE_KINDS; kind++)

static void need(bool has, enum source_kind kind, const char *what)
{
    if (!has)
        fail_msg("%s_kind lacks %s", source_kinds[kind], what);
}

TEST(every_row_is_complete)
{
    size_t plain = 0, folders = 0;
    for
        EACH_KIND(kind)
        {
            const struct input_kind *row = input_kinds[kind];
            const struct record_cut *cut = row->records.cut;
            need(row->records.called && row->records.readable && row->records.refused, kind,
                 "called, readable or refused");
            need(row->records.recognise, kind, "recognise");
            need(cut && cut->feed && cut->is_match, kind, "a cut with feed and is_match");
            need(cut->end || cut->missing_end, kind, "a cut with end or missing_end");
            need(!cut->half || cut->marked, kind, "marked: its cut has half");
            need(row->name && row->one, kind, "name or one");
            need(row->extensions && row->extensions[0] && row->options, kind, "extensions or options");
            need(row->bytes_per_piece > 0, kind, "bytes_per_piece");
            need(row->read, kind, "read");
            need(samples[kind], kind, "a sample in this test");
            plain += row->records.plain;
            folders += row->read_folder != NULL;
        }
    assert_int_equal(plain, 1); /* sniff_kind takes it for what only the user can see */
    assert_true(folders > 0);   /* and input_names_read, for a folder that was not named as any kind */
}

/* The row of an option of build, or NULL. */
static const struct opt_row *option_of(const struct opt_program *program, const char *name)
{
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (strcmp(row->name, name) == 0 && (!row->verbs || strstr(row->verbs, " build ")))
            return row;
    return NULL;
}

TEST(every_kind_has_its_options)
{
    const struct opt_program program = dsdata_program();
    for
        EACH_KIND(kind)
        {
            const struct opt_row *row = option_of(&program, source_kinds[kind]);
            if (!row)
                fail_msg("no row of the option --%s in pipeline/dsdata_options.c", source_kinds[kind]);
            assert_int_equal(row->type, OPT_PATHS);
            assert_int_equal(row->field, offsetof(struct dsdata_settings, inputs[0]) + kind * sizeof(struct opt_paths));
            for (const char *const *option = input_kinds[kind]->options; *option; option++)
                need(option_of(&program, *option), kind, *option);
        }
}

/* Opens the sample as `asked`. */
static struct dump *open_sample(enum source_kind kind, enum source_kind asked)
{
    struct dump_options options = small_options(WINDOW_BYTES);
    struct dump *dump;
    struct error err = {0};
    options.kind = asked;
    if (dump_open(&dump, test_file(str_of(samples[kind])), &options, &err) != 0)
        fail_msg("the sample of %s: %s", source_kinds[kind], err.text);
    assert_int_equal(dump_kind(dump), kind);
    return dump;
}

TEST(every_sample_gives_its_documents)
{
    for
        EACH_KIND(kind)
        {
            struct dump *dump = open_sample(kind, kind);
            dump_close(dump);
            dump = open_sample(kind, SOURCE_UNKNOWN);
            const struct article_options options = {.kind = input_kind_of(dump),
                                                    .siteinfo = dump_siteinfo(dump),
                                                    .language = language_find(STR("en")),
                                                    .code = "en",
                                                    .form = input_kind_of(dump)->records.plain ? FORM_SENTENCES
                                                                                               : FORM_AUTO};
            struct article_reader *reader = article_open();
            struct dump_piece piece = {0};
            struct group group = {0};
            struct error err;
            SCOPED(buf_release) struct buf texts = {0};
            for (uint64_t window = 0; window < 2; window++) { /* the second is the END piece */
                int more = dump_read(dump, window, &piece, &err);
                assert_int_equal(more, window == 0);
                do {
                    more = dump_cut(dump, &piece, &group, &err);
                    assert_true(more >= 0);
                    for (size_t i = 0; i < group.record_count; i++) {
                        struct article article;
                        article_read(reader, &options, &group, i, &article);
                        assert_int_equal(article.fate, PAGE_KEPT);
                        buf_add_str(&texts, article.text);
                    }
                } while (more > 0);
            }
            assert_same(buf_str(&texts), STR("One.\nTwo.\n"));
            piece_release(&piece);
            group_release(&group);
            article_close(reader);
            dump_close(dump);
        }
}

GROUP(NULL, test_file_remove)
