/* dsdata report DIR: a dataset as one HTML page (report/corpus_report.h), in its directory or where --out says. */
#include "pipeline/report/corpus_report.h"

#include "base/file.h"
#include "base/html.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/owned.h"
#include "pipeline/verbs/output_file.h"

int dsdata_report(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const char *directory = bare.items[0];
    char *path = settings->out ? mem_copy_text(settings->out) : path_join(directory, REPORT_NAME);
    struct buf page = {0};
    char bytes[32];
    stop_on_signals();
    int result = settings->out || path_is_directory(directory)
                     ? output_file_check(settings, bare, path, &html_form, err)
                     : 0; /* else the page's maker says what is missing */
    if (result < 0 && !settings->out && !err->hint[0])
        hint(err, "--out FILE writes the page elsewhere");
    if (result == 0)
        result = corpus_report_make(&page, directory, err);
    if (result == 0)
        result = html_page_write(&page, path, err);
    if (result == 0 && strcmp(path, "-") != 0) {
        log_say("%s   %s: open it in a browser; it needs no network and may be sent alone", path,
                format_bytes(page.size, bytes));
        say_next(command_text("dstrain plan --shards %s", directory));
    }
    buf_release(&page);
    mem_free(path);
    return result;
}
