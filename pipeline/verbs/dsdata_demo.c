/* dsdata demo: from text to a trained model and a page about it, by the commands that a user would type. They run as
 * children: dsdata itself, and the dstrain beside it. */
#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/verbs/demo_text.h"
#include "pipeline/verbs/demo_weights.h"

#define STORIES   6000u
#define WORDS_MAX 40u
#define MARK      "README.txt"
#define MARK_TEXT                                                                                                      \
    "Written by dsdata demo, which replaces this folder when it is repeated.\n\n"                                      \
    "demo.html    the training and what the model guesses: open it in a browser\n"                                     \
    "shards       the dataset, made by dsdata build\n"                                                                 \
    "run          the trained model: dstrain export run --out model writes it for other programs\n"                    \
    "stories.txt  the text, if it is that of the demo\n"

/* Commands, their words separated by blanks: @NAME is a file in the folder of the demo, ? a text or the input. */
#define SHAPE " --out @shards --seq 64 --pairs none --pack --valid 0.05"
static const char build_stories[] = "dsdata build --text @stories.txt --text-form lines --vocab-size 700" SHAPE;
static const char build_input[] = "dsdata build ? --vocab-size auto" SHAPE;
/* For a text whose documents are so few that none is held out. */
static const char build_paragraphs[] = "dsdata build ? --text-form paragraphs --fresh --vocab-size auto" SHAPE;
/* Where the machine is slow, the time ends the training. */
static const char train[] = "dstrain --shards @shards --out @run --model tiny --recipe fast-1 --batch 24 --steps 2400 "
                            "--same-bits --precision fp32 --device cpu --save-every " DEMO_SAVE_EVERY
                            " --keep-last 0 --eval-every 200 --time-limit 90s";
static const char guess_unseen[] = "dstrain eval @run --show 5";
static const char guess_seen[] = "dstrain eval @run --show 5 --split train";
static const char fill_in[] = "dstrain fill-mask @run --top 3 ?";
static const char sentence[] = "He cooked soup with onions. The soup was in the [MASK]. He ate the soup with a [MASK].";
static const char report[] = "dstrain report @run --out @demo.html --note ?";
static const char note_stories[] =
    "The text is simple: short stories that dsdata put together from a few hundred words and sentences. The model has "
    "seen 19 of 20; the samples below are from the others. Text that people wrote needs more of it, a larger model, "
    "and "
    "hours.";
static const char note_input[] = "Two minutes are enough for the commonest words only: dstrain plan says what a real "
                                 "training of this text needs.";

struct demo {
    const char *folder, *input; /* NULL: our stories */
    bool quiet;
    struct error *err;
};

static char *word_of(const struct demo *demo, struct str word, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)word.size, word.data);
    return *name == '@' ? path_join(demo->folder, name + 1) : mem_copy_text(strcmp(name, "?") == 0 ? text : name);
}

/* Runs a command after showing it, with `text` for its ?. Its exit code, or < 0. */
static int run(const struct demo *demo, const char *command, const char *text)
{
    char *words[WORDS_MAX + 1], *program = NULL;
    SCOPED(buf_release) struct buf shown = {0};
    size_t count = 0;
    for (const char *at = command, *end; *at && count + 1 < WORDS_MAX; at = end + (*end == ' ')) {
        end = strchrnul(at, ' ');
        words[count] = word_of(demo, str_range(at, end), text);
        command_add(&shown, words[count++]);
    }
    if (demo->quiet)
        words[count++] = mem_copy_text("-q");
    words[count] = NULL;
    log_say("%s", "");
    log_say("$ %s", buf_text(&shown));
    program = module_beside(words[0], demo->err);
    int code = program ? child_run(program, words, demo->err) : -1;
    if (program && code < 0)
        hint(demo->err, "the demo needs dsdata and dstrain in one folder");
    while (count > 0)
        mem_free(words[--count]);
    mem_free(program);
    return code;
}

