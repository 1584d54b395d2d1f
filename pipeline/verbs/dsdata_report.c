/* dsdata report DIR: a dataset as one HTML page (report/corpus_report.h), or a card (report/dataset_card.h), in its
 * directory or where --out says. */
#include "pipeline/report/corpus_report.h"
#include "pipeline/report/dataset_card.h"

#include "base/file.h"
#include "base/html.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/owned.h"
#include "pipeline/verbs/output_file.h"

#include <string.h>

static int write_page(struct buf *page, const char *path, struct error *err)
{
    char bytes[32];
    TRY(html_page_write(page, path, err));
    if (strcmp(path, "-") != 0)
        log_say("%s   %s: open it in a browser; it needs no network and may be sent alone", path,
                format_bytes(page->size, bytes));
    return 0;
}

static int write_card(struct buf *card, const char *path, struct error *err)
{
    if (strcmp(path, "-") == 0)
        return output_write(buf_str(card), err);
    TRY(file_write_all(path, card->data, card->size, err));
    log_say("%s   a data card; it is no part of the dataset", path);
    return 0;
}

int dsdata_report(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const char *directory = bare.items[0];
    const bool is_card = settings->card;
    SCOPED(mem_free_at)
    char *path = settings->out ? mem_copy_text(settings->out) : path_join(directory, is_card ? CARD_NAME : REPORT_NAME);
    SCOPED(buf_release) struct buf page = {0};
    stop_on_signals();
    const int result = settings->out || path_is_directory(directory)
                           ? output_file_check(settings, bare, path, is_card ? &dataset_card_form : &html_form, err)
                           : 0; /* else the maker says what is missing */
    if (result < 0 && !settings->out && !err->hint[0])
        hint(err, "--out FILE writes it elsewhere");
    TRY(result);
    TRY(is_card ? dataset_card_make(&page, directory, err) : corpus_report_make(&page, directory, err));
    TRY(is_card ? write_card(&page, path, err) : write_page(&page, path, err));
    if (strcmp(path, "-") != 0)
        say_next(command_text("dstrain plan --shards %s", directory));
    return 0;
}