/* The same; a command that fails ends the demo. A training that its time limit stopped has not failed. */
static int step(const struct demo *demo, const char *command, const char *text)
{
    const int code = run(demo, command, text);
    if (code <= 0 || (command == train && code == ERR_STOPPED))
        return code < 0 ? -1 : 0;
    return fail(demo->err, code < 128 ? (enum error_kind)code : ERR_STOPPED, "the demo ends: exit code %d of %s", code,
                command);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

/* The folder is new or empty, or ours: then what an earlier demo made is removed. */
static int claim(const char *folder, bool force, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *mark = path_join(folder, MARK);
    SCOPED(mem_free_at) char *shards = path_join(folder, "shards"), *runs = path_join(folder, "run");
    SCOPED(buf_release) struct buf text = {0};
    if (path_exists(folder))
        TRY(path_list(&list, folder, err));
    const bool ours = list.count > 0 && path_is_file(mark) && file_read_all(mark, 4096, &text, err) == 0 &&
                      str_equal(buf_str(&text), STR(MARK_TEXT));
    if (list.count > 0 && !ours && !force) {
        fail_at(err, ERR_USAGE, folder, ERROR_NO_OFFSET, "holds files that no demo wrote");
        return hint(err, "--out DIR writes to another folder; --force uses this one");
    }
    if (ours) {
        nftw(shards, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        nftw(runs, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    TRY(path_make_directory(folder, err));
    return file_write_all(mark, MARK_TEXT, sizeof MARK_TEXT - 1, err);
}

static int write_stories(const char *folder, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(mem_free_at) char *path = path_join(folder, "stories.txt");
    for (uint32_t i = 0; i < STORIES; i++)
        demo_story(&text, i);
    return file_write_all(path, text.data, text.size, err);
}

static bool holds_out(const struct demo *demo)
{
    SCOPED(mem_free_at) char *shard = path_join(demo->folder, "shards/seq64/valid-00000-of-00001.dss");
    return path_exists(shard);
}

static int build(const struct demo *demo)
{
    TRY(step(demo, demo->input ? build_input : build_stories, demo->input));
    if (!demo->input || holds_out(demo))
        return 0;
    log_say("%s", "");
    log_say("no document is held out, so that guesses could be tested: paragraphs become documents");
    return step(demo, build_paragraphs, demo->input);
}

static int show_guesses(const struct demo *demo)
{
    const bool unseen = holds_out(demo);
    log_say("%s", "");
    log_say("Text that the model has %s, as it fills it in: [right], [wrong≠what was there]",
            unseen ? "not seen" : "seen");
    return step(demo, unseen ? guess_unseen : guess_seen, NULL);
}

static void closing(const struct demo *demo)
{
    SCOPED(mem_free_at) char *page = path_join(demo->folder, "demo.html");
    log_say("%s", "");
    log_say("%s   the curves, and text as the model fills it in: open it in a browser", page);
    say_next(mem_copy_text("dsdata build fiwiki-latest-pages-articles.xml.bz2    (a dump of a Wikipedia)"));
    say_next_too(mem_copy_text("dsdata build FOLDER                                  (your own texts)"));
    say_next_too(mem_copy_text("dstrain classify --init BERT --train TABLE.csv --out tuned    (texts with labels)"));
}

int dsdata_demo(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const struct demo demo = {
        .quiet = settings->quiet, .folder = settings->out, .input = bare.count ? bare.items[0] : NULL, .err = err};
    TRY(claim(demo.folder, settings->force, err));
    if (!demo.input)
        TRY(write_stories(demo.folder, err));
    log_say("two minutes on two cores%s", demo.input ? ", after your text is read: about a minute per GB" : "");
    TRY(build(&demo));
    TRY(step(&demo, train, NULL));
    TRY(show_guesses(&demo));
    if (!demo.input)
        TRY(step(&demo, fill_in, sentence));
    TRY(step(&demo, report, demo.input ? note_input : note_stories));
    if (!demo.input)
        TRY(demo_weights(demo.folder, err));
    closing(&demo);
    return 0;
}
